//! A project whose sandboxes end with the test, whatever becomes of it.

use std::fs;
use std::ops::Deref;

use rustix::process::Pid;
use serde_json::Value;

use crate::project::{Project, Ran, Running};

pub(crate) struct House(Project);

impl House {
    /// With one target, which is baked.
    pub(crate) fn new(file: &str) -> Self {
        let house = Self::unbaked(file);
        house.run(&["build"]).expect(0);
        house
    }

    pub(crate) fn unbaked(file: &str) -> Self {
        Self(Project::new(file))
    }

    /// With a sandbox `web` of a snapshot with a file `f`.
    pub(crate) fn with_web() -> Self {
        let house = Self::new("from dev-base\nrun \"echo baked > f\"");
        let ran = house.run(&["up", "-d", "--name", "web"]).expect(0);
        assert_eq!(ran.stdout, "web\n");
        house
    }

    pub(crate) fn sh(&self, name: &str, script: &str) -> Ran {
        self.run(&["exec", name, "--", "sh", "-c", script])
    }

    pub(crate) fn start_sh(&self, name: &str, script: &str) -> Running<'_> {
        self.start(&["exec", name, "--", "sh", "-c", script])
    }

    /// The names of all that are listed, with their states.
    pub(crate) fn listed(&self) -> Vec<(String, String)> {
        let json = self.run(&["ps", "--json"]).expect(0).json();
        assert_eq!(json["schema"], "atelier.sandboxes/1");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let rows = json["sandboxes"].as_array().unwrap().iter();
        rows.map(|row| (text(&row["name"]), text(&row["state"])))
            .collect()
    }

    /// A sandbox's first process, as the machine sees it.
    pub(crate) fn first(&self, name: &str) -> Pid {
        let first = fs::read_to_string(self.store.join("k").join(name).join("first")).unwrap();
        let (first, _) = first.split_once(' ').unwrap();
        Pid::from_raw(first.parse().unwrap()).unwrap()
    }

    /// The process that keeps a sandbox.
    pub(crate) fn keeper(&self, name: &str) -> Pid {
        parent(self.first(name))
    }
}

pub(crate) fn parent(process: Pid) -> Pid {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let parent = fields.split(' ').nth(1).unwrap();
    Pid::from_raw(parent.parse().unwrap()).unwrap()
}

impl Deref for House {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.0
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.0.atelier(&["down", "--all"]).status().ok();
    }
}
