//! The workspace before its steps: repositories and files.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use secrecy::SecretString;

use super::events::Events;
use super::protocol::{
    self, CheckedOut, CheckoutRequest, Class, Failure, Network, Outcome, WORKSPACE,
};
use super::volume::Volume;
use super::{aside, attachment, broken, input, machine, repositories, within};
use crate::backend::Checkout;
use crate::backend::local::{environment, files};
use crate::checkout as shared;
use crate::git::{Credential, Git, GitError, Host, Problem, RepoLocation};
use crate::node::{ObjectId, TreeEntry};

/// What this program is called where it is copied to.
const PROGRAM: &str = "atelier-runner";

pub(super) async fn answer(
    volume: &Path,
    parent: Option<&Path>,
    copy_to: Option<PathBuf>,
    events: &mut Events,
) -> Result<Outcome, Failure> {
    if let Some(folder) = copy_to {
        copy_program(&folder).map_err(|error| broken("copy the runner", &error))?;
    }
    let volume = Volume::open(volume)?;
    let scratch = volume.clear().and_then(|()| volume.scratch());
    let scratch = scratch.map_err(|error| broken("make a folder in the volume", &error))?;
    let (request, attachments) = input::read_with_attachments(scratch.clone()).await?;
    events.keep_secret(&secrets(&request));
    events.request(&request.nonce);
    let limit = request.limit;
    let work = Work {
        parent: parent.map(|parent| parent.join(WORKSPACE)),
        volume,
        scratch,
        limit,
        events,
    };
    within(limit, work.all(request, attachments)).await
}

fn secrets(request: &CheckoutRequest) -> Vec<SecretString> {
    let logins = request.checkouts.iter();
    let logins = logins.filter_map(|checkout| checkout.credential.as_ref());
    let proxies = environment::passwords(&request.network.variables).into_iter();
    let tokens = logins.map(|login| login.token.clone().into());
    tokens.chain(proxies.map(|(_, value)| value)).collect()
}

/// Beside its place first: who runs it finds it whole.
fn copy_program(folder: &Path) -> io::Result<()> {
    let draft = folder.join(format!("{PROGRAM}.draft"));
    io::copy(
        &mut File::open("/proc/self/exe")?,
        &mut File::create(&draft)?,
    )?;
    fs::set_permissions(&draft, Permissions::from_mode(0o755))?;
    fs::rename(draft, folder.join(PROGRAM))
}

struct Work<'a> {
    parent: Option<PathBuf>,
    volume: Volume,
    scratch: PathBuf,
    limit: Duration,
    events: &'a mut Events,
}

