//! Statements with their texts interpolated and their `use`s expanded; and the names of targets that they refer to.

use std::rc::Rc;

use super::modules::Imported;
use super::names::is_open;
use super::scope::{Bindings, Expander, Scope};
use super::slug;
use super::weigh::Weights;
use crate::span::{Span, Spanned, Via};
use crate::table;
use crate::tree::{Data, Node, Property, Value};
use crate::value;

/// The node as `via` brings it.
pub(super) fn copy(node: &Node, via: Via) -> Node {
    let span = |span: Span| Span { via, ..span };
    let text = |text: &Spanned<String>| Spanned::new(text.value.clone(), span(text.span));
    let value = |value: &Value| Value {
        data: value.data.clone(),
        annotation: value.annotation.as_ref().map(text),
        span: span(value.span),
        given: value.given,
    };
    let property = |property: &Property| Property {
        key: text(&property.key),
        value: value(&property.value),
    };
    let children = node.children.as_ref();
    Node {
        name: text(&node.name),
        annotation: node.annotation.as_ref().map(text),
        arguments: node.arguments.iter().map(value).collect(),
        properties: node.properties.iter().map(property).collect(),
        children: children.map(|nodes| nodes.iter().map(|node| copy(node, via)).collect()),
        span: span(node.span),
    }
}

impl Expander<'_> {
    /// Puts the statement behind `out`, or what it stands for.
    pub(super) fn statement(
        &mut self,
        mut node: Node,
        scope: Scope,
        weights: &Weights,
        out: &mut Vec<Node>,
    ) {
        if node.name.starts_with("x-") || table::find(&node.name).is_none() {
            out.push(node);
            return;
        }
        if node.name.value == "use" {
            if !self.expand_use(&node, scope, weights, out) {
                // It stays, as a mark that something is missing.
                out.push(node);
            }
            return;
        }
        self.fill(&mut node, scope);
        if let Some(children) = node.children.take() {
            let mut inner = Vec::with_capacity(children.len());
            for child in children {
                self.statement(child, scope, weights, &mut inner);
            }
            node.children = Some(inner);
        }
        out.push(node);
    }

    /// Interpolates the statement's own texts, and spells out the names of targets.
    pub(super) fn fill(&mut self, node: &mut Node, scope: Scope) {
        let name = node.name.value.as_str();
        for (index, value) in node.arguments.iter_mut().enumerate() {
            if name == "group" && index > 0 {
                self.refer(value, scope);
            } else if is_open(name, Some(index)) {
                self.interpolate(value, scope, name == "run");
            }
        }
        for property in &mut node.properties {
            let key = property.key.value.as_str();
            if (name, key) == ("from", "prebuild") {
                self.refer(&mut property.value, scope);
            } else if is_open(name, None) && key != "auth" {
                self.interpolate(&mut property.value, scope, false);
            }
        }
    }

    /// What cannot be interpolated stays as it is, which nobody takes for its text.
    fn interpolate(&mut self, value: &mut Value, scope: Scope, is_command: bool) {
        if !value.is_interpolated() {
            return;
        }
        if let Some(binding) = self.text(value, scope, is_command) {
            self.made.insert(value.span.as_written());
            put(value, &binding.text, binding.span);
        }
    }

    /// A target's name as the graph has it: spelled by the rule for cells, in the namespace of the file that wrote it.
    fn refer(&mut self, value: &mut Value, scope: Scope) {
        let Some(binding) = self.text(value, scope, false) else {
            return;
        };
        if value.is_interpolated() {
            self.made.insert(value.span.as_written());
        }
        // An alias is written out: a dot in a value is only a part of a name.
        let written = match &value.data {
            Data::Text(text) if binding.span == value.span => text.clone(),
            _ => binding.text.to_string(),
        };
        let head = written.split('{').next().unwrap_or_default();
        let alias = head.split_once('.').map(|(alias, _)| alias);
        let alias = alias.filter(|alias| value::is_name(alias));
        let imported = alias.map(|alias| self.modules.imported(binding.module, alias));
        let (module, name) = match (alias, imported) {
            (Some(alias), Some(Imported::Module(module))) => (
                module,
                binding.text.get(alias.len() + 1..).unwrap_or_default(),
            ),
            (Some(alias), Some(Imported::Unknown)) if is_qualified(&written) => {
                self.no_import(alias, binding.module, binding.span);
                value.annotation = Some(Spanned::new("f".to_owned(), value.span));
                return;
            }
            (Some(_), Some(Imported::Broken)) => {
                value.annotation = Some(Spanned::new("f".to_owned(), value.span));
                return;
            }
            _ => (binding.module, &*binding.text),
        };
        let name = format!("{}{}", self.modules.list[module].prefix, slug(name));
        put(value, &Rc::from(name), binding.span);
    }

    fn no_import(&mut self, alias: &str, module: usize, span: Span) {
        let rank = self.found.len();
        self.found
            .push(self.modules.no_import(module, alias, span, rank));
    }

    /// The names of a file's targets, as they are written.
    pub(super) fn target_name(&mut self, node: &mut Node, module: usize) -> Option<String> {
        let value = node.arguments.first_mut()?;
        let name = value.spanned()?;
        // An interpolated one has been reported.
        if value.annotation.take().is_none()
            && let Err(problem) = value::name(&name)
        {
            self.found.push(problem.at(name.span));
        }
        let qualified = format!("{}{}", self.modules.list[module].prefix, name.value);
        value.data = Data::Text(qualified.clone());
        Some(qualified)
    }

    /// What a prebuild's cell, or a prebuild without a matrix, holds.
    pub(super) fn body(
        &mut self,
        children: Vec<Node>,
        module: usize,
        own: &Bindings,
        weights: &Weights,
    ) -> Vec<Node> {
        let mut body = Vec::with_capacity(children.len());
        for child in children {
            if child.name.value != "matrix" {
                self.statement(child, Scope { module, own }, weights, &mut body);
            }
        }
        body
    }
}

fn put(value: &mut Value, text: &Rc<str>, written: Span) {
    value.data = Data::Text(text.to_string());
    value.annotation = None;
    value.given = Some(written).filter(|written| *written != value.span);
}

/// `alias.name`, both names.
fn is_qualified(text: &str) -> bool {
    let parts = text.split_once('.');
    parts.is_some_and(|(alias, name)| value::is_name(alias) && value::is_name(name))
}
