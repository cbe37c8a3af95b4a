//! The state machine alone, driven through random runs.

use std::collections::BTreeSet;

use atelier::schedule::{Command, Outcome, Schedule, Task};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::forest::{any_forest, has_ancestor};

/// What becomes of a bake in a random run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Baked,
    Failed,
    ParentLost,
}

/// A forest, what is there already, and how each bake goes.
#[derive(Clone, Debug)]
struct Run {
    forest: Vec<Option<usize>>,
    bake: Vec<bool>,
    fates: Vec<Fate>,
    /// Which of the running bakes ends next.
    picks: Vec<Index>,
    places: usize,
    keep_going: bool,
}

fn any_run(fates: impl Strategy<Value = Fate> + Clone) -> impl Strategy<Value = Run> {
    any_forest().prop_flat_map(move |forest| {
        let length = forest.len();
        let parts = (
            vec(prop::bool::weighted(0.8), length),
            vec(fates.clone(), length * 3),
            vec(any::<Index>(), length * 3),
            1..5_usize,
            any::<bool>(),
        );
        parts.prop_map(move |(bake, fates, picks, places, keep_going)| Run {
            forest: forest.clone(),
            bake,
            fates,
            picks,
            places,
            keep_going,
        })
    })
}

fn mostly_baked() -> impl Strategy<Value = Fate> + Clone {
    prop_oneof![4 => Just(Fate::Baked), 1 => Just(Fate::Failed)]
}

fn with_losses() -> impl Strategy<Value = Fate> + Clone {
    prop_oneof![4 => Just(Fate::Baked), 1 => Just(Fate::Failed), 2 => Just(Fate::ParentLost)]
}

/// What a run did, in order.
#[derive(Debug, PartialEq)]
enum Did {
    Start(usize),
    End(usize, Outcome),
    SendBack(usize),
}

/// Drives a schedule to its end, checking at each start that it was allowed.
fn drive(run: &Run) -> (Vec<Did>, Vec<Outcome>) {
    let tasks = run
        .forest
        .iter()
        .zip(&run.bake)
        .map(|(&parent, &bake)| Task { parent, bake });
    let mut schedule = Schedule::new(tasks.collect(), run.places, run.keep_going);
    let mut there: Vec<bool> = run.bake.iter().map(|bake| !bake).collect();
    let mut running: Vec<usize> = Vec::new();
    let mut did = Vec::new();
    for turn in 0.. {
        while let Some(Command::Bake(node)) = schedule.next_command() {
            assert!(!running.contains(&node), "{node} runs twice at once");
            assert!(
                run.forest[node].is_none_or(|parent| there[parent]),
                "{node} before its parent"
            );
            running.push(node);
            assert!(
                running.len() <= run.places,
                "more than {} places",
                run.places
            );
            did.push(Did::Start(node));
        }
        if running.is_empty() {
            break;
        }
        let picked = run.picks[turn % run.picks.len()].index(running.len());
        let node = running.swap_remove(picked);
        let fate = run.fates[turn % run.fates.len()];
        if fate == Fate::ParentLost && schedule.parent_lost(node) {
            there[run.forest[node].unwrap()] = false;
            did.push(Did::SendBack(node));
            continue;
        }
        let outcome = if fate == Fate::Baked {
            Outcome::Baked
        } else {
            Outcome::Failed
        };
        there[node] = outcome == Outcome::Baked;
        schedule.ended(node, outcome);
        did.push(Did::End(node, outcome));
    }
    (did, schedule.outcomes())
}

fn failed(outcomes: &[Outcome]) -> Vec<usize> {
    (0..outcomes.len())
        .filter(|&node| outcomes[node] == Outcome::Failed)
        .collect()
}

