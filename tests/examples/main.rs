//! The examples as they are, each in a git repository of its own: they bake from the package registries, their own tests
//! pass in a sandbox, and their keys are what the reference computes from pins that are gathered without atelier.
#![cfg(test)]

mod chain;
mod example;
mod keys;
mod projects;
mod rust;
mod tutorial;
mod workspace;

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/git_server.rs"]
mod git_server;
#[path = "../support/pages.rs"]
mod pages;
#[path = "../support/project.rs"]
mod project;
#[path = "../support/python.rs"]
mod python;
#[path = "../support/repo.rs"]
mod repo;
