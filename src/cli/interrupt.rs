//! Signals that ask atelier to stop.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::Failure;
use crate::sys;

/// Ctrl-C, a closed terminal, or somebody's wish.
pub(super) struct Interrupts {
    signals: Vec<Signal>,
}

impl Interrupts {
    /// From here on these signals end nothing by themselves.
    pub(super) fn watch() -> Result<Self, Failure> {
        let mut kinds = vec![
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::quit(),
        ];
        // Under nohup the work outlives the terminal.
        if !sys::is_ignored(SignalKind::hangup().as_raw_value()) {
            kinds.push(SignalKind::hangup());
        }
        let signals = kinds.into_iter().map(signal).collect::<io::Result<_>>();
        let signals = signals
            .map_err(|error| Failure::machine(&format!("cannot watch for signals: {error}")))?;
        Ok(Self { signals })
    }

    pub(super) async fn next(&mut self) {
        poll_fn(|context| {
            let mut signals = self.signals.iter_mut();
            match signals.any(|signal| signal.poll_recv(context).is_ready()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}
