//! Repositories at a commit, made ready where they can be reached, and checked out where the steps will run: by the same
//! scripts in every backend, so that what lies in a workspace is the same. Both with a git program; see the ADR on git.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::backend::{Checkout, Ending};
use crate::git::{Extras, Fetch, Git, GitError, Part, Problem};

mod lfs;
mod only;
mod submodules;

/// Puts a fetched `.git` in its place and makes every tracked path equal to the commit; what is right already is not
/// touched. A repository that a parent left tells which paths it tracked, and nothing else: its settings run no program
/// here, and marks in its index hide nothing. So does a list of what ancestors took of it.
const CHECK_OUT: &str = r#"
set_aside() {
    { printf '.\0'; git ls-tree -rdz --name-only HEAD; } >"$old/folders"
    xargs -0 sh -c "$aside" sh <"$old/folders"
}
put_back() { xargs -0 sh -c "$back" sh <"$old/folders"; }
aside=$4 back=$5 workspace=$(pwd -P)
mkdir -p -- "$1"
cd -P -- "$1"
if [ "$PWD" != "$workspace/$1" ]; then echo "$1 leads through a symbolic link to $PWD" >&2; exit 1; fi
old=$(mktemp -d)
trap 'rm -rf -- "$old"' EXIT
if [ -f .git/index ]; then cp .git/index "$old/index"; fi
if [ -d .git/modules ]; then find .git/modules -name index -type f -exec cp --parents -- {} "$old" \;; fi
cp "$2.taken" "$old/files"
rm -rf .git
cp -R "$2" .git
git read-tree HEAD
if [ -f "$old/index" ]; then GIT_INDEX_FILE="$old/index" git ls-files -z >>"$old/files" 2>/dev/null || :; fi
git ls-files -z | sort -z >"$old/new"
sort -z "$old/files" | comm -z -23 - "$old/new" | xargs -0r rm -rf --
set_aside
git update-index -q --refresh >/dev/null || :
git reset --quiet --hard
commit=$(git rev-parse HEAD)
if [ "$commit" != "$3" ]; then echo "checked out $commit, not $3" >&2; exit 1; fi
changed=$(git status --porcelain --untracked-files=no --ignore-submodules=all)
if [ -n "$changed" ]; then echo "the work tree is not the commit:" "$changed" >&2; exit 1; fi
put_back
"#;

/// Attributes say how files are written, and git reads those that lie in the work tree. What a parent left of them must
/// say nothing of the commit's files: it is set aside in each folder that the commit has, but not through a link.
const SET_ASIDE: &str = r#"
for folder; do
    file=$folder/.gitattributes
    if [ -L "$file" ] || [ -e "$file" ]; then
        place=$(cd -P -- "$folder" && pwd)
        if [ "$place" = "$PWD/$folder" ] || [ "$folder" = . ]; then mv -T -- "$file" "$file.atelier"; fi
    fi
done
"#;

/// Puts back what is in the place of none of the commit's.
const PUT_BACK: &str = r#"
for folder; do
    file=$folder/.gitattributes
    if [ -L "$file.atelier" ] || [ -e "$file.atelier" ]; then
        if [ -L "$file" ] || [ -e "$file" ]; then rm -rf -- "$file.atelier"; else mv -T -- "$file.atelier" "$file"; fi
    fi
done
"#;

/// A step may have removed a repository, or committed to it; what is there must be whole, and hold all that it needs: what
/// was fetched is at hand only now.
const VERIFY: &str = r#"
cd -- "$1" 2>/dev/null && { [ -e .git ] || [ -L .git ]; } || exit 64
for place in .git .git/objects .git/refs; do
    if [ -L "$place" ] || [ ! -d "$place" ]; then echo "$place is no folder any more: a step has replaced it" >&2; exit 1; fi
done
elsewhere=$(find .git -path '*/objects/info/alternates' -o -path .git/commondir)
if [ -n "$elsewhere" ]; then echo "it needs objects from elsewhere: a step has made $elsewhere" >&2; exit 1; fi
git fsck --no-progress --no-dangling || exit 1
"#;

/// Makes `into` the `.git` of a checkout, or what takes its place, and beside it the lists that the scripts read: files of
/// the same name with an ending.
pub async fn fetch(
    git: &Git,
    checkout: &Checkout,
    into: &Path,
    limit: Duration,
) -> Result<(), GitError> {
    let fetch = Fetch {
        location: &checkout.location,
        url: &checkout.url,
        commit: checkout.commit,
        reference: &checkout.reference,
        depth: checkout.depth,
        credential: checkout.credential.as_ref(),
        limit,
    };
    let extras = Extras {
        submodules: checkout.submodules,
        lfs: checkout.lfs,
    };
    if let Some(entries) = &checkout.only {
        return only::fetch(git, &fetch, extras, entries, into).await;
    }
    let parts = git.fetch_whole(&fetch, extras, into).await?;
    write_lists(&parts, &checkout.taken, into)
}

