//! The miette adapter: findings as miette shows them. Only this file, the parser's adapter and the command line know
//! miette.

use std::fmt;

use miette::{LabeledSpan, NamedSource, SourceCode};

use crate::diag::{Diagnostic, Severity};
use crate::source::{Expansion, Sources};
use crate::span::Span;

/// A finding beside the text that it points into.
#[derive(Debug)]
pub struct Rendered {
    code: String,
    message: String,
    severity: miette::Severity,
    help: Option<String>,
    labels: Vec<LabeledSpan>,
    source: NamedSource<String>,
}

/// Prepares one finding for showing. Labels in other files than the first one's are told in the help.
pub fn render(diagnostic: &Diagnostic, sources: &Sources) -> Rendered {
    let first = diagnostic.labels.first().map(|label| label.span);
    let file = first.map(|span| span.file);
    let path = file.map_or("", |file| sources.name(file));
    let text = file.map_or("", |file| sources.text(file));
    let mut labels = Vec::new();
    let mut help: Vec<String> = diagnostic.help.iter().cloned().collect();
    for (index, label) in diagnostic.labels.iter().enumerate() {
        if Some(label.span.file) != file {
            let path = sources.name(label.span.file);
            help.push(format!(
                "{path}:{}: {}",
                sources.line(label.span),
                label.text
            ));
            continue;
        }
        let told = Some(label.text.clone()).filter(|text| !text.is_empty());
        let (start, length) = shown(label.span, text);
        labels.push(match index {
            0 => LabeledSpan::new_primary_with_span(told, (start, length)),
            _ => LabeledSpan::new(told, start, length),
        });
    }
    help.extend(expansions(diagnostic, sources));
    Rendered {
        code: diagnostic.code.to_string(),
        message: diagnostic.message.clone(),
        severity: match diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        },
        help: Some(help.join("\n")).filter(|help| !help.is_empty()),
        labels,
        source: NamedSource::new(path, text.to_owned()),
    }
}

/// How what is shown came to where it counts: at first the text that is at fault, then others that came another way.
fn expansions(diagnostic: &Diagnostic, sources: &Sources) -> Vec<String> {
    let told = |expansion: &Expansion| {
        let path = sources.name(expansion.span.file);
        let line = sources.line(expansion.span);
        format!("`{}` at {path}:{line}", expansion.what)
    };
    let trace = diagnostic.trace.iter();
    let mut lines: Vec<String> = trace
        .map(|expansion| format!("while expanding {}", told(expansion)))
        .collect();
    let Some((first, others)) = diagnostic.labels.split_first() else {
        return lines;
    };
    for label in others
        .iter()
        .filter(|label| label.span.via != first.span.via)
    {
        let trace: Vec<String> = sources.trace(label.span).map(told).collect();
        if !trace.is_empty() {
            lines.push(format!("{}: from {}", label.text, trace.join(", in ")));
        }
    }
    lines
}

/// The span within the text, at character boundaries. A block of many lines is shown by its first.
fn shown(span: Span, text: &str) -> (usize, usize) {
    let clamp = |at: u32| text.floor_char_boundary((at as usize).min(text.len()));
    let (start, end) = (clamp(span.start), clamp(span.end));
    let slice = text.get(start..end).unwrap_or("");
    (start, slice.find(['\n', '\r']).unwrap_or(slice.len()))
}

impl fmt::Display for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Rendered {}

impl miette::Diagnostic for Rendered {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }
}
