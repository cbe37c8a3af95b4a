//! A caller with a configuration of their own, in a project.

use std::fs;
use std::process::Stdio;

use serde_json::Value;

use crate::project::{Project, Ran};

impl Project {
    /// A project whose prebuild.kdl is `file`.
    pub(crate) fn of(file: &str) -> Self {
        let project = Self::empty();
        project.write("prebuild.kdl", file);
        project
    }

    /// Writes the caller's own config.kdl.
    pub(crate) fn configure(&self, text: &str) {
        self.write_at_home(".config/atelier/config.kdl", text);
    }

    pub(crate) fn write_at_home(&self, path: &str, text: &str) {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes the project's config.kdl.
    pub(crate) fn share(&self, text: &str) {
        self.write(".atelier/config.kdl", text);
    }

    /// Runs the program with these words alone: no --store. The caller's home is written `[home]` in stderr.
    pub(crate) fn plainly(&self, words: &[&str], variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command(env!("CARGO_BIN_EXE_atelier"));
        command.args(words).stdin(Stdio::null());
        command.envs(variables.iter().copied());
        let mut ran = self.run_command(command);
        ran.stderr = ran.stderr.replace(self.home.to_str().unwrap(), "[home]");
        ran
    }

    /// What `config --json` says of a setting: its values, and where each is from.
    pub(crate) fn settings(
        &self,
        setting: &str,
        words: &[&str],
        variables: &[(&str, &str)],
    ) -> Vec<(String, String)> {
        let ran = self
            .plainly(&[&["config", "--json"], words].concat(), variables)
            .expect(0);
        let json = ran.json();
        assert_eq!(json["schema"], "atelier.config/1");
        let rows = json["settings"].as_array().unwrap().iter();
        let rows = rows.filter(|row| row["setting"] == setting);
        rows.map(|row| (self.shown(&row["value"]), self.origin(row)))
            .collect()
    }

    fn origin(&self, row: &Value) -> String {
        match row["from"].as_str().unwrap() {
            "file" => format!("{}:{}", self.shown(&row["file"]), row["line"]),
            other => other.to_owned(),
        }
    }

    fn shown(&self, value: &Value) -> String {
        let text = value.as_str().unwrap();
        let text = text.replace(self.root.to_str().unwrap(), "[project]");
        text.replace(self.home.to_str().unwrap(), "[home]")
    }
}
