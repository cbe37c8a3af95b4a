//! What people see. Data goes to stdout and everything else to stderr, from here alone.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use atelier_lang::diag::Diagnostic;
use atelier_lang::render::render;
use atelier_lang::source::Sources;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::exit;
use super::failure::{Failure, Message};

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

/// A display that takes nothing for so long is not read.
pub(super) const STUCK: Duration = Duration::from_secs(2);

/// What a pipe takes as a whole, or not at all.
const PIECE: usize = 4096;

/// Says something to people. `eprintln!` would end the work when they have gone away, and wait for ever when they do
/// not read.
pub(super) fn say(line: impl Display) {
    for piece in format!("{line}\n").as_bytes().chunks(PIECE) {
        if !is_read() {
            return;
        }
        std::io::stderr().write_all(piece).ok();
    }
}

/// Whether standard error takes something; waits for it once, and not again before it does.
fn is_read() -> bool {
    static UNREAD: AtomicBool = AtomicBool::new(false);
    let patience = match UNREAD.load(Ordering::Relaxed) {
        true => Duration::ZERO,
        false => STUCK,
    };
    let patience = Timespec::try_from(patience).ok();
    let stderr = std::io::stderr();
    let ready = poll(
        &mut [PollFd::new(&stderr, PollFlags::OUT)],
        patience.as_ref(),
    );
    let is_read = ready != Ok(0);
    UNREAD.store(!is_read, Ordering::Relaxed);
    is_read
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
        let traced = diagnostic.clone().traced(sources);
        let report = miette::Report::new(render(&traced, sources));
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
