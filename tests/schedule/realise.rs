//! Plans carried out on the backend in memory.

use atelier::backend::memory::Memory;
use atelier::backend::{Backend, BakeRequest, Cancel, Presence};
use atelier::event::{Sink, channel};
use atelier::plan::{Action, Candidate, Reason, plan};
use atelier::realise::{Ended, Options, Work, realise};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::forest::{any_forest, has_ancestor};
use crate::requests::request;

/// What is the matter with a node before a build.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Present,
    Removed,
    Lost,
}

/// A build: its forest, what is in the store, and which nodes fail.
#[derive(Clone, Debug)]
struct Case {
    forest: Vec<Option<usize>>,
    states: Vec<State>,
    failing: Vec<usize>,
    options: Options,
}

fn any_case() -> impl Strategy<Value = Case> {
    any_forest().prop_flat_map(|forest| {
        let state = prop_oneof![
            Just(State::Present),
            Just(State::Removed),
            Just(State::Lost)
        ];
        let states = vec(state, forest.len());
        let failing = vec(prop::bool::weighted(0.2), forest.len());
        (states, failing, 1..4_usize, any::<bool>()).prop_map(
            move |(states, failing, jobs, keep_going)| Case {
                forest: forest.clone(),
                // A bake that fails has left no snapshot.
                failing: (0..forest.len())
                    .filter(|&node| failing[node] && states[node] == State::Removed)
                    .collect(),
                states,
                options: Options { jobs, keep_going },
            },
        )
    })
}

fn requests(case: &Case) -> Vec<BakeRequest> {
    let mut requests: Vec<BakeRequest> = Vec::new();
    for (node, parent) in case.forest.iter().enumerate() {
        let (name, command) = (format!("n{node}"), format!("echo {node} > {node}"));
        let parent = parent.map(|parent| &requests[parent]);
        requests.push(request(&name, parent, &[&command]));
    }
    requests
}

fn nobody() -> Sink {
    channel().0
}

/// A store as the case wants it: all is baked, and then some of it is taken away.
async fn store(case: &Case, requests: &[BakeRequest]) -> Memory {
    let memory = Memory::default();
    for request in requests {
        memory
            .bake(request, &nobody(), &Cancel::new())
            .await
            .unwrap();
    }
    for (request, state) in requests.iter().zip(&case.states) {
        match state {
            State::Present => {}
            State::Removed => assert!(memory.remove(request.key).await.unwrap()),
            State::Lost => memory.lose(request.key),
        }
    }
    memory
}

/// What `plan` says of the requests.
async fn planned(memory: &Memory, requests: &[BakeRequest]) -> Vec<Action> {
    let candidates: Vec<Candidate> = requests
        .iter()
        .map(|request| Candidate {
            name: request.node.clone(),
            key: request.key,
            preimage: request.preimage.clone(),
            forced: false,
            last: Some(request.preimage.clone()),
        })
        .collect();
    let keys: Vec<_> = requests.iter().map(|request| request.key).collect();
    plan(&candidates, memory.probe(&keys).await.unwrap())
}

