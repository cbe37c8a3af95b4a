//! Carries a plan out: runs what the schedule says, at most so many at a time, and reports how each node ended.

use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::backend::{
    Backend, BackendError, BakeError, BakeRequest, Baked, Cancel, Class, Snapshot,
};
use crate::event::{Kind, Sink};
use crate::plan::Action;
use crate::schedule::{Command, Outcome, Schedule, Task};

/// One node of the plan, with what a bake of it takes.
#[derive(Debug)]
pub struct Work {
    pub action: Action,
    pub parent: Option<usize>,
    pub request: BakeRequest,
}

/// How many bakes run at a time, and whether a failure ends the others.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub jobs: usize,
    pub keep_going: bool,
}

/// How a node ended.
#[derive(Debug)]
pub enum Ended {
    Reused(Box<Snapshot>),
    Baked(Box<Snapshot>),
    Failed(BakeError),
    Skipped,
    Cancelled,
}

/// Realises all of `work` (parents first) and returns the ends in the same order.
pub async fn realise(
    backend: &impl Backend,
    work: &[Work],
    options: Options,
    events: &Sink,
    cancel: &Cancel,
) -> Vec<Ended> {
    let mut ends: Vec<Ended> = work.iter().map(|work| start(work, events)).collect();
    let tasks = work.iter().map(|work| Task {
        parent: work.parent,
        bake: matches!(work.action, Action::Bake(_)),
    });
    let mut schedule = Schedule::new(tasks.collect(), options.jobs, options.keep_going);
    // A child of the caller's token: a failure here must not look like Ctrl-C there.
    let others = cancel.child_token();
    let mut running = FuturesUnordered::new();
    loop {
        while let Some(Command::Bake(index)) = schedule.next_command() {
            let again = matches!(ends[index], Ended::Reused(_) | Ended::Baked(_));
            running.push(bake(
                backend,
                index,
                &work[index].request,
                again,
                events,
                &others,
            ));
        }
        let Some((index, result)) = running.next().await else {
            break;
        };
        let lost = matches!(
            &result,
            Err(BakeError::Backend(BackendError {
                class: Class::Lost,
                ..
            }))
        );
        if lost && schedule.parent_lost(index) {
            continue;
        }
        let ended = finish(result);
        schedule.ended(index, outcome(&ended));
        report(&ended, &events.of(&work[index].request.node));
        ends[index] = ended;
        if schedule.stopped() {
            others.cancel();
        }
    }
    for (index, outcome) in schedule.outcomes().into_iter().enumerate() {
        if outcome == Outcome::Skipped {
            ends[index] = Ended::Skipped;
            report(&ends[index], &events.of(&work[index].request.node));
        }
    }
    ends
}

/// What a node is before anything ran; the reused ones are done already.
fn start(work: &Work, events: &Sink) -> Ended {
    match &work.action {
        Action::Reuse(snapshot) => {
            events.of(&work.request.node).send(Kind::Reused);
            Ended::Reused(snapshot.clone())
        }
        Action::Bake(_) => Ended::Skipped,
    }
}

async fn bake(
    backend: &impl Backend,
    index: usize,
    request: &BakeRequest,
    again: bool,
    events: &Sink,
    cancel: &Cancel,
) -> (usize, Result<Baked, BakeError>) {
    let events = events.of(&request.node);
    if again {
        events.send(Kind::Notice(
            "its snapshot is gone; baking it again".to_owned(),
        ));
    }
    (index, backend.bake(request, &events, cancel).await)
}

fn finish(result: Result<Baked, BakeError>) -> Ended {
    match result {
        Ok(Baked::Published(snapshot)) => Ended::Baked(snapshot),
        Ok(Baked::Found(snapshot)) => Ended::Reused(snapshot),
        Err(BakeError::Cancelled) => Ended::Cancelled,
        Err(error) => Ended::Failed(error),
    }
}

fn outcome(ended: &Ended) -> Outcome {
    match ended {
        Ended::Reused(_) => Outcome::Reused,
        Ended::Baked(_) => Outcome::Baked,
        Ended::Failed(_) => Outcome::Failed,
        Ended::Skipped => Outcome::Skipped,
        Ended::Cancelled => Outcome::Cancelled,
    }
}

fn report(ended: &Ended, events: &Sink) {
    events.send(match ended {
        Ended::Reused(_) => Kind::Reused,
        Ended::Baked(snapshot) => Kind::Baked {
            seconds: snapshot.durations.total(),
        },
        Ended::Failed(error) => Kind::Failed(error.to_string()),
        Ended::Skipped => Kind::Skipped,
        Ended::Cancelled => Kind::Cancelled,
    });
}
