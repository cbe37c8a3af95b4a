//! What several commands are given.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(in crate::cli) struct StoreArgs {
    /// Where snapshots are kept; without it, see `atelier config`
    #[arg(long, value_name = "DIR", global = true)]
    pub store: Option<PathBuf>,
    /// Where snapshots are baked and kept; without it, see `atelier config`
    #[arg(long, value_name = "NAME", global = true)]
    pub backend: Option<BackendKind>,
    /// What keeps steps from the machine; `direct` is nothing, for a machine that is thrown away
    #[arg(long, value_name = "KIND", global = true, default_value = "namespaces")]
    pub sandbox: SandboxKind,
    /// Take snapshots that were baked with --sandbox direct for sandboxes too
    #[arg(long, global = true)]
    pub accept_direct: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum BackendKind {
    /// This machine
    Local,
    /// A cluster
    Kubernetes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SandboxKind {
    Namespaces,
    Direct,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SecretArgs {
    /// The value of a secret: NAME=env:VARIABLE or NAME=file:PATH
    #[arg(long = "secret", value_name = "NAME=SOURCE")]
    pub secrets: Vec<String>,
}

/// Of every command that evaluates a file.
#[derive(Debug, Args)]
pub(in crate::cli) struct FileArgs {
    /// A value for a `param` of the file
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,
    /// How large a file may be, and how many targets it may have; `large` is for files that machines write
    #[arg(long, value_name = "KIND", default_value = "normal")]
    pub limits: LimitsKind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum LimitsKind {
    Normal,
    Large,
}

/// Of every command that resolves.
#[derive(Debug, Args)]
pub(in crate::cli) struct ResolveArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub secrets: SecretArgs,
    /// Take inputs from the lock alone: one that is not in it is an error, and no server is asked
    #[arg(long, conflicts_with = "fresh")]
    pub locked: bool,
    /// Resolve every input anew, whatever the lock says
    #[arg(long)]
    pub fresh: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct EnvArgs {
    /// A variable for steps and sandboxes; it is not in the key
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub env: Vec<String>,
}
