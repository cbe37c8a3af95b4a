//! Sandboxes that stay: started, called, ended, found again; by the program as people and scripts use it.
#![cfg(test)]

mod commands;
mod ends;
mod house;
mod isolation;
mod lives;
mod network;
mod secrets;
mod signals;
mod terminals;

#[path = "../support/attached.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod attached;
#[path = "../support/processes.rs"]
mod processes;
#[path = "../support/project.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod project;
#[path = "../cli/watched.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod watched;
#[path = "../support/wrapped.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod wrapped;
