//! A commit with all that its checkout needs from elsewhere: its submodules, at every depth, and what is kept in LFS.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use futures_util::{StreamExt, TryStreamExt, stream};

use super::fetch::{at, layout};
use super::needs::Needs;
use super::submodules::{Base, Submodule, of_submodule, same_server};
use super::{Fetch, Git, GitError, Problem, RepoLocation, disk, lfs};

mod borrowed;
mod part;

use borrowed::Borrowed;
pub use part::Part;

/// So many repositories of one level are fetched at a time: servers count connections.
const AT_A_TIME: usize = 8;

/// More than anybody has; a repository that names others without end is stopped here.
const MOST: usize = 4096;
const DEEPEST: usize = 16;

/// Where, in the `.git` of all, what is lent lies for a moment.
const BORROWED: &str = "borrowed";

/// What a checkout is to have beside the commit's own files.
#[derive(Clone, Copy, Debug)]
pub struct Extras {
    pub submodules: bool,
    pub lfs: bool,
}

/// A part that is still to be fetched.
#[derive(Clone, Debug)]
struct Wanted {
    part: Part,
    /// Empty if it has none.
    url: String,
    /// Where to look for the commit, in this order.
    places: Vec<RepoLocation>,
    /// Why there are no more of them.
    why_no_more: Option<String>,
    depth: u32,
    level: usize,
}

impl Git {
    /// Makes `into` the `.git` of a clone, as [`Git::fetch_commit`] does, with the repositories of all its submodules below
    /// `modules`, and with the contents of files in LFS below `lfs` of each. Returns what was fetched, each repository before its submodules.
    pub async fn fetch_whole(
        &self,
        fetch: &Fetch<'_>,
        extras: Extras,
        into: &Path,
    ) -> Result<Vec<Part>, GitError> {
        self.fetch_commit(fetch, into).await?;
        let deadline = Instant::now() + fetch.limit;
        let whole = Box::pin(self.complete(fetch, extras, into, deadline));
        whole.await.map_err(|problem| GitError {
            operation: format!("fetch what commit {} needs", fetch.commit),
            problem,
        })
    }

    async fn complete(
        &self,
        fetch: &Fetch<'_>,
        extras: Extras,
        into: &Path,
        deadline: Instant,
    ) -> Result<Vec<Part>, Problem> {
        let mut parts = Vec::new();
        let mut level = vec![Wanted::first(fetch)];
        while !level.is_empty() {
            let bring = |wanted: Wanted| async move {
                let brought = self.bring(fetch, &wanted, extras, into, deadline).await;
                let (lfs, next) = brought.map_err(|problem| match wanted.level {
                    0 => problem,
                    _ => of_submodule(wanted.shown(), problem),
                })?;
                let part = Part { lfs, ..wanted.part };
                Ok::<_, Problem>((part, next))
            };
            let done: Vec<(Part, Vec<Wanted>)> = stream::iter(level)
                .map(bring)
                .buffered(AT_A_TIME)
                .try_collect()
                .await?;
            level = Vec::new();
            for (part, next) in done {
                parts.push(part);
                level.extend(next);
            }
            if parts.len() + level.len() > MOST {
                let text = format!("it has more than {MOST} submodules");
                return Err(Problem::Unsafe(text));
            }
        }
        match fs::remove_dir_all(into.join(BORROWED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(into)(error)),
            _ => Ok(parts),
        }
    }

    /// Fetches one part, unless it is the first, which is there, and finds out what it needs.
    async fn bring(
        &self,
        fetch: &Fetch<'_>,
        wanted: &Wanted,
        extras: Extras,
        into: &Path,
        deadline: Instant,
    ) -> Result<(Vec<Vec<u8>>, Vec<Wanted>), Problem> {
        let git_dir = into.join(&wanted.part.git_dir);
        let mut from = fetch.location.clone();
        if wanted.level > 0 {
            from = self.fetch_part(fetch, wanted, into, deadline).await?;
        }
        let needs = self.look_into(&git_dir, &wanted.part.commit).await?;
        let lfs = match needs.lfs && extras.lfs {
            true => {
                let kept = lfs::Wanted {
                    git_dir: &git_dir,
                    commit: &wanted.part.commit,
                    from: &from,
                    url: &wanted.url,
                };
                self.fetch_lfs(fetch, kept, deadline).await?
            }
            false => Vec::new(),
        };
        let found = match extras.submodules {
            true => self.modules_of(wanted, &needs, &from, &git_dir).await?,
            false => Vec::new(),
        };
        layout::add_submodules(&git_dir, &found).map_err(at(&git_dir))?;
        if wanted.level > 0 {
            let work_tree = wanted.part.work_tree();
            layout::add_work_tree(&git_dir, &work_tree).map_err(at(&git_dir))?;
        }
        let next = found.into_iter();
        let next = next.map(|submodule| Wanted::submodule(fetch, wanted, submodule, &from));
        Ok((lfs, next.collect::<Result<_, _>>()?))
    }

