//! What happens during a build, as it happens. The terminal, plain output, JSON and tests read the same events.

use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedSender;

/// One event of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The node's name.
    pub node: String,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Another bake of the same key is under way; its log follows.
    Waiting,
    /// The bake begins, and writes its log here.
    Started {
        log: PathBuf,
    },
    /// A phase begins, in words for people.
    Phase(String),
    /// One line of output, without its line end.
    Output(String),
    /// Something to know that is no failure.
    Notice(String),
    Baked {
        seconds: f64,
    },
    Reused,
    Failed(String),
    /// Not tried, since this parent failed or the build stopped.
    Skipped,
    Cancelled,
}

/// Sends the events of one node; nobody listening is fine.
#[derive(Clone, Debug)]
pub struct Sink {
    node: String,
    to: UnboundedSender<Event>,
}

impl Sink {
    pub fn new(node: impl Into<String>, to: UnboundedSender<Event>) -> Self {
        Self {
            node: node.into(),
            to,
        }
    }

    pub fn send(&self, kind: Kind) {
        // A listener that has gone away must not end the work.
        self.to
            .send(Event {
                node: self.node.clone(),
                kind,
            })
            .ok();
    }

    /// The same listener, for another node.
    #[must_use]
    pub fn of(&self, node: impl Into<String>) -> Self {
        Self::new(node, self.to.clone())
    }
}
