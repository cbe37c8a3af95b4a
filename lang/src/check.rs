//! Checks a node against the table: known here, right number of arguments, known properties, no annotation, no block
//! where there is none. What the values mean is `decl.rs`'s business.

mod arity;

use std::collections::BTreeMap;

use crate::code;
use crate::diag::Diagnostic;
use crate::files::Files;
use crate::span::Spanned;
use crate::spelling::{escape, quoted, visible};
use crate::suggest::{meant, nearest};
use crate::table::{
    self, LATER, Place, Properties, Property, RESERVED, STATEMENTS, Statement, TYPES,
};
use crate::tree::{Data, Node, Value};
use arity::arity;

/// The table's row for a node that can be read on, whatever else was found wrong with it.
pub(crate) fn statement(
    node: &Node,
    place: Place,
    files: &Files,
    found: &mut Vec<Diagnostic>,
) -> Option<&'static Statement> {
    if node.name.starts_with("x-") {
        return None;
    }
    let row = match find(node, place) {
        Ok(row) => row,
        Err(diagnostic) => {
            found.push(diagnostic);
            return None;
        }
    };
    let before = found.len();
    // What `(f)` means, and whether it may stand there, is the expansion's business.
    let known = |index| match (row.name, index) {
        ("param", 0) => TYPES,
        _ => &["f"],
    };
    annotations(node, known, found);
    values(node, files, found);
    let is_complete = arity(node, row, files, found);
    if is_complete {
        properties(node, row, found);
    }
    block(node, row, found);
    // A repeated property leaves one to read; a wrong number of arguments leaves nothing to go by.
    (is_complete || found.len() == before).then_some(row)
}

fn find(node: &Node, place: Place) -> Result<&'static Statement, Diagnostic> {
    let name = &node.name;
    if let Some(row) = table::find(name) {
        return if row.stands_in(place) {
            Ok(row)
        } else {
            Err(misplaced(node, row, place))
        };
    }
    if LATER.contains(&name.as_str()) {
        let message = format!("`{}` is not in this version", name.value);
        return Err(
            Diagnostic::error(code::NOT_YET, name.span, message, "not yet available")
                .help("a later version has it"),
        );
    }
    if RESERVED.contains(&name.as_str()) {
        let message = format!("`{}` is reserved", name.value);
        let help = match name.as_str() {
            "service" | "start" | "ports" => {
                "a snapshot holds no processes: start them in the sandbox, with atelier up -- CMD"
            }
            _ => "a file lists what a snapshot contains, it never computes",
        };
        return Err(
            Diagnostic::error(code::NOT_YET, name.span, message, "not in this version").help(help),
        );
    }
    Err(unknown(name, place))
}

/// Whether a statement that was refused may bring what a prebuild starts from.
pub(crate) fn may_be_from(name: &str) -> bool {
    name == "use" || (table::find(name).is_none() && meant(name, ["from"]).is_some())
}

fn unknown(name: &Spanned<String>, place: Place) -> Diagnostic {
    let message = format!("no statement `{}`", visible(name));
    let odd = name.chars().find(|character| !character.is_ascii());
    let label = match odd {
        Some(odd) => format!(
            "`{}` is {}, which no statement has",
            visible(&odd.to_string()),
            escape(odd)
        ),
        None => "unknown".to_owned(),
    };
    let diagnostic = Diagnostic::error(code::UNKNOWN_STATEMENT, name.span, message, label);
    let names = STATEMENTS
        .iter()
        .filter(|row| row.stands_in(place))
        .map(|row| row.name);
    match meant(name, names.clone()) {
        Some(near) => diagnostic
            .help(format!("did you mean `{near}`?"))
            .fix(name.span, near),
        None => diagnostic.help(format!(
            "here can stand: {}",
            names.collect::<Vec<_>>().join(", ")
        )),
    }
}

fn misplaced(node: &Node, row: &Statement, place: Place) -> Diagnostic {
    let inside = match place {
        Place::File => "the top level",
        Place::Prebuild => "a prebuild",
        Place::Repo => "a repository's block",
        Place::Layer => "a layer",
        Place::Template => "a template",
        Place::Matrix => "a matrix",
    };
    let message = format!("`{}` cannot stand in {inside}", row.name);
    let help = match row.places {
        [Place::File, ..] => "move it to the top level",
        [Place::Repo, ..] => "move it into the block of a `repo`",
        [Place::Matrix] => "move it into the block of a `matrix`",
        [Place::Prebuild] if row.name == "matrix" => "move it into a `prebuild NAME { … }`",
        _ => "move it out of the block, to the prebuild",
    };
    Diagnostic::error(code::UNKNOWN_STATEMENT, node.name.span, message, "not here").help(help)
}

