//! The program as people and scripts use it: small projects of their own, the real git, the real backend.
#![cfg(test)]

mod agreement;
mod bad_files;
mod bad_machine;
mod bad_steps;
mod checks;
mod concurrent;
mod crashes;
mod credentials;
mod describing;
mod diffs;
mod direct;
mod editors;
mod environment;
mod explanations;
mod leaves;
mod linting;
mod locks;
mod logs;
mod only;
mod plans;
mod recipes;
mod remotes;
mod repositories;
mod reuse;
mod secrets;
mod signals;
mod snapshots;
mod transcripts;
mod up;
mod watched;
mod ways;

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/front.rs"]
mod front;
#[path = "../support/git_server.rs"]
mod git_server;
#[path = "../support/homes.rs"]
mod homes;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/http.rs"]
mod http;
#[path = "../support/links.rs"]
mod links;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/pages.rs"]
mod pages;
#[path = "../support/processes.rs"]
mod processes;
#[path = "../support/project.rs"]
mod project;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/python.rs"]
mod python;
#[path = "../support/repo.rs"]
mod repo;
#[path = "../support/users.rs"]
mod users;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/wrapped.rs"]
mod wrapped;
