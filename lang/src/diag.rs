//! Diagnostics as plain data. Rendering is elsewhere (`render.rs`), and so is the meaning of a code (`code.rs`, the book).

use std::collections::BTreeMap;
use std::fmt;

use crate::secret;
use crate::source::{Expansion, Sources};
use crate::span::Span;

/// A stable code: `A` and four digits. Never reused for another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Warning,
    Error,
}

/// One finding: what is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    /// The first is where the fault is; further ones cite what it conflicts with.
    pub labels: Vec<Label>,
    /// The expansions that brought the text at the first label, innermost first.
    pub trace: Vec<Expansion>,
    /// The way out.
    pub help: Option<String>,
    /// A machine-applicable edit that carries out `help`.
    pub fix: Option<Box<Edit>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    pub text: String,
}

/// Replaces the text at `span`. The replacement may repeat a secret that the file holds: it is for the file, not for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub span: Span,
    pub replacement: String,
}

/// A value, if there is one, and everything that was found on the way; errors mean there is none.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    pub value: Option<T>,
    /// In source order.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Outcome<T> {
    /// Without a finding.
    pub fn of(value: T) -> Self {
        Self {
            value: Some(value),
            diagnostics: Vec::new(),
        }
    }
}

impl Edit {
    /// Whether it may be shown: it holds nothing that looks like a secret.
    pub fn is_presentable(&self) -> bool {
        secret::masked(&self.replacement) == self.replacement
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "A{:04}", self.0)
    }
}

impl Diagnostic {
    /// An error at `span`; `label` says what stands there.
    pub fn error(
        code: Code,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: vec![Label {
                span,
                text: label.into(),
            }],
            trace: Vec::new(),
            help: None,
            fix: None,
        }
    }

    /// The same finding as a warning: it does not stop an evaluation.
    #[must_use]
    pub fn warning(self) -> Self {
        Self {
            severity: Severity::Warning,
            ..self
        }
    }

    /// Cites another place that takes part in the fault.
    #[must_use]
    pub fn and(mut self, span: Span, label: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: label.into(),
        });
        self
    }

    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    #[must_use]
    pub fn fix(self, span: Span, replacement: impl Into<String>) -> Self {
        Self {
            fix: Some(Box::new(Edit {
                span,
                replacement: replacement.into(),
            })),
            ..self
        }
    }

    /// The same finding with its places moved.
    #[must_use]
    pub(crate) fn moved(mut self, place: impl Fn(Span) -> Span) -> Self {
        for label in &mut self.labels {
            label.span = place(label.span);
        }
        if let Some(fix) = &mut self.fix {
            fix.span = place(fix.span);
        }
        self
    }

    /// The same finding with its trace.
    #[must_use]
    pub fn traced(mut self, sources: &Sources) -> Self {
        let first = self.labels.first().map(|label| label.span);
        let trace = first.into_iter().flat_map(|span| sources.trace(span));
        self.trace = trace.cloned().collect();
        self
    }

    /// The same finding as it may be shown. Only the edit keeps what it must write.
    fn masked(mut self) -> Self {
        self.message = secret::masked(&self.message);
        self.help = self.help.map(|help| secret::masked(&help));
        for label in &mut self.labels {
            label.text = secret::masked(&label.text);
        }
        for expansion in &mut self.trace {
            expansion.what = secret::masked(&expansion.what);
        }
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Where the fault is: findings are reported in this order.
    pub(crate) fn position(&self) -> (Option<Span>, Code) {
        (self.labels.first().map(|label| label.span), self.code)
    }
}

/// Findings as they may be shown: in source order, with their traces, without what looks like a secret.
pub fn presentable(mut found: Vec<Diagnostic>, sources: &Sources) -> Vec<Diagnostic> {
    found.sort_by_key(Diagnostic::position);
    let shown = |finding: Diagnostic| finding.traced(sources).masked();
    found.into_iter().map(shown).collect()
}

/// What is said of a text, however it came to where it counts: message and places.
type Said = (Code, String, Vec<(Span, String)>);

/// The findings without those that say again, of another expansion, what has been said of the same text.
pub(crate) fn distinct(found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut said: BTreeMap<Said, usize> = BTreeMap::new();
    let mut kept: Vec<(Diagnostic, usize)> = Vec::new();
    for finding in found {
        let labels = finding.labels.iter();
        let labels = labels.map(|label| (label.span.as_written(), label.text.clone()));
        let words = (finding.code, finding.message.clone(), labels.collect());
        match said.get(&words).copied() {
            Some(at) => kept[at].1 += 1,
            None => {
                said.insert(words, kept.len());
                kept.push((finding, 0));
            }
        }
    }
    let told = kept.into_iter().map(|(mut finding, again)| {
        let times = match again {
            0 => return finding,
            1 => "once more".to_owned(),
            again => format!("{again} times more"),
        };
        if !finding.trace.is_empty() {
            let help = finding.help.map_or(String::new(), |help| help + "\n");
            finding.help = Some(format!("{help}expansions say the same {times}"));
        }
        finding
    });
    told.collect()
}
