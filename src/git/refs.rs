//! The refs of a remote repository, read once.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

// A clock that tests can move.
use tokio::time::Instant;

use super::reach::Reach;
use super::run::Call;
use super::{Credential, Git, GitError, Problem, is_valid_ref};
use crate::node::ObjectId;

/// For one repository, retries included.
pub const LIMIT: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// What a remote repository offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// The branch that HEAD names.
    pub default_branch: Option<String>,
    /// What HEAD is at, whether it names a branch or not.
    pub head: Option<ObjectId>,
    /// Full names; an annotated tag stands for the commit it leads to.
    pub commits: BTreeMap<String, ObjectId>,
}

/// How long an answer holds for a process that lives longer than one run.
pub const REMEMBERED: Duration = Duration::from_secs(30);

/// What servers have said, by URL and by a digest of the login.
#[derive(Clone, Debug, Default)]
pub(super) struct Remembered(Arc<Mutex<BTreeMap<Question, (Instant, Refs)>>>);

type Question = (String, Option<[u8; 32]>);

impl Remembered {
    fn get(&self, question: &Question) -> Option<Refs> {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|_, (asked, _)| asked.elapsed() < REMEMBERED);
        answers.get(question).map(|(_, refs)| refs.clone())
    }

    fn put(&self, question: Question, refs: Refs) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(question, (Instant::now(), refs));
    }
}

impl Git {
    /// Reads the refs of `url`. A server that is overloaded is asked again, in the same limit of time. One that has
    /// answered is not asked again for a moment.
    pub async fn read_refs(
        &self,
        url: &str,
        credential: Option<&Credential>,
    ) -> Result<Refs, GitError> {
        let question = (url.to_owned(), credential.map(Credential::digest));
        if let Some(refs) = self.remembered.get(&question) {
            return Ok(refs);
        }
        let operation = format!("read the refs of {url}");
        let deadline = Instant::now() + LIMIT;
        let answer = self.read_refs_until(deadline, url, credential).await;
        let refs = answer
            .and_then(|text| parse(&text))
            .map_err(|problem| GitError { operation, problem })?;
        self.remembered.put(question, refs.clone());
        Ok(refs)
    }

    async fn read_refs_until(
        &self,
        deadline: Instant,
        url: &str,
        credential: Option<&Credential>,
    ) -> Result<Vec<u8>, Problem> {
        let mut pause = FIRST_PAUSE;
        let mut last = Problem::TimedOut(LIMIT);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let call = Call {
                reach: Reach::Server { url, credential },
                folder: Path::new("/"),
                git_dir: None,
                arguments: ["ls-remote", "--quiet", "--symref", "--", url]
                    .map(OsString::from)
                    .into(),
                limit: left,
            };
            match self.succeed(call).await {
                Err(Problem::TimedOut(_)) => return Err(last),
                Err(problem) if problem.is_passing() => last = problem,
                answer => return answer,
            }
            // What the server asks for, if that is within the limit: sooner is only one more request to refuse.
            let wait = last.retry_after().unwrap_or_default().max(pause);
            if Instant::now() + wait >= deadline {
                return Err(last);
            }
            tokio::time::sleep(wait).await;
            pause *= 2;
        }
    }
}

fn parse(answer: &[u8]) -> Result<Refs, Problem> {
    let text = std::str::from_utf8(answer).map_err(|_| Problem::Garbled("not UTF-8".to_owned()))?;
    let mut refs = Refs::default();
    for line in text.lines() {
        let (value, name) = line
            .split_once('\t')
            .ok_or_else(|| Problem::Garbled(line.chars().take(80).collect()))?;
        if let Some(target) = value.strip_prefix("ref: ") {
            if name == "HEAD" && is_valid_ref(target) && target.starts_with("refs/heads/") {
                refs.default_branch = Some(target.to_owned());
            }
            continue;
        }
        let id = value
            .parse()
            .map_err(|_| Problem::Garbled(line.chars().take(80).collect()))?;
        let plain = name.strip_suffix("^{}").unwrap_or(name);
        if name == "HEAD" {
            refs.head = Some(id);
        } else if is_valid_ref(plain) {
            // A peeled line follows the line of its tag and takes its place.
            refs.commits.insert(plain.to_owned(), id);
        }
    }
    if refs.commits.is_empty() && refs.head.is_none() {
        Err(Problem::Empty)
    } else {
        Ok(refs)
    }
}

impl Refs {
    pub fn commit(&self, name: &str) -> Option<ObjectId> {
        self.commits.get(name).copied()
    }

    /// The branch to take where the file names none. A server too old to say which one HEAD names leaves a guess,
    /// taken only if there is just one candidate.
    pub fn default_branch(&self) -> Result<(String, ObjectId), Problem> {
        if let Some(branch) = &self.default_branch {
            let commit = self
                .commit(branch)
                .ok_or_else(|| Problem::NoSuchReference(branch.clone()))?;
            return Ok((branch.clone(), commit));
        }
        let head = self.head.ok_or(Problem::NoDefaultBranch)?;
        let is_head =
            |(name, id): &(&String, &ObjectId)| name.starts_with("refs/heads/") && **id == head;
        let mut candidates = self.commits.iter().filter(is_head);
        match (candidates.next(), candidates.next()) {
            (Some((name, id)), None) => Ok((name.clone(), *id)),
            _ => Err(Problem::NoDefaultBranch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Problem, parse};

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn tags_are_peeled_and_head_is_followed() {
        let answer = format!(
            "ref: refs/heads/main\tHEAD\n{A}\tHEAD\n{A}\trefs/heads/main\n{B}\trefs/tags/v1\n{A}\trefs/tags/v1^{{}}\n{B}\trefs/../x\n"
        );
        let refs = parse(answer.as_bytes()).unwrap();
        assert_eq!(
            refs.default_branch().unwrap(),
            ("refs/heads/main".to_owned(), A.parse().unwrap())
        );
        assert_eq!(refs.commit("refs/tags/v1"), A.parse().ok());
        assert_eq!(refs.commits.len(), 2);
    }

    #[test]
    fn without_symref_head_is_guessed_only_if_certain() {
        let one =
            parse(format!("{A}\tHEAD\n{A}\trefs/heads/x\n{B}\trefs/heads/y\n").as_bytes()).unwrap();
        assert_eq!(one.default_branch().unwrap().0, "refs/heads/x");
        let two =
            parse(format!("{A}\tHEAD\n{A}\trefs/heads/x\n{A}\trefs/heads/y\n").as_bytes()).unwrap();
        assert!(matches!(
            two.default_branch(),
            Err(Problem::NoDefaultBranch)
        ));
    }

    #[test]
    fn nothing_and_nonsense_are_errors() {
        assert!(matches!(parse(b""), Err(Problem::Empty)));
        assert!(matches!(
            parse(b"ref: refs/heads/main\tHEAD\n"),
            Err(Problem::Empty)
        ));
        assert!(matches!(parse(b"<html>\n"), Err(Problem::Garbled(_))));
    }
}
