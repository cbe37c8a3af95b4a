//! `matrix`: a prebuild's cells, as a product of axes or as a list.

mod listed;
mod naming;
mod product;

use std::collections::BTreeMap;
use std::rc::Rc;

use super::CELLS;
use super::scope::{Binding, Bindings, Expander, Scope};
use crate::check;
use crate::code;
use crate::diag::Diagnostic;
use crate::span::{Span, Spanned};
use crate::spelling::visible;
use crate::table::Place;
use crate::tree::{Node, Property, Value};
use crate::value;

/// How many combinations of values are looked at, those that `skip` takes away among them.
const COMBINATIONS: usize = CELLS * CELLS;

/// For names that are put together.
const LONGEST: usize = 63;

/// With more than these, no name is short enough.
const AXES: usize = LONGEST / 2;

/// The cells of one prebuild.
#[derive(Debug)]
pub(super) struct Cells {
    pub(super) span: Span,
    pub(super) list: Vec<CellValues>,
}

#[derive(Debug)]
pub(super) struct CellValues {
    pub(super) bindings: Bindings,
    /// What its name ends with.
    pub(super) suffix: String,
    /// Such as `node=22 os=debian`.
    pub(super) told: String,
}

/// What each axis has in one cell.
pub(super) type Tuple = Vec<(String, Binding)>;

/// An axis and its values.
struct Axis {
    name: Spanned<String>,
    values: Vec<Binding>,
}

/// The names of the axes of a prebuild, each once.
pub(super) fn axes(node: &Node) -> Vec<Spanned<String>> {
    let mut names: Vec<Spanned<String>> = Vec::new();
    if node.name.value != "prebuild" {
        return names;
    }
    let matrix = |node: &&Node| node.name.value == "matrix";
    let children = node.children.iter().flatten().filter(matrix);
    for node in children.flat_map(|matrix| matrix.children.iter().flatten()) {
        let keys = node.properties.iter().map(|property| &property.key);
        let stated: Vec<&Spanned<String>> = match node.name.as_str() {
            "skip" => continue,
            "cell" => keys.collect(),
            _ => vec![&node.name],
        };
        for name in stated {
            if names.iter().all(|known| known.value != name.value) {
                names.push(name.clone());
            }
        }
    }
    names
}

