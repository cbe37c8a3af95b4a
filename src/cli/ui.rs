//! What people see. Data goes to stdout and everything else to stderr, from here alone.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use atelier_lang::diag::Diagnostic;
use atelier_lang::render::render;
use atelier_lang::source::Sources;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;
use tokio::sync::mpsc::UnboundedReceiver;

use super::exit;
use super::failure::{Failure, Message};
use crate::event::{Event, Kind};

/// Before anything is shown: long lines stay whole, since people copy paths and commands out of them.
pub(super) fn prepare() {
    let handler = |_: &_| {
        let options = miette::MietteHandlerOpts::new()
            .wrap_lines(false)
            .terminal_links(false);
        Box::new(options.build()) as Box<dyn miette::ReportHandler>
    };
    // It fails if somebody has set another one, which then shows the same.
    miette::set_hook(Box::new(handler)).ok();
}

/// Prints data. A reader that has gone away is no failure.
pub(super) fn print(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).ok();
}

/// Says something to people; `eprintln!` would end the work when they have gone away.
fn say(line: impl Display) {
    writeln!(std::io::stderr(), "{line}").ok();
}

pub(super) fn print_json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => print(&(text + "\n")),
        Err(error) => say(format_args!("cannot write JSON: {error}")),
    }
}

pub(super) fn notice(text: &str) {
    say(format_args!("note: {text}"));
}

pub(super) fn show_diagnostics(sources: &Sources, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let report = miette::Report::new(render(diagnostic, sources));
        say(format_args!("{report:?}"));
    }
}

/// Shows why a command failed; returns its exit code.
pub(super) fn show_failure(failure: &Failure) -> u8 {
    match failure {
        Failure::File {
            sources,
            diagnostics,
            exit,
        } => {
            show_diagnostics(sources, diagnostics);
            *exit
        }
        Failure::Message(message) => {
            show_message(message);
            message.exit
        }
    }
}

/// `error[A0702]: cannot …`, and the way out.
fn show_message(message: &Message) {
    say(format_args!("error[{}]: {}", message.code, message.text));
    if let Some(help) = &message.help {
        say(format_args!("  help: {help}"));
    }
    if message.exit == exit::BUG {
        say("  this is a fault of atelier: please report it");
    }
}

/// Shows events as they come: on a terminal a line per running node below the output, else plain lines.
/// Returns where each node's log is.
pub(super) async fn show_progress(
    mut events: UnboundedReceiver<Event>,
) -> BTreeMap<String, PathBuf> {
    let mut progress = Progress::new();
    let mut logs = BTreeMap::new();
    while let Some(event) = events.recv().await {
        progress.show(&event);
        if let Kind::Started { log } = event.kind {
            logs.insert(event.node, log);
        }
    }
    logs
}

struct Progress {
    bars: Option<MultiProgress>,
    running: BTreeMap<String, ProgressBar>,
}

impl Progress {
    fn new() -> Self {
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        let terminal = std::io::stderr().is_terminal() && !dumb && std::env::var_os("CI").is_none();
        Self {
            bars: terminal.then(MultiProgress::new),
            running: BTreeMap::new(),
        }
    }

    fn show(&mut self, event: &Event) {
        let Event { node, kind } = event;
        match kind {
            Kind::Started { .. } => self.start(node),
            Kind::Waiting => {
                self.line(node, "--> another bake of it is under way; this is its log");
            }
            Kind::Phase(text) => {
                if let Some(bar) = self.running.get(node) {
                    bar.set_message(text.clone());
                }
                self.line(node, &format!("==> {text}"));
            }
            Kind::Output(text) => self.line(node, text),
            Kind::Notice(text) => self.line(node, &format!("--> {text}")),
            Kind::Baked { seconds } => self.end(node, &format!("==> baked in {seconds:.1} s")),
            Kind::Reused => self.end(node, "==> reused"),
            Kind::Failed(text) => self.end(node, &format!("==> failed: {text}")),
            Kind::Skipped => self.end(node, "==> skipped"),
            Kind::Cancelled => self.end(node, "==> cancelled"),
        }
    }

    fn start(&mut self, node: &str) {
        let Some(bars) = &self.bars else { return };
        let bar = bars.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(node.to_owned());
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        self.running.insert(node.to_owned(), bar);
    }

    fn end(&mut self, node: &str, text: &str) {
        if let Some(bar) = self.running.remove(node) {
            bar.finish_and_clear();
        }
        self.line(node, text);
    }

    fn line(&self, node: &str, text: &str) {
        let line = format!("{node} | {text}");
        match &self.bars {
            // Without a bar it prints nothing.
            Some(bars) if !self.running.is_empty() => drop(bars.println(line)),
            _ => say(&line),
        }
    }
}
