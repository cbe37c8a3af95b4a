//! The files of a `.git` directory, written by hand: those before a fetch, and those after it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::Fetch;
use crate::git::submodules::Submodule;
use crate::node::ObjectFormat;

/// Holds the commit while it is fetched, whatever else will name it.
pub(in crate::git) const PIN: &str = "refs/atelier/pin";
pub(in crate::git) const REMOTE: &str = "refs/remotes/origin/";

pub(in crate::git) fn branch(reference: &str) -> Option<&str> {
    reference.strip_prefix("refs/heads/")
}

/// Makes an empty repository. No template and no default of the machine gets in.
pub(in crate::git) fn create(git_dir: &Path, format: ObjectFormat) -> io::Result<()> {
    fs::create_dir_all(git_dir)?;
    if fs::read_dir(git_dir)?.next().is_some() {
        return Err(io::Error::new(
            io::ErrorKind::DirectoryNotEmpty,
            "not an empty directory",
        ));
    }
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
        fs::create_dir_all(git_dir.join(folder))?;
    }
    // A branch that will not be there: a fetch may not write the branch that is checked out.
    fs::write(git_dir.join("HEAD"), "ref: refs/atelier/none\n")?;
    forget_origin(git_dir, format)
}

/// A fetch that leaves things out notes where they can be had; git would then ask there for whatever is missing.
pub(in super::super) fn forget_origin(git_dir: &Path, format: ObjectFormat) -> io::Result<()> {
    fs::write(git_dir.join("config"), format_lines(format))
}

/// Makes a repository of the objects and refs of another one, which are not copied.
pub(in crate::git) fn lend(from: &Path, git_dir: &Path, format: ObjectFormat) -> io::Result<()> {
    fs::create_dir_all(git_dir.join("objects/info"))?;
    fs::create_dir_all(git_dir.join("objects/pack"))?;
    fs::write(git_dir.join("HEAD"), "ref: refs/atelier/none\n")?;
    forget_origin(git_dir, format)?;
    let from = std::path::absolute(from)?;
    let alternates = [from.join("objects").as_os_str().as_bytes(), b"\n"].concat();
    fs::write(git_dir.join("objects/info/alternates"), alternates)?;
    for name in ["refs", "packed-refs", "shallow"] {
        let target = from.join(name);
        if target.exists() {
            symlink(target, git_dir.join(name))?;
        }
    }
    Ok(())
}

/// Turns what was fetched into what a clone of this commit looks like.
pub(in crate::git) fn finish(git_dir: &Path, fetch: &Fetch<'_>) -> io::Result<()> {
    let head = match branch(fetch.reference) {
        Some(_) => format!("ref: {}\n", fetch.reference),
        None => format!("{}\n", fetch.commit),
    };
    fs::write(git_dir.join("HEAD"), head)?;
    fs::write(git_dir.join("config"), config(fetch))?;
    for litter in ["refs/atelier", "logs"] {
        remove_if_there(fs::remove_dir_all(git_dir.join(litter)))?;
    }
    for litter in ["FETCH_HEAD", "shallow.lock", "packed-refs.lock"] {
        remove_if_there(fs::remove_file(git_dir.join(litter)))?;
    }
    // Of a fetch that was cut off before one that was not.
    for entry in fs::read_dir(git_dir.join("objects/pack"))? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b"tmp_") {
            fs::remove_file(entry.path())?;
        }
    }
    open_to_all(git_dir)
}