/// Of `sh`, which begins in the workspace.
pub(crate) struct Script {
    text: String,
    arguments: Vec<String>,
}

impl Script {
    fn new(text: String, arguments: &[&str]) -> Self {
        let arguments = arguments.iter();
        Self {
            text,
            arguments: arguments.map(|&argument| argument.to_owned()).collect(),
        }
    }

    /// What is run.
    pub(crate) fn program(self) -> Vec<String> {
        let shell = [
            "sh".to_owned(),
            "-euc".to_owned(),
            self.text,
            "sh".to_owned(),
        ];
        shell.into_iter().chain(self.arguments).collect()
    }
}

/// What puts into the workspace what has been fetched, one script after another. They see at `from` what was fetched to
/// `fetched`; `name` is no other checkout's.
pub(crate) fn check_out(
    checkout: &Checkout,
    fetched: &Path,
    from: &str,
    name: usize,
) -> Vec<Script> {
    let commit = checkout.commit.to_string();
    let path = checkout.path.as_str();
    let into = |text: String, to: &str| {
        let arguments = [to, from, &commit, SET_ASIDE, PUT_BACK];
        Script::new(text, &arguments)
    };
    let whole = [lfs::PREPARE, CHECK_OUT, submodules::CHECK_OUT, lfs::FINISH].concat();
    if checkout.only.is_none() {
        return vec![into(whole, path)];
    }
    let mut scripts = vec![into(only::CHECK_OUT.to_owned(), path)];
    if only::has_elsewhere(fetched) {
        let aside = format!(".atelier-checkout-{name}");
        scripts.push(into(whole, &aside));
        scripts.push(Script::new(only::TAKE.to_owned(), &[path, from, &aside]));
    }
    scripts
}

/// Checks that a repository at `path` in the workspace is whole. It ends with [`REMOVED`] if there is none any more.
pub(crate) fn verify(path: &str) -> Script {
    Script::new([VERIFY, submodules::VERIFY].concat(), &[path])
}

/// What [`VERIFY`] ends with, and nothing that it calls.
pub(crate) const REMOVED: Ending = Ending::Exited(64);

/// For the scripts: git as nobody has configured it. A step may have left files in the home folder, a parent may have left
/// repositories where a submodule belongs.
pub(crate) fn environment() -> Vec<(String, String)> {
    let fixed = [
        (
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ),
        ("HOME", "/nonexistent"),
        ("XDG_CONFIG_HOME", "/nonexistent"),
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", "file"),
    ];
    let mut variables: Vec<(String, String)> = fixed
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    variables.push(("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()));
    for (index, (name, value)) in SETTINGS.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{index}"), (*name).to_owned()));
        variables.push((format!("GIT_CONFIG_VALUE_{index}"), (*value).to_owned()));
    }
    variables
}

/// What is told to git whatever a repository says: a tracked file is the commit's, and nothing is run.
const SETTINGS: [(&str, &str); 5] = [
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.untrackedCache", "false"),
];

/// What people know a repository by.
pub(crate) fn input(checkout: &Checkout) -> String {
    match checkout.url.as_str() {
        "" => checkout.path.clone(),
        url => url.to_owned(),
    }
}

/// Writes what the scripts need to know of a whole repository.
fn write_lists(parts: &[Part], taken: &BTreeSet<String>, into: &Path) -> Result<(), GitError> {
    only::write_taken(into, taken)?;
    submodules::write_list(into, parts)?;
    lfs::write_list(into, parts)
}

/// Writes what a script reads beside a fetched repository.
fn write(into: &Path, ending: &str, content: &[u8]) -> Result<(), GitError> {
    let path = beside(into, ending);
    // Another user reads it, whatever umask this one has.
    let open = || fs::set_permissions(&path, Permissions::from_mode(0o644));
    let written = fs::write(&path, content).and_then(|()| open());
    written.map_err(|source| unprepared(path, source))
}

fn beside(into: &Path, ending: &str) -> PathBuf {
    let mut path = into.as_os_str().to_owned();
    path.push(".");
    path.push(ending);
    path.into()
}

fn unprepared(path: PathBuf, source: io::Error) -> GitError {
    GitError {
        operation: "prepare a checkout".to_owned(),
        problem: Problem::Io { path, source },
    }
}
