//! What GitHub's runner reads: annotations on standard output.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use atelier_lang::diag::{Diagnostic, Severity};
use atelier_lang::source::Sources;
use atelier_lang::span::Span;

use super::failure::Failure;
use super::ui;

/// Where the runner has checked the project out, and where it wants the summary.
pub(super) struct Workspace {
    /// The project's root in it: what names of sources are relative to.
    root: PathBuf,
    pub(super) summary: Option<PathBuf>,
}

impl Workspace {
    /// `root` is the project's.
    pub(super) fn of(root: &Path) -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let workspace = path("GITHUB_WORKSPACE").map(PathBuf::from);
        let workspace = workspace.and_then(|path| path.canonicalize().ok());
        let inside =
            workspace.and_then(|workspace| Some(root.strip_prefix(workspace).ok()?.into()));
        Self {
            root: inside.unwrap_or_default(),
            summary: path("GITHUB_STEP_SUMMARY").map(PathBuf::from),
        }
    }

    pub(super) fn annotate(&self, sources: &Sources, diagnostics: &[Diagnostic]) {
        for found in diagnostics {
            let level = match found.severity {
                Severity::Warning => "warning",
                Severity::Error => "error",
            };
            let label = found.labels.first();
            let mut text = found.message.clone();
            if let Some(label) = label.filter(|label| !label.text.is_empty()) {
                write!(text, ": {}", label.text).ok();
            }
            if let Some(help) = &found.help {
                write!(text, "\n{help}").ok();
            }
            let title = found.code.to_string();
            self.print(level, sources, label.map(|label| label.span), &title, &text);
        }
    }

    pub(super) fn annotate_failure(&self, failure: &Failure) {
        match failure {
            Failure::File {
                sources,
                diagnostics,
                ..
            } => self.annotate(sources, diagnostics),
            Failure::Message(message) => {
                let title = message.code.to_string();
                self.print("error", &Sources::default(), None, &title, &message.text);
            }
        }
    }

    pub(super) fn print(
        &self,
        level: &str,
        sources: &Sources,
        span: Option<Span>,
        title: &str,
        text: &str,
    ) {
        let place = span.map_or(String::new(), |span| {
            let span = sources.in_project(span);
            let file = self.root.join(sources.name(span.file));
            let (file, line) = (property(&file.to_string_lossy()), sources.line(span));
            format!("file={file},line={line},")
        });
        let (title, text) = (property(title), data(text));
        ui::print(&format!("::{level} {place}title={title}::{text}\n"));
    }
}

/// The text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property of one.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_a_command() {
        assert_eq!(data("50%\r\n::error::x"), "50%25%0D%0A::error::x");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
    }
}
