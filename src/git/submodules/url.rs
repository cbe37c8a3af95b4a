//! Where a submodule is cloned from: what its `.gitmodules` says, as an https URL or not at all.
//!
//! A tree is content of strangers. Of all that git takes for a URL, only what leads to a server is followed: no path, no
//! transport that runs a program, no option.

use atelier_lang::spelling::visible;
use atelier_lang::url::normal_form;

use crate::git::message::without_login;

/// The one URL that `written` means in a repository that is itself cloned from `base` (empty if it has no URL), or why
/// there is none. `local` allows plain http on this machine.
pub(in crate::git) fn clone_url(written: &str, base: &str, local: bool) -> Result<String, String> {
    let shown = without_login(written);
    let refuse = |why: &str| Err(format!("its URL `{}` {why}", visible(&shown)));
    if written.contains(|c: char| c.is_control()) {
        return refuse("has a character that no URL has");
    }
    if written.starts_with('-') {
        return refuse("would be an option of git");
    }
    if is_relative(written) {
        if base.is_empty() {
            return refuse("is relative, and the repository has no URL of its own");
        }
        return match resolve(written, base) {
            Some(url) => Ok(url),
            None => refuse("leads above its server"),
        };
    }
    if names_a_helper(written) {
        return refuse("names a program to fetch it");
    }
    if let Some(scheme) = scheme(written)
        && !["https", "http", "ssh"].contains(&scheme.as_str())
    {
        return refuse("is none of https and ssh");
    }
    if scheme(written).is_none() && !is_scp_form(written) {
        return refuse("is a path of a machine");
    }
    let Some(url) = normal_form(&without_user(written)) else {
        return refuse("has no https form that is certain");
    };
    if url.starts_with("http://") && !local && !base.starts_with("http://") {
        return refuse("is one of this machine");
    }
    Ok(url)
}

/// Whether a login for `one` is for `other` too: the same scheme, host and port.
pub(in crate::git) fn same_server(one: &str, other: &str) -> bool {
    let server = |url: &str| {
        let (scheme, rest) = url.split_once("://")?;
        let host = rest.split('/').next()?;
        Some((scheme.to_owned(), host.to_owned()))
    };
    server(one).is_some() && server(one) == server(other)
}

fn is_relative(written: &str) -> bool {
    written.starts_with("./") || written.starts_with("../")
}

/// Takes the path of `written` from `base` on, segment by segment. `None` above the server's root.
fn resolve(written: &str, base: &str) -> Option<String> {
    let (scheme, rest) = base.split_once("://")?;
    let (host, path) = rest.split_once('/')?;
    let mut segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    for part in written.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(segments.pop()?),
            part => segments.push(part),
        }
    }
    normal_form(&format!("{scheme}://{host}/{}", segments.join("/")))
}

/// `TRANSPORT::ADDRESS` makes git run `git-remote-TRANSPORT`.
fn names_a_helper(written: &str) -> bool {
    written.split_once("::").is_some_and(|(transport, _)| {
        transport
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

fn scheme(written: &str) -> Option<String> {
    let (scheme, _) = written.split_once("://")?;
    Some(scheme.to_ascii_lowercase())
}

/// `host:path`, as git tells it from a path: no slash before the first colon.
fn is_scp_form(written: &str) -> bool {
    written
        .split_once(':')
        .is_some_and(|(host, _)| !host.contains('/'))
}

/// A login in a URL is for whoever wrote it there, and is not used.
fn without_user(written: &str) -> String {
    match scheme(written).as_deref() {
        Some("https" | "http") => without_login(written),
        _ => written.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{clone_url, same_server};

    const BASE: &str = "https://git.acme.dev/team/web";

    #[test]
    fn a_server_is_reached_over_https() {
        for (written, expected) in [
            (
                "https://github.com/acme/lib.git",
                "https://github.com/acme/lib",
            ),
            (
                "https://me:tok@github.com/acme/lib",
                "https://github.com/acme/lib",
            ),
            ("git@github.com:acme/lib.git", "https://github.com/acme/lib"),
            (
                "ssh://git@github.com/acme/lib",
                "https://github.com/acme/lib",
            ),
            ("../lib.git", "https://git.acme.dev/team/lib"),
            ("./lib", "https://git.acme.dev/team/web/lib"),
            ("../../other/lib", "https://git.acme.dev/other/lib"),
            (".././../other//lib/", "https://git.acme.dev/other/lib"),
        ] {
            assert_eq!(
                clone_url(written, BASE, false).as_deref(),
                Ok(expected),
                "{written}"
            );
        }
    }

    /// CVE-2018-17456, CVE-2022-39253, CVE-2020-11008 and their kind.
    #[test]
    fn nothing_else_is_reached() {
        for (written, why) in [
            ("-u./payload", "option"),
            ("--upload-pack=touch /tmp/x", "option"),
            ("file:///srv/lib.git", "none of https"),
            ("FILE:///srv/lib.git", "none of https"),
            ("git://github.com/acme/lib", "none of https"),
            ("ext::sh -c touch% /tmp/x", "program"),
            ("fd::17/x", "program"),
            ("https::/x", "program"),
            ("/srv/lib.git", "path of a machine"),
            ("srv/lib.git", "path of a machine"),
            ("github.com/acme/lib", "path of a machine"),
            ("..", "path of a machine"),
            ("", "path of a machine"),
            ("../../../evil.example/lib", "above its server"),
            ("../../../../evil.example/lib", "above its server"),
            ("../..", "above its server"),
            ("../x/a?b", "above its server"),
            (
                "https://github.com/acme/lib\nhost=evil.example",
                "character",
            ),
            ("https://github.com/acme/lib\r", "character"),
            ("ssh://-oProxyCommand=x/y", "no https form"),
            ("me@github.com:acme/lib", "no https form"),
            ("https://github.com/a/../b", "no https form"),
            ("http://github.com/a/b", "no https form"),
            ("http://127.0.0.1:631/a/b", "of this machine"),
        ] {
            let refused = clone_url(written, BASE, false).unwrap_err();
            assert!(refused.contains(why), "{written}: {refused}");
        }
        assert!(
            clone_url("../lib", "", false)
                .unwrap_err()
                .contains("no URL of its own")
        );
    }

    #[test]
    fn this_machine_is_reached_from_itself_alone() {
        let base = "http://127.0.0.1:3000/web";
        let there = "http://127.0.0.1:3001/lib";
        assert_eq!(clone_url(there, base, false).as_deref(), Ok(there));
        assert_eq!(clone_url(there, "", true).as_deref(), Ok(there));
        assert_eq!(
            clone_url("../lib", base, false).as_deref(),
            Ok("http://127.0.0.1:3000/lib")
        );
    }

    #[test]
    fn a_login_is_for_one_server() {
        assert!(same_server(BASE, "https://git.acme.dev/other/lib"));
        for other in [
            "https://git.acme.dev:8443/team/lib",
            "http://git.acme.dev/team/lib",
            "https://git.acme.dev.evil.example/lib",
            "https://github.com/team/lib",
            "",
        ] {
            assert!(!same_server(BASE, other), "{other}");
        }
        assert!(!same_server("", ""));
    }

    #[test]
    fn a_login_is_not_repeated() {
        let refused = clone_url("git://me:s3cret@github.com/a", BASE, false).unwrap_err();
        assert!(!refused.contains("s3cret"), "{refused}");
    }
}
