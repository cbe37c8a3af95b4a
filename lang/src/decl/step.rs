//! `run`: one step.

use std::time::Duration;

use super::{Fields, Reader};
use crate::code;
use crate::diag::Diagnostic;
use crate::graph::{Folder, Shell, Step, User};
use crate::tree::Node;
use crate::value;

pub(crate) const TIMEOUT: Duration = Duration::from_mins(10);

impl Reader<'_> {
    /// Reads a `run`; `repo` is where it starts if it stands in a repository's block.
    pub(super) fn step(&mut self, node: &Node, repo: Option<&Folder>) -> Option<Step> {
        let folder = self.folder(node, repo);
        let user = self.parsed(node, "as", value::user).unwrap_or(User::Dev);
        let shell = self
            .parsed(node, "shell", value::shell)
            .unwrap_or(Shell::Bash);
        let timeout = self
            .parsed(node, "timeout", value::duration)
            .unwrap_or(TIMEOUT);
        let retry = self
            .parsed(node, "retry", |text| value::count(text, 0))
            .unwrap_or(0);
        let command = Fields(node).argument(0)?;
        self.no_secret(&command);
        if command.trim().is_empty() {
            let message = "`run` has nothing to run";
            self.found.push(Diagnostic::error(
                code::BAD_VALUE,
                command.span,
                message,
                "empty",
            ));
            return None;
        }
        let command = command.value;
        Some(Step {
            command,
            folder,
            user,
            shell,
            timeout,
            retry,
            span: node.span,
        })
    }

    fn folder(&mut self, node: &Node, repo: Option<&Folder>) -> Folder {
        let stated = node
            .properties
            .iter()
            .find(|property| property.key.value == "in");
        let (Some(stated), Some(repo)) = (stated, repo) else {
            let stated = Fields(node).property("in");
            let usable = stated.filter(|path| self.take(path, value::relative_path).is_some());
            let elsewhere = Folder::Workspace(usable.map_or_else(String::new, |path| path.value));
            return repo.cloned().unwrap_or(elsewhere);
        };
        let message = "a `run` inside `repo` has no `in`";
        self.found.push(
            Diagnostic::error(
                code::UNKNOWN_PROPERTY,
                stated.span(),
                message,
                "it runs in the repository",
            )
            .help("delete it, and begin the command with `cd DIR && `; or move the `run` out of the block"),
        );
        repo.clone()
    }
}
