//! One call of git: its environment, its time limit, and the end of everything it started.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};

use super::reach::Reach;
use super::trace::{Told, TooLong};
use super::{Git, Problem, message};
use crate::group::Group;
use crate::sys;

/// The refs of a repository with a million of them; more is not an answer but an attack.
const LIMIT: u64 = 128 << 20;

#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) reach: Reach<'a>,
    pub(super) folder: &'a Path,
    /// Where that is not what git would find from `folder`.
    pub(super) git_dir: Option<&'a Path>,
    pub(super) arguments: Vec<OsString>,
    pub(super) limit: Duration,
}

#[derive(Debug)]
pub(super) struct Done {
    pub(super) success: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
    /// How long a server wants to be left alone, if it says so.
    pub(super) retry_after: Option<Duration>,
    /// The last status that git-lfs was answered with.
    pub(super) status: Option<u16>,
}

impl Call<'_> {
    pub(super) fn arguments<const N: usize>(texts: [&str; N]) -> Vec<OsString> {
        texts.iter().map(OsString::from).collect()
    }
}

impl Git {
    /// Runs git to its end, successful or not.
    pub(super) async fn run(&self, call: Call<'_>) -> Result<Done, Problem> {
        self.run_with(call, &[]).await
    }

    /// The same with something to read for git.
    async fn run_with(&self, call: Call<'_>, input: &[u8]) -> Result<Done, Problem> {
        let limit = call.limit;
        let mut command = self.command(&call)?;
        if !input.is_empty() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().map_err(Problem::Start)?;
        let group = Group::of(&child);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let stdin = child.stdin.take();
        let ended = async {
            tokio::try_join!(
                async { Ok(read(stdout, LIMIT).await) },
                Told::by(stderr),
                async { Ok(child.wait().await) },
                async {
                    write(stdin, input).await;
                    Ok(())
                },
            )
        };
        let ended = tokio::time::timeout(limit, Box::pin(ended)).await;
        let problem = match ended {
            Ok(Ok(ended)) => {
                group.forget();
                return done(&call, ended);
            }
            Ok(Err(TooLong(time))) => Problem::RateLimited(Some(time)),
            Err(_) => Problem::TimedOut(limit),
        };
        drop(group);
        // Killed, so this is soon; the limit is for a process stuck in the kernel.
        let reaped = tokio::time::timeout(Duration::from_secs(1), child.wait()).await;
        drop(reaped);
        Err(problem)
    }

    /// Runs git and takes anything but success as the problem that its messages tell of.
    pub(super) async fn succeed(&self, call: Call<'_>) -> Result<Vec<u8>, Problem> {
        self.succeed_with(call, &[]).await
    }

    /// The same with something to read for git.
    pub(super) async fn succeed_with(
        &self,
        call: Call<'_>,
        input: &[u8],
    ) -> Result<Vec<u8>, Problem> {
        let with_login = matches!(
            call.reach,
            Reach::Server {
                credential: Some(_),
                ..
            }
        );
        let done = self.run_with(call, input).await?;
        if done.success {
            Ok(done.stdout)
        } else {
            Err(message::diagnose(&done.stderr, with_login).waiting(done.retry_after))
        }
    }

    fn command(&self, call: &Call<'_>) -> Result<Command, Problem> {
        let mut command = Command::new("git");
        command
            .args(&call.arguments)
            .current_dir(call.folder)
            .env_clear()
            .envs(
                self.environment
                    .always
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .envs([
                ("LC_ALL", "C"),
                ("TZ", "UTC"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_ATTR_NOSYSTEM", "1"),
                ("GIT_OPTIONAL_LOCKS", "0"),
                // A repository with holes must fail, not reach for its own server.
                ("GIT_NO_LAZY_FETCH", "1"),
                ("GIT_NO_REPLACE_OBJECTS", "1"),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .process_group(0);
        // Killed, atelier must not leave a transfer running that nobody wants.
        sys::die_with_parent(command.as_std_mut());
        if let Some(git_dir) = call.git_dir {
            command.env("GIT_DIR", git_dir);
        }
        self.allow(&mut command, call.reach)?;
        Ok(command)
    }
}

/// What a call has left: its answer, what it said, its status.
type Ended = (
    io::Result<Option<Vec<u8>>>,
    io::Result<Told>,
    io::Result<ExitStatus>,
    (),
);

fn done(call: &Call<'_>, (stdout, stderr, status, ()): Ended) -> Result<Done, Problem> {
    let failed = |source| Problem::Io {
        path: call.folder.to_owned(),
        source,
    };
    let said = stderr.map_err(failed)?.end();
    let too_long = || Problem::Garbled(format!("more than {} MiB", LIMIT >> 20));
    Ok(Done {
        success: status.map_err(failed)?.success(),
        stdout: stdout.map_err(failed)?.ok_or_else(too_long)?,
        stderr: mask(said.text, call.reach),
        retry_after: said.retry_after,
        status: said.status,
    })
}

fn mask(text: String, reach: Reach<'_>) -> String {
    match reach {
        Reach::Server {
            credential: Some(credential),
            ..
        } => text.replace(credential.token.expose_secret(), "***"),
        _ => text,
    }
}

/// Writes all of it. Who ends before having read it says why by other means.
async fn write(pipe: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut pipe) = pipe {
        pipe.write_all(input).await.ok();
    }
}

/// Reads to the end; `None` if that is more than `limit` bytes: a part would be taken for the whole. Who writes more must not
/// wait for ever.
async fn read(pipe: Option<impl AsyncRead + Unpin>, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut kept = Vec::new();
    if let Some(mut pipe) = pipe {
        (&mut pipe).take(limit).read_to_end(&mut kept).await?;
        let more = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
        if more > 0 {
            return Ok(None);
        }
    }
    Ok(Some(kept))
}

/// The path as an argument that is not taken for an option.
pub(super) fn argument(path: PathBuf) -> OsString {
    if path.is_absolute() {
        path.into()
    } else {
        Path::new("./").join(path).into()
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[tokio::test]
    async fn a_part_of_an_answer_is_none() {
        let read = async |limit| read(Some(b"1234".as_slice()), limit).await.unwrap();
        assert_eq!(read(4).await, Some(b"1234".to_vec()));
        assert_eq!(read(3).await, None);
    }
}
