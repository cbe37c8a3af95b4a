//! Kept sandboxes, from outside: started, found, called, ended. All that is known of one lies in its folder, so that any
//! process of the store's owner can do any of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use secrecy::ExposeSecret;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

use super::boot::{self, World};
use super::first::FirstProcess;
use super::image::{self, Image};
use super::limits::Limits;
use super::protocol::{Layout, Reply, Request, StdioKind};
use super::session::{self, Line, Session, broken};
use super::store::{KeptRecord, Scratch, failed, is_held, tree};
use super::{Local, attach};
use crate::backend::{
    BackendError, Class, Ending, Environment, Exec, Keep, Sandbox, SandboxId, SandboxRequest,
    SandboxState, Stdio, is_sandbox_name,
};
use crate::nonce;

/// How long a keeper may take to end what it keeps, and whoever looks at a folder to look away.
const FAREWELL: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_secs(1);

const PAUSE: Duration = Duration::from_millis(2);

/// Boots a sandbox that stays, or starts one again that has ended.
pub(super) async fn boot(
    local: &Local,
    request: &SandboxRequest,
    keep: &Keep,
) -> Result<SandboxId, BackendError> {
    let name = match &keep.name {
        Some(name) if !is_sandbox_name(name) => return Err(no_name(name)),
        Some(name) => name.clone(),
        None => fresh_name(local),
    };
    let found = local.store.kept_record(&name);
    let found = found.map_err(|error| failed(&format!("read about sandbox {name}"), &error))?;
    let (layers, scratch) = match found {
        None => {
            let (layers, scratch) = boot::hold(local, request.key)?;
            (
                layers.into_iter().map(|layer| layer.name).collect(),
                scratch,
            )
        }
        Some(record) if record.key != request.key => return Err(taken(&name)),
        Some(_) => {
            let scratch = take_over(local, &name).await?;
            (scratch.layers()?, scratch)
        }
    };
    let image = image::ready(local, &request.image, &mut |_| {}).await?;
    start(local, request, &name, scratch, layers, image).await?;
    Ok(SandboxId(name))
}

async fn start(
    local: &Local,
    request: &SandboxRequest,
    name: &str,
    mut scratch: Scratch,
    layers: Vec<String>,
    image: Image,
) -> Result<(), BackendError> {
    let unwritable = |error| failed("write about a sandbox", &error);
    let record = record(local, request, image.variables);
    scratch
        .write(
            "sandbox.json",
            &serde_json::to_vec_pretty(&record)
                .map_err(|error| broken("describe a sandbox", error))?,
        )
        .map_err(unwritable)?;
    let socket = socket_in(&scratch).map_err(unwritable)?;
    let layout = Layout {
        way: local.store.way(),
        store: local.store.root().to_owned(),
        scratch: scratch.run_folder().map_err(unwritable)?,
        writes: Some(scratch.name().to_owned()),
        root: image.root,
        workspace: layers.iter().map(|layer| tree(layer)).collect(),
        caches: Vec::new(),
        hostname: "atelier".to_owned(),
        network: request.network,
        groups: Vec::new(),
    };
    let limits = Limits::from(&request.resources);
    let mut session = Session::start(layout, &local.groups, &limits).await?;
    local.notices.borrow_mut().extend(local.unlimited(&session));
    let first = session.keep(scratch.lock().as_fd(), socket.as_fd()).await?;
    drop(socket);
    FirstProcess::of(first)
        .and_then(|first| scratch.write("first", first.to_string().as_bytes()))
        .map_err(unwritable)?;
    if scratch.name() != format!("k/{name}") && !scratch.settle(name).map_err(unwritable)? {
        session.end().await;
        return Err(taken(name));
    }
    let secrets = request.environment.secrets.iter();
    let secrets = secrets.map(|(name, value)| (name.clone(), value.expose_secret().to_owned()));
    session.confirm(secrets.collect()).await?;
    // Also if the wait for the rest is given up.
    scratch.leave();
    session.part().await
}

fn record(
    local: &Local,
    request: &SandboxRequest,
    image_variables: BTreeMap<String, String>,
) -> KeptRecord {
    let snapshot = local.store.record(request.key).ok().flatten();
    KeptRecord {
        key: request.key,
        node: snapshot.map_or(String::new(), |record| record.snapshot.node),
        created: super::now(),
        network: request.network,
        image_variables,
        variables: request.environment.variables.clone(),
        path: request.environment.path.clone(),
        secrets: request.environment.secrets.keys().cloned().collect(),
    }
}

