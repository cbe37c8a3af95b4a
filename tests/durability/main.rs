//! Power cuts, full disks, failing calls and kill -9: what a store says it has is whole, and it recovers from the rest.
//!
//! Needs root, loop devices and strace.
#![cfg(test)]

mod cuts;
mod disk;
mod faults;
mod kills;
mod litter;
mod random;
mod rooms;
mod torn;
mod tree;

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/processes.rs"]
mod processes;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/project.rs"]
mod project;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../cli/watched.rs"]
mod watched;
