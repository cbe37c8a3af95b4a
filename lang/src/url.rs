//! The one URL that a repository's spellings mean.
//!
//! Spellings are made equal only where equality is certain: a false miss costs minutes, a false hit costs trust.

use crate::code;
use crate::value::{self, Problem};

/// The one URL that a repository is cloned from, if `url` has such a form.
pub fn normal_form(url: &str) -> Option<String> {
    normalise(url).ok()
}

/// Where a clone of a normalised URL lands unless `path=` says otherwise; `None` if the URL does not tell.
pub fn default_path(normalised: &str) -> Option<&str> {
    let (_, last) = normalised.rsplit_once('/')?;
    value::relative_path(last).is_ok().then_some(last)
}

/// https, scp-like, ssh and bare-host spellings → the one https URL that a bake clones from.
pub(crate) fn normalise(url: &str) -> Result<String, Problem> {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "?#\\".contains(c);
    if !url.is_ascii() || url.contains(forbidden) {
        return Err(unusable("it has a character that no clone URL has"));
    }
    let (scheme, rest) = split_scheme(url)?;
    let (authority, path) = rest.split_once('/').unwrap_or((&rest, ""));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_plain = user.is_empty() || (scheme == Scheme::Ssh && user == "git");
    if !is_plain {
        return Err(credentials(scheme, user));
    }
    let host = host.to_ascii_lowercase();
    let (host, port) = host.split_once(':').unwrap_or((&host, ""));
    let port = if port == scheme.port() { "" } else { port };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let port_part = if port.is_empty() {
        String::new()
    } else {
        format!(":{port}")
    };
    match scheme {
        Scheme::Http if !matches!(host, "127.0.0.1" | "localhost") => {
            return Err(unusable("plain http is for this machine only").help("use https"));
        }
        Scheme::Http => return Ok(format!("http://{host}{port_part}/{path}")),
        Scheme::Ssh if !port.is_empty() => {
            return Err(
                unusable("which https URL belongs to an ssh port is not certain")
                    .help("write the https URL"),
            );
        }
        Scheme::Ssh | Scheme::Https => {}
    }
    if !is_host(host) || !is_port(port) {
        return Err(unusable("its host is no host name")
            .help("write it as \"host/owner/name\"; a repository on disk starts with \"./\""));
    }
    if path
        .split('/')
        .any(|segment| matches!(segment, "" | "." | ".."))
    {
        return Err(unusable("its path is empty or has `.`, `..` or `//`"));
    }
    Ok(format!("https://{host}{port_part}/{path}"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Https,
    Http,
    Ssh,
}

impl Scheme {
    fn port(self) -> &'static str {
        match self {
            Self::Https => "443",
            Self::Http => "80",
            Self::Ssh => "22",
        }
    }
}

fn split_scheme(url: &str) -> Result<(Scheme, String), Problem> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Ok(match url.split_once(':') {
            // [user@]host:path, as scp writes it
            Some((host, path)) if !host.is_empty() && !host.contains('/') && !path.is_empty() => (
                Scheme::Ssh,
                format!("{host}/{}", path.trim_start_matches('/')),
            ),
            _ => (Scheme::Https, url.to_owned()),
        });
    };
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        "ssh" => Scheme::Ssh,
        _ => return Err(unusable("its scheme is none of https, ssh and http")),
    };
    Ok((scheme, rest.to_owned()))
}

fn is_host(host: &str) -> bool {
    let label = |part: &str| {
        !part.starts_with('-')
            && !part.ends_with('-')
            && !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    host.len() <= 253 && host.contains('.') && host.split('.').all(label)
}

fn is_port(port: &str) -> bool {
    port.len() <= 5 && !port.starts_with('0') && port.bytes().all(|b| b.is_ascii_digit())
}

fn unusable(why: &str) -> Problem {
    Problem::new(code::BAD_URL, "this URL cannot be cloned".to_owned(), why)
}

/// The user is never shown: it may be the token.
fn credentials(scheme: Scheme, user: &str) -> Problem {
    if scheme == Scheme::Ssh && !user.contains(':') {
        return Problem::new(
            code::BAD_URL,
            "which https URL belongs to this user is not certain".to_owned(),
            "only `git@` means the plain repository",
        )
        .help("write the https URL");
    }
    Problem::new(
        code::BAD_URL,
        "credentials in a URL".to_owned(),
        "a user or token before `@`",
    )
    .help("take it out, declare a `secret` and name it with auth=SECRET; then rotate the token")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted() {
        for (url, expected) in [
            (
                "https://github.com/frak-id/wallet",
                "https://github.com/frak-id/wallet",
            ),
            (
                "git@github.com:frak-id/wallet.git",
                "https://github.com/frak-id/wallet",
            ),
            (
                "https://GitHub.com:443/frak-id/wallet/",
                "https://github.com/frak-id/wallet",
            ),
            (
                "ssh://git@github.com:22/frak-id/wallet.git",
                "https://github.com/frak-id/wallet",
            ),
            (
                "github.com/frak-id/wallet",
                "https://github.com/frak-id/wallet",
            ),
            (
                "https://github.com/Frak-ID/wallet",
                "https://github.com/Frak-ID/wallet",
            ),
            (
                "git@git.acme.dev:core/api.git",
                "https://git.acme.dev/core/api",
            ),
            ("git.acme.dev:core/api", "https://git.acme.dev/core/api"),
            (
                "SSH://git@git.acme.dev/core/api.git/",
                "https://git.acme.dev/core/api",
            ),
            (
                "https://git.acme.dev:8443/core/api.git/",
                "https://git.acme.dev:8443/core/api",
            ),
            ("http://127.0.0.1:3000/a/b.git", "http://127.0.0.1:3000/a/b"),
            ("http://localhost:80/a", "http://localhost/a"),
            ("https://@github.com/a/b", "https://github.com/a/b"),
        ] {
            assert_eq!(normalise(url).ok().as_deref(), Some(expected), "{url}");
        }
    }

    #[test]
    fn rejected() {
        for url in [
            "https://tok@github.com/a/b",
            "https://u:p@github.com/a/b",
            "http://github.com/a/b",
            "http://127.0.0.1.evil.example/a",
            "file:///a",
            "../a",
            "frak-id/wallet",
            "https://github.com/a/../b",
            "https://github.com/a b",
            "https://github.com/a?b",
            "https://github.com/a#b",
            "https://github.com/a\\b",
            "https://github.com/a\u{7f}b",
            "https://github.com/ä",
            "ssh://git@git.acme.dev:2222/core/api",
            "https://github.com/.git",
            "https://github.com/",
            "https://github.com",
            "https://github.com:0443/a",
            "https://github.com:123456/a",
            "https://-a.com/a",
            "me@github.com:a/b",
            "",
        ] {
            assert!(normalise(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_token_is_never_repeated() {
        let problem = normalise("https://s3cr3t@github.com/a").unwrap_err();
        assert!(!format!("{problem:?}").contains("s3cr3t"));
    }
}
