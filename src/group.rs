//! Programs of the machine that are called for an answer: what they start ends with the call.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// The processes of one call. Dropping it, as a cancelled call does, ends them all.
pub(crate) struct Group(Option<Pid>);

impl Group {
    /// `child` leads a group of its own.
    pub(crate) fn of(child: &Child) -> Self {
        Self(
            child
                .id()
                .and_then(|id| i32::try_from(id).ok())
                .and_then(Pid::from_raw),
        )
    }

    /// The leader has been waited for and nobody holds its pipes: the number may soon be another's.
    pub(crate) fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended by itself in this moment, which is as good.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
