//! Axes: every combination of their values, less those that a `skip` names.

use super::{Axis, CELLS, Tuple};
use crate::code;
use crate::diag::Diagnostic;
use crate::eval::unknown;
use crate::expand::scope::{Bindings, Expander, Scope};
use crate::span::Span;
use crate::tree::Node;

/// What a `skip` takes away: axes and values by their places; `None` for a value that the axis does not have.
struct Skip {
    pairs: Vec<(usize, Option<usize>)>,
    span: Span,
    matches: bool,
}

impl Expander<'_> {
    /// All combinations in the order of the axes, less those that are skipped; none if something is wrong. There are few
    /// enough to look at each.
    pub(super) fn product(
        &mut self,
        matrix: &Node,
        axes: &[Axis],
        skips: &[&Node],
        module: usize,
    ) -> Vec<Tuple> {
        let mut read = Vec::new();
        for node in skips {
            read.extend(self.skip(node, axes, module));
        }
        let mut kept = 0;
        let mut tuples = Vec::new();
        let mut places = vec![0; axes.len()];
        loop {
            let mut is_skipped = false;
            for skip in &mut read {
                let fits = skip
                    .pairs
                    .iter()
                    .all(|(axis, value)| *value == Some(places[*axis]));
                skip.matches |= fits;
                is_skipped |= fits;
            }
            kept += usize::from(!is_skipped);
            if !is_skipped && kept <= CELLS {
                tuples.push(tuple(axes, &places));
            }
            if !advance(&mut places, axes) {
                break;
            }
        }
        if kept > CELLS {
            self.too_many(matrix, kept);
        }
        for skip in read.iter().filter(|skip| !skip.matches) {
            let message = "this `skip` matches no cell";
            self.found.push(
                Diagnostic::error(code::BAD_MATRIX, skip.span, message, "nothing to skip")
                    .help("check its values, or delete it"),
            );
        }
        if kept == 0 {
            let message = "the matrix has no cells";
            let label = "all are skipped";
            let diagnostic = Diagnostic::error(code::BAD_MATRIX, matrix.head(), message, label);
            self.found.push(diagnostic.help("delete a `skip`"));
        }
        tuples
    }

    /// `None` if it is at fault.
    fn skip(&mut self, node: &Node, axes: &[Axis], module: usize) -> Option<Skip> {
        let own = Bindings::new();
        let scope = Scope { module, own: &own };
        let mut pairs = Vec::new();
        for property in &node.properties {
            let names = axes.iter().map(|axis| axis.name.value.as_str());
            let Some(axis) = names.clone().position(|name| name == property.key.value) else {
                let rank = self.found.len();
                self.found.push(unknown("axis", &property.key, names, rank));
                return None;
            };
            let value = self.text(&property.value, scope, false)?;
            let mut values = axes[axis].values.iter();
            pairs.push((axis, values.position(|known| known.text == value.text)));
        }
        let span = node.span;
        // One without properties has been reported.
        (!pairs.is_empty()).then_some(Skip {
            pairs,
            span,
            matches: false,
        })
    }
}

fn tuple(axes: &[Axis], places: &[usize]) -> Tuple {
    let pairs = axes.iter().zip(places);
    let pairs = pairs
        .filter_map(|(axis, at)| Some((axis.name.value.clone(), axis.values.get(*at)?.clone())));
    pairs.collect()
}

/// The next combination, the last axis first; whether there is one.
fn advance(places: &mut [usize], axes: &[Axis]) -> bool {
    for (place, axis) in places.iter_mut().zip(axes).rev() {
        *place += 1;
        if *place < axis.values.len() {
            return true;
        }
        *place = 0;
    }
    false
}