impl Expander<'_> {
    /// The cells of a prebuild that has a matrix; `None` also if that is at fault.
    pub(super) fn cells(&mut self, prebuild: &Node, module: usize) -> Option<Cells> {
        let is_matrix =
            |node: &&Node| node.name.value == "matrix" && prebuild.name.value == "prebuild";
        let mut matrices = prebuild.children.iter().flatten().filter(is_matrix);
        let matrix = matrices.next()?;
        if let Some(second) = matrices.next() {
            let message = "a second `matrix`";
            self.found.push(
                Diagnostic::error(code::DUPLICATE_PROPERTY, second.head(), message, "again")
                    .and(matrix.head(), "the first")
                    .help("put the axes of both into one"),
            );
        }
        check::statement(matrix, Place::Prebuild, self.files, self.found);
        let before = self.found.len();
        let tuples = self.tuples(matrix, module);
        if self.found.len() > before {
            return None;
        }
        let name = prebuild.arguments.first().and_then(Value::spanned);
        self.named(matrix, &name?, &tuples)
    }

    fn tuples(&mut self, matrix: &Node, module: usize) -> Vec<Tuple> {
        let (mut axes, mut cells, mut skips) = (Vec::new(), Vec::new(), Vec::new());
        for node in matrix.children.iter().flatten() {
            match node.name.as_str() {
                name if name.starts_with("x-") => {}
                "cell" => cells.push(node),
                "skip" => skips.push(node),
                _ => axes.push(node),
            }
        }
        for node in cells.iter().chain(&skips) {
            check::statement(node, Place::Matrix, self.files, self.found);
        }
        if let (Some(axis), Some(cell)) = (axes.first().or(skips.first()), cells.first()) {
            let message = "a matrix has axes or cells, not both";
            self.found.push(
                Diagnostic::error(code::BAD_MATRIX, cell.span, message, "a cell")
                    .and(axis.span, "an axis, or what skips some of its values")
                    .help("list all cells, or give the axes their values"),
            );
            return Vec::new();
        }
        if axes.is_empty() && cells.is_empty() {
            let message = "the matrix has no cells";
            let help = "such as: matrix { node 22 24; }";
            let diagnostic = Diagnostic::error(code::BAD_MATRIX, matrix.head(), message, "empty");
            self.found.push(diagnostic.help(help));
            return Vec::new();
        }
        if axes.is_empty() {
            return self.listed(matrix, &cells, module);
        }
        let values = axes.iter().map(|axis| axis.arguments.len().max(1));
        let count = values.fold(1_usize, usize::saturating_mul);
        if axes.len() > AXES || count > COMBINATIONS {
            self.too_many(matrix, count.max(axes.len()));
            return Vec::new();
        }
        let before = self.found.len();
        let axes: Vec<Axis> = axes
            .iter()
            .filter_map(|node| self.axis(node, module))
            .collect();
        self.distinct_axes(&axes);
        if self.found.len() > before {
            return Vec::new();
        }
        self.product(matrix, &axes, &skips, module)
    }

    fn axis(&mut self, node: &Node, module: usize) -> Option<Axis> {
        check::annotations(node, |_| &["f"], self.found);
        check::values(node, self.files, self.found);
        if let Err(problem) = value::name(&node.name) {
            self.found.push(problem.at(node.name.span));
        }
        let wrong = node.properties.first().map(Property::span);
        if let Some(span) = wrong.or(node.children.as_ref().map(|_| node.span)) {
            let message = "an axis has values, and nothing else";
            self.found.push(
                Diagnostic::error(code::UNKNOWN_PROPERTY, span, message, "not here")
                    .help("such as: node 22 24"),
            );
        }
        if node.arguments.is_empty() {
            let message = format!("`{}` has no values", visible(&node.name));
            let label = "an axis without values";
            let diagnostic = Diagnostic::error(code::BAD_MATRIX, node.name.span, message, label);
            self.found.push(diagnostic.help("such as: node 22 24"));
        }
        let own = Bindings::new();
        let scope = Scope { module, own: &own };
        let mut values: Vec<Binding> = Vec::new();
        let mut first: BTreeMap<Rc<str>, Span> = BTreeMap::new();
        for argument in &node.arguments {
            let value = self.text(argument, scope, false)?;
            // A value is cited where it stands, whatever it is made of.
            let value = Binding {
                span: argument.span,
                ..value
            };
            if let Some(first) = first.insert(value.text.clone(), value.span) {
                let message = format!("`{}` is there twice", visible(&value.text));
                self.found.push(
                    Diagnostic::error(code::BAD_MATRIX, value.span, message, "again")
                        .and(first, "first here")
                        .help("delete one"),
                );
            }
            values.push(value);
        }
        let name = node.name.clone();
        Some(Axis { name, values })
    }

    fn distinct_axes(&mut self, axes: &[Axis]) {
        let mut first: BTreeMap<&str, Span> = BTreeMap::new();
        for Axis { name, .. } in axes {
            if let Some(first) = first.insert(&name.value, name.span) {
                let message = format!("the axis `{}` is there twice", name.value);
                self.found.push(
                    Diagnostic::error(code::DUPLICATE_NAME, name.span, message, "again")
                        .and(first, "first here")
                        .help("put the values of both behind one name"),
                );
            }
        }
    }

    pub(super) fn too_many(&mut self, matrix: &Node, count: usize) {
        let count = match count {
            0..=1_000_000 => count.to_string(),
            _ => "more than a million".to_owned(),
        };
        let message = format!("the matrix has {count} cells; limit {CELLS}");
        let label = "too many cells";
        self.found.push(
            Diagnostic::error(code::EXPANDS_TOO_FAR, matrix.head(), message, label)
                .help("have fewer axes or values, or list the cells that are needed"),
        );
    }
}
