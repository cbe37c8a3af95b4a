//! The submodules of a checked-out repository, each put in its place like the repository itself.

use std::path::Path;

use crate::git::{GitError, Part};

/// Follows on the script that checks out the repository itself, whose work tree is the current folder, and which has kept
/// what a parent's `.git` said of tracked paths in `$old`. What is listed beside `$2` is there already, below
/// `.git/modules`, without an index or a work tree.
pub(super) const CHECK_OUT: &str = r#"
top=$PWD
# Empties what a parent had of submodules that are not checked out any more.
leave_out() {
    git ls-files --stage -z | sed -nz 's/^160000 [0-9a-f]* 0\t//p' | xargs -0r sh -c '
        for path; do (
            cd -P -- "./$path" 2>/dev/null && [ "$PWD" = "$0/$path" ] && [ -f .git ] || exit 0
            git rev-parse --git-dir >/dev/null 2>&1 || find . -mindepth 1 -delete
        ) done' "$PWD"
}
# Makes a folder and those above it; links in their place go, and what they lead to stays.
make_folder() {
    at=$top rest=$1/
    while [ -n "$rest" ]; do
        at=$at/${rest%%/*} rest=${rest#*/}
        if [ -L "$at" ]; then rm -- "$at"; fi
        [ -d "$at" ] || mkdir -- "$at"
    done
}
leave_out
while IFS='	' read -r path file commit; do
    make_folder "$path"
    cd -P -- "$top/$path"
    index=
    if [ -f .git ]; then index=$old/$(sed -n 's/^gitdir: //p' .git | sed 's|^\(\.\./\)*||')/index; fi
    rm -rf .git
    printf '%s\n' "$file" >.git
    git read-tree HEAD
    if [ -f "$index" ] && GIT_INDEX_FILE="$index" git ls-files -z >"$old/files" 2>/dev/null; then
        git ls-files -z | sort -z >"$old/new"
        sort -z "$old/files" | comm -z -23 - "$old/new" | xargs -0r rm -rf --
    fi
    set_aside
    git update-index -q --refresh >/dev/null || :
    git reset --quiet --hard
    head=$(git rev-parse HEAD)
    if [ "$head" != "$commit" ]; then echo "checked out $head in $path, not $commit" >&2; exit 1; fi
    changed=$(git status --porcelain --untracked-files=no --ignore-submodules=all)
    if [ -n "$changed" ]; then echo "the work tree of $path is not the commit:" "$changed" >&2; exit 1; fi
    put_back
    leave_out
done <"$2.submodules"
cd -- "$top"
"#;

/// Follows on the script that verifies the repository itself, whose work tree is the current folder. All that `modules` has
/// is verified, however deep: what is not listed or not checked out any more is used again by git.
pub(super) const VERIFY: &str = r#"
if [ -d .git/modules ] && [ ! -L .git/modules ]; then
    find .git/modules -type f -name HEAD -exec sh -c '
        for head; do
            dir=${head%/HEAD}
            if [ -d "$dir/objects" ] && [ -d "$dir/refs" ]; then
                git --git-dir="$dir" --work-tree=. fsck --no-progress --no-dangling || exit 1
            fi
        done' sh {} +
fi
"#;

/// Writes the list that the scripts read: a line for each submodule, those above first.
pub(super) fn write_list(into: &Path, parts: &[Part]) -> Result<(), GitError> {
    let submodules = parts.iter().filter(|part| !part.path.is_empty());
    let lines =
        submodules.map(|part| format!("{}\t{}\t{}\n", part.path, part.git_file(), part.commit));
    super::write(into, "submodules", lines.collect::<String>().as_bytes())
}
