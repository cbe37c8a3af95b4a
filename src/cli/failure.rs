//! Why a command failed: a stable code, what happened, the way out, and the exit code that goes with it.

use atelier_lang::diag::{Code, Diagnostic, Label, Severity};
use atelier_lang::graph::Node;
use atelier_lang::source::Sources;
use atelier_lang::span::Span;

use super::exit;
use crate::backend::{BackendError, BakeError, Class, StepEnding};
use crate::config::Faults;
use crate::lock::{self, NotLocked, Unusable};
use crate::resolve::PinError;

/// Shown by `ui::show_failure`.
#[derive(Debug)]
pub(super) enum Failure {
    /// The file or a configuration has errors; or an input it names cannot be resolved, which is shown the same way.
    File {
        sources: Sources,
        diagnostics: Vec<Diagnostic>,
        exit: u8,
    },
    /// Everything that has no place in the file.
    Message(Message),
}

#[derive(Debug)]
pub(super) struct Message {
    pub code: Code,
    pub text: String,
    pub help: Option<String>,
    pub exit: u8,
}

impl Failure {
    pub(super) fn usage(text: impl Into<String>, help: impl Into<String>) -> Self {
        let help = Some(help.into());
        Self::Message(Message {
            code: Code(801),
            text: text.into(),
            help,
            exit: exit::USAGE,
        })
    }

    pub(super) fn machine(text: &str) -> Self {
        let text = text.to_owned();
        Self::Message(Message {
            code: Code(701),
            text,
            help: None,
            exit: exit::BACKEND,
        })
    }

    /// What must not happen.
    pub(super) fn bug(text: String) -> Self {
        Self::Message(Message {
            code: Code(700),
            text,
            help: None,
            exit: exit::BUG,
        })
    }

    pub(super) fn interrupted() -> Self {
        let text = "interrupted".to_owned();
        Self::Message(Message {
            code: Code(707),
            text,
            help: None,
            exit: exit::INTERRUPTED,
        })
    }

    /// What is wrong with a lock as a whole.
    pub(super) fn lock(text: impl Into<String>, help: impl Into<String>) -> Self {
        let help = Some(help.into());
        Self::Message(Message {
            code: lock::UNUSABLE,
            text: text.into(),
            help,
            exit: exit::LOCK,
        })
    }

    /// Inputs that `--locked` wants in the lock, each where the file names it. `label` says what the lock has.
    pub(super) fn not_locked(
        sources: Sources,
        missing: Vec<NotLocked>,
        label: impl Fn(&NotLocked) -> String,
    ) -> Self {
        let diagnostic = |missing: NotLocked| {
            let message = format!("{} is not locked", missing.input);
            Diagnostic::error(lock::UNUSABLE, missing.span, message, label(&missing))
                .help("run `atelier update`, and commit the lock")
        };
        Self::File {
            sources,
            diagnostics: missing.into_iter().map(diagnostic).collect(),
            exit: exit::LOCK,
        }
    }

    /// Inputs that could not be resolved, each where the file names it.
    pub(super) fn unresolved(sources: Sources, errors: Vec<(Span, PinError)>) -> Self {
        let diagnostics = errors
            .into_iter()
            .map(|(span, error)| unresolved(span, error))
            .collect();
        Self::File {
            sources,
            diagnostics,
            exit: exit::UNRESOLVED,
        }
    }
}

fn unresolved(span: Span, error: PinError) -> Diagnostic {
    Diagnostic {
        code: Code(501),
        severity: Severity::Error,
        message: format!("cannot resolve {}", error.input),
        labels: vec![Label {
            span,
            text: error.cause,
        }],
        help: Some(error.help),
        fix: None,
        trace: Vec::new(),
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Self {
        Self::File {
            sources: faults.sources,
            diagnostics: faults.diagnostics,
            exit: exit::USAGE,
        }
    }
}

impl From<Unusable> for Failure {
    fn from(lock: Unusable) -> Self {
        Self::File {
            sources: lock.sources,
            diagnostics: lock.diagnostics,
            exit: exit::LOCK,
        }
    }
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        Self::Message(of_backend(&error))
    }
}

/// A failed bake, shown where the file has what failed.
pub(super) fn diagnose(node: &Node, error: &BakeError) -> (Diagnostic, u8) {
    let name = &node.name;
    let (span, text) = match error {
        BakeError::Step { index, .. } => match node.steps.get(*index) {
            Some(step) => (step.span, "this step".to_owned()),
            None => (name.span, String::new()),
        },
        BakeError::Checkout(error) => (name.span, error.cause.clone()),
        BakeError::Outside { names: paths, .. } | BakeError::SecretInside { paths, .. } => {
            (name.span, paths.join(", "))
        }
        BakeError::Timeout { .. } | BakeError::Cancelled | BakeError::Backend(_) => {
            (name.span, String::new())
        }
    };
    let message = of_bake(error);
    let diagnostic = Diagnostic {
        code: message.code,
        severity: Severity::Error,
        message: format!("{}: {}", name.value, message.text),
        labels: vec![Label { span, text }],
        help: message.help,
        fix: None,
        trace: Vec::new(),
    };
    (diagnostic, message.exit)
}

/// The message for a failed bake, without the node's name.
fn of_bake(error: &BakeError) -> Message {
    let (code, exit, help) = match error {
        BakeError::Step {
            ending: StepEnding::TimedOut(_),
            log,
            ..
        } => {
            let help = format!("raise it with `timeout=`; the whole log: {}", log.display());
            (Code(705), exit::STEP_FAILED, Some(help))
        }
        BakeError::Step {
            ending: StepEnding::OutOfMemory(_),
            log,
            ..
        } => {
            let help = format!(
                "raise it with `resources memory=`; the whole log: {}",
                log.display()
            );
            (Code(708), exit::STEP_FAILED, Some(help))
        }
        BakeError::Step { log, .. } => (
            Code(704),
            exit::STEP_FAILED,
            Some(format!("the whole log: {}", log.display())),
        ),
        BakeError::Timeout { log, .. } => {
            let help = format!(
                "raise it with `resources timeout=`; the whole log: {}",
                log.display()
            );
            (Code(705), exit::STEP_FAILED, Some(help))
        }
        BakeError::Checkout(error) => (Code(501), exit::UNRESOLVED, Some(error.help.clone())),
        BakeError::Outside { .. } => {
            let help = "write below /home/dev, or leave out --strict-outside".to_owned();
            (Code(709), exit::STEP_FAILED, Some(help))
        }
        BakeError::SecretInside { .. } => {
            let help = "have the step remove it, or pass the secret in a way that writes no file; nothing was published";
            (Code(710), exit::STEP_FAILED, Some(help.to_owned()))
        }
        BakeError::Cancelled => (Code(707), exit::INTERRUPTED, None),
        BakeError::Backend(error) => return of_backend(error),
    };
    Message {
        code,
        text: error.to_string(),
        help,
        exit,
    }
}

fn of_backend(error: &BackendError) -> Message {
    let (code, exit) = match error.class {
        Class::Transient => (Code(701), exit::BACKEND),
        Class::Denied => (Code(702), exit::BACKEND),
        Class::Full => (Code(703), exit::BACKEND),
        Class::Lost => (Code(706), exit::BACKEND),
        Class::InUse => (Code(801), exit::USAGE),
        Class::Bug => (Code(700), exit::BUG),
    };
    Message {
        code,
        text: error.message.clone(),
        help: error.help.clone(),
        exit,
    }
}
