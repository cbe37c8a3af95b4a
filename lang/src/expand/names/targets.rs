//! Which targets are meant where a file names them as they are. Whether there are such is told later, when all are known.

use std::collections::BTreeMap;

use super::Names;
use crate::expand::modules::Imported;
use crate::expand::slug;
use crate::span::Span;
use crate::tree::{Node, Value};

/// The targets of a file by name, with the places of their names.
pub(super) type Targets = BTreeMap<String, Span>;

pub(super) fn of(tree: &[Node]) -> Targets {
    let is_target = |node: &&Node| matches!(node.name.as_str(), "prebuild" | "group");
    let named = tree.iter().filter(is_target).filter_map(|node| {
        let name = node.arguments.first()?.spanned()?;
        Some((name.value, name.span))
    });
    named.collect()
}

impl Names<'_> {
    /// Links the names of `from prebuild=` and `group`, those of cells to the prebuild with the matrix.
    pub(super) fn target_names(&mut self, node: &Node) {
        let values: Vec<&Value> = match node.name.as_str() {
            "group" => node.arguments.iter().skip(1).collect(),
            "from" => {
                let properties = node.properties.iter();
                let parent = properties.filter(|property| property.key.value == "prebuild");
                parent.map(|property| &property.value).collect()
            }
            _ => return,
        };
        for value in values.into_iter().filter(|value| !value.is_interpolated()) {
            if let Some(name) = value.spanned()
                && let Some((length, definition)) = self.target(&name.value)
            {
                self.link(name.span, &name.value, length, definition);
            }
        }
    }

    /// How many bytes of what is written name a target, as far as they do letter by letter, and where it is defined.
    fn target(&self, written: &str) -> Option<(usize, Span)> {
        let imported = |alias: &str| self.modules.imported(self.module, alias);
        let (module, name) = match written.split_once('.') {
            Some((alias, name)) => match imported(alias) {
                Imported::Module(other) => (other, name),
                Imported::Broken | Imported::Unknown => (self.module, written),
            },
            None => (self.module, written),
        };
        let before = written.len() - name.len();
        let targets = &self.targets[module];
        let spelled = slug(name);
        let ends = spelled.match_indices('-').map(|(end, _)| end).rev();
        let mut ends = [spelled.len()].into_iter().chain(ends);
        let (end, definition) =
            ends.find_map(|end| Some((end, *targets.get(spelled.get(..end)?)?)))?;
        let is_same = name.get(..end).is_some_and(|part| part == &spelled[..end]);
        is_same.then_some((before + end, definition))
    }
}
