//! The cluster as the backend, for real: run within one that `tests/cluster/up` has started,
//! `tests/cluster/enter cargo test --test kubernetes -- --test-threads 2`. Some of them hurt the cluster's own programs; they
//! have it to themselves.
#![cfg(test)]

mod chain;
mod cluster;
mod doctor;
mod emit;
mod example;
mod failures;
mod faults;
mod locks;
mod pauses;
mod role;
mod sandboxes;
mod secrets;
mod soak;