/// Annotations of the node and its values that are not among those `known` for a value, arguments counted first.
pub(crate) fn annotations(
    node: &Node,
    known: impl Fn(usize) -> &'static [&'static str],
    found: &mut Vec<Diagnostic>,
) {
    let values = node.arguments.iter();
    let values = values.chain(node.properties.iter().map(|p| &p.value));
    for (index, value) in values.enumerate() {
        if let Some(annotation) = &value.annotation
            && !known(index).contains(&annotation.value.as_str())
        {
            found.push(unknown_annotation(annotation, known(index)));
        }
    }
    if let Some(annotation) = &node.annotation {
        found.push(unknown_annotation(annotation, &[]));
    }
}

fn unknown_annotation(annotation: &Spanned<String>, known: &[&'static str]) -> Diagnostic {
    let message = format!("no annotation `({})`", visible(annotation));
    let diagnostic = Diagnostic::error(code::UNKNOWN_PROPERTY, annotation.span, message, "unknown");
    match nearest(annotation, known.iter().copied()) {
        Some(near) => diagnostic
            .help(format!("did you mean `({near})`?"))
            .fix(annotation.span, near),
        None if known == TYPES => diagnostic.help(format!("there is: {}", TYPES.join(", "))),
        None => diagnostic.help("leave it out: every value is text, and the statement checks it"),
    }
}

pub(crate) fn values(node: &Node, files: &Files, found: &mut Vec<Diagnostic>) {
    let values = node
        .arguments
        .iter()
        .chain(node.properties.iter().map(|p| &p.value));
    found.extend(values.filter_map(|value| unusable(value, files)));
}

/// A value that is no text: its spelling would not survive.
fn unusable(value: &Value, files: &Files) -> Option<Diagnostic> {
    let written = files.slice(value.span);
    let label = match value.data {
        Data::Null => "no value",
        Data::Float if written.starts_with('#') => "no number that can be used",
        Data::Float => "KDL reads a number, and 22.10 as 22.1",
        Data::Text(_) | Data::Integer(_) | Data::Bool(_) => return None,
    };
    let message = format!("`{}` is not a usable value", visible(written));
    let diagnostic = Diagnostic::error(code::UNUSABLE_NUMBER, value.span, message, label);
    let replacement = quoted(written);
    Some(
        diagnostic
            .help(format!("write {replacement}"))
            .fix(value.span, replacement),
    )
}

fn properties(node: &Node, row: &Statement, found: &mut Vec<Diagnostic>) {
    let mut seen = BTreeMap::new();
    for property in &node.properties {
        let key = &property.key;
        if let Properties::Known(known) = row.properties
            && row.property(key).is_none()
        {
            found.push(unknown_property(key, row, known));
            continue;
        }
        if let Some(first) = seen.insert(key.as_str(), key.span) {
            let message = format!("`{}` twice", visible(key));
            found.push(
                Diagnostic::error(code::DUPLICATE_PROPERTY, property.span(), message, "again")
                    .and(first, "first here")
                    .help("delete one"),
            );
        }
    }
    if matches!(row.properties, Properties::Open) && node.properties.is_empty() {
        let message = format!("`{}` needs at least one NAME=VALUE", row.name);
        found.push(arity::nothing(node, row, message));
    }
}

fn unknown_property(key: &Spanned<String>, row: &Statement, known: &[Property]) -> Diagnostic {
    let names: Vec<&str> = known.iter().map(|property| property.name).collect();
    let message = format!("`{}` has no `{}`", row.name, visible(key));
    let diagnostic = Diagnostic::error(code::UNKNOWN_PROPERTY, key.span, message, "unknown");
    match meant(key, names.clone()) {
        Some(near) => diagnostic
            .help(format!("did you mean `{near}`?"))
            .fix(key.span, near),
        None if names.is_empty() => diagnostic.help(format!("written: {}", row.form)),
        None => diagnostic.help(format!("it has: {}", names.join(", "))),
    }
}

fn block(node: &Node, row: &Statement, found: &mut Vec<Diagnostic>) {
    if node.children.is_some() && row.block.is_none() {
        let message = format!("`{}` has no block", row.name);
        found.push(
            Diagnostic::error(
                code::UNKNOWN_PROPERTY,
                node.span,
                message,
                "a block is not for it",
            )
            .help(format!("written: {}", row.form)),
        );
    }
}
