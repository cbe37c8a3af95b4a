//! Some files of a commit: which there are, and then what is in them, without the rest of the repository where its server
//! can leave that out.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use memchr::memmem;

use super::fetch::{Remover, address, at, call, layout, patiently, reach, start};
use super::reach::Reach;
use super::run::Call;
use super::{Fetch, Git, GitError, Problem, RepoLocation, lfs};
use crate::node::ObjectId;

/// What the specification of LFS says of pointers.
const POINTER: &[u8] = b"\noid sha256:";

/// For work on a repository of our own.
const LIMIT: Duration = Duration::from_mins(1);

/// One path of a commit's tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// From the repository's root. Git takes any bytes.
    pub path: Vec<u8>,
    /// As git writes it, such as `100644`.
    pub mode: String,
    pub object: ObjectId,
}

/// What of files is fetched with the trees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    None,
    All,
}

impl Git {
    /// All files, links and submodules of a commit, in git's order. `scratch` must not exist, and will not afterwards.
    pub async fn list_tree(
        &self,
        fetch: &Fetch<'_>,
        scratch: &Path,
    ) -> Result<Vec<Listed>, GitError> {
        let deadline = Instant::now() + fetch.limit;
        let listed = Box::pin(async {
            match fetch.location {
                RepoLocation::Disk(root) => self.list(fetch, root, None, deadline).await,
                RepoLocation::Url(_) => {
                    let _remover = Remover(scratch);
                    self.fetch_bare(fetch, Contents::None, scratch, deadline)
                        .await?;
                    self.list(fetch, scratch, Some(scratch), deadline).await
                }
            }
        });
        listed.await.map_err(|problem| GitError {
            operation: format!("list the files of commit {}", fetch.commit),
            problem,
        })
    }

    /// Makes `into`, which must not exist or be empty, a bare repository with these objects of a commit.
    pub async fn fetch_objects(
        &self,
        fetch: &Fetch<'_>,
        objects: &BTreeSet<ObjectId>,
        into: &Path,
    ) -> Result<(), GitError> {
        let deadline = Instant::now() + fetch.limit;
        let into = std::path::absolute(into).unwrap_or_else(|_| into.to_owned());
        let fetched = Box::pin(async {
            match fetch.location {
                RepoLocation::Disk(_) => {
                    self.fetch_bare(fetch, Contents::All, &into, deadline)
                        .await?;
                }
                RepoLocation::Url(_) => {
                    self.fetch_sparingly(fetch, objects, &into, deadline)
                        .await?;
                }
            }
            match self.missing(objects, &into, deadline).await?.first() {
                None => layout::open_to_all(&into).map_err(at(&into)),
                Some(object) => Err(Problem::Garbled(format!("object {object} did not come"))),
            }
        });
        fetched.await.map_err(|problem| GitError {
            operation: format!("fetch files of commit {}", fetch.commit),
            problem,
        })
    }

    /// Puts an empty file into a repository, for stubs; returns its object.
    pub async fn add_empty_object(&self, git_dir: &Path) -> Result<ObjectId, GitError> {
        let arguments = Call::arguments(["hash-object", "-w", "--stdin"]);
        let deadline = Instant::now() + LIMIT;
        let added = self.succeed(call(Reach::Folder, git_dir, arguments, deadline));
        let told = added.await.and_then(|told| {
            let told = String::from_utf8_lossy(&told).trim().to_owned();
            told.parse().map_err(|_| Problem::Garbled(told))
        });
        told.map_err(|problem| GitError {
            operation: "write an empty file".to_owned(),
            problem,
        })
    }

    /// Whether any of the objects looks like a pointer to what is kept in LFS.
    pub async fn has_pointer(
        &self,
        git_dir: &Path,
        objects: &BTreeSet<ObjectId>,
    ) -> Result<bool, GitError> {
        let deadline = Instant::now() + LIMIT;
        let looked = self.small_objects(git_dir, objects, deadline).await;
        looked
            .map(|small| memmem::find(&small, POINTER).is_some())
            .map_err(|problem| GitError {
                operation: "look for files in LFS".to_owned(),
                problem,
            })
    }

