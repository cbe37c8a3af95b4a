//! Signals that ask atelier to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::Failure;

/// Ctrl-C, a closed terminal, or somebody's wish.
pub(super) struct Interrupts {
    signals: [Signal; 4],
}

impl Interrupts {
    /// From here on these signals end nothing by themselves.
    pub(super) fn watch() -> Result<Self, Failure> {
        let watch = || {
            Ok::<_, io::Error>([
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
                signal(SignalKind::quit())?,
            ])
        };
        let signals = watch()
            .map_err(|error| Failure::machine(&format!("cannot watch for signals: {error}")))?;
        Ok(Self { signals })
    }

    pub(super) async fn next(&mut self) {
        let [interrupt, terminate, hangup, quit] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
    }
}
