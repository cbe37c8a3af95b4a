//! A file's top level: prebuilds with their cells, groups, and the statements of the bare form.

use std::collections::BTreeMap;

use super::matrix::Cells;
use super::scope::{Bindings, Expander, Scope};
use super::statement::copy;
use super::weigh::Weights;
use super::{Cell, Expanded};
use crate::span::{Span, Spanned};
use crate::table::{self, Place};
use crate::tree::{Data, Node, Value};

/// The cells of the prebuilds with a matrix, by file and place.
pub(super) type AllCells = BTreeMap<(usize, usize), Cells>;

impl Expander<'_> {
    /// A file's statements, expanded.
    pub(super) fn module(
        &mut self,
        index: usize,
        nodes: Vec<Node>,
        cells: &AllCells,
        weights: &Weights,
    ) -> Expanded {
        let module = &self.modules.list[index];
        let mut expanded = Expanded {
            file: module.file,
            prefix: module.prefix.clone(),
            is_library: module.is_library,
            first: module.first,
            bare: bare(&nodes),
            nodes: Vec::with_capacity(nodes.len()),
            cells: BTreeMap::new(),
        };
        let own = Bindings::new();
        let scope = Scope {
            module: index,
            own: &own,
        };
        let is_bare = nodes.iter().all(|node| node.name.value != "prebuild");
        for (at, mut node) in nodes.into_iter().enumerate() {
            match node.name.as_str() {
                "prebuild" => {
                    let cells = cells.get(&(index, at));
                    self.prebuild(node, index, cells, weights, &mut expanded);
                }
                "group" => {
                    self.target_name(&mut node, index);
                    self.fill(&mut node, scope);
                    expanded.nodes.push(node);
                }
                // Beside a prebuild it is at fault as it stands, whatever it stands for.
                "use" if !is_bare => expanded.nodes.push(node),
                _ => self.statement(node, scope, weights, &mut expanded.nodes),
            }
        }
        expanded
    }

    fn prebuild(
        &mut self,
        mut node: Node,
        module: usize,
        cells: Option<&Cells>,
        weights: &Weights,
        expanded: &mut Expanded,
    ) {
        let name = self.target_name(&mut node, module);
        let (Some(base), Some(cells)) = (name, cells) else {
            let own = Bindings::new();
            let children = node.children.take();
            node.children = children.map(|nodes| self.body(nodes, module, &own, weights));
            expanded.nodes.push(node);
            return;
        };
        let mut members = Vec::new();
        for cell in &cells.list {
            let via = self
                .sources
                .expand(format!("cell {}", cell.told), cells.span);
            let mut copied = copy(&node, via);
            let name = format!("{base}{}", cell.suffix);
            if let Some(argument) = copied.arguments.first_mut() {
                argument.data = Data::Text(name);
                members.push(argument.clone());
            }
            let children = copied.children.take();
            copied.children =
                children.map(|nodes| self.body(nodes, module, &cell.bindings, weights));
            let (base, suffix) = (base.clone(), cell.suffix.clone());
            expanded
                .cells
                .insert(expanded.nodes.len(), Cell { base, suffix });
            expanded.nodes.push(copied);
        }
        expanded.nodes.push(group(&node, members));
    }
}

/// The statements outside of a prebuild, from the first to the last.
fn bare(nodes: &[Node]) -> Option<(Span, Span)> {
    let is_bare = |node: &&Node| {
        let row = table::find(&node.name);
        row.is_some_and(|row| row.stands_in(Place::Prebuild) && row.name != "secret")
    };
    let mut bare = nodes.iter().filter(is_bare);
    let first = bare.next()?;
    let last = bare.next_back().unwrap_or(first);
    let end = last.span.end;
    Some((first.name.span, Span { end, ..first.span }))
}

/// The name of a prebuild with a matrix stands for all its cells.
fn group(prebuild: &Node, cells: Vec<Value>) -> Node {
    let name = prebuild.arguments.first().cloned();
    Node {
        name: Spanned::new("group".to_owned(), prebuild.name.span),
        annotation: None,
        arguments: name.into_iter().chain(cells).collect(),
        properties: Vec::new(),
        children: None,
        span: prebuild.span,
    }
}