impl Work<'_> {
    async fn all(
        mut self,
        request: CheckoutRequest,
        attachments: Vec<PathBuf>,
    ) -> Result<Outcome, Failure> {
        let began = Instant::now();
        // First, so that what is copied into it has no mark of the volume's own root.
        self.volume
            .make_workspace()
            .map_err(|error| broken("make the workspace", &error))?;
        self.copy_parent().await?;
        let places: Vec<Option<usize>> = request
            .checkouts
            .iter()
            .map(|checkout| checkout.attachment)
            .collect();
        let checkouts = request.checkouts.into_iter().map(checkout_of);
        let checkouts: Vec<Checkout> = checkouts.collect::<Result<_, _>>()?;
        let workspace = self.volume.workspace();
        for path in &request.folders {
            files::make_folder(&workspace, path)
                .map_err(|error| broken(&format!("make the folder {path}"), &error))?;
        }
        for checkout in &checkouts {
            let text = format!("check out {} at {}", checkout.path, checkout.commit);
            self.events.phase(&text);
        }
        self.fetch(&request.network, &checkouts, &places, &attachments)
            .await?;
        for (index, checkout) in checkouts.iter().enumerate() {
            self.check_out(index, checkout).await?;
        }
        for file in &request.files {
            self.events.phase(&format!("write {}", file.path));
            files::write(&workspace, file)
                .map_err(|error| broken(&format!("write {}", file.path), &error))?;
        }
        let volume = self.volume;
        aside(move || {
            let cleared = volume.clear().and_then(|()| volume.flush());
            cleared.map_err(|error| broken("bring the workspace to the disk", &error))
        })
        .await?;
        Ok(Outcome::CheckedOut(CheckedOut {
            seconds: began.elapsed().as_secs_f64(),
        }))
    }

    /// With everything that a snapshot would have given back: times, modes, links, attributes, holes.
    async fn copy_parent(&mut self) -> Result<(), Failure> {
        let Some(parent) = &self.parent else {
            return Ok(());
        };
        self.events.phase("copy the workspace of the parent");
        let words = [
            "cp",
            "--archive",
            "--sparse=auto",
            "--reflink=auto",
            "-T",
            "--",
        ];
        let places = [parent, &self.volume.workspace()].map(|path| path.display().to_string());
        let program = words.map(str::to_owned).into_iter().chain(places);
        let ran = repositories::run(
            &self.scratch,
            program.collect(),
            crate::checkout::environment(),
        );
        let (ending, said) = ran
            .await
            .map_err(|error| broken("copy the parent", &error))?;
        if ending.success() {
            return Ok(());
        }
        let operation = "copy the workspace of the parent";
        let full = self
            .volume
            .for_lack_of_room(|| format!("cannot {operation}"));
        Err(full.unwrap_or_else(|| repositories::refused(ending, &said, operation)))
    }

    /// All of them at once.
    async fn fetch(
        &self,
        network: &Network,
        checkouts: &[Checkout],
        places: &[Option<usize>],
        attachments: &[PathBuf],
    ) -> Result<(), Failure> {
        let git = self
            .git(network)
            .map_err(|error| broken("prepare git", &error))?;
        let git = git.map_err(|error| prevented(&error))?;
        let fetched = checkouts.iter().zip(places).enumerate();
        try_join_all(fetched.map(async |(index, (checkout, place))| {
            let into = self.fetched(index);
            match place.map(|place| attachments.get(place).cloned()) {
                Some(Some(attached)) => {
                    let unpacked =
                        aside(move || unpack(&attached, &into).map_err(|e| broken("unpack", &e)));
                    unpacked.await
                }
                Some(None) => Err(machine(Class::Bug, "an attachment is missing")),
                None => {
                    let fetched = shared::fetch(&git, checkout, &into, self.limit).await;
                    fetched.map_err(|error| self.unfetched(checkout, &error))
                }
            }
        }))
        .await?;
        Ok(())
    }

    /// Git as the caller would have it.
    fn git(&self, network: &Network) -> io::Result<Result<Git, GitError>> {
        let certificates = |name: &str, pem: &Option<String>| -> io::Result<Option<PathBuf>> {
            let Some(pem) = pem else { return Ok(None) };
            let path = self.scratch.join(name);
            fs::write(&path, pem)?;
            Ok(Some(path))
        };
        let mut variables = variables(network, &self.scratch);
        let everywhere = certificates("certificates", &network.certificates)?;
        variables.extend(everywhere.map(|path| ("GIT_SSL_CAINFO".into(), path.into())));
        let hosts = network
            .hosts
            .iter()
            .enumerate()
            .map(|(index, (name, host))| {
                let ca = certificates(&format!("certificates-{index}"), &host.certificates)?;
                let user = host.user.clone();
                Ok((name.clone(), Host { user, ca }))
            });
        let hosts = hosts.collect::<io::Result<_>>()?;
        Ok(Git::new(&self.scratch, variables).map(|git| git.with_hosts(hosts)))
    }

    fn fetched(&self, index: usize) -> PathBuf {
        self.scratch.join(index.to_string())
    }

    async fn check_out(&self, index: usize, checkout: &Checkout) -> Result<(), Failure> {
        let fetched = self.fetched(index);
        let from = fetched.display().to_string();
        let operation = format!("check out {}", checkout.path);
        let workspace = self.volume.workspace();
        for script in shared::check_out(checkout, &fetched, &from, index) {
            let ran = repositories::check_out(&workspace, script, &self.scratch, &operation);
            ran.await.map_err(|failure| {
                let full = self
                    .volume
                    .for_lack_of_room(|| format!("cannot {operation}"));
                full.unwrap_or(failure)
            })?;
        }
        Ok(())
    }

    fn unfetched(&self, checkout: &Checkout, error: &GitError) -> Failure {
        let input = shared::input(checkout);
        let problem = match &error.problem {
            Problem::Io { path, .. } if path.starts_with(&self.scratch) => {
                return prevented(error);
            }
            Problem::Start(_) => return prevented(error),
            problem => problem,
        };
        let full = self
            .volume
            .for_lack_of_room(|| format!("cannot fetch {input}"));
        full.unwrap_or_else(|| Failure::Checkout {
            input,
            cause: problem.to_string(),
            help: error.help(),
        })
    }
}

/// What fails in our own folder is no fault of the repository.
fn prevented(error: &GitError) -> Failure {
    match &error.problem {
        Problem::Io { source, .. } => broken(&error.operation, source),
        Problem::Start(_) => machine(Class::Denied, error.to_string()),
        _ => machine(Class::Bug, error.to_string()),
    }
}

fn unpack(attached: &Path, into: &Path) -> io::Result<()> {
    attachment::unpack(File::open(attached)?, into)?;
    fs::remove_file(attached)
}

/// What git may see of the environment.
fn variables(network: &Network, scratch: &Path) -> Vec<(OsString, OsString)> {
    let variables = network.variables.iter();
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
    let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
    let temporary = ("TMPDIR".into(), scratch.into());
    variables.chain(path).chain([temporary]).collect()
}

fn checkout_of(asked: protocol::Checkout) -> Result<Checkout, Failure> {
    let garbled = |what: &str| machine(Class::Bug, format!("the request has a wrong {what}"));
    let id = |text: &str| text.parse::<ObjectId>().map_err(|_| garbled("object id"));
    let entry = |entry: protocol::Entry| {
        let object = entry.object.as_deref().map(id).transpose()?;
        let protocol::Entry { path, mode, .. } = entry;
        Ok(TreeEntry { path, mode, object })
    };
    let only = asked.only.map(|entries| entries.into_iter().map(entry));
    let credential = match asked.credential {
        Some(login) => {
            let user = login.user.map(|user| user + ":").unwrap_or_default();
            let parsed = Credential::parse(&(user + &login.token));
            Some(parsed.ok_or_else(|| garbled("login"))?)
        }
        None => None,
    };
    Ok(Checkout {
        path: asked.path,
        location: RepoLocation::Url(asked.url.clone()),
        url: asked.url,
        reference: asked.reference,
        commit: id(&asked.commit)?,
        depth: asked.depth,
        submodules: asked.submodules,
        lfs: asked.lfs,
        only: only
            .map(Iterator::collect::<Result<_, Failure>>)
            .transpose()?,
        taken: asked.taken.into_iter().collect(),
        credential,
    })
}