async fn build(
    memory: &Memory,
    case: &Case,
    actions: &[Action],
    mut requests: Vec<BakeRequest>,
) -> Vec<Ended> {
    for &node in &case.failing {
        "exit 3".clone_into(&mut requests[node].steps[0].command);
    }
    let work: Vec<Work> = requests
        .into_iter()
        .zip(actions)
        .zip(&case.forest)
        .map(|((request, action), &parent)| Work {
            action: action.clone(),
            parent,
            request,
        })
        .collect();
    realise(memory, &work, case.options, &nobody(), &Cancel::new()).await
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

fn is_reuse(action: &Action) -> bool {
    matches!(action, Action::Reuse(_))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// behaviours 2.3: what `plan` calls a hit is what `build` reuses.
    #[test]
    fn build_reuses_exactly_what_plan_says(case in any_case()) {
        run(async {
            let case = Case { failing: Vec::new(), ..case };
            let memory = store(&case, &requests(&case)).await;
            let actions = planned(&memory, &requests(&case)).await;
            for (action, state) in actions.iter().zip(&case.states) {
                prop_assert_eq!(is_reuse(action), *state == State::Present);
                match state {
                    State::Present => {}
                    State::Removed => prop_assert_eq!(action, &Action::Bake(Reason::Evicted)),
                    State::Lost => prop_assert!(matches!(action, Action::Bake(Reason::SnapshotLost(_)))),
                }
            }
            let ends = build(&memory, &case, &actions, requests(&case)).await;
            for (action, ended) in actions.iter().zip(&ends) {
                prop_assert_eq!(is_reuse(action), matches!(ended, Ended::Reused(_)));
                prop_assert_eq!(!is_reuse(action), matches!(ended, Ended::Baked(_)));
            }
            // behaviours 1.6: a second run bakes nothing.
            let again = planned(&memory, &requests(&case)).await;
            prop_assert!(again.iter().all(is_reuse));
            Ok(())
        })?;
    }

    /// behaviours 1.13: failures satisfy no key, and a second run goes on where the first one failed.
    #[test]
    fn a_failed_build_is_finished_by_the_next_one(case in any_case()) {
        run(async {
            let memory = store(&case, &requests(&case)).await;
            let actions = planned(&memory, &requests(&case)).await;
            let ends = build(&memory, &case, &actions, requests(&case)).await;
            let ran: Vec<usize> = (0..ends.len()).filter(|&node| matches!(ends[node], Ended::Failed(_))).collect();
            prop_assert_eq!(ran.is_empty(), case.failing.is_empty());
            prop_assert!(ran.iter().all(|node| case.failing.contains(node)));
            let keys: Vec<_> = requests(&case).iter().map(|request| request.key).collect();
            let present = memory.probe(&keys).await.unwrap();
            for (node, ended) in ends.iter().enumerate() {
                let there = matches!(present[node], Presence::Present(_));
                prop_assert_eq!(there, matches!(ended, Ended::Reused(_) | Ended::Baked(_)), "{}: {:?}", node, ended);
                if case.options.keep_going && matches!(ended, Ended::Skipped) {
                    prop_assert!(has_ancestor(&case.forest, node, &ran));
                }
            }
            let healed = Case { failing: Vec::new(), ..case.clone() };
            let actions = planned(&memory, &requests(&healed)).await;
            prop_assert_eq!(actions.iter().filter(|action| is_reuse(action)).count(), present.iter().filter(|found| matches!(found, Presence::Present(_))).count());
            let ends = build(&memory, &healed, &actions, requests(&healed)).await;
            prop_assert!(ends.iter().all(|ended| matches!(ended, Ended::Reused(_) | Ended::Baked(_))));
            Ok(())
        })?;
    }

    /// behaviours 2.14: what is lost between the plan and the bake of a child is baked again in the same run.
    #[test]
    fn a_snapshot_lost_after_the_plan_is_baked_again(case in any_case()) {
        run(async {
            let case = Case { failing: Vec::new(), ..case };
            let memory = store(&case, &requests(&case)).await;
            let actions = planned(&memory, &requests(&case)).await;
            for (node, request) in requests(&case).iter().enumerate() {
                if case.states[node] == State::Present {
                    memory.lose(request.key);
                }
            }
            let ends = build(&memory, &case, &actions, requests(&case)).await;
            let keys: Vec<_> = requests(&case).iter().map(|request| request.key).collect();
            let present = memory.probe(&keys).await.unwrap();
            for (node, action) in actions.iter().enumerate() {
                let needed = (0..actions.len())
                    .any(|child| case.forest[child] == Some(node) && matches!(ends[child], Ended::Baked(_)));
                let baked = matches!(ends[node], Ended::Baked(_));
                prop_assert_eq!(baked, !is_reuse(action) || needed, "{}: {:?}", node, ends[node]);
                prop_assert_eq!(baked, matches!(present[node], Presence::Present(_)));
            }
            Ok(())
        })?;
    }
}