/// Another user checks it out, whatever umask this one has.
pub(in crate::git) fn open_to_all(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_dir() {
        fs::set_permissions(path, Permissions::from_mode(0o755))?;
        for entry in fs::read_dir(path)? {
            open_to_all(&entry?.path())?;
        }
    } else if metadata.is_file() {
        // Packs are read-only.
        let mode = if metadata.mode() & 0o200 == 0 {
            0o444
        } else {
            0o644
        };
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn remove_if_there(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn format_lines(format: ObjectFormat) -> &'static str {
    match format {
        ObjectFormat::Sha1 => "[core]\n\trepositoryformatversion = 0\n",
        ObjectFormat::Sha256 => {
            "[extensions]\n\tobjectformat = sha256\n[core]\n\trepositoryformatversion = 1\n"
        }
    }
}

fn config(fetch: &Fetch<'_>) -> String {
    let mut text = format_lines(fetch.commit.format()).to_owned();
    text.push_str("\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n");
    if fetch.url.is_empty() {
        return text;
    }
    // Writing to a string cannot fail.
    let _ = write!(text, "[remote \"origin\"]\n\turl = {}\n", quoted(fetch.url));
    let wanted = match (fetch.depth, branch(fetch.reference)) {
        (1.., Some(branch)) => format!("+{}:{REMOTE}{branch}", fetch.reference),
        (1.., None) if fetch.reference.starts_with("refs/tags/") => {
            format!("+{0}:{0}", fetch.reference)
        }
        _ => format!("+refs/heads/*:{REMOTE}*"),
    };
    let _ = writeln!(text, "\tfetch = {}", quoted(&wanted));
    if let Some(branch) = branch(fetch.reference) {
        let name = quoted(branch);
        let name = if name.starts_with('"') {
            name
        } else {
            format!("\"{name}\"")
        };
        let _ = write!(
            text,
            "[branch {name}]\n\tremote = origin\n\tmerge = {}\n",
            quoted(fetch.reference)
        );
    }
    text
}

/// Says that submodules are in use, and where they come from, as `git clone --recurse-submodules` does.
pub(in crate::git) fn add_submodules(git_dir: &Path, submodules: &[Submodule]) -> io::Result<()> {
    if submodules.is_empty() {
        return Ok(());
    }
    let mut text = "[submodule]\n\tactive = .\n".to_owned();
    for submodule in submodules {
        if let Ok(url) = &submodule.url {
            let name = submodule.name.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = write!(text, "[submodule \"{name}\"]\n\turl = {}\n", quoted(url));
        }
    }
    append(git_dir, &text)
}

/// Says where the work tree of a submodule is, from its `.git` on.
pub(in crate::git) fn add_work_tree(git_dir: &Path, path: &str) -> io::Result<()> {
    append(git_dir, &format!("[core]\n\tworktree = {}\n", quoted(path)))
}

/// Without git-lfs, git takes a file of LFS for changed once it looks into it. So it is to look only if the size or the time
/// of the last change is another: a copy of a work tree keeps these, and not all else that git compares.
pub(in crate::git) fn add_lfs(git_dir: &Path) -> io::Result<()> {
    append(
        git_dir,
        "[core]\n\tcheckstat = minimal\n\ttrustctime = false\n",
    )
}

fn append(git_dir: &Path, text: &str) -> io::Result<()> {
    let mut config = OpenOptions::new()
        .append(true)
        .open(git_dir.join("config"))?;
    config.write_all(text.as_bytes())
}

/// A value of git's configuration, in quotes where it needs them.
fn quoted(value: &str) -> String {
    if value.contains(['"', '\\', '#', ';', ' ']) {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        value.to_owned()
    }
}

/// How far each commit is from `tip`, from lines of a commit and its parents.
pub(in crate::git) fn distances<'a>(listed: &'a str, tip: &'a str) -> BTreeMap<&'a str, u32> {
    let parents: BTreeMap<&str, &str> = listed
        .lines()
        .map(|line| line.split_once(' ').unwrap_or((line, "")))
        .collect();
    let mut distances = BTreeMap::from([(tip, 0)]);
    let mut waiting = VecDeque::from([tip]);
    while let Some(commit) = waiting.pop_front() {
        let next = distances.get(commit).map_or(0, |distance| distance + 1);
        for parent in parents
            .get(commit)
            .into_iter()
            .flat_map(|list| list.split(' '))
        {
            if !parent.is_empty() && !distances.contains_key(parent) {
                distances.insert(parent, next);
                waiting.push_back(parent);
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::{distances, quoted};

    #[test]
    fn distance_is_the_shortest_way() {
        let found = distances("a b c\nb d\nc\nd c\n", "a");
        let expected = [("a", 0), ("b", 1), ("c", 1), ("d", 2)];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn values_are_quoted_where_needed() {
        assert_eq!(quoted("https://h/a"), "https://h/a");
        assert_eq!(quoted("a;b\"c"), "\"a;b\\\"c\"");
    }
}
