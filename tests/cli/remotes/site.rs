//! A server with some repositories, the clones that push to them, and a project that names one of them.

use std::path::PathBuf;

use crate::git_server::GitServer;
use crate::project::Project;
use crate::repo::Repo;

pub(crate) struct Site {
    pub(crate) project: Project,
    pub(crate) server: GitServer,
    folder: PathBuf,
}

impl Site {
    pub(crate) fn new() -> Self {
        let project = Project::empty();
        let folder = project.root.parent().unwrap().to_owned();
        std::fs::create_dir(folder.join("served")).unwrap();
        let server = GitServer::start(&folder.join("served"));
        Self {
            project,
            server,
            folder,
        }
    }

    /// A new repository `name` on the server, with one commit of a file of that name.
    pub(crate) fn repository(&self, name: &str) -> Repo {
        let repo = Repo::init(&self.folder.join(name), &[]);
        let bare = self.served(name);
        Repo::init(&bare, &["--bare"]);
        repo.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
        repo.commit(name, "one");
        publish(&repo, "begun");
        repo
    }

    pub(crate) fn served(&self, name: &str) -> PathBuf {
        self.folder.join(format!("served/{name}.git"))
    }

    /// Where something that is in no repository can be.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A file with one target, which has the repository `name`.
    pub(crate) fn file(&self, name: &str, options: &str) {
        let url = self.server.url(name);
        let text = format!("from dev-base\nrepo \"{url}\" {options}");
        self.project.write("prebuild.kdl", &text);
    }

    /// Runs a script in a sandbox of the one target.
    pub(crate) fn sh(&self, script: &str) -> String {
        let words = ["up", "--", "sh", "-ec", script];
        self.project.run(&words).expect(0).stdout
    }
}

/// Commits what is staged, and pushes it; returns the commit.
pub(crate) fn publish(repo: &Repo, message: &str) -> String {
    repo.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    repo.git(&["push", "--quiet", "--force", "--tags", "origin", "main"]);
    repo.git(&["rev-parse", "HEAD"])
}
