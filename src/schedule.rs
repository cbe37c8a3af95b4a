//! Which node may start when: events in, commands out. Pure, and the only owner of the nodes' states.

/// How a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Reused,
    Baked,
    Failed,
    /// A parent did not come about, or the build stopped before its turn.
    Skipped,
    Cancelled,
}

/// What the caller is to do for a node now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Bake(usize),
}

/// What a node needs, in the order of the plan: parents first.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub parent: Option<usize>,
    pub bake: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waits for its parent, or for a free place.
    Waiting,
    Running,
    Ended(Outcome),
}

/// The states of all nodes. A node changes its state here and nowhere else.
#[derive(Debug)]
pub struct Schedule {
    tasks: Vec<Task>,
    states: Vec<State>,
    /// Which nodes have already sent their parent back to be baked again.
    sent_back: Vec<bool>,
    places: usize,
    keep_going: bool,
    stopped: bool,
}

impl Schedule {
    /// At most `places` nodes bake at a time. Nodes that are not baked count as reused.
    pub fn new(tasks: Vec<Task>, places: usize, keep_going: bool) -> Self {
        let state = |task: &Task| match task.bake {
            true => State::Waiting,
            false => State::Ended(Outcome::Reused),
        };
        let states = tasks.iter().map(state).collect();
        let sent_back = vec![false; tasks.len()];
        Self {
            tasks,
            states,
            sent_back,
            places: places.max(1),
            keep_going,
            stopped: false,
        }
    }

    /// The next node to start, if one may start now; call until there is none.
    pub fn next_command(&mut self) -> Option<Command> {
        self.skip_orphans();
        let running = self
            .states
            .iter()
            .filter(|state| **state == State::Running)
            .count();
        if self.stopped || running >= self.places {
            return None;
        }
        let index = (0..self.tasks.len()).find(|&index| self.may_start(index))?;
        self.states[index] = State::Running;
        Some(Command::Bake(index))
    }

    /// A node that was started has ended.
    pub fn ended(&mut self, index: usize, outcome: Outcome) {
        self.states[index] = State::Ended(outcome);
        if outcome == Outcome::Cancelled || (outcome == Outcome::Failed && !self.keep_going) {
            self.stopped = true;
        }
    }

    /// A node that was started found its parent's snapshot gone: the parent is baked again, and then the node.
    /// `false` if that was tried already, or there is no parent; then the node has failed.
    pub fn parent_lost(&mut self, index: usize) -> bool {
        let Some(parent) = self.tasks[index].parent.filter(|_| !self.sent_back[index]) else {
            return false;
        };
        self.sent_back[index] = true;
        self.states[index] = State::Waiting;
        // Another child may have sent it back already.
        if matches!(self.states[parent], State::Ended(_)) {
            self.states[parent] = State::Waiting;
        }
        true
    }

    /// Whether something failed, so that what runs should be cancelled.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// How each node ended; what never started counts as skipped.
    pub fn outcomes(&self) -> Vec<Outcome> {
        let outcome = |state: &State| match state {
            State::Ended(outcome) => *outcome,
            State::Waiting | State::Running => Outcome::Skipped,
        };
        self.states.iter().map(outcome).collect()
    }

    fn may_start(&self, index: usize) -> bool {
        let parent = self.tasks[index].parent.map(|parent| self.states[parent]);
        self.states[index] == State::Waiting
            && matches!(
                parent,
                None | Some(State::Ended(Outcome::Reused | Outcome::Baked))
            )
    }

    /// Parents stand before their children, so one pass reaches every descendant.
    fn skip_orphans(&mut self) {
        for index in 0..self.tasks.len() {
            let parent = self.tasks[index].parent.map(|parent| self.states[parent]);
            let orphan = matches!(
                parent,
                Some(State::Ended(
                    Outcome::Failed | Outcome::Skipped | Outcome::Cancelled
                ))
            );
            if orphan && self.states[index] == State::Waiting {
                self.states[index] = State::Ended(Outcome::Skipped);
            }
        }
    }
}