    /// The contents of those objects that are no larger than a pointer can be.
    async fn small_objects(
        &self,
        git_dir: &Path,
        objects: &BTreeSet<ObjectId>,
        deadline: Instant,
    ) -> Result<Vec<u8>, Problem> {
        let sizes = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
        let sizes = call(Reach::Folder, git_dir, Call::arguments(sizes), deadline);
        let told = self.succeed_with(sizes, &lines(objects)).await?;
        let told = String::from_utf8_lossy(&told).into_owned();
        let small = told.lines().filter_map(|line| {
            let (id, size) = line.split_once(' ')?;
            (size.parse::<u64>().ok()? <= lfs::LARGEST_POINTER).then_some(id)
        });
        let small: String = small.flat_map(|id| [id, "\n"]).collect();
        if small.is_empty() {
            return Ok(Vec::new());
        }
        let contents = Call::arguments(["cat-file", "--batch"]);
        let contents = call(Reach::Folder, git_dir, contents, deadline);
        self.succeed_with(contents, small.as_bytes()).await
    }

    /// First the trees, then what is missing.
    async fn fetch_sparingly(
        &self,
        fetch: &Fetch<'_>,
        objects: &BTreeSet<ObjectId>,
        into: &Path,
        deadline: Instant,
    ) -> Result<(), Problem> {
        self.fetch_bare(fetch, Contents::None, into, deadline)
            .await?;
        let missing = self.missing(objects, into, deadline).await?;
        if missing.is_empty() {
            return Ok(());
        }
        let by_id = patiently(deadline, async || {
            self.fetch_by_id(fetch, &missing, into, deadline).await
        });
        match by_id.await {
            // It leaves things out, and then does not hand them out.
            Err(Problem::RefusesCommit | Problem::CommitGone(_)) => {
                self.fetch_bare(fetch, Contents::All, into, deadline).await
            }
            done => done,
        }
    }

    /// Fetches the commit and its trees. Servers that cannot leave out the contents of files send those in any case.
    async fn fetch_bare(
        &self,
        fetch: &Fetch<'_>,
        contents: Contents,
        into: &Path,
        deadline: Instant,
    ) -> Result<(), Problem> {
        let exact = vec![
            "--depth=1".into(),
            format!("+{}:{}", fetch.commit, layout::PIN).into(),
        ];
        let by_id = patiently(deadline, async || {
            self.fetch_into(fetch, contents, &exact, into, deadline)
                .await
        });
        match by_id.await {
            Err(Problem::RefusesCommit) => {
                let whole: Vec<OsString> = match fetch.reference {
                    "" => vec![
                        "+refs/heads/*:refs/heads/*".into(),
                        "+refs/tags/*:refs/tags/*".into(),
                    ],
                    name => vec![format!("+{name}:{name}").into()],
                };
                self.fetch_into(fetch, contents, &whole, into, deadline)
                    .await?;
            }
            done => done?,
        }
        match self.object_kind(fetch, into, deadline).await?.as_deref() {
            Some("commit") => Ok(()),
            Some(_) => Err(Problem::NotACommit(fetch.commit.to_string())),
            None => Err(Problem::CommitGone(fetch.commit.to_string())),
        }
    }

    /// `wanted` is a depth, if any, and refspecs.
    async fn fetch_into(
        &self,
        fetch: &Fetch<'_>,
        contents: Contents,
        wanted: &[OsString],
        into: &Path,
        deadline: Instant,
    ) -> Result<(), Problem> {
        if into.exists() {
            fs::remove_dir_all(into).map_err(at(into))?;
        }
        layout::create(into, fetch.commit.format()).map_err(at(into))?;
        let (options, refspecs): (Vec<OsString>, Vec<OsString>) = wanted
            .iter()
            .cloned()
            .partition(|word| word.to_string_lossy().starts_with("--"));
        let mut arguments = start();
        arguments.push("--no-tags".into());
        if contents == Contents::None {
            arguments.push("--filter=blob:none".into());
        }
        arguments.extend(options);
        arguments.extend(["--".into(), address(fetch.location)]);
        arguments.extend(refspecs);
        let reach = reach(fetch.location, fetch.credential);
        self.succeed(call(reach, into, arguments, deadline)).await?;
        layout::forget_origin(into, fetch.commit.format()).map_err(at(into))
    }

