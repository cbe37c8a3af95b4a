//! The submodules of a commit: which there are, where they come from, and their place below `.git/modules`.
//!
//! The tree says at which commit each is, `.gitmodules` where it comes from. Both are content of strangers: what could
//! lead elsewhere is refused by name before anything is fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::needs::inside;
use super::{Git, Listed, Problem};
use crate::node::ObjectId;

mod declared;
mod url;

use declared::Declared;
pub(in crate::git) use url::{clone_url, same_server};

/// One submodule of a commit that is to be checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Submodule {
    /// Its folder below `.git/modules`.
    pub(super) name: String,
    /// In the work tree.
    pub(super) path: String,
    /// Where it is cloned from, or why it cannot be.
    pub(super) url: Result<String, String>,
    pub(super) commit: ObjectId,
    /// Its authors recommend a shallow clone.
    pub(super) shallow: bool,
}

/// Where the repository itself comes from: its submodules' URLs may be relative to that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base<'a> {
    /// Empty if it has none.
    pub(super) url: &'a str,
    /// It is a repository of this machine.
    pub(super) local: bool,
}

impl Git {
    /// The submodules that `gitlinks` of a commit are, in the order of their paths.
    pub(super) async fn submodules(
        &self,
        git_dir: &Path,
        commit: &ObjectId,
        gitlinks: &[Listed],
        base: Base<'_>,
    ) -> Result<Vec<Submodule>, Problem> {
        if gitlinks.is_empty() {
            return Ok(Vec::new());
        }
        let mut declared = match self.read_declared(git_dir, commit).await? {
            Some(listed) => declared::parse(&listed).map_err(Problem::Unsafe)?,
            None => BTreeMap::new(),
        };
        let mut found = Vec::new();
        for gitlink in gitlinks {
            let shown = String::from_utf8_lossy(&gitlink.path).into_owned();
            let wrong = |problem| of_submodule(shown, problem);
            let entry = declared.remove(&gitlink.path);
            found.extend(submodule(gitlink, entry, base).map_err(wrong)?);
        }
        refuse_nested(&found)?;
        Ok(found)
    }

    /// The text of `.gitmodules` as git understands it; `None` if there is none.
    async fn read_declared(
        &self,
        git_dir: &Path,
        commit: &ObjectId,
    ) -> Result<Option<Vec<u8>>, Problem> {
        let id = commit.to_string();
        let entry = ["ls-tree", "-z", "--full-tree", &id, "--", ".gitmodules"];
        let entry = self.succeed(inside(git_dir, &entry)).await?;
        if entry.is_empty() {
            return Ok(None);
        }
        if !entry.starts_with(b"100") {
            let text = "its .gitmodules is not a regular file";
            return Err(Problem::Unsafe(text.to_owned()));
        }
        let blob = format!("{id}:.gitmodules");
        let list = ["config", "--no-includes", "--blob", &blob, "-z", "--list"];
        self.succeed(inside(git_dir, &list)).await.map(Some)
    }
}

/// `None` for one that its repository says is not to be checked out.
fn submodule(
    gitlink: &Listed,
    entry: Option<Declared>,
    base: Base<'_>,
) -> Result<Option<Submodule>, Problem> {
    let path = declared::check_path(&gitlink.path).map_err(Problem::Unsafe)?;
    let Some(entry) = entry else {
        return Err(Problem::Unlisted);
    };
    declared::check_name(&entry.name).map_err(Problem::Unsafe)?;
    match entry.update.as_deref() {
        None | Some("checkout" | "rebase" | "merge") => {}
        Some("none") => return Ok(None),
        // `!COMMAND` would run it (CVE-2019-19604).
        Some(_) => {
            let text = "its `update` in .gitmodules is none of checkout, rebase, merge and none";
            return Err(Problem::Unsafe(text.to_owned()));
        }
    }
    let url = match &entry.url {
        Some(written) => clone_url(written, base.url, base.local),
        None => Err("its entry in .gitmodules has no URL".to_owned()),
    };
    Ok(Some(Submodule {
        name: entry.name,
        path,
        url,
        commit: gitlink.object,
        shallow: entry.shallow,
    }))
}

/// No repository may lie in the folder of another's `.git`.
fn refuse_nested(found: &[Submodule]) -> Result<(), Problem> {
    let names: BTreeSet<&str> = found
        .iter()
        .map(|submodule| submodule.name.as_str())
        .collect();
    for submodule in found {
        let name = submodule.name.as_str();
        let mut above = name.match_indices('/').map(|(at, _)| &name[..at]);
        if let Some(above) = above.find(|above| names.contains(above)) {
            let why = format!("its name `{name}` is inside that of `{above}`");
            return Err(of_submodule(submodule.path.clone(), Problem::Unsafe(why)));
        }
    }
    Ok(())
}

/// A problem of the submodule at `path`.
pub(super) fn of_submodule(path: String, problem: Problem) -> Problem {
    Problem::Submodule {
        path,
        problem: Box::new(problem),
    }
}

/// The way out of a problem with a submodule.
pub(super) fn help(problem: &Problem) -> String {
    let way_out = match problem {
        Problem::Submodule { problem, .. } => return help(problem),
        // There is no `auth=` for it.
        Problem::LoginNeeded => {
            "check its URL; the repository's `auth=` opens submodules on the same server, and no others"
                .to_owned()
        }
        Problem::CommitGone(_) => "push that commit to the submodule's repository".to_owned(),
        other => other.help(),
    };
    format!("{way_out}, or leave submodules out with `submodules=#false`")
}
