//! What `from` can name: the machine, a layout on disk, an alias, a reference to a registry.

use crate::code;
use crate::graph::ImageRef;
use crate::spelling::visible;
use crate::value::Problem;

pub(crate) fn parse(text: &str) -> Result<ImageRef, Problem> {
    if text == "host" {
        return Ok(ImageRef::Host);
    }
    if let Some(path) = text.strip_prefix("oci:") {
        return on_disk(text, path).map(ImageRef::Layout);
    }
    if let Some(path) = text.strip_prefix("oci-archive:") {
        return on_disk(text, path).map(ImageRef::Archive);
    }
    if is_alias(text) {
        return Ok(ImageRef::Alias(text.to_owned()));
    }
    registry(text)
}

fn is_alias(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn on_disk(text: &str, path: &str) -> Result<String, Problem> {
    if path.is_empty() || path.contains(char::is_control) {
        return Err(bad(text, "a path must follow the colon"));
    }
    Ok(path.to_owned())
}

fn registry(text: &str) -> Result<ImageRef, Problem> {
    if let Some((scheme, rest)) = text.split_once("://") {
        let problem = bad(text, "an image has no scheme");
        let is_better = !scheme.is_empty() && !rest.contains("://") && registry(rest).is_ok();
        return Err(if is_better {
            problem.help(format!("write \"{rest}\""))
        } else {
            problem
        });
    }
    let parts = parts(text);
    if parts.digest.is_some_and(|digest| !is_digest(digest)) {
        return Err(bad(
            text,
            "after `@` stands `sha256:` and 64 lower-case hex digits",
        ));
    }
    if parts.tag.is_some_and(|tag| !is_tag(tag)) {
        return Err(bad(text, "its tag is no tag"));
    }
    if !parts.repository.split('/').all(is_repository_part) {
        return Err(bad(
            text,
            "a repository is lower-case words with `.`, `_`, `-` between",
        ));
    }
    Ok(ImageRef::Registry(text.to_owned()))
}

/// What a reference to a registry is made of: `HOST/REPOSITORY:TAG@DIGEST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    pub host: Option<&'a str>,
    pub repository: &'a str,
    pub tag: Option<&'a str>,
    /// With its algorithm.
    pub digest: Option<&'a str>,
}

/// Takes a reference apart, whether its parts are right or not.
pub fn parts(text: &str) -> Parts<'_> {
    let (rest, digest) = text
        .split_once('@')
        .map_or((text, None), |(a, b)| (a, Some(b)));
    let (name, tag) = match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (rest, None),
    };
    let (host, repository) = match name.split_once('/') {
        Some((host, repository)) if is_registry_host(host) => (Some(host), repository),
        _ => (None, name),
    };
    Parts {
        host,
        repository,
        tag,
        digest,
    }
}

fn is_digest(digest: &str) -> bool {
    let lower_hex = |b: u8| b.is_ascii_digit() || matches!(b, b'a'..=b'f');
    digest
        .strip_prefix("sha256:")
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(lower_hex))
}

fn is_tag(tag: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    tag.len() <= 128
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|b| word(b) || b == b'.' || b == b'-')
}

/// The first part is a host if it has a dot or a port, or is this machine.
pub fn is_registry_host(part: &str) -> bool {
    let (name, digits) = part.split_once(':').unwrap_or((part, ""));
    let looks_like_one = part.contains(['.', ':']) || name == "localhost";
    let is_right = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-');
    looks_like_one && is_right && !name.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn is_repository_part(part: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    part.bytes().next().is_some_and(word)
        && part.bytes().next_back().is_some_and(word)
        && part
            .bytes()
            .all(|b| word(b) || matches!(b, b'.' | b'_' | b'-'))
}

fn bad(text: &str, why: &str) -> Problem {
    Problem::new(
        code::BAD_VALUE,
        format!("`{}` is not an image", visible(text)),
        why,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let digest = format!("ghcr.io/acme/dev@sha256:{}", "a".repeat(64));
        for (text, expected) in [
            ("host", ImageRef::Host),
            ("oci:./dir", ImageRef::Layout("./dir".into())),
            ("oci-archive:/x.tar", ImageRef::Archive("/x.tar".into())),
            ("dev-base", ImageRef::Alias("dev-base".into())),
            ("debian:12", ImageRef::Registry("debian:12".into())),
            (
                "localhost:5000/a/b:c",
                ImageRef::Registry("localhost:5000/a/b:c".into()),
            ),
            (
                "ghcr.io/acme/dev:3",
                ImageRef::Registry("ghcr.io/acme/dev:3".into()),
            ),
            (&digest, ImageRef::Registry(digest.clone())),
        ] {
            assert_eq!(parse(text).ok(), Some(expected), "{text}");
        }
    }

    #[test]
    fn the_parts_of_a_reference() {
        for (text, host, repository, tag) in [
            ("debian", None, "debian", None),
            ("debian:12", None, "debian", Some("12")),
            ("acme/dev", None, "acme/dev", None),
            ("ghcr.io/acme/dev:3", Some("ghcr.io"), "acme/dev", Some("3")),
            ("localhost/dev", Some("localhost"), "dev", None),
            ("localhost:5000/dev", Some("localhost:5000"), "dev", None),
            ("reg:1/a/b:c", Some("reg:1"), "a/b", Some("c")),
        ] {
            let expected = Parts {
                host,
                repository,
                tag,
                digest: None,
            };
            assert_eq!(parts(text), expected, "{text}");
            let pinned = format!("{text}@sha256:00");
            let digest = Some("sha256:00");
            assert_eq!(parts(&pinned), Parts { digest, ..expected }, "{text}");
        }
    }

    #[test]
    fn refused() {
        for text in [
            "",
            "oci:",
            "Debian",
            "docker://debian",
            "a b",
            "debian:",
            "a//b",
            "a@sha256:1",
            "-a",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
