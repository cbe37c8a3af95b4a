//! `kubernetes { … }`: the cluster, and what is asked of it.

use std::collections::BTreeMap;

use atelier_lang::code as lang;
use atelier_lang::diag::Diagnostic;
use atelier_lang::span::Spanned;
use atelier_lang::spelling::visible;
use atelier_lang::suggest::nearest;
use atelier_lang::tree::Node;

use super::faults::{form, misplaced_name, twice, wrong_arguments};
use super::statements::{Owner, Reader, text};
use super::{Config, Setting};
use crate::backend::kubernetes::Settings;

/// What a setting takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Name,
    Names,
    /// NAME=VALUE.
    Pairs,
    Truth,
    /// From 1 on.
    Count,
}

const SETTINGS: [(&str, Takes); 11] = [
    ("context", Takes::Name),
    ("namespace", Takes::Name),
    ("storage-class", Takes::Name),
    ("snapshot-class", Takes::Name),
    ("runtime-class", Takes::Name),
    ("node-selector", Takes::Pairs),
    ("runner", Takes::Name),
    ("pull-secret", Takes::Names),
    ("verify", Takes::Truth),
    ("node-local", Takes::Truth),
    ("max-depth", Takes::Count),
];

/// To whom logins and secrets are handed is for the caller alone to say: which cluster and which part of it, on which nodes,
/// under which runner, and what keeps it from others there.
const OF_THE_CALLER: [&str; 6] = [
    "context",
    "namespace",
    "runtime-class",
    "node-selector",
    "runner",
    "pull-secret",
];

/// What a file says, by setting.
pub(super) type Said = BTreeMap<&'static str, Spanned<Vec<String>>>;

impl Reader<'_> {
    pub(super) fn kubernetes(&mut self, node: &Node) {
        self.bare(node, false);
        if let Some(extra) = node.arguments.first() {
            self.found
                .push(wrong_arguments(node, extra.span, "not here"));
        }
        if node.children.is_none() {
            let label = "something is missing";
            self.found
                .push(wrong_arguments(node, node.name.span, label));
        }
        for child in node.children.iter().flatten() {
            self.cluster_setting(child);
        }
    }

    fn cluster_setting(&mut self, node: &Node) {
        let known = SETTINGS.iter().find(|(name, _)| *name == node.name.value);
        let Some(&(name, takes)) = known else {
            return self.found.push(no_such(&node.name));
        };
        if OF_THE_CALLER.contains(&name) && matches!(self.owner, Owner::Project { .. }) {
            let label = "not for a project to say";
            let help =
                "move it to the caller's own config.kdl: it decides to whom logins are shown";
            return self.found.push(misplaced_name(&node.name, label, help));
        }
        self.bare(node, node.children.is_some());
        // What has no text has a finding already.
        let values: Option<Vec<_>> = node.arguments.iter().map(text).collect();
        let Some(values) = values else { return };
        let is_many = matches!(takes, Takes::Names | Takes::Pairs);
        match values.as_slice() {
            [] => {
                let label = "nothing follows";
                return self
                    .found
                    .push(wrong_arguments(node, node.name.span, label));
            }
            [_, second, ..] if !is_many => {
                return self
                    .found
                    .push(wrong_arguments(node, second.span, "too many"));
            }
            _ => {}
        }
        for value in &values {
            if let Some(fault) = wrong(name, takes, value) {
                return self.found.push(fault);
            }
        }
        let values = values.into_iter().map(|value| value.value).collect();
        let said = Spanned::new(values, node.head());
        if let Some(first) = self.said.kubernetes.insert(name, said) {
            self.found.push(twice(node.head(), name, first.span));
        }
    }
}

fn wrong(name: &str, takes: Takes, value: &Spanned<String>) -> Option<Diagnostic> {
    let is_right = match takes {
        Takes::Name if name == "runner" => value.contains("@sha256:"),
        Takes::Name | Takes::Names => !value.is_empty(),
        Takes::Pairs => value
            .split_once('=')
            .is_some_and(|(name, _)| !name.is_empty()),
        Takes::Truth => matches!(value.as_str(), "true" | "false"),
        Takes::Count => value.parse::<u32>().is_ok_and(|count| count > 0),
    };
    if is_right {
        return None;
    }
    let help = match takes {
        Takes::Name if name == "runner" => {
            "name it by digest, as scripts/runner-image prints it: \"REGISTRY/atelier-runner@sha256:…\""
        }
        Takes::Name | Takes::Names => "a name",
        Takes::Pairs => "write \"NAME=VALUE\", a label of nodes",
        Takes::Truth => "write #true or #false",
        Takes::Count => "write a number from 1 on",
    };
    let message = format!("`{name}` cannot be `{}`", visible(value));
    let fault = Diagnostic::error(lang::BAD_VALUE, value.span, message, "this value");
    Some(fault.help(help))
}

fn no_such(name: &Spanned<String>) -> Diagnostic {
    let message = format!("`kubernetes` has no `{}`", visible(name));
    let fault = Diagnostic::error(lang::UNKNOWN_STATEMENT, name.span, message, "unknown");
    let names = SETTINGS.map(|(name, _)| name);
    match nearest(name, names) {
        Some(near) => fault
            .help(format!("did you mean `{near}`?"))
            .fix(name.span, near),
        None => fault.help(format!("written: {}", form("kubernetes"))),
    }
}

impl Config {
    /// What is said of the cluster, for who asks it.
    pub fn cluster_settings(&self) -> Settings {
        let many = |name: &str| -> Vec<String> {
            let said = self.kubernetes.get(name);
            said.map(|said: &Setting<Vec<String>>| said.value.clone())
                .unwrap_or_default()
        };
        let one = |name: &str| many(name).into_iter().next();
        let truth = |name: &str| one(name).map(|value| value == "true");
        let pair = |pair: String| {
            let (name, value) = pair.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        let defaults = Settings::default();
        Settings {
            context: one("context"),
            namespace: one("namespace"),
            storage_class: one("storage-class"),
            snapshot_class: one("snapshot-class"),
            runtime_class: one("runtime-class"),
            node_selector: many("node-selector").into_iter().filter_map(pair).collect(),
            runner: one("runner"),
            pull_secrets: many("pull-secret"),
            verify: truth("verify").unwrap_or(defaults.verify),
            node_local: truth("node-local").unwrap_or(defaults.node_local),
            max_depth: one("max-depth").and_then(|value| value.parse().ok()),
        }
    }
}
