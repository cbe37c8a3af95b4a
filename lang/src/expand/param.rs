//! `param`, of a file or of a template.

use std::collections::BTreeMap;

use super::define::{is_named, twice};
use super::kind::Kind;
use crate::code;
use crate::decl::Fields;
use crate::diag::Diagnostic;
use crate::span::{Span, Spanned};
use crate::tree::{Node, Value};

#[derive(Debug)]
pub(super) struct Param {
    pub(super) name: Spanned<String>,
    pub(super) kind: Kind,
    /// If there are any, no other value is right.
    pub(super) choices: Vec<Value>,
    pub(super) default: Option<Value>,
    /// Without it, the parameter's whole line.
    pub(super) head: Span,
}

/// Reads a `param`, which `check.rs` has passed.
pub(super) fn param(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Param> {
    let stated = node.arguments.first()?;
    let kind = match &stated.annotation {
        // An unknown one has been reported.
        Some(annotation) => Kind::named(annotation).unwrap_or(Kind::Text),
        None => Kind::Text,
    };
    let name = Spanned::new(stated.text()?, stated.span);
    if !is_named(&name, found) {
        return None;
    }
    Some(Param {
        name,
        kind,
        choices: node.arguments[1..].to_vec(),
        default: Fields(node).value("default").cloned(),
        head: node.head(),
    })
}

/// The parameters without those that are there already, and with one that takes words at most.
pub(super) fn distinct(params: Vec<Param>, found: &mut Vec<Diagnostic>) -> Vec<Param> {
    let mut kept: BTreeMap<String, Spanned<String>> = BTreeMap::new();
    let mut words: Option<Span> = None;
    let mut distinct = Vec::new();
    for param in params {
        if let Some(first) = kept.get(&param.name.value) {
            found.push(twice(&param.name, first));
            continue;
        }
        if param.kind == Kind::Words
            && let Some(first) = words.replace(param.name.span)
        {
            let message = "a second parameter for the words";
            found.push(
                Diagnostic::error(code::DUPLICATE_NAME, param.name.span, message, "again")
                    .and(first, "the first")
                    .help("a template has one `words`: all that follow its name in `use`"),
            );
        }
        kept.insert(param.name.value.clone(), param.name.clone());
        distinct.push(param);
    }
    distinct
}
