//! Connections to a command in a pod: its streams, and how it ended.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::api::{AttachParams, AttachedProcess, TerminalSize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use super::MEMORY;
use crate::backend::kubernetes::bug;
use crate::backend::kubernetes::cluster::Cluster;
use crate::backend::kubernetes::pod::Container;
use crate::backend::local::attach::{RawTerminal, next, show, signals};
use crate::backend::{BackendError, Class, Ending};
use crate::event::{Kind, Sink};
use crate::lines::Lines;

/// How long the last output of a command that has ended may take.
const LAST_OUTPUT: Duration = Duration::from_secs(5);

pub(super) fn streams() -> AttachParams {
    AttachParams {
        container: Some(Container::Workspace.name().to_owned()),
        stdin: false,
        stdout: true,
        stderr: true,
        tty: false,
        max_stdin_buf_size: Some(64 << 10),
        max_stdout_buf_size: Some(64 << 10),
        max_stderr_buf_size: Some(64 << 10),
    }
}

pub(super) async fn open(
    cluster: &Cluster,
    pod: &str,
    command: &[String],
    parameters: &AttachParams,
) -> Result<AttachedProcess, BackendError> {
    let what = format!("run a command in pod {pod}");
    let pods = cluster.all::<Pod>();
    let opened = cluster.write(&what, pods.exec(pod, command, parameters));
    opened.await.map_err(|trouble| trouble.into_error(&what))
}

/// Waits for the end of a command while `streams` are read; then for what of them is still to come.
pub(super) async fn ended(
    process: &mut AttachedProcess,
    streams: impl Future<Output = ()>,
) -> Result<Ending, BackendError> {
    let Some(status) = process.take_status() else {
        return Err(bug(&"a command without a status"));
    };
    let mut streams = std::pin::pin!(streams);
    let mut status = std::pin::pin!(status);
    let told = tokio::select! {
        told = &mut status => {
            timeout(LAST_OUTPUT, streams).await.ok();
            told
        }
        () = &mut streams => status.await,
    };
    match told {
        Some(status) => ending(&status),
        // Never taken for success: the command may go on.
        None => {
            let message = "the connection to the sandbox broke; the command may still run";
            Err(BackendError::new(Class::Transient, message)
                .with_help("see `atelier ps`, and try again"))
        }
    }
}

fn ending(status: &Status) -> Result<Ending, BackendError> {
    if status.status.as_deref() == Some("Success") {
        return Ok(Ending::Exited(0));
    }
    let causes = status
        .details
        .iter()
        .flat_map(|details| details.causes.iter().flatten());
    let mut causes = causes.filter(|cause| cause.reason.as_deref() == Some("ExitCode"));
    let code = causes
        .next()
        .and_then(|cause| cause.message.as_ref()?.parse().ok());
    match code {
        Some(code) => Ok(Ending::Exited(code)),
        None => {
            let message = status.message.clone().unwrap_or_default();
            let message = format!("the command could not be run: {message}");
            Err(BackendError::new(Class::Denied, message)
                .with_help("an image needs `sh` for commands to be run in it"))
        }
    }
}

/// Output as events, line by line.
pub(super) async fn tell(
    cluster: &Cluster,
    pod: &str,
    command: &[String],
    events: &Sink,
) -> Result<Ending, BackendError> {
    let mut process = open(cluster, pod, command, &streams()).await?;
    let (out, err) = (process.stdout(), process.stderr());
    let reading = async {
        tokio::join!(lines(out, events), lines(err, events));
    };
    ended(&mut process, reading).await
}

async fn lines(stream: Option<impl AsyncRead + Unpin>, events: &Sink) {
    let Some(mut stream) = stream else { return };
    let mut lines = Lines::without(&[]);
    let mut buffer = vec![0; 16 << 10];
    let send = |line| events.send(Kind::Output(line));
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        lines.push(&buffer[..length], send);
        events.settle().await;
    }
    lines.flush(send);
}