proptest! {
    #[test]
    fn every_node_ends_exactly_once(run in any_run(mostly_baked())) {
        let (did, outcomes) = drive(&run);
        prop_assert_eq!(outcomes.len(), run.forest.len());
        for (node, &outcome) in outcomes.iter().enumerate() {
            let starts = did.iter().filter(|did| **did == Did::Start(node)).count();
            let ends = did.iter().filter(|did| matches!(did, Did::End(ended, _) if *ended == node)).count();
            let ran = matches!(outcome, Outcome::Baked | Outcome::Failed);
            prop_assert_eq!((starts, ends), (usize::from(ran), usize::from(ran)));
            prop_assert_eq!(outcome == Outcome::Reused, !run.bake[node]);
        }
    }

    #[test]
    fn without_failures_everything_is_baked(run in any_run(Just(Fate::Baked))) {
        let (_, outcomes) = drive(&run);
        for (outcome, bake) in outcomes.into_iter().zip(&run.bake) {
            prop_assert_eq!(outcome, if *bake { Outcome::Baked } else { Outcome::Reused });
        }
    }

    #[test]
    fn nothing_new_starts_after_a_failure(run in any_run(mostly_baked())) {
        let run = Run { keep_going: false, ..run };
        let (did, _) = drive(&run);
        let failure = did.iter().position(|did| matches!(did, Did::End(_, Outcome::Failed)));
        let after = failure.map_or(&[][..], |failure| &did[failure..]);
        prop_assert!(!after.iter().any(|did| matches!(did, Did::Start(_))), "{did:?}");
    }

    #[test]
    fn keep_going_skips_exactly_the_descendants_of_what_failed(run in any_run(mostly_baked())) {
        let run = Run { keep_going: true, ..run };
        let (_, outcomes) = drive(&run);
        let failed = failed(&outcomes);
        for (node, &outcome) in outcomes.iter().enumerate() {
            // What is there needs no parent.
            let skipped = run.bake[node] && orphaned(&run, node, &failed);
            prop_assert_eq!(outcome == Outcome::Skipped, skipped, "{}: {:?}", node, outcomes);
        }
    }

    #[test]
    fn a_place_is_free_only_if_nothing_may_start(run in any_run(mostly_baked())) {
        let run = Run { keep_going: true, ..run };
        let (did, _) = drive(&run);
        let mut there: BTreeSet<usize> = (0..run.bake.len()).filter(|&node| !run.bake[node]).collect();
        let mut running = BTreeSet::new();
        let mut started = BTreeSet::new();
        for did in &did {
            match did {
                Did::Start(node) => drop((running.insert(*node), started.insert(*node))),
                Did::End(node, outcome) => {
                    // All that could start before this end has started.
                    let idle = (0..run.forest.len()).find(|node| {
                        let ready = run.forest[*node].is_none_or(|parent| there.contains(&parent));
                        run.bake[*node] && !started.contains(node) && ready
                    });
                    prop_assert!(running.len() == run.places || idle.is_none(), "{idle:?} waits");
                    running.remove(node);
                    there.extend((*outcome == Outcome::Baked).then_some(*node));
                }
                Did::SendBack(_) => {}
            }
        }
    }

    /// behaviours 2.14: a lost parent is baked again, and a child sends it back at most once.
    #[test]
    fn a_lost_parent_is_baked_again_before_its_child(run in any_run(with_losses())) {
        let (did, outcomes) = drive(&run);
        for (node, outcome) in outcomes.iter().enumerate() {
            let back: Vec<usize> = (0..did.len()).filter(|&at| did[at] == Did::SendBack(node)).collect();
            prop_assert!(back.len() <= 1);
            let Some(&back) = back.first() else { continue };
            let baked = Did::End(run.forest[node].unwrap(), Outcome::Baked);
            // Another child may have sent it back a moment before, so that it runs already.
            let parent = did[back..].iter().position(|did| *did == baked);
            let child = did[back..].iter().position(|did| *did == Did::Start(node));
            prop_assert!(child.is_none() || parent.is_some_and(|parent| Some(parent) < child), "{did:?}");
            prop_assert!(parent.is_some() || *outcome != Outcome::Baked);
        }
    }
}

/// A parent that was to be baked did not come about; what is there above it does not matter.
fn orphaned(run: &Run, node: usize, failed: &[usize]) -> bool {
    match run.forest[node] {
        None => false,
        Some(parent) if failed.contains(&parent) => true,
        Some(parent) => run.bake[parent] && orphaned(run, parent, failed),
    }
}

#[test]
fn a_cancelled_bake_stops_what_has_not_started() {
    let task = Task {
        parent: None,
        bake: true,
    };
    let mut schedule = Schedule::new(vec![task, task], 1, true);
    assert_eq!(schedule.next_command(), Some(Command::Bake(0)));
    schedule.ended(0, Outcome::Cancelled);
    assert!(schedule.stopped());
    assert_eq!(schedule.next_command(), None);
    assert_eq!(schedule.outcomes(), [Outcome::Cancelled, Outcome::Skipped]);
}

#[test]
fn ancestors_are_found() {
    let forest = [None, Some(0), Some(1), None];
    assert!(has_ancestor(&forest, 2, &[0]));
    assert!(!has_ancestor(&forest, 3, &[0]));
}
