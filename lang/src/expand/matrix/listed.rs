//! Cells that are listed, each with a value for each axis.

use super::{AXES, Tuple};
use crate::code;
use crate::diag::Diagnostic;
use crate::eval::unknown;
use crate::expand::CELLS;
use crate::expand::scope::{Binding, Bindings, Expander, Scope};
use crate::span::Spanned;
use crate::tree::{Node, Property};
use crate::value;

impl Expander<'_> {
    /// All have the axes of the first, in its order.
    pub(super) fn listed(&mut self, matrix: &Node, cells: &[&Node], module: usize) -> Vec<Tuple> {
        let is_few = |first: &&&Node| cells.len() <= CELLS && first.properties.len() <= AXES;
        let Some(first) = cells.first().filter(is_few) else {
            self.too_many(matrix, cells.len());
            return Vec::new();
        };
        let axes: Vec<&Spanned<String>> = first.properties.iter().map(|p| &p.key).collect();
        for axis in &axes {
            if let Err(problem) = value::name(axis) {
                self.found.push(problem.at(axis.span));
            }
        }
        let mut tuples: Vec<Tuple> = Vec::new();
        for cell in cells {
            let tuple = self.cell(cell, &axes, module);
            let same = |other: &Tuple| texts(other).eq(texts(&tuple));
            if let Some(at) = tuples.iter().position(same) {
                let message = "this cell is there twice";
                self.found.push(
                    Diagnostic::error(code::BAD_MATRIX, cell.span, message, "again")
                        .and(cells[at].span, "first here")
                        .help("delete one"),
                );
            }
            tuples.push(tuple);
        }
        tuples
    }

    fn cell(&mut self, cell: &Node, axes: &[&Spanned<String>], module: usize) -> Tuple {
        let own = Bindings::new();
        let scope = Scope { module, own: &own };
        let names = axes.iter().map(|axis| axis.value.as_str());
        for Property { key, .. } in &cell.properties {
            if !names.clone().any(|name| name == key.value) {
                let rank = self.found.len();
                self.found.push(unknown("axis", key, names.clone(), rank));
            }
        }
        let mut tuple = Vec::new();
        for axis in axes {
            let mut properties = cell.properties.iter();
            let Some(property) = properties.find(|p| p.key.value == axis.value) else {
                let message = format!("this cell has no `{}`", axis.value);
                self.found.push(
                    Diagnostic::error(code::BAD_MATRIX, cell.span, message, "not given")
                        .and(axis.span, "an axis since the first cell")
                        .help(format!("add {}=…", axis.value)),
                );
                continue;
            };
            if let Some(binding) = self.text(&property.value, scope, false) {
                let span = property.value.span;
                tuple.push((axis.value.clone(), Binding { span, ..binding }));
            }
        }
        tuple
    }
}

fn texts(tuple: &Tuple) -> impl Iterator<Item = &str> {
    tuple.iter().map(|(_, binding)| &*binding.text)
}
