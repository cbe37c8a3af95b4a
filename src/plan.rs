//! Keys and what is present, in; what to reuse and what to bake, out, each bake with its reason. Pure.
//!
//! The one lookup routine: `plan` prints what it decides and `build` carries it out.

use crate::backend::{Presence, Snapshot};
use crate::explain::{Change, changes};
use crate::key;
use crate::node::ContentKey;

/// A node with its key, ready to be looked up.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub name: String,
    pub key: ContentKey,
    pub preimage: Vec<u8>,
    pub forced: bool,
    /// The preimage of this target's last finished bake on this machine.
    pub last: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Reuse(Box<Snapshot>),
    Bake(Reason),
}

/// Why a node is not reused.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// This target was never baked here.
    New,
    /// Its own inputs differ from the last bake's.
    Changed(Vec<Change>),
    /// Nothing differs but the parent's key.
    ParentChanged(Vec<Change>),
    /// It was baked with this very key, and is gone.
    Evicted,
    /// There is a record without its data.
    SnapshotLost(String),
    Forced,
    /// The last bake was keyed by an encoding that this version does not know.
    SchemeUpgrade,
}

impl Reason {
    /// The name in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed(_) => "changed",
            Self::ParentChanged(_) => "parent-changed",
            Self::Evicted => "evicted",
            Self::SnapshotLost(_) => "snapshot-lost",
            Self::Forced => "forced",
            Self::SchemeUpgrade => "scheme-upgrade",
        }
    }

    pub fn changes(&self) -> &[Change] {
        match self {
            Self::Changed(changes) | Self::ParentChanged(changes) => changes,
            Self::New
            | Self::Evicted
            | Self::SnapshotLost(_)
            | Self::Forced
            | Self::SchemeUpgrade => &[],
        }
    }
}

/// Decides what becomes of each candidate; `presence` is in the candidates' order.
pub fn plan(candidates: &[Candidate], presence: Vec<Presence>) -> Vec<Action> {
    candidates
        .iter()
        .zip(presence)
        .map(|(candidate, presence)| decide(candidate, presence))
        .collect()
}

fn decide(candidate: &Candidate, presence: Presence) -> Action {
    if candidate.forced {
        return Action::Bake(Reason::Forced);
    }
    match presence {
        Presence::Present(snapshot) => Action::Reuse(snapshot),
        Presence::Lost(cause) => Action::Bake(Reason::SnapshotLost(cause)),
        Presence::Absent => Action::Bake(reason(candidate)),
    }
}

fn reason(candidate: &Candidate) -> Reason {
    let Some(last) = &candidate.last else {
        return Reason::New;
    };
    if *last == candidate.preimage {
        return Reason::Evicted;
    }
    let (Ok(old), Ok(new)) = (key::decode(last), key::decode(&candidate.preimage)) else {
        return Reason::SchemeUpgrade;
    };
    let changes = changes(&old, &new);
    if changes.iter().all(Change::is_of_parent) {
        Reason::ParentChanged(changes)
    } else {
        Reason::Changed(changes)
    }
}
