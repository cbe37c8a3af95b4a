//! Building a forest: the order of bakes, what a failure stops, and that `build` reuses what `plan` says.
#![cfg(test)]

mod forest;
mod order;
mod realise;

#[path = "../support/requests.rs"]
mod requests;
