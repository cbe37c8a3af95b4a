//! Some files of a repository: fetched without the rest where the server can leave it out, and put into the workspace
//! without a `.git`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::git::{Fetch, Git, GitError};
use crate::node::{ObjectId, TreeEntry};

/// Puts the files into the workspace; what is right already is not touched.
pub(super) const CHECK_OUT: &str = r#"
mkdir -p -- "$1"
cd -P -- "$1"
if [ "$PWD" != "/home/dev/$1" ]; then echo "$1 leads through a symbolic link to $PWD" >&2; exit 1; fi
index=$(mktemp -d)
trap 'rm -rf -- "$index"' EXIT
export GIT_DIR="$2" GIT_WORK_TREE="$PWD" GIT_INDEX_FILE="$index/index"
git update-index -z --index-info <"$2.entries"
git update-index -q --refresh >/dev/null || :
git checkout-index --all --force
git update-index -q --refresh >/dev/null || :
changed=$(git diff-files --name-only)
if [ -n "$changed" ]; then echo "the work tree is not the commit:" "$changed" >&2; exit 1; fi
"#;

/// Fetches the objects of the files into `into`, and writes beside it how they are to be put in place.
pub(super) async fn fetch(
    git: &Git,
    fetch: &Fetch<'_>,
    entries: &BTreeSet<TreeEntry>,
    into: &Path,
) -> Result<(), GitError> {
    // A submodule's object is a commit of another repository.
    let objects = entries.iter().filter(|entry| entry.mode != SUBMODULE);
    let objects: BTreeSet<ObjectId> = objects.filter_map(|entry| entry.object).collect();
    git.fetch_objects(fetch, &objects, into).await?;
    let empty = git.add_empty_object(into).await?;
    let mut lines = Vec::new();
    for TreeEntry { path, mode, object } in entries {
        let object = object.unwrap_or(empty);
        lines.extend_from_slice(format!("{mode} {object}\t{path}\0").as_bytes());
    }
    super::write(into, "entries", &lines)
}

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
