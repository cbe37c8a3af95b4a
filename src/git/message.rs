//! What git says when it fails, turned into a problem with a way out.
//!
//! Git has no other channel than its English texts. A text that is not known here is passed on, trimmed.

use super::Problem;

const LENGTH_LIMIT: usize = 400;

/// Reads the messages of a failed call. `with_login` says whether a credential was at hand.
pub(super) fn diagnose(stderr: &str, with_login: bool) -> Problem {
    let has = |text: &str| stderr.contains(text);
    if let Some(code) = http_status(stderr) {
        match code {
            401 if with_login => return Problem::LoginRefused,
            401 => return Problem::LoginNeeded,
            403 => return Problem::Denied,
            404 | 410 => return Problem::NotFound,
            429 => return Problem::RateLimited(None),
            500..600 => return failed(code),
            _ => {}
        }
    }
    if has("Authentication failed") || (has("could not read Username") && with_login) {
        return Problem::LoginRefused;
    }
    if has("could not read Username") || has("could not read Password") {
        return Problem::LoginNeeded;
    }
    if stderr
        .lines()
        .any(|line| line.starts_with("fatal: repository '") && line.ends_with("' not found"))
    {
        return Problem::NotFound;
    }
    if CUT_OFF.iter().any(|text| has(text)) {
        return Problem::CutOff(essence(stderr));
    }
    if CONNECTION.iter().any(|text| has(text)) {
        return Problem::Unreachable(essence(stderr));
    }
    if CERTIFICATE.iter().any(|text| has(text)) {
        return Problem::Certificate(essence(stderr));
    }
    if has("shallow update not allowed") || has("attempt to fetch/clone from a shallow repository")
    {
        return Problem::Shallow;
    }
    if let Some((_, rest)) = stderr.split_once("not our ref ") {
        // Servers that serve any commit say so of one that they do not have.
        return Problem::CommitGone(rest.chars().take_while(char::is_ascii_hexdigit).collect());
    }
    if let Some((_, name)) = stderr.split_once("couldn't find remote ref ") {
        return Problem::NoSuchReference(essence(name.lines().next().unwrap_or_default()));
    }
    // What JGit says.
    let is_invalid = stderr
        .lines()
        .any(|line| line.contains("want ") && line.ends_with(" not valid"));
    if is_invalid || REFUSAL.iter().any(|text| has(text)) {
        return Problem::RefusesCommit;
    }
    Problem::Other(essence(stderr))
}

fn failed(code: u16) -> Problem {
    Problem::ServerFailed {
        code,
        retry_after: None,
    }
}

/// Reads the messages of git-lfs, which has its own.
pub(super) fn diagnose_lfs(stderr: &str, status: Option<u16>, with_login: bool) -> Problem {
    let has = |text: &str| stderr.contains(text);
    let told = || essence(stderr);
    if has("Object does not exist") {
        return Problem::NoLfsObject;
    }
    if has("Repository or object not found") {
        return Problem::NoLfsServer(told());
    }
    if has("Authentication required") || has("credentials for") || has("could not read Username") {
        return if with_login {
            Problem::LoginRefused
        } else {
            Problem::LoginNeeded
        };
    }
    if has("Authorization error") {
        return Problem::Denied;
    }
    // Where the server has said how long, it forgets what that was about.
    let is_forgotten = || stderr.lines().any(|line| line.ends_with(": LFS: Error"));
    if has("Rate limit exceeded") || has("rate limit") || is_forgotten() {
        return Problem::RateLimited(None);
    }
    if let (true, Some(code @ 500..600)) = (has("Server error: "), status) {
        return failed(code);
    }
    if let Some((_, rest)) = stderr.split_once(" from HTTP ") {
        let code = rest.get(..3).and_then(|code| code.parse().ok());
        return match code {
            Some(code @ 500..600) if code != 501 => failed(code),
            _ => Problem::NoLfsServer(told()),
        };
    }
    if has("x509: ") {
        return Problem::Certificate(told());
    }
    if has("unexpected EOF") {
        return Problem::CutOff(told());
    }
    if [
        "dial tcp",
        "no such host",
        "i/o timeout",
        "connection reset",
        "EOF",
    ]
    .iter()
    .any(|text| has(text))
    {
        return Problem::Unreachable(told());
    }
    Problem::Other(told())
}

const CONNECTION: &[&str] = &[
    "Could not resolve host",
    "Could not resolve proxy",
    "Failed to connect",
    "Couldn't connect",
    "Connection refused",
    "Connection timed out",
    "Connection reset",
    "Recv failure",
    "Empty reply from server",
    "Operation too slow",
    "the remote end hung up unexpectedly",
];

/// In the middle of an answer.
const CUT_OFF: &[&str] = &[
    "early EOF",
    "unexpected disconnect",
    "transfer closed with",
    "bad pack header",
    "invalid index-pack output",
];

