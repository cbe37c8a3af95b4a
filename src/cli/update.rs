//! `update`: inputs are resolved anew, and the lock holds what they came to.

use std::path::{Path, PathBuf};

use atelier_lang::graph::{Base, NodeId, RepoSource};
use atelier_lang::url::normal_form;
use serde::Serialize;

use super::args::UpdateArgs;
use super::build::interruptible;
use super::failure::Failure;
use super::interrupt::Interrupts;
use super::project::Project;
use super::{given, ui};
use crate::backend::Cancel;
use crate::backend::local::Local;
use crate::lock::update::{self, Lockable, Moved, Selection};
use crate::lock::{Lock, LockedImage, LockedRepo};
use crate::resolve::image::written;
use crate::resolve::live::Live;

pub(super) async fn update(args: UpdateArgs) -> Result<u8, Failure> {
    let mut interrupts = Interrupts::watch()?;
    let (file, names) = words(&args.words)?;
    let secrets = given::secrets(&args.secrets)?;
    let project = Project::load(file, &args.file, &args.store)?;
    let every: Vec<NodeId> = (0..project.graph.nodes.len()).map(NodeId).collect();
    // What is remembered of the machine is in the store, which is made if there is none.
    Local::open(&project.store, project.isolation)?;
    let live = project.live(&every, &secrets)?;
    let there = project.lock()?;
    let old = there.clone().unwrap_or_default();
    let lockable = Lockable::of(&project.graph, &every, &live);
    let mut selection = match names.is_empty() {
        true => lockable.all(),
        false => select(&project, &lockable, &live, &names)?,
    };
    if args.images != args.repos {
        match args.images {
            true => selection.repos.clear(),
            false => selection.images.clear(),
        }
    }
    let is_whole = names.is_empty() && args.images == args.repos;
    let cancel = Cancel::new();
    let work = async {
        tokio::select! {
            answers = update::resolve(&lockable, &selection, &old, &live) => answers
                .map_err(|errors| Failure::unresolved(project.sources.clone(), errors)),
            () = cancel.cancelled() => Err(Failure::interrupted()),
        }
    };
    let answers = interruptible(&cancel, &mut interrupts, work).await?;
    let new = update::apply(&old, answers, &lockable, is_whole);
    let moved = update::changes(&old, &new);
    if !args.check && !moved.is_empty() {
        project.write_lock(&new)?;
    }
    show(&project, &args, &moved);
    conclude(&project, &args, &new, &moved)
}

/// URLs and references of images have slashes too: a file ends in .kdl, or begins like a path.
fn words(words: &[String]) -> Result<(Option<PathBuf>, Vec<String>), Failure> {
    let is_file = |word: &&String| {
        let is_path = ["/", "./", "../"]
            .iter()
            .any(|start| word.starts_with(start));
        is_path
            || Path::new(word)
                .extension()
                .is_some_and(|ending| ending == "kdl")
    };
    let (files, names): (Vec<&String>, Vec<&String>) = words.iter().partition(is_file);
    match files.as_slice() {
        [_, second, ..] => Err(Failure::usage(
            format!("`{second}` is a second file"),
            "give one file",
        )),
        files => Ok((
            files.first().map(PathBuf::from),
            names.into_iter().cloned().collect(),
        )),
    }
}

/// What the names mean: a target is all that a build of it takes in.
fn select(
    project: &Project,
    lockable: &Lockable,
    live: &Live,
    names: &[String],
) -> Result<Selection, Failure> {
    let mut selection = Selection::default();
    for name in names {
        let graph = &project.graph;
        let target = graph.closure(std::slice::from_ref(name)).ok();
        if let Some(needed) = &target {
            selection.add(Lockable::of(graph, needed, live).all());
        }
        let mut named = lockable.named(name);
        if let Some(url) = normal_form(name) {
            named.add(lockable.named(&url));
        }
        if target.is_none() && named.is_empty() {
            return Err(unknown(project, name));
        }
        selection.add(named);
    }
    Ok(selection)
}

