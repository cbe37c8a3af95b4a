//! What happens during a build, as it happens. The terminal, plain output, JSON and tests read the same events.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// With so many events on their way, who sends more is to wait.
const MANY: usize = 10_000;

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
    on_their_way: Arc<AtomicUsize>,
}

/// Where the events of all nodes arrive.
#[derive(Debug)]
pub struct Events {
    from: UnboundedReceiver<Event>,
    on_their_way: Arc<AtomicUsize>,
}

pub fn channel() -> (Sink, Events) {
    let (to, from) = unbounded_channel();
    let on_their_way = Arc::new(AtomicUsize::new(0));
    let sink = Sink {
        node: String::new(),
        to,
        on_their_way: on_their_way.clone(),
    };
    (sink, Events { from, on_their_way })
}

impl Sink {
    pub fn send(&self, kind: Kind) {
        let node = self.node.clone();
        self.on_their_way.fetch_add(1, Ordering::Relaxed);
        // A listener that has gone away must not end the work.
        self.to.send(Event { node, kind }).ok();
    }

    /// Waits until the listener has caught up: a step that prints without end must not fill the memory.
    pub async fn settle(&self) {
        while self.on_their_way.load(Ordering::Relaxed) > MANY && !self.to.is_closed() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The same listener, for another node.
    #[must_use]
    pub fn of(&self, node: impl Into<String>) -> Self {
        let node = node.into();
        Self {
            node,
            ..self.clone()
        }
    }
}

impl Events {
    /// `None` when nobody is left to send one.
    pub async fn recv(&mut self) -> Option<Event> {
        let event = self.from.recv().await?;
        self.on_their_way.fetch_sub(1, Ordering::Relaxed);
        Some(event)
    }

    /// The next event, if one has come.
    pub fn try_recv(&mut self) -> Option<Event> {
        let event = self.from.try_recv().ok()?;
        self.on_their_way.fetch_sub(1, Ordering::Relaxed);
        Some(event)
    }
}
