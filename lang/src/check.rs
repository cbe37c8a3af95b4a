//! Checks a node against the table: known here, right number of arguments, known properties, no annotation, no block
//! where there is none. What the values mean is `decl.rs`'s business.

use std::collections::BTreeMap;

use crate::code;
use crate::diag::Diagnostic;
use crate::span::{Span, Spanned};
use crate::spelling::{escape, quoted, visible};
use crate::suggest::meant;
use crate::table::{self, LATER, Place, Properties, RESERVED, STATEMENTS, Statement};
use crate::tree::{Data, Node, Value};

/// The table's row for a node that can be read on, whatever else was found wrong with it.
pub(crate) fn statement(
    node: &Node,
    place: Place,
    text: &str,
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
    annotations(node, found);
    values(node, text, found);
    let is_complete = arity(node, row, text, found);
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
                .help("a later version has it; write what it stands for by hand, or wait"),
        );
    }
    if RESERVED.contains(&name.as_str()) {
        let message = format!("`{}` is reserved", name.value);
        return Err(
            Diagnostic::error(code::NOT_YET, name.span, message, "not in this version")
                .help("a file lists what a snapshot contains, it never computes"),
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
    };
    let message = format!("`{}` cannot stand in {inside}", row.name);
    let help = match row.places {
        [Place::File] => "move it to the top level",
        [Place::Repo, ..] => "move it into the block of a `repo`",
        _ => "move it out of the block, to the prebuild",
    };
    Diagnostic::error(code::UNKNOWN_STATEMENT, node.name.span, message, "not here").help(help)
}

pub(crate) fn annotations(node: &Node, found: &mut Vec<Diagnostic>) {
    let values = node
        .arguments
        .iter()
        .chain(node.properties.iter().map(|p| &p.value));
    for value in values {
        let Some(annotation) = &value.annotation else {
            continue;
        };
        found.push(if annotation.value == "f" {
            let message = "`(f)` values are not in this version";
            Diagnostic::error(code::NOT_YET, annotation.span, message, "interpolation")
                .help("write the value out")
        } else {
            unknown_annotation(annotation)
        });
    }
    if let Some(annotation) = &node.annotation {
        found.push(unknown_annotation(annotation));
    }
}

fn unknown_annotation(annotation: &Spanned<String>) -> Diagnostic {
    let message = format!("no annotation `({})`", visible(annotation));
    Diagnostic::error(code::UNKNOWN_PROPERTY, annotation.span, message, "unknown")
        .help("leave it out: every value is text, and the statement checks it")
}

pub(crate) fn values(node: &Node, text: &str, found: &mut Vec<Diagnostic>) {
    let values = node
        .arguments
        .iter()
        .chain(node.properties.iter().map(|p| &p.value));
    found.extend(values.filter_map(|value| unusable(value, text)));
}

/// A value that is no text: its spelling would not survive.
fn unusable(value: &Value, text: &str) -> Option<Diagnostic> {
    let written = text
        .get(value.span.start as usize..value.span.end as usize)
        .unwrap_or("");
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

/// Whether the number of arguments is right.
fn arity(node: &Node, row: &Statement, text: &str, found: &mut Vec<Diagnostic>) -> bool {
    let count = node.arguments.len();
    if count < row.arity.least {
        let message = format!("`{}` needs {}", row.name, amount(row));
        found.push(
            Diagnostic::error(
                code::WRONG_ARGUMENTS,
                node.name.span,
                message,
                "nothing follows",
            )
            .help(format!("such as: {}", row.example)),
        );
        return false;
    }
    if row.arity.most.is_none_or(|most| count <= most) && !is_split_command(node, row) {
        return true;
    }
    let message = format!("`{}` takes {}", row.name, amount(row));
    let most = row.arity.most.unwrap_or(0);
    let extra = Span {
        start: node
            .arguments
            .get(most)
            .map_or(node.span.start, |value| value.span.start),
        end: node
            .arguments
            .last()
            .map_or(node.span.end, |value| value.span.end),
        ..node.span
    };
    let diagnostic = Diagnostic::error(code::WRONG_ARGUMENTS, extra, message, "too many");
    found.push(match one_string(node, row, text) {
        Some((span, command)) => diagnostic
            .help(format!(
                "quote it whole: {} {}",
                row.name,
                visible(&command)
            ))
            .fix(span, command),
        None => diagnostic.help(format!("written: {}", row.form)),
    });
    false
}

fn amount(row: &Statement) -> &'static str {
    match (row.name, row.arity.least, row.arity.most) {
        ("run" | "about", ..) => "one string",
        ("group", ..) => "a name and at least one target",
        ("env" | "resources", ..) => "only properties, NAME=VALUE",
        ("file", ..) => "a destination, and the text or from=",
        (_, 1, None) => "at least one argument",
        (_, _, Some(1)) => "one argument",
        _ => "another number of arguments",
    }
}

/// `run bun test --filter=x`: words of a command that KDL took apart.
fn is_split_command(node: &Node, row: &Statement) -> bool {
    let first = node.arguments.first().map_or(0, |value| value.span.start);
    let is_flag = |key: &Spanned<String>| key.starts_with('-') && key.span.start > first;
    row.name == "run"
        && node
            .properties
            .iter()
            .any(|property| is_flag(&property.key))
}

/// The words of a `run` or an `about`, joined as they stand in the file.
fn one_string(node: &Node, row: &Statement, text: &str) -> Option<(Span, String)> {
    if !matches!(row.name, "run" | "about") {
        return None;
    }
    let Properties::Known(known) = row.properties else {
        return None;
    };
    let first = node.arguments.first()?.span;
    let flags = node
        .properties
        .iter()
        .filter(|property| !known.contains(&property.key.as_str()));
    let ends = node.arguments.iter().map(|value| value.span.end);
    let end = ends
        .chain(flags.map(|property| property.value.span.end))
        .max()?;
    let inside = |span: Span| span.start > first.start && span.start < end;
    if node
        .properties
        .iter()
        .any(|p| known.contains(&p.key.as_str()) && inside(p.key.span))
    {
        return None;
    }
    let words = text.get(first.start as usize..end as usize)?;
    let is_plain = !words.contains(['"', '\n', '\r', '#', '\\']);
    is_plain.then(|| (Span { end, ..first }, quoted(words)))
}

fn properties(node: &Node, row: &Statement, found: &mut Vec<Diagnostic>) {
    let mut seen = BTreeMap::new();
    for property in &node.properties {
        let key = &property.key;
        if let Properties::Known(known) = row.properties
            && !known.contains(&key.as_str())
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
    if row.properties == Properties::Open && node.properties.is_empty() {
        let message = format!("`{}` needs at least one NAME=VALUE", row.name);
        found.push(
            Diagnostic::error(
                code::WRONG_ARGUMENTS,
                node.name.span,
                message,
                "nothing follows",
            )
            .help(format!("such as: {}", row.example)),
        );
    }
}

fn unknown_property(key: &Spanned<String>, row: &Statement, known: &[&'static str]) -> Diagnostic {
    let message = format!("`{}` has no `{}`", row.name, visible(key));
    let diagnostic = Diagnostic::error(code::UNKNOWN_PROPERTY, key.span, message, "unknown");
    match meant(key, known.iter().copied()) {
        Some(near) => diagnostic
            .help(format!("did you mean `{near}`?"))
            .fix(key.span, near),
        None if known.is_empty() => diagnostic.help(format!("written: {}", row.form)),
        None => diagnostic.help(format!("it has: {}", known.join(", "))),
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
