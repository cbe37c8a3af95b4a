//! The number of a statement's arguments.

use crate::code;
use crate::diag::Diagnostic;
use crate::files::Files;
use crate::span::{Span, Spanned};
use crate::spelling::{quoted, visible};
use crate::table::Statement;
use crate::tree::Node;

/// Whether the number of arguments is right.
pub(super) fn arity(
    node: &Node,
    row: &Statement,
    files: &Files,
    found: &mut Vec<Diagnostic>,
) -> bool {
    let count = node.arguments.len();
    let arity = row.arity();
    if count < arity.least {
        let message = format!("`{}` needs {}", row.name, amount(row));
        found.push(nothing(node, row, message));
        return false;
    }
    if arity.most.is_none_or(|most| count <= most) && !is_split_command(node, row) {
        return true;
    }
    let message = format!("`{}` takes {}", row.name, amount(row));
    let most = arity.most.unwrap_or(0);
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
    found.push(match one_string(node, row, files) {
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
    let arity = row.arity();
    match (row.name, arity.least, arity.most) {
        ("run" | "about", ..) => "one string",
        ("group", ..) => "a name and at least one target",
        ("env" | "resources" | "let" | "skip" | "cell", ..) => "only properties, NAME=VALUE",
        ("matrix", ..) => "only a block",
        ("use", ..) => "a template's name",
        ("param", ..) => "a name",
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
fn one_string(node: &Node, row: &Statement, files: &Files) -> Option<(Span, String)> {
    if !matches!(row.name, "run" | "about") {
        return None;
    }
    let is_known = |key: &str| row.property(key).is_some();
    let first = node.arguments.first()?.span;
    let flags = node
        .properties
        .iter()
        .filter(|property| !is_known(&property.key));
    let ends = node.arguments.iter().map(|value| value.span.end);
    let end = ends
        .chain(flags.map(|property| property.value.span.end))
        .max()?;
    let inside = |span: Span| span.start > first.start && span.start < end;
    if node
        .properties
        .iter()
        .any(|p| is_known(&p.key) && inside(p.key.span))
    {
        return None;
    }
    let words = files.slice(Span { end, ..first });
    let is_plain = !words.contains(['"', '\n', '\r', '#', '\\']);
    is_plain.then(|| (Span { end, ..first }, quoted(words)))
}

/// Nothing follows where something has to.
pub(super) fn nothing(node: &Node, row: &Statement, message: String) -> Diagnostic {
    let label = "nothing follows";
    Diagnostic::error(code::WRONG_ARGUMENTS, node.name.span, message, label)
        .help(format!("such as: {}", row.example))
}
