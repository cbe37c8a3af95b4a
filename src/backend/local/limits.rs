//! How much of the machine a sandbox may use: memory, processes and processors, by control groups of either version.
//!
//! What the machine does not let this user limit is named in words for people, and never silently left out.

use std::cell::OnceCell;
use std::path::Path;

use atelier_lang::graph::Resources;

mod group;
mod join;
mod place;
#[cfg(test)]
mod tests;

pub(super) use group::{Ended, Group};
pub(super) use join::{Joined, Membership};
use place::Place;

/// More than builds need, and few enough to be ended: two processors take 8 s to end 4,096 processes that fork without
/// end, and 40 s for 16,384.
const PROCESSES: u32 = 4096;

/// What one sandbox may use at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub cpus: u32,
    /// Bytes, without swap.
    pub memory: u64,
    pub processes: u32,
}

impl From<&Resources> for Limits {
    fn from(resources: &Resources) -> Self {
        Self {
            cpus: resources.cpu,
            memory: resources.memory,
            processes: PROCESSES,
        }
    }
}

/// What can be limited, in the order in which people are told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Controller {
    Memory,
    Processes,
    Cpus,
}

impl Controller {
    const ALL: [Self; 3] = [Self::Memory, Self::Processes, Self::Cpus];

    /// The kernel's name.
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "pids",
            Self::Cpus => "cpu",
        }
    }

    /// The name for people.
    fn subject(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "the number of processes",
            Self::Cpus => "processors",
        }
    }
}

/// What is not limited, and why.
type Unlimited = (Controller, String);

/// Such as `memory and processors are not limited: …`; `None` if everything is.
fn describe(unlimited: &[Unlimited]) -> Option<String> {
    let mut sentences: Vec<String> = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for (_, why) in unlimited {
        if told.contains(&why.as_str()) {
            continue;
        }
        told.push(why);
        let same = unlimited.iter().filter(|(_, other)| other == why);
        let subjects: Vec<&str> = same.map(|(controller, _)| controller.subject()).collect();
        let verb = match subjects.as_slice() {
            ["processors"] | [_, _, ..] => "are",
            _ => "is",
        };
        let subjects = subjects.join(" and ");
        sentences.push(format!("{subjects} {verb} not limited: {why}"));
    }
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// The control groups of this machine, looked for when they are first needed.
#[derive(Debug, Default)]
pub(super) struct ControlGroups(OnceCell<Place>);

impl ControlGroups {
    fn place(&self) -> &Place {
        self.0.get_or_init(|| Place::find(Path::new("/")))
    }

    /// A group for one sandbox, with as many of the limits as can be had.
    pub(super) fn group(&self, limits: &Limits) -> Group {
        Group::make(self.place(), limits)
    }

    /// Removes the groups that a crash has left.
    pub(super) fn sweep(&self) {
        group::sweep(self.place());
    }
}