fn unknown(project: &Project, name: &str) -> Failure {
    let url = normal_form(name);
    let is_input = project.graph.nodes.iter().any(|node| {
        let image = matches!(&node.base, Base::Image(image) if written(image) == name);
        let mut repos = node.repos.iter().map(|repo| &repo.source.value);
        image
            || repos.any(|source| match source {
                RepoSource::Url(other) => Some(other) == url.as_ref(),
                RepoSource::Disk(path) => path == name,
            })
    });
    match is_input {
        true => Failure::usage(
            format!("`{name}` is never locked"),
            "what lies on this machine is read as it is, and what the file pins stays so",
        ),
        false => Failure::usage(
            format!(
                "{} has no target, image or repository `{name}`",
                project.file.display()
            ),
            "write it as the file does; a FILE ends in .kdl, or begins with `./`",
        ),
    }
}

fn show(project: &Project, args: &UpdateArgs, moved: &[Moved]) {
    if args.json {
        return ui::print_json(&Update {
            changes: moved.iter().map(Change::of).collect(),
            lock: project.lock_name(),
            schema: "atelier.update/1",
            written: !args.check && !moved.is_empty(),
        });
    }
    for moved in moved {
        ui::print(&(line(moved) + "\n"));
    }
}

fn conclude(
    project: &Project,
    args: &UpdateArgs,
    new: &Lock,
    moved: &[Moved],
) -> Result<u8, Failure> {
    let name = project.lock_name();
    let (all, count) = (new.images.len() + new.repos.len(), moved.len());
    if args.check && count > 0 {
        let what = match count {
            1 => "1 entry".to_owned(),
            count => format!("{count} entries"),
        };
        let text = format!("{name} is stale: {what} would change");
        return Err(Failure::lock(text, "run `atelier update`"));
    }
    ui::notice(&match count {
        0 => format!("{name} is up to date, {all} in all"),
        _ => format!("{name} is written, {all} in all"),
    });
    Ok(0)
}

/// `repo https://github.com/acme/web refs/heads/main: 0123456789ab… → ba9876543210…`
fn line(moved: &Moved) -> String {
    let side = |text: Option<String>| text.unwrap_or_else(|| "nothing".to_owned());
    match moved {
        Moved::Image { key, old, new } => {
            let (name, platform) = (&key.name, &key.platform);
            let digest = |entry: &LockedImage| short(&entry.digest.to_string());
            let same = |old: &LockedImage, new: &LockedImage| old.digest == new.digest;
            let text = |entry: &LockedImage| match (old, new) {
                // Another image by the name, which has the same content.
                (Some(old), Some(new)) if same(old, new) => entry.reference.clone(),
                _ => Some(digest(entry)),
            };
            let [old, new] = [old, new].map(|entry| side(entry.as_ref().and_then(text)));
            format!("image {name} {platform}: {old} → {new}")
        }
        Moved::Repo { key, old, new } => {
            let (url, reference) = (&key.url, &key.reference);
            let same = |old: &LockedRepo, new: &LockedRepo| old.head == new.head;
            let text = |entry: &LockedRepo| match (old, new) {
                (Some(old), Some(new)) if same(old, new) => match entry.is_default {
                    true => "the default branch".to_owned(),
                    false => "a branch".to_owned(),
                },
                _ => short(&entry.head.to_string()),
            };
            let [old, new] = [old, new].map(|entry| side(entry.as_ref().map(text)));
            format!("repo {url} {reference}: {old} → {new}")
        }
    }
}

/// The beginning of a digest.
fn short(digest: &str) -> String {
    let start = digest.find(':').map_or(0, |colon| colon + 1);
    match digest.get(..start + 12) {
        Some(beginning) => format!("{beginning}…"),
        None => digest.to_owned(),
    }
}

/// `atelier.update/1`: fields in alphabetical order, changes in the order of the lock.
#[derive(Serialize)]
struct Update {
    changes: Vec<Change>,
    lock: String,
    schema: &'static str,
    written: bool,
}

#[derive(Serialize)]
struct Change {
    kind: &'static str,
    name: String,
    /// `null` for what is no longer there.
    new: Option<String>,
    /// `null` for what was not there.
    old: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<String>,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

impl Change {
    fn of(moved: &Moved) -> Self {
        match moved.clone() {
            Moved::Image { key, old, new } => Self {
                kind: "image",
                name: key.name,
                new: new.map(|entry| entry.digest.to_string()),
                old: old.map(|entry| entry.digest.to_string()),
                platform: Some(key.platform),
                reference: None,
            },
            Moved::Repo { key, old, new } => Self {
                kind: "repo",
                name: key.url,
                new: new.map(|entry| entry.head.to_string()),
                old: old.map(|entry| entry.head.to_string()),
                platform: None,
                reference: Some(key.reference),
            },
        }
    }
}
