//! What the configuration says of a registry.

use std::path::PathBuf;

/// Everything that is not said is as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Asked first: a host, and the path that it has the registry's repositories below.
    pub mirror: Option<String>,
    /// Whether it speaks plain HTTP; without a word, only this machine does.
    pub http: Option<bool>,
    /// Certificates, in PEM, that are trusted beside those of the machine.
    pub ca: Option<PathBuf>,
}
