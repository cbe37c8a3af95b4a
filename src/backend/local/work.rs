//! Work on the store that needs the rights of a sandbox's root, since what a step made may belong to other ids and be
//! closed to the caller: done by a short process, which enters a user namespace where the caller is not root.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;

use super::image::{self, LayerToUnpack, LayoutPlace};
use super::launcher;
use super::protocol::{self, Refusal};
use super::refusal;
use super::store::{MANIFEST, TREE};
use super::userns;
use super::way::{DEV, Way};
use crate::backend::{BackendError, Class};
use crate::tree::{self, Manifest, Material, Needles, cleanse, merge};

/// The second hidden argument of a process that works.
pub(super) const WORK: &str = "work";

/// What is to be done. Paths are absolute. It may hold secrets, so it cannot be printed.
#[derive(Serialize, Deserialize)]
pub(super) enum Job {
    /// Unpacks layers of an image, the lowest first.
    Unpack {
        layout: LayoutPlace,
        layers: Vec<LayerToUnpack>,
    },
    /// Describes the tree in a layer's folder, in a file beside it, and looks for secrets in it.
    Describe {
        layer: PathBuf,
        secrets: Vec<String>,
    },
    /// Removes what has changed in caches since a time (in seconds since 1970) and holds a secret. Tells which secret each
    /// of them held, by its index, and the cache's name.
    Cleanse {
        caches: Vec<PathBuf>,
        secrets: Vec<String>,
        since: i64,
    },
    /// Merges trees into that of a layer's folder, and describes it.
    Merge { trees: Vec<PathBuf>, layer: PathBuf },
    /// Compares the tree in a layer's folder with its manifest, which has this digest.
    Verify { layer: PathBuf, digest: String },
}

/// What a layer's tree is like.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Described {
    /// The digest of the manifest, in hexadecimal digits.
    pub manifest: String,
    /// What it uses of the disk.
    pub bytes: u64,
    /// Where which of the secrets is, by its index.
    pub found: Vec<(usize, String)>,
    /// The secrets that are too short to be looked for.
    pub too_short: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
struct Order {
    way: Way,
    job: Job,
}

/// Has a process do a job, and returns what it says. Given up, the process dies.
pub(super) async fn have_done<T: DeserializeOwned>(way: Way, job: Job) -> Result<T, BackendError> {
    let order = serde_json::to_vec(&Order { way, job }).map_err(broken)?;
    let mut command = tokio::process::Command::new("/proc/self/exe");
    command
        .args([protocol::ARGUMENT, WORK, &std::process::id().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(broken)?;
    let mut stdin = child.stdin.take().ok_or_else(|| broken("no pipe"))?;
    stdin.write_all(&order).await.map_err(broken)?;
    drop(stdin);
    let output = child.wait_with_output().await.map_err(broken)?;
    let said: Result<Result<T, Refusal>, _> = serde_json::from_slice(&output.stdout);
    match said {
        Ok(done) => done.map_err(|refused| refusal::describe(&refused)),
        Err(_) => Err(BackendError::new(
            Class::Transient,
            format!("work on the store was ended ({})", output.status),
        )),
    }
}

fn broken(error: impl std::fmt::Display) -> BackendError {
    BackendError::new(Class::Bug, format!("cannot have work done: {error}"))
}

/// Runs as the process that works: an order comes from stdin, and what came of it goes to stdout.
pub(super) fn main(parent: i32) -> io::Result<()> {
    let order: Order = serde_json::from_reader(io::stdin().lock())?;
    let entered = userns::enter(order.way);
    if !launcher::watch(parent)? {
        return Ok(());
    }
    let said = entered.and_then(|()| work(order.way, order.job));
    let said = serde_json::to_vec(&said)?;
    io::stdout().lock().write_all(&said)
}

fn work(way: Way, job: Job) -> Result<serde_json::Value, Refusal> {
    match job {
        Job::Unpack { layout, layers } => {
            image::unpack_all(way, &layout, layers)?;
            Ok(serde_json::Value::Null)
        }
        Job::Describe { layer, secrets } => {
            let (needles, too_short) = needles(secrets);
            let mut described = describe(way, &layer, &needles)?;
            described.too_short = too_short;
            say(&described)
        }
        Job::Cleanse {
            caches,
            secrets,
            since,
        } => {
            let (needles, _) = needles(secrets);
            let mut found: Vec<(usize, String)> = Vec::new();
            for cache in caches {
                let name = cache.file_name().unwrap_or_default().display();
                let cleansed = cleanse(&cache, &needles, since).map_err(|error| {
                    Refusal::new(format!("search the cache {name} for secrets"), error)
                })?;
                found.extend(
                    cleansed
                        .into_iter()
                        .map(|secret| (secret, name.to_string())),
                );
            }
            say(&found)
        }
        Job::Merge { trees, layer } => {
            let tree = layer.join(TREE);
            fs::create_dir(&tree)
                .and_then(|()| merge(&trees, &tree, Material::Link))
                .map_err(|error| Refusal::new("merge layers", error))?;
            say(&describe(way, &layer, &Needles::none())?)
        }
        Job::Verify { layer, digest } => {
            let damage = verify(way, &layer, &digest);
            say(&damage.map_err(|error| Refusal::new("verify a layer", error))?)
        }
    }
}

fn say(what: &impl Serialize) -> Result<serde_json::Value, Refusal> {
    serde_json::to_value(what).map_err(|error| Refusal::new("tell what was done", error))
}

fn needles(secrets: Vec<String>) -> (Needles, Vec<usize>) {
    let secrets: Vec<SecretString> = secrets.into_iter().map(SecretString::from).collect();
    Needles::new(&secrets)
}

fn describe(way: Way, layer: &Path, needles: &Needles) -> Result<Described, Refusal> {
    let described = tree::describe(&layer.join(TREE), needles);
    let described = described.map_err(|error| Refusal::new("describe the workspace", error))?;
    // Whoever `dev` is to this process: the next one may see it in another way.
    let manifest = described.manifest.with_owner(way.dev(), (DEV, DEV));
    let stored = manifest.encode();
    stored
        .and_then(|stored| fs::write(layer.join(MANIFEST), stored))
        .map_err(|error| Refusal::new("write the manifest", error))?;
    let found = described.found.iter();
    Ok(Described {
        manifest: manifest.digest().to_hex().to_string(),
        bytes: described.bytes,
        found: found
            .map(|found| (found.secret, found.path.display().to_string()))
            .collect(),
        too_short: Vec::new(),
    })
}

/// What is not as it was when the layer was published, in words; nothing if all is.
fn verify(way: Way, layer: &Path, digest: &str) -> io::Result<Vec<String>> {
    let manifest = match fs::read(layer.join(MANIFEST)).and_then(|stored| Manifest::decode(&stored))
    {
        Ok(manifest) if manifest.digest().to_hex().as_str() == digest => manifest,
        Ok(_) => return Ok(vec!["its manifest is another one".to_owned()]),
        Err(error) => return Ok(vec![format!("its manifest cannot be read: {error}")]),
    };
    let manifest = manifest.with_owner((DEV, DEV), way.dev());
    match tree::verify(&layer.join(TREE), &manifest) {
        Ok(differences) => Ok(differences.iter().map(ToString::to_string).collect()),
        // What the disk does not give back is damage, and not a failure.
        Err(error) if error.kind() != io::ErrorKind::OutOfMemory => Ok(vec![error.to_string()]),
        Err(error) => Err(error),
    }
}
