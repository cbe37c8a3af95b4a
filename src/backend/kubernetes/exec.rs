//! Commands in the pods of sandboxes. Secrets go over standard input into the pod's memory, and nowhere else.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kube::api::AttachParams;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::cluster::Cluster;
use crate::backend::local::environment;
use crate::backend::{BackendError, Class, Ending, Exec, Stdio};
use crate::nonce;

mod streams;

use streams::{broken, ended, lend, on_terminal, open, streams, tell};

/// Each pod's own, in memory, and not below the folder of the kubelet.
const MEMORY: &str = "/dev/shm/.atelier";

/// Leaves the values of secrets where every command of the sandbox finds them.
pub(super) async fn give_secrets(
    cluster: &Cluster,
    pod: &str,
    secrets: &BTreeMap<String, SecretString>,
) -> Result<(), BackendError> {
    write_secrets(cluster, pod, MEMORY, secrets).await
}

async fn write_secrets(
    cluster: &Cluster,
    pod: &str,
    path: &str,
    secrets: &BTreeMap<String, SecretString>,
) -> Result<(), BackendError> {
    let mut text = String::new();
    for (name, value) in secrets {
        // Writing to a string does not fail.
        writeln!(text, "export {name}={}", quoted(value.expose_secret())).ok();
    }
    // Reads so many bytes: the end of the input is not told by every server.
    let script = format!(
        "umask 077 && head -c {} >{path}.draft && mv {path}.draft {path}",
        text.len()
    );
    let command = ["sh", "-c", &script].map(str::to_owned);
    let parameters = AttachParams {
        stdin: true,
        max_stdin_buf_size: Some(text.len().max(1024)),
        ..streams()
    };
    let mut process = open(cluster, pod, &command, &parameters).await?;
    let mut input = process.stdin();
    if let Some(input) = &mut input {
        let written = async {
            input.write_all(text.as_bytes()).await?;
            input.flush().await
        };
        written.await.map_err(|error| broken(&error))?;
    }
    let (mut said, mut complained) = (process.stdout(), process.stderr());
    let mut message = String::new();
    let reading = async {
        let mut nothing = tokio::io::sink();
        let out = async {
            if let Some(said) = &mut said {
                tokio::io::copy(said, &mut nothing).await.ok();
            }
        };
        let err = async {
            if let Some(complained) = &mut complained {
                complained.read_to_string(&mut message).await.ok();
            }
        };
        tokio::join!(out, err);
    };
    let ending = ended(&mut process, reading).await?;
    drop(input);
    match ending.success() {
        true => Ok(()),
        false => Err(BackendError::new(
            Class::Denied,
            format!("cannot give the sandbox its secrets: {}", message.trim()),
        )),
    }
}

/// Runs a command and sees it to its end.
pub(super) async fn run(cluster: &Cluster, pod: &str, exec: &Exec) -> Result<Ending, BackendError> {
    let mark = nonce::name();
    let own = format!("{MEMORY}-{mark}");
    if !exec.environment.secrets.is_empty() {
        write_secrets(cluster, pod, &own, &exec.environment.secrets).await?;
    }
    let command = wrapped(exec, &mark, "exec \"$@\"");
    match &exec.stdio {
        stdio if stdio.is_terminal() => on_terminal(cluster, pod, &command).await,
        Stdio::Inherit => lend(cluster, pod, &command, &mark).await,
        Stdio::Events(events) => tell(cluster, pod, &command, events).await,
    }
}

/// Starts a command and leaves it to itself; how it ended if it could not be started.
pub(super) async fn start(
    cluster: &Cluster,
    pod: &str,
    exec: &Exec,
) -> Result<Option<Ending>, BackendError> {
    let mark = nonce::name();
    let own = format!("{MEMORY}-{mark}");
    if !exec.environment.secrets.is_empty() {
        write_secrets(cluster, pod, &own, &exec.environment.secrets).await?;
    }
    // What the first process prints is the pod's log.
    let last = "command -v \"$1\" >/dev/null || { echo \"$1: not found\" >/proc/1/fd/2; exit 127; }\n\
                \"$@\" </dev/null >/proc/1/fd/1 2>/proc/1/fd/2 &";
    let command = wrapped(exec, &mark, last);
    let (nobody, _events) = crate::event::channel();
    let ending = tell(cluster, pod, &command, &nobody).await?;
    Ok((!ending.success()).then_some(ending))
}

/// A shell that makes the command's world and then becomes it. Its number is left where signals find it.
fn wrapped(exec: &Exec, mark: &str, last: &str) -> Vec<String> {
    let own = format!("{MEMORY}-{mark}");
    let folder = environment::folder(&exec.folder);
    let mut script = format!("cd {} || exit 126\n", quoted(&folder));
    let mut add = |line: String| {
        script.push_str(&line);
        script.push('\n');
    };
    add(format!("echo $$ >{own}.pid"));
    for (name, value) in exec.variables.iter().chain(&exec.environment.variables) {
        add(format!("export {name}={}", quoted(value)));
    }
    add(format!("[ ! -r {MEMORY} ] || . {MEMORY}"));
    if !exec.environment.secrets.is_empty() {
        add(format!(". {own} && rm -f {own}"));
    }
    let folders = exec.environment.path.iter();
    for folder in folders.rev() {
        let folder = match folder.starts_with('/') {
            true => folder.clone(),
            false => format!("/home/dev/{folder}"),
        };
        add(format!("PATH={}:$PATH", quoted(&folder)));
    }
    add("umask 022".to_owned());
    if exec.command.is_empty() {
        add("if command -v bash >/dev/null; then set -- bash -l; else set -- sh -l; fi".to_owned());
    }
    add(last.to_owned());
    let words = ["sh", "-c", &script, "sh"].map(str::to_owned).into_iter();
    words.chain(exec.command.iter().cloned()).collect()
}

/// As a shell reads it back.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("it's $x"), r"'it'\''s $x'");
    }
}
