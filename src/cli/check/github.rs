//! What GitHub's runner reads: annotations on standard output, and the summary of a job.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use atelier_lang::diag::{Diagnostic, Severity};
use atelier_lang::source::Sources;
use atelier_lang::span::Span;

use super::{Row, summary};
use crate::cli::failure::Failure;
use crate::cli::ui;

/// Where the runner has checked the project out, and where it wants the summary.
pub(super) struct Workspace {
    /// The project's root in it: what names of sources are relative to.
    root: PathBuf,
    summary: Option<PathBuf>,
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

    pub(super) fn annotate_misses<'a>(
        &self,
        sources: &Sources,
        rows: impl Iterator<Item = (&'a Row, Span)>,
    ) {
        for (row, span) in rows.filter(|(row, _)| !row.is_hit) {
            let text = format!("{} is not cached: {}", row.name, row.reason);
            self.print("warning", sources, Some(span), "atelier", &text);
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

    fn print(&self, level: &str, sources: &Sources, span: Option<Span>, title: &str, text: &str) {
        let place = span.map_or(String::new(), |span| {
            let span = sources.in_project(span);
            let file = self.root.join(sources.name(span.file));
            let (file, line) = (property(&file.to_string_lossy()), sources.line(span));
            format!("file={file},line={line},")
        });
        let (title, text) = (property(title), data(text));
        ui::print(&format!("::{level} {place}title={title}::{text}\n"));
    }

    /// Appends to the summary of the job, where there is one. Without it the answer is the same.
    pub(super) fn summarise(&self, file: &Path, rows: &[Row]) {
        let Some(path) = &self.summary else {
            return;
        };
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        let text = markdown(&file, rows);
        let written = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut summary| summary.write_all(text.as_bytes()));
        if let Err(error) = written {
            let path = path.display();
            ui::notice(&format!("cannot write the summary to {path}: {error}"));
        }
    }
}

fn markdown(file: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "### {}: {}\n\n| target | result | last bake | reason |\n|-|-|-|-|\n",
        plain(file),
        plain(&summary(rows))
    );
    for row in rows {
        let cells = [&row.name, row.result(), &row.cost(), &row.reason].map(plain);
        writeln!(text, "| {} |", cells.join(" | ")).ok();
    }
    text.push('\n');
    text
}

/// Text that Markdown shows as it is, on one line.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' => shown.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '~' | '#' => {
                shown.extend(['\\', character]);
            }
            other => shown.push(other),
        }
    }
    shown
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
    fn nothing_in_a_text_is_a_command_or_a_table() {
        assert_eq!(data("50%\r\n::error::x"), "50%25%0D%0A::error::x");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
        assert_eq!(plain("a|b `c` <d>\ne"), "a\\|b \\`c\\` \\<d\\> e");
    }

    #[test]
    fn the_summary_is_a_table_with_a_row_for_each_target() {
        let row = |name: &str, is_hit, reason: &str, estimate| Row {
            name: name.to_owned(),
            snapshot: String::new(),
            is_hit,
            reason: reason.to_owned(),
            estimate,
        };
        let rows = [
            row("tools", true, "", None),
            row(
                "deps",
                false,
                "changed: step / 1 / run a | b → c",
                Some(130.4),
            ),
            row("app", false, "parent-changed", None),
        ];
        assert_eq!(
            markdown("prebuild.kdl", &rows),
            "### prebuild.kdl: 1 of 3 cached; 2 to bake, about 2 min 10 s as they took last time, and 1 unknown\n\n\
             | target | result | last bake | reason |\n|-|-|-|-|\n\
             | tools | hit |  |  |\n\
             | deps | miss | 2 min 10 s | changed: step / 1 / run a \\| b → c |\n\
             | app | miss | unknown | parent-changed |\n\n"
        );
    }
}
