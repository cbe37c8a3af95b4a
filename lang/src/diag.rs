//! Diagnostics as plain data. Rendering is elsewhere (`render.rs`), and so is the meaning of a code (`code.rs`, the book).

use std::fmt;

use crate::secret;
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
    /// The way out.
    pub help: Option<String>,
    /// A machine-applicable edit that carries out `help`.
    pub fix: Option<Edit>,
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
            fix: Some(Edit {
                span,
                replacement: replacement.into(),
            }),
            ..self
        }
    }

    /// The same finding as it may be shown. Only the edit keeps what it must write.
    fn masked(mut self) -> Self {
        self.message = secret::masked(&self.message);
        self.help = self.help.map(|help| secret::masked(&help));
        for label in &mut self.labels {
            label.text = secret::masked(&label.text);
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

/// Findings as they may be shown: in source order, without what looks like a secret.
pub fn presentable(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.sort_by_key(Diagnostic::position);
    found.into_iter().map(Diagnostic::masked).collect()
}
