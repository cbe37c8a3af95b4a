//! The runner, as a real process, with the user and the rights that it has in a pod: uid 1000, the first process of a
//! namespace, and a volume that looks as a driver leaves it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should say where"
)]

#[path = "runner/checkout.rs"]
mod checkout;
#[path = "support/git_server.rs"]
#[expect(dead_code, reason = "servers misbehave in other tests")]
mod git_server;
#[path = "runner/hostile.rs"]
mod hostile;
#[path = "runner/house.rs"]
mod house;
#[path = "support/repo.rs"]
mod repo;
#[path = "runner/steps.rs"]
mod steps;
#[path = "runner/verify.rs"]
mod verify;
