//! Text → tree. The one file that knows the `kdl` crate.
//!
//! The parser is recursive, and a stack overflow aborts the process, so it runs on a thread of its own with a large
//! (virtual) stack. `limits.rs` has already refused what makes it exponential.

use std::thread;

use kdl::{KdlDiagnostic, KdlDocument, KdlEntry, KdlError, KdlIdentifier, KdlNode, KdlValue};
use miette::SourceSpan;

use crate::code;
use crate::diag::Diagnostic;
use crate::span::{FileId, Span, Spanned};
use crate::tree::{Data, Node, Property, Value};

const STACK: usize = 256 << 20;

/// How many of the parser's complaints are kept: one slip can yield thousands.
const COMPLAINTS: usize = 20;

/// Parses a file that `limits.rs` has passed.
pub(crate) fn parse(text: &str, file: FileId) -> Result<Vec<Node>, Vec<Diagnostic>> {
    thread::scope(|scope| {
        let parser = thread::Builder::new()
            .name("kdl".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, || parse_here(text, file));
        let thread = parser.map_err(|error| broken(file, &format!("no thread: {error}")))?;
        thread
            .join()
            .unwrap_or_else(|_| Err(broken(file, "it gave up")))
    })
}

fn parse_here(text: &str, file: FileId) -> Result<Vec<Node>, Vec<Diagnostic>> {
    let reader = Reader { text, file };
    match KdlDocument::parse_v2(text) {
        Ok(document) => Ok(reader.nodes(&document)),
        Err(error) => Err(reader.complaints(&error)),
    }
}

fn broken(file: FileId, why: &str) -> Vec<Diagnostic> {
    let start = Span::new(file, 0, 0);
    vec![Diagnostic::error(
        code::NOT_KDL,
        start,
        format!("the KDL parser failed: {why}"),
        "",
    )]
}

/// Translates what the parser hands back. Its spans are clamped: not all of them are right.
struct Reader<'a> {
    text: &'a str,
    file: FileId,
}

impl Reader<'_> {
    fn nodes(&self, document: &KdlDocument) -> Vec<Node> {
        document
            .nodes()
            .iter()
            .map(|node| self.node(node))
            .collect()
    }

    fn node(&self, node: &KdlNode) -> Node {
        let name = self.identifier(node.name());
        let annotation = node.ty().map(|ty| self.identifier(ty));
        let mut arguments = Vec::new();
        let mut properties = Vec::new();
        for entry in node.entries() {
            let value = self.value(entry);
            match entry.name() {
                Some(key) => properties.push(Property {
                    key: self.identifier(key),
                    value,
                }),
                None => arguments.push(value),
            }
        }
        let entries = arguments
            .iter()
            .chain(properties.iter().map(|property| &property.value));
        let mut end = entries
            .map(|value| value.span.end)
            .fold(name.span.end, u32::max);
        if node.children().is_some() {
            // The parser's span of a node includes the space after it.
            let whole = self.span(node.span());
            let slice = self
                .text
                .get(whole.start as usize..whole.end as usize)
                .unwrap_or("");
            end = end.max(whole.start + length(slice.trim_end()));
        }
        Node {
            span: Span { end, ..name.span },
            name,
            annotation,
            arguments,
            properties,
            children: node.children().map(|children| self.nodes(children)),
        }
    }

    fn value(&self, entry: &KdlEntry) -> Value {
        let whole = self.span(entry.span());
        let spelled = entry
            .format()
            .map_or(whole.end - whole.start, |f| length(&f.value_repr));
        let start = whole.end.saturating_sub(spelled).max(whole.start);
        let data = match entry.value() {
            KdlValue::String(text) => Data::Text(text.clone()),
            KdlValue::Integer(number) => Data::Integer(*number),
            KdlValue::Bool(truth) => Data::Bool(*truth),
            KdlValue::Float(_) => Data::Float,
            KdlValue::Null => Data::Null,
        };
        Value {
            data,
            annotation: entry.ty().map(|ty| self.identifier(ty)),
            span: Span { start, ..whole },
            given: None,
        }
    }

    fn identifier(&self, identifier: &KdlIdentifier) -> Spanned<String> {
        Spanned::new(identifier.value().to_owned(), self.span(identifier.span()))
    }

    fn complaints(&self, error: &KdlError) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        for complaint in &error.diagnostics {
            let diagnostic = self.complaint(complaint);
            let place = diagnostic.position();
            if found.iter().all(|earlier| earlier.position() != place) {
                found.push(diagnostic);
            }
            if found.len() == COMPLAINTS {
                break;
            }
        }
        found
    }

    fn complaint(&self, complaint: &KdlDiagnostic) -> Diagnostic {
        let message = complaint.message.as_deref().unwrap_or("this is not KDL");
        let label = complaint.label.as_deref().unwrap_or("here");
        let diagnostic =
            Diagnostic::error(code::NOT_KDL, self.span(complaint.span), message, label);
        match &complaint.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }

    /// The span, moved inwards to character boundaries of the text.
    fn span(&self, span: SourceSpan) -> Span {
        let clamp = |offset: usize| self.text.floor_char_boundary(offset.min(self.text.len()));
        let start = clamp(span.offset());
        let end = clamp(span.offset().saturating_add(span.len())).max(start);
        Span::new(self.file, offset(start), offset(end))
    }
}

fn length(text: &str) -> u32 {
    offset(text.len())
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
