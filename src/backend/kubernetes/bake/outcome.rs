//! What a runner's answer means for a bake.

use std::path::PathBuf;

use crate::backend::{BackendError, BakeError, Class, StepEnding};
use crate::resolve::PinError;
use crate::runner::protocol::{self, Failure, Outcome};

pub(super) fn odd(outcome: &Outcome) -> BakeError {
    BackendError::new(Class::Bug, format!("a runner answered {outcome:?}")).into()
}

pub(super) fn failed(failure: Failure, log: PathBuf) -> BakeError {
    match failure {
        Failure::Step { index, ending } => BakeError::Step {
            index,
            ending: match ending {
                protocol::StepEnding::Ended(ending) => StepEnding::Failed(ending),
                protocol::StepEnding::TimedOut(limit) => StepEnding::TimedOut(limit),
                protocol::StepEnding::OutOfMemory(limit) => StepEnding::OutOfMemory(limit),
            },
            log,
        },
        Failure::Checkout { input, cause, help } => {
            BakeError::Checkout(PinError { input, cause, help })
        }
        Failure::Timeout { limit } => BakeError::Timeout { limit, log },
        Failure::SecretInside { names, paths } => BakeError::SecretInside { names, paths },
        Failure::Damaged { count, first } => {
            let message = format!(
                "the snapshot does not hold what was baked: {count} differences, such as {}",
                first.join("; ")
            );
            BackendError::new(Class::Transient, message).into()
        }
        Failure::Terminated => {
            let message = "the pod was told to end";
            BackendError::new(Class::Transient, message).into()
        }
        Failure::Machine {
            class,
            message,
            help,
        } => BackendError {
            class: match class {
                protocol::Class::Transient => Class::Transient,
                protocol::Class::Denied => Class::Denied,
                protocol::Class::Full => Class::Full,
                protocol::Class::Lost => Class::Lost,
                protocol::Class::InUse => Class::InUse,
                protocol::Class::Bug => Class::Bug,
            },
            message,
            help,
        }
        .into(),
    }
}
