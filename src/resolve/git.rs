//! Repositories → commits.

use std::path::{Path, PathBuf};

use atelier_lang::graph::{Reference, RepoSource};
use atelier_lang::url::{default_path, normal_form};

use super::{PinError, PinnedRepo, RepoInput, RepoLocation};
use crate::git::{GitError, OnDisk, Problem, Refs, Revision, is_valid_ref};
use crate::node::ObjectId;

/// The ref that a file means by `branch=` or `tag=`; empty for none and for a commit.
pub(super) fn full_name(reference: Option<&Reference>) -> Result<String, Problem> {
    let (name, full) = match reference {
        None | Some(Reference::Commit(_)) => return Ok(String::new()),
        Some(Reference::Branch(name)) => (name, format!("refs/heads/{name}")),
        Some(Reference::Tag(name)) => (name, format!("refs/tags/{name}")),
    };
    if is_valid_ref(&full) {
        Ok(full)
    } else {
        Err(Problem::BadName(name.clone()))
    }
}

pub(super) fn commit_id(text: &str) -> Result<ObjectId, Problem> {
    text.parse().map_err(|_| Problem::BadName(text.to_owned()))
}

/// Picks the commit of a remote repository out of its refs.
pub(super) fn pin_remote(
    url: &str,
    reference: Option<&Reference>,
    refs: &Refs,
) -> Result<PinnedRepo, Problem> {
    if reference.is_none() {
        let (branch, commit) = refs.default_branch()?;
        return Ok(pin_at(url, branch, commit));
    }
    let full = full_name(reference)?;
    let commit = refs
        .commit(&full)
        .ok_or_else(|| Problem::NoSuchReference(full.clone()))?;
    Ok(pin_at(url, full, commit))
}

/// A repository whose commit the file names: nothing needs to be asked.
pub(super) fn pin_commit(url: &str, commit: ObjectId) -> PinnedRepo {
    pin_at(url, String::new(), commit)
}

/// Whether a server says which commit it is.
pub(crate) fn is_floating(repo: &RepoInput) -> bool {
    matches!(repo.source, RepoSource::Url(_))
        && !matches!(repo.reference, Some(Reference::Commit(_)))
}

/// A remote repository at a commit of the ref `reference`.
pub(crate) fn pin_at(url: &str, reference: String, commit: ObjectId) -> PinnedRepo {
    PinnedRepo {
        url: url.to_owned(),
        reference,
        commit,
        default_path: default_path(url).map(str::to_owned),
        location: RepoLocation::Url(url.to_owned()),
        notice: None,
    }
}

/// What to ask of a repository on disk.
pub(super) fn revision(reference: Option<&Reference>) -> Result<Revision, Problem> {
    match reference {
        None => Ok(Revision::Head),
        Some(Reference::Commit(id)) => commit_id(id).map(Revision::Commit),
        Some(_) => full_name(reference).map(Revision::Ref),
    }
}

/// What a repository on disk is keyed by. `written` is its path in the file.
pub(super) fn pin_disk(
    written: &str,
    reference: Option<&Reference>,
    found: OnDisk,
) -> Result<PinnedRepo, Problem> {
    let origin = found.origin.as_deref();
    let default_path = match origin {
        Some(origin) => last_segment(origin),
        None => last_segment(written),
    };
    let notice = found
        .changes
        .filter(|changes| !changes.is_none())
        .map(|changes| format!("{written} has {changes}: only what is committed is baked"));
    Ok(PinnedRepo {
        url: origin.and_then(https_form).unwrap_or_default(),
        reference: full_name(reference)?,
        commit: found.commit,
        default_path,
        location: RepoLocation::Disk(found.root),
        notice,
    })
}

/// The URL of an origin without its login; `None` where no https URL is certain to mean the same.
fn https_form(origin: &str) -> Option<String> {
    let bare = match origin.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => {
            let (authority, path) = rest.split_once('/')?;
            let host = authority
                .rsplit_once('@')
                .map_or(authority, |(_, host)| host);
            format!("https://{host}/{path}")
        }
        Some(_) => origin.to_owned(),
        None if is_scp_form(origin) => origin.to_owned(),
        // A path of this machine. A bare host, too, is a path to git.
        None => return None,
    };
    normal_form(&bare).filter(|url| url.starts_with("https://"))
}

/// `host:path`, as git tells it from a path: no slash before the first colon.
fn is_scp_form(origin: &str) -> bool {
    origin
        .split_once(':')
        .is_some_and(|(host, _)| !host.contains('/'))
}

/// The name that a clone of `source`, a URL or a path, gets; `None` if that is no name.
fn last_segment(source: &str) -> Option<String> {
    let trimmed = source.trim_end_matches('/');
    let stripped = trimmed
        .strip_suffix("/.git")
        .or_else(|| trimmed.strip_suffix(".git"));
    let stripped = stripped.unwrap_or(trimmed);
    let name = stripped.rsplit(['/', ':']).next().unwrap_or(stripped);
    default_path(&format!("/{name}")).map(str::to_owned)
}

/// Where a path in the file leads.
pub(super) fn on_disk(folder: &Path, written: &str) -> PathBuf {
    folder.join(written)
}

pub(super) fn pin_error(input: &RepoInput, problem: &Problem) -> PinError {
    PinError {
        input: input.to_string(),
        cause: problem.to_string(),
        help: problem.help(),
    }
}

/// The same, for an error that a shared request gave to all who wait for it.
pub(super) fn shared_error(input: &RepoInput, error: &GitError) -> PinError {
    pin_error(input, &error.problem)
}

#[cfg(test)]
mod tests {
    use super::{https_form, last_segment};

    #[test]
    fn an_origin_loses_its_login_and_gets_its_https_form() {
        for (origin, expected) in [
            (
                "https://me:tok@GitHub.com/acme/web.git",
                Some("https://github.com/acme/web"),
            ),
            (
                "https://tok@github.com:443/acme/web",
                Some("https://github.com/acme/web"),
            ),
            (
                "git@github.com:acme/web.git",
                Some("https://github.com/acme/web"),
            ),
            (
                "ssh://git@github.com/acme/web",
                Some("https://github.com/acme/web"),
            ),
            ("ssh://git@github.com:2222/acme/web", None),
            ("me@github.com:acme/web", None),
            ("http://127.0.0.1:3000/acme/web", None),
            ("file:///srv/web.git", None),
            ("/srv/web.git", None),
            ("../web", None),
            ("srv.d/git/web", None),
        ] {
            assert_eq!(https_form(origin).as_deref(), expected, "{origin}");
        }
    }

    #[test]
    fn the_default_path_is_the_last_segment() {
        for (text, expected) in [
            ("https://github.com/acme/web", Some("web")),
            ("/srv/git/web.git/", Some("web")),
            ("/srv/web/.git", Some("web")),
            ("git@host:web.git", Some("web")),
            (".", None),
            ("..", None),
            ("../..", None),
            ("./code/", Some("code")),
            ("../lib", Some("lib")),
        ] {
            assert_eq!(last_segment(text).as_deref(), expected, "{text}");
        }
    }
}