    async fn fetch_by_id(
        &self,
        fetch: &Fetch<'_>,
        objects: &[ObjectId],
        into: &Path,
        deadline: Instant,
    ) -> Result<(), Problem> {
        // A server that is told of the commit takes it that its files are here.
        let mut arguments = Call::arguments(["-c", "fetch.negotiationAlgorithm=noop"]);
        arguments.extend(start());
        // What has been left out stays left out.
        arguments.extend(["--no-tags", "--filter=blob:none", "--stdin", "--"].map(OsString::from));
        arguments.push(address(fetch.location));
        let reach = reach(fetch.location, fetch.credential);
        let call = call(reach, into, arguments, deadline);
        self.succeed_with(call, &lines(objects)).await?;
        layout::forget_origin(into, fetch.commit.format()).map_err(at(into))
    }

    /// Which of the objects the repository has not got.
    async fn missing(
        &self,
        objects: &BTreeSet<ObjectId>,
        git_dir: &Path,
        deadline: Instant,
    ) -> Result<Vec<ObjectId>, Problem> {
        let arguments = Call::arguments(["cat-file", "--batch-check"]);
        let call = call(Reach::Folder, git_dir, arguments, deadline);
        let told = self.succeed_with(call, &lines(objects)).await?;
        let told = String::from_utf8_lossy(&told);
        let missing = told
            .lines()
            .filter_map(|line| line.strip_suffix(" missing"));
        missing
            .map(|id| id.parse().map_err(|_| Problem::Garbled(id.to_owned())))
            .collect()
    }

    async fn list(
        &self,
        fetch: &Fetch<'_>,
        folder: &Path,
        git_dir: Option<&Path>,
        deadline: Instant,
    ) -> Result<Vec<Listed>, Problem> {
        let id = fetch.commit.to_string();
        let arguments = Call::arguments(["ls-tree", "-r", "-z", "--full-tree", &id]);
        let limit = deadline.saturating_duration_since(Instant::now());
        let call = Call {
            reach: Reach::Folder,
            folder,
            git_dir,
            arguments,
            limit,
        };
        parse(&self.succeed(call).await?)
    }
}

fn lines<'a>(objects: impl IntoIterator<Item = &'a ObjectId>) -> Vec<u8> {
    let lines = objects.into_iter().map(|object| format!("{object}\n"));
    lines.collect::<String>().into_bytes()
}

/// Reads `MODE TYPE ID`, a tab and the path, each ended by a zero byte.
pub(super) fn parse(answer: &[u8]) -> Result<Vec<Listed>, Problem> {
    let entries = answer.split(|&byte| byte == 0);
    let read = |entry: &[u8]| {
        let tab = entry.iter().position(|&byte| byte == b'\t')?;
        let head = std::str::from_utf8(&entry[..tab]).ok()?;
        let mut words = head.split(' ');
        let (mode, object) = (words.next()?, words.nth(1)?);
        Some(Listed {
            path: entry[tab + 1..].to_vec(),
            mode: mode.to_owned(),
            object: object.parse().ok()?,
        })
    };
    entries
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            read(entry).ok_or_else(|| Problem::Garbled(String::from_utf8_lossy(entry).into_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Problem, parse};

    #[test]
    fn entries_are_read_whatever_their_names() {
        let id = "a".repeat(40);
        let text = format!("100644 blob {id}\ta b\n\tc\0160000 commit {id}\tsub\0");
        let listed = parse(text.as_bytes()).unwrap();
        assert_eq!(listed[0].path, b"a b\n\tc");
        assert_eq!(
            (listed[1].mode.as_str(), listed[1].object.to_string()),
            ("160000", id)
        );
        assert!(matches!(parse(b"nonsense\0"), Err(Problem::Garbled(_))));
        assert!(parse(b"").unwrap().is_empty());
    }
}