/// The folder of a sandbox that has ended, once nothing of it is left.
async fn take_over(local: &Local, name: &str) -> Result<Scratch, BackendError> {
    let began = Instant::now();
    loop {
        let taken_over = local.store.take_over(name);
        let failed = |error| failed(&format!("take over sandbox {name}"), &error);
        if let Some(scratch) = taken_over.map_err(failed)? {
            // A keeper that was killed has not waited for what it kept, and two mounts of one folder damage it.
            return match gone(&local.store.kept(name)).await {
                true => Ok(scratch),
                false => Err(still_ending(name)),
            };
        }
        // Somebody may just be looking.
        if began.elapsed() > LOOK {
            return Err(taken(name));
        }
        sleep(PAUSE).await;
    }
}

/// Waits until the first process of the sandbox in `folder`, and so all others, have ended.
async fn gone(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join("first")).unwrap_or_default();
    let Some(first) = text.parse::<FirstProcess>().ok() else {
        return true;
    };
    until(FAREWELL, || !first.is_there()).await
}

async fn until(limit: Duration, done: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !done() {
        if began.elapsed() > limit {
            return false;
        }
        sleep(PAUSE).await;
    }
    true
}

/// All of them, oldest first. One whose record is damaged is not shown, and can be destroyed.
pub(super) fn all(local: &Local) -> Result<Vec<Sandbox>, BackendError> {
    let names = local.store.kept_names();
    let names = names.map_err(|error| failed("read the store", &error))?;
    let mut all: Vec<Sandbox> = names
        .into_iter()
        .filter_map(|name| {
            let record = local.store.kept_record(&name).ok()??;
            Some(describe(&local.store.kept(&name), name, record))
        })
        .collect();
    all.sort_by(|a, b| (&a.created, &a.id).cmp(&(&b.created, &b.id)));
    Ok(all)
}

fn describe(folder: &Path, name: String, record: KeptRecord) -> Sandbox {
    let running = is_held(folder);
    let first = || {
        let text = std::fs::read_to_string(folder.join("first")).ok()?;
        text.parse::<FirstProcess>().ok()
    };
    Sandbox {
        id: SandboxId(name.clone()),
        name: Some(name),
        key: record.key,
        node: record.node,
        created: record.created,
        state: match running {
            true => SandboxState::Running,
            false => SandboxState::Ended,
        },
        processes: running.then(first).flatten().and_then(FirstProcess::family),
        log: Some(folder.join("log")),
    }
}

/// Runs a command in a kept sandbox, and sees it to its end.
pub(super) async fn exec(
    local: &Local,
    sandbox: &SandboxId,
    command: &Exec,
) -> Result<Ending, BackendError> {
    let (mut line, world) = call(local, sandbox).await?;
    let process = |stdio| world.process(command, stdio);
    match &command.stdio {
        stdio if stdio.is_terminal() => {
            attach::run(&mut line, |size| process(StdioKind::Terminal(size))).await
        }
        Stdio::Inherit => attach::lend(&mut line, process(StdioKind::Inherit)).await,
        Stdio::Events(events) => boot::tell(&mut line, process(StdioKind::Frames), events).await,
    }
}

/// Starts a command in a kept sandbox, with the sandbox's log as its output.
pub(super) async fn start_in(
    local: &Local,
    sandbox: &SandboxId,
    command: &Exec,
) -> Result<Option<Ending>, BackendError> {
    let (mut line, world) = call(local, sandbox).await?;
    let log = File::options()
        .create(true)
        .append(true)
        .open(local.store.kept(&sandbox.0).join("log"))
        .map_err(|error| failed("write a sandbox's log", &error))?;
    let null = File::open("/dev/null").map_err(|error| broken("open /dev/null", error))?;
    let secrets = command.environment.secrets.keys().cloned().collect();
    let process = Box::new(world.process(command, StdioKind::Inherit));
    let request = Request::Start(process, secrets);
    let streams = [null.as_fd(), log.as_fd(), log.as_fd()];
    line.requests.send_with(&request, &streams).await?;
    match line.replies.receive().await? {
        Reply::Started => Ok(None),
        Reply::Ended(ending) => Ok(Some(ending)),
        reply => Err(session::odd(&reply, "start a process")),
    }
}

