//! A project as of a revision of its repository.

use std::path::PathBuf;

use atelier_lang::diag::Outcome;
use atelier_lang::document::LIMIT;
use atelier_lang::graph::Graph;
use atelier_lang::source::{ReadError, Sources, VirtualPath};

use super::unread::Unread;
use super::{Project, git, isolation};
use crate::backend::local::Local;
use crate::cli::args::{FileArgs, StoreArgs};
use crate::cli::failure::Failure;
use crate::cli::place::Place;
use crate::cli::ui;
use crate::git::GitError;
use crate::revision::Revision;

/// A revision of a project.
pub(in crate::cli) struct Then {
    pub revision: Revision,
    /// What it has for a lock, which nobody may ask for.
    pub lock: Option<Result<Vec<u8>, ReadError>>,
}

impl Project {
    /// The same as of a revision of the repository that the project is. A file that was not there has no targets.
    pub(in crate::cli) async fn read_at(
        file: Option<PathBuf>,
        given: &FileArgs,
        args: &StoreArgs,
        revision: &str,
    ) -> Result<Self, Failure> {
        let unread = Unread::of(Place::find_once(file)?, given, args)?;
        let failed = |error: GitError| Failure::usage(error.to_string(), error.help());
        // Git has a file there.
        Local::open(&unread.store, isolation(args))?;
        let (git, root) = (git(&unread.store)?, unread.root.clone());
        let Some(revision) = Revision::open(git, root, revision).await.map_err(failed)? else {
            let root = unread.root.display();
            let text = format!("`{revision}` is no revision of {root}");
            let help = match revision.starts_with("snap-") {
                true => "of a snapshot's name, give snap- and 6 digits or more",
                false => "write it as git knows it, such as HEAD~1",
            };
            return Err(Failure::usage(text, help));
        };
        let (sources, outcome) = match revision.has(&unread.inputs.file).await.map_err(failed)? {
            true => revision.evaluate(&unread.inputs).await,
            false => {
                ui::notice(&format!(
                    "{} has no {}",
                    revision.name(),
                    unread.inputs.file
                ));
                (Sources::default(), Outcome::of(Graph::default()))
            }
        };
        let mut project = unread.read(args, sources, outcome)?;
        project.then = Some(project.lock_at(revision).await?);
        Ok(project)
    }

    /// The lock that a revision of the project has beside the file.
    async fn lock_at(&self, revision: Revision) -> Result<Then, Failure> {
        let name = self.lock_name();
        let failed = |error: GitError| Failure::usage(error.to_string(), error.help());
        let lock = match VirtualPath::new(&name) {
            Some(path) if revision.has(&path).await.map_err(failed)? => {
                Some(revision.read(&path, LIMIT).await)
            }
            _ => None,
        };
        Ok(Then { revision, lock })
    }
}

impl Then {
    /// What people call a file of the revision.
    pub(in crate::cli) fn of(&self, name: &str) -> String {
        format!("{}:{name}", self.revision.name())
    }
}
