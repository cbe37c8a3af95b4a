//! Repositories in the workspace: fetched as the caller, who may read them; checked out in the sandbox as `dev`, who
//! will own them. Both with the machine's git; see the ADR on git.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atelier_lang::graph::User;
use futures_util::future::try_join_all;

use super::log::Log;
use super::protocol::{Action, Process, Root, StdioKind};
use super::session::Session;
use super::store::{Scratch, failed};
use crate::backend::{BackendError, BakeError, Checkout, Class, Ending};
use crate::git::{Extras, Fetch, Git, GitError, Part, Problem};
use crate::resolve::PinError;

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
aside=$4 back=$5
mkdir -p -- "$1"
cd -P -- "$1"
if [ "$PWD" != "/home/dev/$1" ]; then echo "$1 leads through a symbolic link to $PWD" >&2; exit 1; fi
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

/// A step may have removed a repository, or committed to it; what is there must be whole, and hold all that it needs: only
/// here are the fetched repositories at hand.
const VERIFY: &str = r#"
cd -- "$1" 2>/dev/null && { [ -e .git ] || [ -L .git ]; } || exit 3
for place in .git .git/objects .git/refs; do
    if [ -L "$place" ] || [ ! -d "$place" ]; then echo "$place is no folder any more: a step has replaced it" >&2; exit 1; fi
done
elsewhere=$(find .git -path '*/objects/info/alternates' -o -path .git/commondir)
if [ -n "$elsewhere" ]; then echo "it needs objects from elsewhere: a step has made $elsewhere" >&2; exit 1; fi
git fsck --no-progress --no-dangling
"#;

/// Fetches all commits at once, into the scratch folder.
pub(super) async fn fetch(
    git: &Git,
    checkouts: &[Checkout],
    scratch: &Scratch,
    limit: Duration,
) -> Result<(), BakeError> {
    std::fs::create_dir(scratch.path("git"))
        .map_err(|error| failed("make a folder in the store", &error))?;
    try_join_all(checkouts.iter().enumerate().map(async |(index, checkout)| {
        let into = scratch.path(&format!("git/{index}"));
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
        let fetched = match &checkout.only {
            Some(entries) => only::fetch(git, &fetch, extras, entries, &into).await,
            None => match git.fetch_whole(&fetch, extras, &into).await {
                Ok(parts) => write_lists(&parts, &checkout.taken, &into),
                Err(error) => Err(error),
            },
        };
        fetched.map_err(|error| broken(checkout, scratch, &error))
    }))
    .await?;
    Ok(())
}

/// Writes what the scripts need to know of a whole repository.
fn write_lists(parts: &[Part], taken: &BTreeSet<String>, into: &Path) -> Result<(), GitError> {
    only::write_taken(into, taken)?;
    submodules::write_list(into, parts)?;
    lfs::write_list(into, parts)
}

/// Writes what a script in the sandbox reads beside a fetched repository.
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

/// What a failed call of git means. What fails in our own folder is no fault of the repository.
fn broken(checkout: &Checkout, scratch: &Scratch, error: &GitError) -> BakeError {
    match &error.problem {
        Problem::Io { path, source } if path.starts_with(scratch.path("git")) => {
            failed(&format!("fetch {}", input(checkout)), source).into()
        }
        problem => unfetched(checkout, &problem.to_string(), error.help()),
    }
}

fn input(checkout: &Checkout) -> String {
    match checkout.url.as_str() {
        "" => checkout.path.clone(),
        url => url.to_owned(),
    }
}

fn unfetched(checkout: &Checkout, cause: &str, help: String) -> BakeError {
    let input = input(checkout);
    // Git says so in words alone.
    if cause.contains("No space left") {
        let message = format!("cannot fetch {input}: {cause}");
        let help = "free some room, or place the store elsewhere with --store DIR";
        return BackendError::new(Class::Full, message)
            .with_help(help)
            .into();
    }
    BakeError::Checkout(PinError {
        input,
        cause: cause.to_owned(),
        help,
    })
}

/// Checks a fetched repository out.
pub(super) async fn check_out(
    session: &mut Session,
    index: usize,
    checkout: &Checkout,
    scratch: &Scratch,
    log: &mut Log,
) -> Result<(), BakeError> {
    let from = format!("{}/{index}", session.repositories());
    let operation = format!("check out {}", checkout.path);
    let whole = [lfs::PREPARE, CHECK_OUT, submodules::CHECK_OUT, lfs::FINISH].concat();
    let commit = checkout.commit.to_string();
    let path = checkout.path.clone();
    let with = |path: &String| {
        let own = [path.clone(), from.clone(), commit.clone()];
        own.into_iter()
            .chain([SET_ASIDE, PUT_BACK].map(str::to_owned))
            .collect::<Vec<String>>()
    };
    if checkout.only.is_none() {
        let checked_out = script(session, &whole, &with(&path), log, &operation).await;
        return checked_out.map(drop);
    }
    script(session, only::CHECK_OUT, &with(&path), log, &operation).await?;
    if only::has_elsewhere(&scratch.path(&format!("git/{index}"))) {
        let aside = format!(".atelier-checkout-{index}");
        script(session, &whole, &with(&aside), log, &operation).await?;
        script(session, only::TAKE, &[path, from, aside], log, &operation).await?;
    }
    Ok(())
}

/// What [`VERIFY`] ends with if there is no repository any more.
const REMOVED: Ending = Ending::Exited(3);

/// Checks that a repository in the workspace is whole; `false` if there is none any more.
pub(super) async fn verify(
    session: &mut Session,
    index: usize,
    checkout: &Checkout,
    log: &mut Log,
) -> Result<bool, BakeError> {
    let operation = format!("verify the repository {}", checkout.path);
    let from = format!("{}/{index}", session.repositories());
    let commands = [VERIFY, submodules::VERIFY].concat();
    let arguments = [checkout.path.clone(), from];
    let ending = script(session, &commands, &arguments, log, &operation).await?;
    Ok(ending != REMOVED)
}

async fn script(
    session: &mut Session,
    script: &str,
    arguments: &[String],
    log: &mut Log,
    operation: &str,
) -> Result<Ending, BakeError> {
    let mut program: Vec<String> = ["sh", "-euc", script, "sh"].map(str::to_owned).to_vec();
    program.extend_from_slice(arguments);
    let process = Process {
        root: Root::Tools,
        user: User::Dev,
        folder: "/home/dev".to_owned(),
        environment: environment(),
        action: Action::Run(program),
        stdio: StdioKind::Frames,
    };
    let mut said = Vec::new();
    let ending = session
        .run(process, async |bytes| said.extend_from_slice(bytes))
        .await?;
    if ending.success() || ending == REMOVED {
        return Ok(ending);
    }
    log.output(&said).await;
    log.flush();
    let mut said = String::from_utf8_lossy(&said).trim().to_owned();
    // What git advises would not help.
    if said.contains("dubious ownership") {
        "it belongs to another user: have the root step give it back with `chown -R dev:dev`"
            .clone_into(&mut said);
    }
    let class = if said.contains("No space left") {
        Class::Full
    } else {
        Class::Denied
    };
    Err(BackendError::new(class, format!("cannot {operation}: {said}")).into())
}

/// Git as nobody has configured it: a step may have left files in the home folder, a parent may have left repositories
/// where a submodule belongs.
fn environment() -> Vec<(String, String)> {
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