/// Ends a kept sandbox and forgets it; `false` if there is none.
pub(super) async fn destroy(local: &Local, sandbox: &SandboxId) -> Result<bool, BackendError> {
    let folder = local.store.kept(&sandbox.0);
    if !is_sandbox_name(&sandbox.0) || !folder.exists() {
        return Ok(false);
    }
    let ended = || !is_held(&folder);
    if !ended() {
        if let Ok(mut line) = connect(&folder).await {
            line.requests.send(&Request::End).await.ok();
        }
        if !until(FAREWELL, ended).await {
            kill(&folder).await;
        }
    }
    if !until(LOOK, ended).await || !gone(&folder).await {
        return Err(still_ending(&sandbox.0));
    }
    let forgotten = local.store.forget(&sandbox.0);
    forgotten.map_err(|error| failed("delete a sandbox", &error))?;
    // Its control groups were its keeper's, who is gone.
    local.groups.sweep();
    Ok(true)
}

/// Ends a keeper that does not hear, by the socket that it listens on.
async fn kill(folder: &Path) {
    use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Ok(socket) = stream(folder).await else {
        return;
    };
    let keeper = crate::sys::peer(&socket).ok().and_then(|peer| peer.pid);
    let process = keeper.and_then(|keeper| pidfd_open(keeper, PidfdFlags::empty()).ok());
    // Still held: so it was the keeper, and not somebody who got its number.
    if let (Some(process), true) = (process, is_held(folder)) {
        pidfd_send_signal(&process, Signal::KILL).ok();
    }
}

/// A connection to a kept sandbox, and what is in the environment of its processes.
async fn call(local: &Local, sandbox: &SandboxId) -> Result<(Line, World), BackendError> {
    let record = match local.store.kept_record(&sandbox.0) {
        Ok(Some(record)) if is_sandbox_name(&sandbox.0) => record,
        Ok(_) => return Err(boot::not_running(sandbox)),
        Err(error) => return Err(failed(&format!("read about sandbox {}", sandbox.0), &error)),
    };
    let line = connect(&local.store.kept(&sandbox.0)).await;
    let line = line.map_err(|_| boot::not_running(sandbox))?;
    let world = World {
        variables: record.image_variables,
        environment: Environment {
            variables: record.variables,
            path: record.path,
            secrets: BTreeMap::new(),
        },
        elsewhere: record.secrets,
    };
    Ok((line, world))
}

async fn connect(folder: &Path) -> std::io::Result<Line> {
    Ok(Line::over(stream(folder).await?))
}

/// A socket's name is short, and a store's may be long.
async fn stream(folder: &Path) -> std::io::Result<UnixStream> {
    let (_folder, name) = short_name(folder)?;
    UnixStream::connect(name).await
}

fn socket_in(scratch: &Scratch) -> std::io::Result<OwnedFd> {
    let folder = scratch.path("");
    match std::fs::remove_file(folder.join("socket")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let (_folder, name) = short_name(&folder)?;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrUnix::new(name)?)?;
    Ok(socket)
}

/// The name is good as long as the descriptor is open.
fn short_name(folder: &Path) -> std::io::Result<(OwnedFd, String)> {
    use std::os::fd::AsRawFd;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open(folder, flags, Mode::empty())?;
    let name = format!("/proc/self/fd/{}/socket", folder.as_raw_fd());
    Ok((folder, name))
}

/// Six letters and digits that nobody has.
fn fresh_name(local: &Local) -> String {
    loop {
        let mut name = nonce::name();
        name.truncate(6);
        if !local.store.kept(&name).exists() {
            return name;
        }
    }
}

fn taken(name: &str) -> BackendError {
    BackendError::new(Class::InUse, format!("the name {name} is in use")).with_help(format!(
        "choose another name, or remove the sandbox with `atelier rm {name}`"
    ))
}

fn no_name(name: &str) -> BackendError {
    BackendError::new(Class::InUse, format!("`{name}` cannot be a sandbox's name")).with_help(
        "up to 63 letters, digits, `-`, `_` and `.`, of which the first is a letter or a digit",
    )
}

fn still_ending(name: &str) -> BackendError {
    let message = format!("sandbox {name} does not end");
    BackendError::new(Class::Transient, message).with_help("try again in a moment")
}
