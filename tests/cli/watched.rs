//! Projects of one file, and the program watched while it runs.

use std::fmt::Write as _;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::processes::wait_until;
use crate::project::{PATIENCE, Project, Running};

impl Project {
    /// A repository with this prebuild.kdl, committed.
    pub(crate) fn new(file: &str) -> Self {
        let project = Self::empty();
        project.write("prebuild.kdl", file);
        project.commit("first");
        project
    }

    /// Puts one text in the place of another in prebuild.kdl.
    pub(crate) fn edit(&self, old: &str, new: &str) {
        let text = fs::read_to_string(self.root.join("prebuild.kdl")).unwrap();
        assert!(text.contains(old), "{old}");
        self.write("prebuild.kdl", &text.replace(old, new));
    }

    pub(crate) fn start(&self, words: &[&str]) -> Running<'_> {
        self.start_command(self.atelier(words))
    }

    pub(crate) fn snapshots(&self) -> Vec<Value> {
        let ran = self.run(&["snapshots", "--json"]);
        assert_eq!(ran.code(), 0, "{ran:?}");
        ran.json()["snapshots"].as_array().unwrap().clone()
    }

    /// Nothing of a bake is left but logs: no process, no mount, no folder.
    pub(crate) fn assert_nothing_left(&self) {
        wait_until("everything to end", || self.processes().is_empty());
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let inside = format!("{}/", self.store.display());
        assert!(!mounts.contains(&inside), "{mounts}");
        let folders = ["w", "k"].map(|folder| self.store.join(folder));
        let scratch: Vec<_> = folders
            .into_iter()
            .flat_map(fs::read_dir)
            .flatten()
            .flatten()
            .collect();
        assert!(scratch.is_empty(), "{scratch:?}");
    }

    /// What works in the store, or was told of it.
    pub(crate) fn processes(&self) -> Vec<String> {
        let store = self.store.to_str().unwrap();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            // A sandbox's processes have a root of their own, but mounts from here.
            let mounts = || fs::read_to_string(entry.path().join("mountinfo")).unwrap_or_default();
            let number = entry.file_name().to_string_lossy().parse::<u32>().is_ok();
            if number
                && (folder.starts_with(store)
                    || words.contains(store)
                    || mounts().contains(&format!("{store}/")))
            {
                found.push(words);
            }
        }
        found
    }
}

impl Running<'_> {
    /// Waits for a line of stderr with this text in it.
    pub(crate) fn until(&mut self, text: &str) {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            writeln!(self.stderr, "{line}").unwrap();
            if line.contains(text) {
                return;
            }
        }
        panic!("waited in vain for {text}:\n{}", self.stderr);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }
}
