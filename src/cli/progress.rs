//! Events of a build as people see them: on a terminal a line per running node below the output, else plain lines.
//!
//! Written by a thread of its own: a terminal that is stopped, or a reader that does not read, must hold up no bake, no
//! time limit and no Ctrl-C.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::ui::{STUCK, say};
use crate::event::{Event, Events, Kind};

/// So many events wait for the thread that writes.
const WAITING: usize = 1000;

/// Shows events until there are no more, and returns where each node's log is.
pub(super) async fn show(mut events: Events) -> BTreeMap<String, PathBuf> {
    let (to, from) = sync_channel(WAITING);
    let thread = std::thread::spawn(move || write(&from));
    let mut display = Display {
        to,
        stuck: false,
        dropped: 0,
    };
    let mut logs = BTreeMap::new();
    while let Some(event) = events.recv().await {
        if let Kind::Started { log } = &event.kind {
            logs.insert(event.node.clone(), log.clone());
        }
        display.show(event).await;
    }
    let stuck = display.stuck;
    drop(display);
    // What is on its way is seen, unless nobody looks.
    let began = Instant::now();
    while !stuck && !thread.is_finished() && began.elapsed() < STUCK {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    logs
}

struct Display {
    to: SyncSender<Event>,
    /// It took nothing the last time it was given enough time.
    stuck: bool,
    /// Lines that were not shown.
    dropped: u64,
}

impl Display {
    async fn show(&mut self, event: Event) {
        if self.dropped > 0 {
            let text = format!("{} lines are not shown; the log has them", self.dropped);
            let notice = Event {
                node: event.node.clone(),
                kind: Kind::Notice(text),
            };
            if self.give(notice).await {
                self.dropped = 0;
            }
        }
        if !self.give(event).await {
            self.dropped += 1;
        }
    }

    /// Hands an event to the writing thread; `false` if that does not take it in time.
    async fn give(&mut self, mut event: Event) -> bool {
        let began = Instant::now();
        loop {
            match self.to.try_send(event) {
                Ok(()) => {
                    self.stuck = false;
                    return true;
                }
                Err(TrySendError::Disconnected(_)) => return false,
                Err(TrySendError::Full(back)) => event = back,
            }
            if self.stuck || began.elapsed() > STUCK {
                self.stuck = true;
                return false;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn write(events: &Receiver<Event>) {
    let mut lines = Lines::new();
    while let Ok(event) = events.recv() {
        lines.show(&event);
    }
}

/// What is on the terminal.
struct Lines {
    bars: Option<MultiProgress>,
    running: BTreeMap<String, ProgressBar>,
}

impl Lines {
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
        bar.enable_steady_tick(Duration::from_millis(120));
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
