//! What GitHub's runner is told of a check: an annotation for each miss, and the summary of the job.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use atelier_lang::source::Sources;
use atelier_lang::span::Span;

use super::{Row, summary};
use crate::cli::github::Workspace;
use crate::cli::ui;

impl Workspace {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_a_table() {
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
