//! Why a command failed: a stable code, what happened, the way out, and the exit code that goes with it.

use atelier_lang::diag::Diagnostic;
use atelier_lang::source::Sources;
use atelier_lang::span::Span;

use super::exit;
use crate::backend::{BackendError, BakeError, Class};
use crate::resolve::PinError;

/// Shown by `ui::show_failure`.
#[derive(Debug)]
pub(super) enum Failure {
    /// The file has errors; or an input it names cannot be resolved, which is shown the same way.
    File { sources: Sources, diagnostics: Vec<Diagnostic>, exit: u8 },
    /// Everything that has no place in the file.
    Message(Message),
}

#[derive(Debug)]
pub(super) struct Message {
    /// `A` and four digits.
    pub code: &'static str,
    pub text: String,
    pub help: Option<String>,
    pub exit: u8,
}

impl Failure {
    pub(super) fn usage(text: impl Into<String>, help: impl Into<String>) -> Self {
        let help = Some(help.into());
        Self::Message(Message { code: "A0801", text: text.into(), help, exit: exit::USAGE })
    }

    pub(super) fn machine(text: &str) -> Self {
        let text = text.to_owned();
        Self::Message(Message { code: "A0701", text, help: None, exit: exit::BACKEND })
    }

    pub(super) fn interrupted() -> Self {
        let text = "interrupted".to_owned();
        Self::Message(Message { code: "A0707", text, help: None, exit: exit::INTERRUPTED })
    }

    /// Inputs that could not be resolved, each where the file names it.
    pub(super) fn unresolved(sources: Sources, errors: Vec<(Span, PinError)>) -> Self {
        let diagnostics = errors.into_iter().map(|(span, error)| unresolved(span, error)).collect();
        Self::File { sources, diagnostics, exit: exit::UNRESOLVED }
    }
}

fn unresolved(span: Span, error: PinError) -> Diagnostic {
    use atelier_lang::diag::{Code, Label, Severity};
    Diagnostic {
        code: Code(501),
        severity: Severity::Error,
        message: format!("cannot resolve {}", error.input),
        labels: vec![Label { span, text: error.cause }],
        help: Some(error.help),
        fix: None,
    }
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        Self::Message(of_backend(&error))
    }
}

/// The message for a failed bake, without the node's name.
pub(super) fn of_bake(error: &BakeError) -> Message {
    let (code, exit, help) = match error {
        BakeError::Step { log, .. } => {
            ("A0704", exit::STEP_FAILED, Some(format!("the whole log: {}", log.display())))
        }
        BakeError::Timeout { log, .. } => {
            let help = format!("raise it with `resources timeout=`; the whole log: {}", log.display());
            ("A0705", exit::STEP_FAILED, Some(help))
        }
        BakeError::Checkout(error) => ("A0501", exit::UNRESOLVED, Some(error.help.clone())),
        BakeError::Cancelled => ("A0707", exit::INTERRUPTED, None),
        BakeError::Backend(error) => return of_backend(error),
    };
    Message { code, text: error.to_string(), help, exit }
}

fn of_backend(error: &BackendError) -> Message {
    let (code, exit) = match error.class {
        Class::Transient => ("A0701", exit::BACKEND),
        Class::Denied => ("A0702", exit::BACKEND),
        Class::Full => ("A0703", exit::BACKEND),
        Class::Lost => ("A0706", exit::BACKEND),
        Class::Bug => ("A0700", exit::BUG),
    };
    Message { code, text: error.message.clone(), help: error.help.clone(), exit }
}
