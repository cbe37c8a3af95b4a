//! `atelier.lint/1`: findings as data that others rely on. Fields are in alphabetical order.

use serde::Serialize;

use crate::diag::{Diagnostic, Edit, Label, Severity};
use crate::position::{Position, position};
use crate::source::Sources;
use crate::span::Span;

#[derive(Debug, Serialize)]
pub struct ReportData {
    /// In source order.
    pub findings: Vec<FindingData>,
    pub schema: &'static str,
}

#[derive(Debug, Serialize)]
pub struct FindingData {
    pub code: String,
    /// What `lint --fix` would write; `null` also where that holds a secret.
    pub fix: Option<FixData>,
    pub help: Option<String>,
    /// The first is where the fault is.
    pub labels: Vec<LabelData>,
    pub message: String,
    pub severity: &'static str,
    /// The expansions that brought the text, innermost first.
    pub via: Vec<ViaData>,
}

#[derive(Debug, Serialize)]
pub struct FixData {
    pub place: PlaceData,
    pub replacement: String,
}

#[derive(Debug, Serialize)]
pub struct LabelData {
    pub place: PlaceData,
    pub text: String,
}

#[derive(Debug, Serialize)]
pub struct ViaData {
    pub place: PlaceData,
    /// Such as `use node`.
    pub what: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct PlaceData {
    pub end: Position,
    /// From the project's root.
    pub file: String,
    /// How many bytes.
    pub length: u32,
    /// The first byte.
    pub offset: u32,
    pub start: Position,
}

/// Findings that [`crate::diag::presentable`] has passed.
pub fn report(found: &[Diagnostic], sources: &Sources) -> ReportData {
    ReportData {
        findings: found.iter().map(|f| finding(f, sources)).collect(),
        schema: "atelier.lint/1",
    }
}

fn finding(found: &Diagnostic, sources: &Sources) -> FindingData {
    let label = |label: &Label| LabelData {
        place: place(label.span, sources),
        text: label.text.clone(),
    };
    let via = found.trace.iter().map(|expansion| ViaData {
        place: place(expansion.span, sources),
        what: expansion.what.clone(),
    });
    FindingData {
        code: found.code.to_string(),
        fix: found.fix.as_deref().and_then(|edit| fix(edit, sources)),
        help: found.help.clone(),
        labels: found.labels.iter().map(label).collect(),
        message: found.message.clone(),
        severity: match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        via: via.collect(),
    }
}

fn fix(edit: &Edit, sources: &Sources) -> Option<FixData> {
    edit.is_presentable().then(|| FixData {
        place: place(edit.span, sources),
        replacement: edit.replacement.clone(),
    })
}

fn place(span: Span, sources: &Sources) -> PlaceData {
    let text = sources.text(span.file);
    PlaceData {
        end: position(text, span.end as usize),
        file: sources.name(span.file).to_owned(),
        length: span.end.saturating_sub(span.start),
        offset: span.start,
        start: position(text, span.start as usize),
    }
}
