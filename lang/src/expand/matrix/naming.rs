//! What cells are called: the prebuild's name and their values.

use std::collections::BTreeMap;

use super::{CellValues, Cells, LONGEST, Tuple};
use crate::code;
use crate::diag::Diagnostic;
use crate::expand::scope::{Binding, Expander};
use crate::expand::slug;
use crate::span::Spanned;
use crate::spelling::visible;
use crate::tree::Node;

impl Expander<'_> {
    /// The cells with the ends of their names, which must differ.
    pub(super) fn named(
        &mut self,
        matrix: &Node,
        name: &Spanned<String>,
        tuples: &[Tuple],
    ) -> Option<Cells> {
        let before = self.found.len();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        let mut list: Vec<CellValues> = Vec::new();
        for (index, tuple) in tuples.iter().enumerate() {
            let mut suffix = String::new();
            for (axis, value) in tuple {
                let part = slug(&value.text);
                if part.trim_matches('-').is_empty() {
                    self.nameless(axis, value);
                }
                suffix.push('-');
                suffix.push_str(&part);
            }
            if let Some(first) = taken.insert(suffix.clone(), index) {
                self.found
                    .push(collision(name, &suffix, &tuples[first], tuple));
            } else if name.len() + suffix.len() > LONGEST {
                let message = format!(
                    "`{}{suffix}` is longer than {LONGEST} characters",
                    name.value
                );
                self.found.push(
                    Diagnostic::error(code::BAD_NAME, name.span, message, "with the cell's values")
                        .help("give the prebuild a shorter name, or the axis shorter values"),
                );
            }
            let told = tuple
                .iter()
                .map(|(axis, value)| format!("{axis}={}", visible(&value.text)));
            list.push(CellValues {
                suffix,
                told: told.collect::<Vec<_>>().join(" "),
                bindings: tuple
                    .iter()
                    .cloned()
                    .map(|(axis, value)| (axis, Some(value)))
                    .collect(),
            });
        }
        let span = matrix.head();
        (self.found.len() == before).then_some(Cells { span, list })
    }

    fn nameless(&mut self, axis: &str, value: &Binding) {
        let message = format!("a value of `{axis}` has nothing that a name can be made of");
        let label = "no letter, no digit";
        let help = "have a letter or a digit in it: the cells' names are made of the values";
        let diagnostic = Diagnostic::error(code::BAD_MATRIX, value.span, message, label).help(help);
        if !self.found.contains(&diagnostic) {
            self.found.push(diagnostic);
        }
    }
}

/// Two cells with one name: the values that become the same are cited.
fn collision(name: &Spanned<String>, suffix: &str, first: &Tuple, second: &Tuple) -> Diagnostic {
    let pairs = first.iter().zip(second);
    let mut pairs = pairs.map(|((_, first), (_, second))| (first, second));
    let differing = pairs
        .clone()
        .find(|(first, second)| first.text != second.text);
    let Some((first, second)) = differing.or_else(|| pairs.next()) else {
        return Diagnostic::error(code::BAD_MATRIX, name.span, "two cells are one", "");
    };
    let (one, other) = (visible(&first.text), visible(&second.text));
    let message = format!("`{one}` and `{other}` both become `{}{suffix}`", name.value);
    Diagnostic::error(code::BAD_MATRIX, second.span, message, "this value")
        .and(first.span, "and this one")
        .help("check the values: in a name, only a-z and 0-9 count")
}
