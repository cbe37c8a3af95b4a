//! What a reference to an image of a registry means.

use std::fmt;

use atelier_lang::image::{Parts, parts};

use crate::oci::Digest;

/// A repository of a registry, and what is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// Its name as people know it: `docker.io`, `localhost:5000`.
    pub registry: String,
    pub repository: String,
    pub version: Version,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    Tag(String),
    /// Of an index or of one image's manifest.
    Digest(Digest),
}

/// The registry of a name without one.
const DEFAULT: &str = "docker.io";

impl Reference {
    /// Reads what the language has found to be a reference; `None` for what it would not have.
    pub fn parse(text: &str) -> Option<Self> {
        let Parts {
            host,
            repository,
            tag,
            digest,
        } = parts(text);
        let registry = canonical(host.unwrap_or(DEFAULT));
        // Images of one word belong to the library of Docker Hub.
        let is_of_library = registry == DEFAULT && !repository.contains('/');
        let repository = match is_of_library {
            true => format!("library/{repository}"),
            false => repository.to_owned(),
        };
        let version = match digest {
            // What the digest names does not depend on the tag before it.
            Some(digest) => Version::Digest(digest.parse().ok()?),
            None => Version::Tag(tag.unwrap_or("latest").to_owned()),
        };
        Some(Self {
            registry,
            repository,
            version,
        })
    }

    /// Where to log in to, and what messages call it.
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }
}

/// One name for a registry that has several.
pub(crate) fn canonical(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    match host.as_str() {
        "index.docker.io" | "registry-1.docker.io" | "registry.hub.docker.com" => {
            DEFAULT.to_owned()
        }
        _ => host,
    }
}

/// Where a registry answers, which for one of them is not its name.
pub(super) fn address(registry: &str) -> &str {
    match registry {
        DEFAULT => "registry-1.docker.io",
        other => other,
    }
}

/// Whether a host with or without a port is this machine itself.
pub(super) fn is_loopback(host: &str) -> bool {
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    let address = name.parse::<std::net::Ipv4Addr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            registry,
            repository,
            version,
        } = self;
        match version {
            Version::Tag(tag) => write!(f, "{registry}/{repository}:{tag}"),
            Version::Digest(digest) => write!(f, "{registry}/{repository}@{digest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reference, is_loopback};

    #[test]
    fn short_names_are_those_of_docker_hub() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        for (text, whole) in [
            ("debian", "docker.io/library/debian:latest"),
            ("debian:12", "docker.io/library/debian:12"),
            ("acme/dev", "docker.io/acme/dev:latest"),
            ("index.docker.io/debian", "docker.io/library/debian:latest"),
            ("docker.io/acme/dev:3", "docker.io/acme/dev:3"),
            ("GHCR.io/acme/dev:3", "ghcr.io/acme/dev:3"),
            ("localhost:5000/dev", "localhost:5000/dev:latest"),
        ] {
            assert_eq!(Reference::parse(text).unwrap().to_string(), whole, "{text}");
        }
        let pinned = Reference::parse(&format!("debian:12@{digest}")).unwrap();
        assert_eq!(
            pinned.to_string(),
            format!("docker.io/library/debian@{digest}")
        );
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for host in ["localhost", "localhost:5000", "127.0.0.1:80", "127.9.9.9"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.acme.dev", "127.0.0.1.nip.io:80", "10.0.0.1"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
