//! Findings as SARIF 2.1.0, which code scanning reads.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use atelier_lang::code;
use atelier_lang::diag::{Code, Diagnostic, Edit, Severity};
use atelier_lang::position::{Position, position};
use atelier_lang::source::Sources;
use atelier_lang::span::Span;
use serde_json::{Value, json};

/// Places are those of the project: what the library brings is told where it is used.
pub(super) fn log(found: &[Diagnostic], sources: &Sources) -> Value {
    let codes: BTreeSet<Code> = found.iter().map(|finding| finding.code).collect();
    let rule = |code: &Code| {
        let title = code::title(*code).unwrap_or_default();
        json!({"id": code.to_string(), "shortDescription": {"text": title}})
    };
    let results = found.iter().map(|finding| result(finding, sources));
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "atelier",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": codes.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "utf16CodeUnits",
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

fn result(finding: &Diagnostic, sources: &Sources) -> Value {
    let mut text = finding.message.clone();
    for more in finding
        .labels
        .first()
        .map(|label| &label.text)
        .into_iter()
        .chain(&finding.help)
    {
        if !more.is_empty() {
            text.push('\n');
            text.push_str(more);
        }
    }
    let mut labels = finding.labels.iter();
    let place = labels.next().map(|label| location(label.span, sources));
    let mut result = json!({
        "ruleId": finding.code.to_string(),
        "level": match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "message": {"text": text},
        "locations": Vec::from_iter(place),
    });
    let related = labels.map(|label| {
        let mut place = location(label.span, sources);
        place["message"] = json!({"text": label.text});
        place
    });
    let related: Vec<Value> = related.collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    if let Some(edit) = finding.fix.as_ref().filter(|edit| edit.is_presentable()) {
        result["fixes"] = json!([fix(
            edit,
            finding.help.as_deref().unwrap_or_default(),
            sources
        )]);
    }
    result
}

fn location(span: Span, sources: &Sources) -> Value {
    let span = sources.in_project(span);
    json!({"physicalLocation": {
        "artifactLocation": artifact(span, sources),
        "region": region(span, sources),
    }})
}

fn artifact(span: Span, sources: &Sources) -> Value {
    json!({"uri": uri(sources.name(span.file)), "uriBaseId": "%SRCROOT%"})
}

fn region(span: Span, sources: &Sources) -> Value {
    let text = sources.text(span.file);
    let (start, end): (Position, Position) = (
        position(text, span.start as usize),
        position(text, span.end as usize),
    );
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    })
}

fn fix(edit: &Edit, description: &str, sources: &Sources) -> Value {
    json!({
        "description": {"text": description},
        "artifactChanges": [{
            "artifactLocation": artifact(edit.span, sources),
            "replacements": [{
                "deletedRegion": region(edit.span, sources),
                "insertedContent": {"text": edit.replacement},
            }],
        }],
    })
}

/// A path as a relative reference.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_references() {
        assert_eq!(uri("a b/é%.kdl"), "a%20b/%C3%A9%25.kdl");
    }
}
