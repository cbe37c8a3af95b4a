//! Steps, parents, callers and machines that mean no good, or have no luck.
#![cfg(test)]

mod booting;
mod caches;
mod calls;
mod checkouts;
mod descriptors;
mod display;
mod endings;
mod ends;
mod floods;
mod flushing;
mod indexes;
mod inputs;
mod keys;
mod links;
mod machine;
mod secrets;
mod starting;
mod stores;
mod sweeping;
mod terminals;

#[path = "../support/attached.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod attached;
#[path = "../support/processes.rs"]
mod processes;
#[path = "../support/project.rs"]
mod project;
#[path = "../cli/watched.rs"]
mod watched;
#[path = "../support/wrapped.rs"]
mod wrapped;
