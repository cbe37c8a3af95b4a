//! Ready-made development environments from a small file.
//!
//! `text → graph → resolved nodes → keys → plan → snapshots → sandbox`; see ARCHITECTURE.md for the map.
#![expect(
    async_fn_in_trait,
    reason = "one thread runs everything, so no future needs to be Send"
)]

pub mod backend;
pub mod checkout;
pub mod cli;
pub mod config;
mod draft;
pub mod event;
pub mod explain;
pub mod git;
mod group;
pub mod key;
mod lines;
pub mod lock;
pub mod node;
mod nonce;
pub mod oci;
pub mod pin;
pub mod plan;
pub mod realise;
pub mod registry;
pub mod resolve;
mod retry_after;
pub mod revision;
pub mod runner;
pub mod schedule;
pub mod stdlib;
mod sys;
pub mod tree;
pub mod world;
