//! Files that are kept in LFS, whose contents are in the `.git` that was fetched: put in the place of their pointers by the
//! machine's git-lfs.

use std::path::Path;

use crate::git::{GitError, Part};

/// Goes before the script that checks a repository out, for all of it: only there is git-lfs git's filter. What is in a
/// `.git` says nothing of it, since an image may have no git-lfs.
pub(super) const PREPARE: &str = r#"
if [ -e "$2.lfs" ]; then
    if ! command -v git-lfs >/dev/null; then
        echo "git-lfs is needed, and is not in a folder of the system: install it, or keep the pointers with lfs=#false" >&2
        exit 1
    fi
    # After those that every call has.
    a=$GIT_CONFIG_COUNT b=$((GIT_CONFIG_COUNT + 1)) c=$((GIT_CONFIG_COUNT + 2))
    export GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 3)) \
        "GIT_CONFIG_KEY_$a=filter.lfs.process" "GIT_CONFIG_VALUE_$a=git-lfs filter-process" \
        "GIT_CONFIG_KEY_$b=filter.lfs.required" "GIT_CONFIG_VALUE_$b=true" \
        "GIT_CONFIG_KEY_$c=lfs.repositoryformatversion" "GIT_CONFIG_VALUE_$c=0"
fi
"#;

/// Goes after it, in the work tree of the repository: no pointer is left, and git has no reason to look into a file without
/// git-lfs, since each is older than the index that knows its size and time.
pub(super) const FINISH: &str = r#"
if [ -e "$2.lfs" ]; then
    left=$(xargs -0r sh -c 'find "$@" -maxdepth 0 -type f -size -3 -print0' sh <"$2.lfs" |
        xargs -0r grep -lE '^oid sha256:[0-9a-f]{64}$' -- || :)
    if [ -n "$left" ]; then echo "pointers are left in the place of what is kept in LFS:" $left >&2; exit 1; fi
    {
        echo .
        cut -f 1 <"$2.submodules"
    } | while IFS= read -r path; do
        git_dir=$(git -C "$path" rev-parse --absolute-git-dir)
        touch -d '+2 seconds' -- "$git_dir/index"
        # What git-lfs leaves where it has been: hooks that fail without it, and a note that it was there.
        rm -rf -- "$git_dir/hooks" "$git_dir/lfs/tmp" "$git_dir/lfs/cache"
        cp -- "$2${git_dir#"$PWD/.git"}/config" "$git_dir/config"
    done
fi
"#;

/// Writes the list that the scripts read: each path from the work tree of all, and a NUL. There is none if nothing is kept
/// in LFS.
pub(super) fn write_list(into: &Path, parts: &[Part]) -> Result<(), GitError> {
    let mut paths = Vec::new();
    for part in parts {
        let folder = match part.path.as_str() {
            "" => "./".to_owned(),
            path => format!("./{path}/"),
        };
        for path in &part.lfs {
            paths.extend([folder.as_bytes(), path, b"\0"].concat());
        }
    }
    match paths.is_empty() {
        true => Ok(()),
        false => super::write(into, "lfs", &paths),
    }
}