/// The caller's own streams, and its signals.
pub(super) async fn lend(
    cluster: &Cluster,
    pod: &str,
    command: &[String],
    mark: &str,
) -> Result<Ending, BackendError> {
    let parameters = AttachParams {
        stdin: true,
        ..streams()
    };
    let mut heard = signals().map_err(|error| broken(&error))?;
    let mut process = open(cluster, pod, command, &parameters).await?;
    let (input, out, err) = (process.stdin(), process.stdout(), process.stderr());
    let reading = async {
        tokio::join!(
            copy(out, rustix::stdio::stdout()),
            copy(err, rustix::stdio::stderr())
        );
    };
    let sending = async {
        // Dropped at its end, which ends the command's input.
        if let Some(mut input) = input {
            let mut own = own_input();
            while let Some(bytes) = own.recv().await {
                let sent = input.write_all(&bytes).await;
                if sent.is_err() || input.flush().await.is_err() {
                    break;
                }
            }
            input.shutdown().await.ok();
        }
        std::future::pending::<()>().await;
    };
    let passing_on = async {
        loop {
            let number = next(&mut heard).await;
            pass_on(cluster, pod, mark, number).await;
        }
    };
    tokio::select! {
        ended = ended(&mut process, reading) => ended,
        () = sending => Err(bug(&"an input that ended")),
        () = passing_on => Err(bug(&"signals that ended")),
    }
}

async fn copy(from: Option<impl AsyncRead + Unpin>, to: BorrowedFd<'static>) {
    if let Some(mut from) = from {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            if show(to, &buffer[..length]).is_err() {
                return;
            }
        }
    }
}

/// What the caller's standard input has, piece by piece. A thread waits for it: it may be a file, or anything else.
fn own_input() -> tokio::sync::mpsc::Receiver<Vec<u8>> {
    let (to, from) = tokio::sync::mpsc::channel(4);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 16 << 10];
        loop {
            match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(length @ 1..) => {
                    if to.blocking_send(buffer[..length].to_vec()).is_err() {
                        return;
                    }
                }
                Ok(_) | Err(_) => return,
            }
        }
    });
    from
}

async fn pass_on(cluster: &Cluster, pod: &str, mark: &str, number: i32) {
    let script = format!("kill -{number} \"$(cat {MEMORY}-{mark}.pid)\"");
    let command = ["sh", "-c", &script].map(str::to_owned);
    let (nobody, _events) = crate::event::channel();
    tell(cluster, pod, &command, &nobody).await.ok();
}

/// The caller's terminal, in raw mode, on one in the pod.
pub(super) async fn on_terminal(
    cluster: &Cluster,
    pod: &str,
    command: &[String],
) -> Result<Ending, BackendError> {
    let parameters = AttachParams {
        stdin: true,
        stderr: false,
        tty: true,
        max_stderr_buf_size: None,
        ..streams()
    };
    let mut process = open(cluster, pod, command, &parameters).await?;
    let terminal = RawTerminal::open().map_err(|error| broken(&error))?;
    let mut resized = signal(SignalKind::window_change()).map_err(|error| broken(&error))?;
    let (input, out) = (process.stdin(), process.stdout());
    let mut sizes = process.terminal_size();
    let mut resize = || {
        if let (Some(sizes), Ok(size)) = (&mut sizes, terminal.size()) {
            let size = TerminalSize {
                width: size.columns,
                height: size.rows,
            };
            sizes.try_send(size).ok();
        }
    };
    resize();
    let keys = async {
        let Some(mut input) = input else { return };
        while let Ok(keys) = terminal.keys().await {
            let sent = input.write_all(&keys).await;
            if keys.is_empty() || sent.is_err() || input.flush().await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let sizing = async {
        while resized.recv().await.is_some() {
            resize();
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = ended(&mut process, copy(out, rustix::stdio::stdout())) => ended,
        () = keys => Err(bug(&"keys that ended")),
        () = sizing => Err(bug(&"sizes that ended")),
    }
}

pub(super) fn broken(error: &std::io::Error) -> BackendError {
    BackendError::new(
        Class::Denied,
        format!("cannot use the caller's streams: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::ending;
    use crate::backend::Ending;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

    fn status(json: serde_json::Value) -> Status {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_exit_code_is_read_from_its_cause() {
        let failed = status(serde_json::json!({
            "status": "Failure", "reason": "NonZeroExitCode", "message": "command terminated with exit code 3",
            "details": { "causes": [{ "reason": "ExitCode", "message": "3" }] },
        }));
        assert_eq!(ending(&failed).unwrap(), Ending::Exited(3));
        let done = status(serde_json::json!({ "status": "Success" }));
        assert_eq!(ending(&done).unwrap(), Ending::Exited(0));
    }

    /// What is no exit code is never taken for one.
    #[test]
    fn a_failure_without_a_code_is_an_error() {
        let failed =
            status(serde_json::json!({ "status": "Failure", "message": "no such file: sh" }));
        assert!(
            ending(&failed)
                .unwrap_err()
                .message
                .contains("no such file")
        );
    }
}
