//! The arguments of the commands that are about files alone.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::shared::{FileArgs, ResolveArgs, StoreArgs};

#[derive(Debug, Args)]
pub(in crate::cli) struct EvalArgs {
    /// [FILE] [TARGET…], as for `build`
    #[arg(value_name = "FILE|TARGET")]
    pub words: Vec<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
    /// Pin the inputs, and add what they are pinned to and the keys
    #[arg(long)]
    pub resolved: bool,
    #[command(flatten)]
    pub resolve: ResolveArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LintArgs {
    /// [FILE], as for `build`
    #[arg(value_name = "FILE")]
    pub words: Vec<String>,
    /// Write what the findings suggest into the files first
    #[arg(long)]
    pub fix: bool,
    /// What fails besides errors
    #[arg(long, value_name = "KIND")]
    pub deny: Option<Deny>,
    /// Who reads the findings
    #[arg(long, value_name = "KIND", default_value = "human")]
    pub format: LintFormat,
    #[command(flatten)]
    pub file: FileArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum Deny {
    Warnings,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum LintFormat {
    Human,
    Json,
    /// For code scanning
    Sarif,
    /// Annotations
    Github,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct FmtArgs {
    /// Files; else the prebuild.kdl of this folder or the nearest one above
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Change nothing, and name the files that would change
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DocArgs {
    /// [FILE] [TEMPLATE…]: all templates, unless some are named
    #[arg(value_name = "FILE|TEMPLATE")]
    pub words: Vec<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct GraphArgs {
    /// [FILE] [TARGET…], as for `build`
    #[arg(value_name = "FILE|TARGET")]
    pub words: Vec<String>,
    /// What draws it
    #[arg(long, value_name = "KIND", default_value = "dot")]
    pub format: GraphFormat,
    /// Pin the inputs, and colour what is in the store
    #[arg(long)]
    pub hits: bool,
    #[command(flatten)]
    pub resolve: ResolveArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum GraphFormat {
    /// Graphviz
    Dot,
    Mermaid,
    /// The same as `eval --json`
    Json,
}
