//! Some files of a repository: fetched without the rest where the server can leave it out, and put into the workspace
//! without a `.git`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::git::{Extras, Fetch, Git, GitError};
use crate::node::{ObjectId, TreeEntry};

/// Puts the files into the workspace; what is right already is not touched.
pub(super) const CHECK_OUT: &str = r#"
workspace=$(pwd -P)
mkdir -p -- "$1"
cd -P -- "$1"
if [ "$PWD" != "$workspace/$1" ]; then echo "$1 leads through a symbolic link to $PWD" >&2; exit 1; fi
index=$(mktemp -d)
trap 'rm -rf -- "$index"' EXIT
export GIT_DIR="$2" GIT_WORK_TREE="$PWD" GIT_INDEX_FILE="$index/index"
git update-index -z --index-info <"$2.entries"
xargs -0 sh -c "$4" sh <"$2.folders"
git update-index -q --refresh >/dev/null || :
git checkout-index --all --force
git update-index -q --refresh >/dev/null || :
changed=$(git diff-files --name-only)
if [ -n "$changed" ]; then echo "the work tree is not the commit:" "$changed" >&2; exit 1; fi
xargs -0 sh -c "$5" sh <"$2.folders"
"#;

/// Follows on both scripts, where files are kept in LFS or belong to submodules: takes those from a checkout of the whole
/// repository, and removes that.
pub(super) const TAKE: &str = r#"
workspace=$(pwd -P)
cd -P -- "$1"
if [ "$PWD" != "$workspace/$1" ]; then echo "$1 leads through a symbolic link to $PWD" >&2; exit 1; fi
xargs -0r sh -euc '
    for path; do
        rm -rf -- "./$path"
        cp -a -- "$0/$path" "./$path"
        find "./$path" -name .git -prune -exec rm -rf -- {} +
    done' "$workspace/$3" <"$2.elsewhere"
rm -rf -- "$workspace/$3"
"#;

/// Fetches the objects of the files into `into`, and writes beside it how they are to be put in place. Where some are kept
/// elsewhere, `into` is all of the repository.
pub(super) async fn fetch(
    git: &Git,
    fetch: &Fetch<'_>,
    extras: Extras,
    entries: &BTreeSet<TreeEntry>,
    into: &Path,
) -> Result<(), GitError> {
    // A submodule's object is a commit of another repository.
    let is_submodule = |entry: &&TreeEntry| entry.mode == SUBMODULE;
    let objects = entries.iter().filter(|entry| !is_submodule(entry));
    let objects: BTreeSet<ObjectId> = objects.filter_map(|entry| entry.object).collect();
    git.fetch_objects(fetch, &objects, into).await?;
    let has_submodule = extras.submodules && entries.iter().any(|entry| is_submodule(&entry));
    let has_pointer = extras.lfs && git.has_pointer(into, &objects).await?;
    if has_submodule || has_pointer {
        fetch_whole(git, fetch, extras, entries, into).await?;
    }
    let empty = git.add_empty_object(into).await?;
    let mut lines = Vec::new();
    for TreeEntry { path, mode, object } in entries {
        let object = object.unwrap_or(empty);
        lines.extend_from_slice(format!("{mode} {object}\t{path}\0").as_bytes());
    }
    super::write(into, "entries", &lines)?;
    let folders = folders(entries.iter().map(|entry| entry.path.as_str()));
    let folders: Vec<&str> = folders.into_iter().collect();
    super::write(into, "folders", (folders.join("\0") + "\0").as_bytes())
}

/// All that the files are in.
fn folders<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let mut folders = BTreeSet::from(["."]);
    for mut path in paths {
        while let Some((above, _)) = path.rsplit_once('/') {
            folders.insert(above);
            path = above;
        }
    }
    folders
}

async fn fetch_whole(
    git: &Git,
    fetch: &Fetch<'_>,
    extras: Extras,
    entries: &BTreeSet<TreeEntry>,
    into: &Path,
) -> Result<(), GitError> {
    let removed = fs::remove_dir_all(into);
    removed.map_err(|source| super::unprepared(into.to_owned(), source))?;
    let parts = git.fetch_whole(fetch, extras, into).await?;
    super::write_lists(&parts, &BTreeSet::new(), into)?;
    let in_lfs: BTreeSet<&[u8]> = parts
        .iter()
        .filter(|part| part.path.is_empty())
        .flat_map(|part| part.lfs.iter().map(Vec::as_slice))
        .collect();
    let mut elsewhere = Vec::new();
    for TreeEntry { path, mode, object } in entries {
        let is_submodule = extras.submodules && mode == SUBMODULE;
        if is_submodule || (object.is_some() && in_lfs.contains(path.as_bytes())) {
            elsewhere.extend([path.as_bytes(), b"\0"].concat());
        }
    }
    super::write(into, ELSEWHERE, &elsewhere)
}

/// Whether a repository that was fetched into `into` has files that are kept elsewhere.
pub(super) fn has_elsewhere(into: &Path) -> bool {
    super::beside(into, ELSEWHERE).exists()
}

const ELSEWHERE: &str = "elsewhere";

/// Writes, beside a fetched repository, which files ancestors took of it.
pub(super) fn write_taken(into: &Path, taken: &BTreeSet<String>) -> Result<(), GitError> {
    let mut lines = Vec::new();
    for path in taken {
        lines.extend_from_slice(path.as_bytes());
        lines.push(0);
    }
    super::write(into, "taken", &lines)
}

const SUBMODULE: &str = "160000";