    async fn modules_of(
        &self,
        wanted: &Wanted,
        needs: &Needs,
        from: &RepoLocation,
        git_dir: &Path,
    ) -> Result<Vec<Submodule>, Problem> {
        let base = Base {
            url: &wanted.url,
            local: matches!(from, RepoLocation::Disk(_)),
        };
        self.submodules(git_dir, &wanted.part.commit, &needs.gitlinks, base)
            .await
    }

    /// Fetches a submodule's commit from the first place that has it, and returns that place.
    async fn fetch_part(
        &self,
        whole: &Fetch<'_>,
        wanted: &Wanted,
        into: &Path,
        deadline: Instant,
    ) -> Result<RepoLocation, Problem> {
        let git_dir = &into.join(&wanted.part.git_dir);
        let mut why = None;
        let mut places: VecDeque<&RepoLocation> = wanted.places.iter().collect();
        while let Some(from) = places.pop_front() {
            let fetch = Fetch {
                location: from,
                url: &wanted.url,
                commit: wanted.part.commit,
                reference: "",
                depth: wanted.depth,
                // A login is for the server that it was given for, and for no other that a tree names.
                credential: whole
                    .credential
                    .filter(|_| same_server(whole.url, &wanted.url)),
                limit: deadline.saturating_duration_since(Instant::now()),
            };
            let borrowed = match from {
                RepoLocation::Disk(repository) => {
                    Some(Borrowed::of(repository, borrowed_at(into, wanted), &fetch)?)
                }
                RepoLocation::Url(_) => None,
            };
            let location = borrowed
                .as_ref()
                .map_or(from, |borrowed| &borrowed.location);
            let fetched = self
                .fetch_commit(&Fetch { location, ..fetch }, git_dir)
                .await;
            match fetched {
                Ok(()) => return Ok(from.clone()),
                Err(error) => why = Some(error.problem),
            }
            if !places.is_empty() {
                fs::remove_dir_all(git_dir).map_err(at(git_dir))?;
            }
        }
        let Some(no_url) = wanted.why_no_more.clone() else {
            return Err(why.unwrap_or(Problem::Unlisted));
        };
        Err(match (whole.location, why) {
            (RepoLocation::Url(_), _) => Problem::Unsafe(no_url),
            (RepoLocation::Disk(_), None) => Problem::NotOnDisk(no_url),
            (RepoLocation::Disk(_), Some(problem)) => {
                Problem::NotOnDisk(format!("{problem}, and {no_url}"))
            }
        })
    }
}

impl Wanted {
    fn first(fetch: &Fetch<'_>) -> Self {
        Self {
            part: Part {
                path: String::new(),
                git_dir: String::new(),
                commit: fetch.commit,
                lfs: Vec::new(),
            },
            url: fetch.url.to_owned(),
            places: vec![fetch.location.clone()],
            why_no_more: None,
            depth: fetch.depth,
            level: 0,
        }
    }

    fn submodule(
        fetch: &Fetch<'_>,
        above: &Self,
        submodule: Submodule,
        from: &RepoLocation,
    ) -> Result<Self, Problem> {
        let Submodule {
            name,
            path,
            url,
            commit,
            shallow,
        } = submodule;
        let path = join(&above.part.path, &path);
        if above.level == DEEPEST {
            let text = format!("there are more than {DEEPEST} submodules in one another");
            return Err(of_submodule(path, Problem::Unsafe(text)));
        }
        let mut places = match from {
            RepoLocation::Disk(root) => on_disk(root, &name),
            RepoLocation::Url(_) => Vec::new(),
        };
        let (url, why_no_more) = match url {
            Ok(url) => (url, None),
            Err(why) => (String::new(), Some(why)),
        };
        places.extend((!url.is_empty()).then(|| RepoLocation::Url(url.clone())));
        Ok(Self {
            part: Part {
                path,
                git_dir: join(&above.part.git_dir, &format!("modules/{name}")),
                commit,
                lfs: Vec::new(),
            },
            url,
            places,
            why_no_more,
            depth: match fetch.depth {
                0 if shallow => 1,
                depth => depth,
            },
            level: above.level + 1,
        })
    }

    fn shown(&self) -> String {
        match self.url.as_str() {
            "" => self.part.path.clone(),
            url => format!("{} ({url})", self.part.path),
        }
    }
}

/// Where a repository on disk keeps that of its submodule `name`, if it does.
fn on_disk(root: &Path, name: &str) -> Vec<RepoLocation> {
    let folders = disk::git_dirs(root).into_iter();
    let modules = folders.map(|folder| folder.join("modules").join(name));
    let there = modules.filter(|folder| folder.join("objects").is_dir());
    there.map(RepoLocation::Disk).collect()
}

fn borrowed_at(into: &Path, wanted: &Wanted) -> PathBuf {
    into.join(BORROWED).join(&wanted.part.git_dir)
}

fn join(above: &str, below: &str) -> String {
    match above {
        "" => below.to_owned(),
        above => format!("{above}/{below}"),
    }
}
