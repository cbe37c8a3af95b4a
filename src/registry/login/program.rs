//! Programs that keep logins: `docker-credential-NAME get`, in docker's protocol.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::Means;
use crate::group::Group;
use crate::sys;

/// Some ask a server for the login.
const LIMIT: Duration = Duration::from_secs(10);

const ANSWER_LIMIT: u64 = 1 << 20;

/// The user of an answer that is no password but an identity.
const IDENTITY: &str = "<token>";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(default)]
    username: String,
    secret: String,
}

/// Asks for the login to a server; `None` if the program has none. The error reads on from the program's name, and has
/// nothing of what it said.
pub(super) async fn ask(
    name: &str,
    server: &str,
    environment: &[(OsString, OsString)],
) -> Result<Option<Means>, String> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !name.bytes().all(is_name) {
        return Err("cannot be a program's name".to_owned());
    }
    let mut command = Command::new(format!("docker-credential-{name}"));
    command
        .arg("get")
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        // It has no terminal to ask at.
        .env_remove("GPG_TTY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .process_group(0);
    sys::die_with_parent(command.as_std_mut());
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let group = Group::of(&child);
    let answer = Box::pin(tokio::time::timeout(LIMIT, talk(&mut child, server))).await;
    match answer {
        Err(_) => Err(format!("did not answer within {} s", LIMIT.as_secs())),
        Ok(Err(error)) => Err(format!("cannot be asked: {error}")),
        Ok(Ok((success, text))) => {
            group.forget();
            read(success, &text)
        }
    }
}

async fn talk(child: &mut Child, server: &str) -> std::io::Result<(bool, Vec<u8>)> {
    if let Some(mut stdin) = child.stdin.take() {
        // One that has answered without listening is as good.
        stdin.write_all(server.as_bytes()).await.ok();
        stdin.shutdown().await.ok();
    }
    let mut text = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(ANSWER_LIMIT).read_to_end(&mut text).await?;
    }
    Ok((child.wait().await?.success(), text))
}

fn read(success: bool, text: &[u8]) -> Result<Option<Means>, String> {
    if !success {
        let said = String::from_utf8_lossy(text).to_lowercase();
        // Docker's own words for it; all else is a failure.
        return match said.contains("not found") {
            true => Ok(None),
            false => Err("failed".to_owned()),
        };
    }
    let answer: Answer =
        serde_json::from_slice(text).map_err(|_| "answered what is no login".to_owned())?;
    let secret = answer.secret.into();
    Ok(Some(match answer.username.as_str() {
        IDENTITY => Means::Identity(secret),
        _ => Means::Password {
            user: answer.username,
            password: secret,
        },
    }))
}