const CERTIFICATE: &[&str] = &[
    "SSL certificate problem",
    "SSL: no alternative certificate",
    "certificate verification failed",
    "certificate verify failed",
    "certificate subject name",
    "error reading ca cert file",
    "error setting certificate",
];

/// How servers and clients of various ages say that a commit cannot be asked for by its id alone.
const REFUSAL: &[&str] = &[
    "Server does not allow request for unadvertised object",
    "does not support shallow",
    "dumb http transport does not support",
];

fn http_status(stderr: &str) -> Option<u16> {
    let (_, rest) = stderr.split_once("The requested URL returned error: ")?;
    rest.get(..3)?.parse().ok()
}

/// The lines that tell what went wrong, on one line, harmless on a terminal.
pub(super) fn essence(stderr: &str) -> String {
    const NOISE: &[&str] = &[
        "warning:",
        "hint:",
        "Please make sure you have the correct access rights",
        "and the repository exists.",
        "remote: Enumerating",
        "remote: Counting",
        "remote: Compressing",
        "remote: Total",
        "From ",
        "Use '--' to separate",
        "'git <command>",
        "Check that ",
        "error: failed to fetch some objects from",
        "fetch: Fetching",
    ];
    let lines = stderr
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let telling = lines.filter(|line| !NOISE.iter().any(|noise| line.starts_with(noise)));
    let stripped = telling.map(|line| {
        let line = line
            .strip_prefix("fatal: ")
            .or_else(|| line.strip_prefix("error: "))
            .or_else(|| line.strip_prefix("batch response: "))
            .unwrap_or(line);
        without_login(line)
    });
    let text = stripped.collect::<Vec<_>>().join("; ");
    let clean: String = text
        .chars()
        .filter(|c| !c.is_control())
        .take(LENGTH_LIMIT)
        .collect();
    if clean.is_empty() {
        "git failed without a word".to_owned()
    } else {
        clean
    }
}

/// Takes `user:password@` out of URLs.
pub(super) fn without_login(line: &str) -> String {
    let mut clean = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        clean.push_str(before);
        clean.push_str("://");
        let end = after.find(['/', ' ', '\'', '"']).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(at) => &after[at + 1..],
            None => after,
        };
    }
    clean + rest
}

#[cfg(test)]
mod tests {
    use super::{Problem, diagnose, essence};

    #[test]
    fn known_messages_become_problems() {
        let http = |code: &str| {
            format!(
                "fatal: unable to access 'https://h/r/': The requested URL returned error: {code}"
            )
        };
        assert!(matches!(
            diagnose(&http("429"), false),
            Problem::RateLimited(None)
        ));
        assert!(matches!(
            diagnose(&http("503"), false),
            Problem::ServerFailed { code: 503, .. }
        ));
        assert!(matches!(diagnose(&http("403"), true), Problem::Denied));
        assert!(matches!(
            diagnose("fatal: repository 'https://h/r/' not found\n", false),
            Problem::NotFound
        ));
        let prompt = "fatal: could not read Username for 'https://h': terminal prompts disabled";
        assert!(matches!(diagnose(prompt, false), Problem::LoginNeeded));
        assert!(matches!(diagnose(prompt, true), Problem::LoginRefused));
        let refused = "fatal: unable to access 'http://127.0.0.1:1/a/': Failed to connect to 127.0.0.1 port 1";
        assert!(matches!(diagnose(refused, false), Problem::Unreachable(_)));
    }

    #[test]
    fn the_name_of_a_repository_is_no_message() {
        let text = "fatal: unable to access 'https://h/certificate/': Could not resolve host: h";
        assert!(matches!(diagnose(text, false), Problem::Unreachable(_)));
        let text = "fatal: unable to access 'https://h/a/': server certificate verification failed. CAfile: none";
        assert!(matches!(diagnose(text, false), Problem::Certificate(_)));
        let text = "fatal: couldn't find remote ref refs/heads/x\n";
        assert!(
            matches!(diagnose(text, false), Problem::NoSuchReference(name) if name == "refs/heads/x")
        );
        let text = "fatal: remote error: want 0123 not valid";
        assert!(matches!(diagnose(text, false), Problem::RefusesCommit));
        let text = "fatal: remote error: upload-pack: not our ref 0123";
        assert!(matches!(diagnose(text, false), Problem::CommitGone(id) if id == "0123"));
    }

    #[test]
    fn texts_are_trimmed_and_masked() {
        let text = "hint: x\nfatal: unable to access 'https://me:tok@h/r/': \u{1b}[31mred\n\nPlease make sure you have the correct access rights\n";
        assert_eq!(essence(text), "unable to access 'https://h/r/': [31mred");
        assert!(essence("").contains("without a word"));
    }
}
