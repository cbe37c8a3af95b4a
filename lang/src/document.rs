//! Other files in the language's notation, such as a configuration: the same guard, advice on spelling and parser, and
//! none of the language's statements.

use crate::check;
use crate::code;
use crate::diag::Diagnostic;
use crate::files::Files;
use crate::graph::ImageRef;
use crate::image;
use crate::inputs::Limits;
use crate::load;
use crate::secret;
use crate::source::{ReadError, Sources};
use crate::span::Spanned;
use crate::tree::{Node, Value};
use crate::value;

/// The largest file that is read, in bytes.
pub const LIMIT: u64 = Limits::NORMAL.file;

/// What a file holds, as far as it could be read, and what is wrong with it as text.
#[derive(Debug)]
pub struct Document {
    /// Also of a file with findings, so that whoever knows its statements can tell the rest. Spans are those of the file.
    pub nodes: Vec<Node>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses what reading the file called `name` has yielded, and adds it to the sources. A value that has no text has a
/// finding, and so has one that looks like a secret.
pub fn parse(name: &str, read: Result<Vec<u8>, ReadError>, sources: &mut Sources) -> Document {
    let mut diagnostics = Vec::new();
    let mut loaded = load::load(name, read, LIMIT, sources, &mut diagnostics);
    let Some(mut nodes) = loaded.tree.take() else {
        return Document {
            nodes: Vec::new(),
            diagnostics,
        };
    };
    let mut files = Files::default();
    files.add(None, loaded);
    let mut later = Vec::new();
    for node in &nodes {
        check_node(node, &files, &mut later);
    }
    diagnostics.extend(files.placed(later));
    for node in &mut nodes {
        place(node, &files);
    }
    Document { nodes, diagnostics }
}

/// Reads a value as what `from` can name.
pub fn image(text: &Spanned<String>) -> Result<ImageRef, Diagnostic> {
    image::parse(text).map_err(|problem| problem.at(text.span))
}

/// Whether a text is a platform, such as `linux/amd64`.
pub fn is_platform(text: &str) -> bool {
    value::platform(text).is_ok()
}

fn check_node(node: &Node, files: &Files, found: &mut Vec<Diagnostic>) {
    check::annotations(node, |_| &[], found);
    check::values(node, files, found);
    found.extend(values(node).filter_map(secret_in));
    for child in node.children.iter().flatten() {
        check_node(child, files, found);
    }
}

fn values(node: &Node) -> impl Iterator<Item = &Value> {
    let properties = node.properties.iter().map(|property| &property.value);
    node.arguments.iter().chain(properties)
}

fn secret_in(value: &Value) -> Option<Diagnostic> {
    let (_, kind) = secret::first(&value.text()?)?;
    let message = format!("this looks like {kind}");
    let label = "a secret in a file is no secret";
    let help = "take it out, and rotate it; secrets are given with --secret";
    Some(Diagnostic::error(code::SECRET, value.span, message, label).help(help))
}

/// Moves the spans to where they are in the file itself.
fn place(node: &mut Node, files: &Files) {
    let at = |span: &mut _| *span = files.before(*span);
    let value = |value: &mut Value| {
        at(&mut value.span);
        value.annotation.iter_mut().for_each(|a| at(&mut a.span));
    };
    at(&mut node.span);
    at(&mut node.name.span);
    node.annotation.iter_mut().for_each(|a| at(&mut a.span));
    node.arguments.iter_mut().for_each(value);
    for property in &mut node.properties {
        at(&mut property.key.span);
        value(&mut property.value);
    }
    for child in node.children.iter_mut().flatten() {
        place(child, files);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Sources, Document) {
        let mut sources = Sources::default();
        let document = parse("config.kdl", Ok(text.into()), &mut sources);
        (sources, document)
    }

    #[test]
    fn a_file_of_other_statements_is_read_with_its_places() {
        let (sources, document) = parsed("store \"/x\"\nhost { path a; }\n");
        assert_eq!(document.diagnostics, []);
        let names = document.nodes.iter().map(|node| node.name.value.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["store", "host"]);
        let path = &document.nodes[1].children.as_ref().unwrap()[0];
        assert_eq!(sources.slice(path.arguments[0].span), "a");
        assert_eq!(sources.line(path.span), 2);
    }

    #[test]
    fn what_is_mended_keeps_its_place_in_the_file() {
        let (sources, document) = parsed("store \"/x\" on=true # a comment\nalias a b\n");
        assert_eq!(document.diagnostics.len(), 2);
        let alias = &document.nodes[1];
        assert_eq!(sources.slice(alias.span), "alias a b");
    }

    #[test]
    fn values_without_a_text_and_secrets_are_found_at_any_depth() {
        let token = format!("ghp_{}", "a".repeat(36));
        let (sources, document) = parsed(&format!("a {{ b 1.5; c {token}; (t)d #null; }}"));
        let mut codes: Vec<_> = document.diagnostics.iter().map(|d| d.code).collect();
        codes.sort_unstable();
        let number = code::UNUSABLE_NUMBER;
        let expected = [number, number, code::UNKNOWN_PROPERTY, code::SECRET];
        assert_eq!(codes, expected);
        assert!(!sources.text(crate::span::FileId(0)).contains(&token));
    }
}
