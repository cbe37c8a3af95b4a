//! The configuration as people write it: what it may say, what holds, and what is told when it is wrong.
#![cfg(test)]

mod aliases;
mod caller;
mod host;
mod kubernetes;
mod origins;
mod refusals;
mod registries;
mod servers;

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/oci_layout.rs"]
mod oci_layout;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/project.rs"]
mod project;
