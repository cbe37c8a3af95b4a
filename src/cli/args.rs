//! The arguments of every command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod language;
mod shared;

pub(super) use language::{
    DocArgs, EvalArgs, FmtArgs, GraphArgs, GraphFormat, LintArgs, LintFormat,
};
pub(super) use shared::{
    BackendKind, EnvArgs, FileArgs, LimitsKind, ResolveArgs, SandboxKind, SecretArgs, StoreArgs,
};

/// Ready-made development environments from a small file.
#[derive(Debug, Parser)]
#[command(
    name = "atelier",
    version,
    after_help = "The book says more: book/src, or `just book`."
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Bake what is missing, parents first
    #[command(after_help = "Example: atelier build examples/node/prebuild.kdl -j 2")]
    Build(BuildArgs),
    /// Say what `build` would reuse and bake, and why
    #[command(after_help = "Example: atelier plan --json --exit-code")]
    Plan(PlanArgs),
    /// Say whether everything is cached, and if not, why: exit 0 or 10
    #[command(after_help = "Example: atelier check --locked --format github")]
    Check(CheckArgs),
    /// Pin inputs anew in the lock, and print what has moved
    #[command(after_help = "Example: atelier update github.com/acme/web")]
    Update(UpdateArgs),
    /// Say of a target and what it stands on: cached or not, and which lines of the file made the difference
    #[command(after_help = "Example: atelier explain web --against snap-0123456789ab")]
    Explain(ExplainArgs),
    /// Compare snapshots, locks, or revisions of the file: exit 0 if all is the same, 10 if not
    #[command(after_help = "Example: atelier diff HEAD~1 HEAD web")]
    Diff(DiffArgs),
    /// Show which prebuilds lead from one to another that it stands on
    #[command(after_help = "Example: atelier why-depends web tools")]
    WhyDepends(WhyDependsArgs),
    /// Boot a sandbox from a snapshot, baking what is missing, and run a command or a shell in it
    #[command(after_help = "Example: atelier up examples/node/prebuild.kdl -- node --version")]
    Up(UpArgs),
    /// List the sandboxes that are kept
    #[command(after_help = "Example: atelier ps --json")]
    Ps(PsArgs),
    /// Run a command or a shell in a sandbox that is kept
    #[command(after_help = "Example: atelier exec web --in app -- npm test")]
    Exec(ExecArgs),
    /// End sandboxes and delete what they have written
    #[command(after_help = "Example: atelier rm web")]
    Rm(RmArgs),
    /// The same, or all of them with --all
    #[command(after_help = "Example: atelier down --all")]
    Down(DownArgs),
    /// List the snapshots of the store
    #[command(after_help = "Example: atelier snapshots --json")]
    Snapshots(SnapshotsArgs),
    /// Print the log of a bake: the last one of a target, or that of a key
    #[command(after_help = "Example: atelier log snap-0123456789ab")]
    Log(LogArgs),
    /// Print the key of a resolved node, given as JSON
    #[command(after_help = "Example: atelier key node.json")]
    Key(KeyArgs),
    /// Compare snapshots with their manifests, and take damaged ones out
    #[command(after_help = "Example: atelier fsck snap-0123456789ab")]
    Fsck(FsckArgs),
    /// Remove what crashes have left
    #[command(after_help = "Example: atelier sweep --backend kubernetes")]
    Sweep(SweepArgs),
    /// Print what the file means: every template, matrix and default expanded
    #[command(after_help = "Example: atelier eval --json wallet")]
    Eval(EvalArgs),
    /// Print which target starts from which
    #[command(after_help = "Example: atelier graph --format mermaid")]
    Graph(GraphArgs),
    /// Check the file without resolving anything, and mend what can be mended
    #[command(after_help = "Example: atelier lint --fix")]
    Lint(LintArgs),
    /// Set the white space of files right
    #[command(after_help = "Example: atelier fmt --check")]
    Fmt(FmtArgs),
    /// Serve the language to an editor, over standard input and output
    #[command(after_help = "Example: atelier lsp")]
    Lsp,
    /// Print the parameters of the file, and the templates that it can use
    #[command(after_help = "Example: atelier doc std.bun")]
    Doc(DocArgs),
    /// Try what sandboxes need of this machine, and say what is missing
    #[command(after_help = "Example: atelier doctor --json")]
    Doctor(DoctorArgs),
    /// Print each setting and where it came from
    #[command(after_help = "Example: atelier config --json")]
    Config(ConfigArgs),
}

#[derive(Debug, Args)]
pub(super) struct BuildArgs {
    /// [FILE] [TARGET…]: what contains `/` or ends in .kdl is the file, all else are targets
    #[arg(value_name = "FILE|TARGET")]
    pub words: Vec<String>,
    /// How many bakes run at a time [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Go on with what does not depend on a failed node
    #[arg(long)]
    pub keep_going: bool,
    /// Bake this target again, although it is there
    #[arg(long, value_name = "TARGET")]
    pub force: Vec<String>,
    /// Bake nothing: exit with 10, and name what is missing, if anything is
    #[arg(long, conflicts_with = "force")]
    pub cached_only: bool,
    /// Fail if a step writes outside of the workspace, where nothing is kept
    #[arg(long)]
    pub strict_outside: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub resolve: ResolveArgs,
    #[command(flatten)]
    pub env: EnvArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    /// [FILE] [TARGET…], as for `build`
    #[arg(value_name = "FILE|TARGET")]
    pub words: Vec<String>,
    /// Plan as if this target were to be baked again
    #[arg(long, value_name = "TARGET")]
    pub force: Vec<String>,
    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,
    /// Exit with 10 if anything would be baked
    #[arg(long)]
    pub exit_code: bool,
    #[command(flatten)]
    pub resolve: ResolveArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// [FILE] [TARGET…], as for `build`
    #[arg(value_name = "FILE|TARGET")]
    pub words: Vec<String>,
    /// How to say it
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with = "json"
    )]
    pub format: CheckFormat,
    /// Print the plan as JSON, as `plan --json` does
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub resolve: ResolveArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CheckFormat {
    /// For people
    Text,
    /// The same with annotations, and a summary in $`GITHUB_STEP_SUMMARY`
    Github,
}

#[derive(Debug, Args)]
pub(super) struct UpdateArgs {
    /// [FILE] [NAME…]: what ends in .kdl or begins with `/`, `./` or `../` is the file, all else are targets, images and
    /// URLs, which alone are moved
    #[arg(value_name = "FILE|NAME")]
    pub words: Vec<String>,
    /// Move images alone
    #[arg(long)]
    pub images: bool,
    /// Move repositories alone
    #[arg(long)]
    pub repos: bool,
    /// Write nothing, and exit with 4 if something would move
    #[arg(long)]
    pub check: bool,
    /// Print what has moved as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub secrets: SecretArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// [FILE] [TARGET…], as for `build`
    #[arg(value_name = "FILE|TARGET")]
    pub words: Vec<String>,
    /// What to compare with: a snapshot's KEY, the path of a LOCK, or the last bake of each target
    #[arg(long, value_name = "KEY|LOCK|last", default_value = "last")]
    pub against: String,
    /// Print all of it as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub resolve: ResolveArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// A snapshot's KEY, the path of a LOCK or of a FILE, or a REVISION as git knows it
    pub a: String,
    /// The same
    pub b: String,
    /// [FILE] [TARGET…], as for `build`: of which file and targets
    #[arg(value_name = "FILE|TARGET")]
    pub words: Vec<String>,
    /// Print all of it as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub resolve: ResolveArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct WhyDependsArgs {
    /// [FILE] A B: two prebuilds, of which the first may stand on the second
    #[arg(value_name = "FILE|TARGET", required = true)]
    pub words: Vec<String>,
    /// Print the chain as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct UpArgs {
    /// [FILE] [TARGET], as for `build`; a file with one target needs none
    #[arg(value_name = "FILE|TARGET")]
    pub words: Vec<String>,
    /// The command to run instead of a shell; with -d, it is started and left to itself
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Fail if a step writes outside of the workspace, where nothing is kept
    #[arg(long)]
    pub strict_outside: bool,
    /// Keep the sandbox: print its name and return
    #[arg(short, long)]
    pub detach: bool,
    /// The name of a sandbox that is kept [default: a short one is made up]
    #[arg(long, value_name = "NAME", requires = "detach")]
    pub name: Option<String>,
    /// Print what was started as JSON
    #[arg(long, requires = "detach")]
    pub json: bool,
    /// What of the network the sandbox sees
    #[arg(long, value_name = "KIND", default_value = "host")]
    pub network: NetworkKind,
    /// Print what a cluster would be told to create, and create nothing
    #[arg(long, value_name = "FORM", conflicts_with_all = ["detach", "command"])]
    pub emit: Option<EmitForm>,
    #[command(flatten)]
    pub resolve: ResolveArgs,
    #[command(flatten)]
    pub env: EnvArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum EmitForm {
    /// A claim and a pod
    Manifest,
    /// A `SandboxTemplate` and a `SandboxWarmPool` of kubernetes-sigs/agent-sandbox
    AgentSandbox,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum NetworkKind {
    /// All that the machine sees
    Host,
    /// A loopback device of its own
    None,
}

#[derive(Debug, Args)]
pub(super) struct PsArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct ExecArgs {
    /// The sandbox, as `up -d` or `ps` named it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The command to run instead of a login shell
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Where to start, in /home/dev
    #[arg(long = "in", value_name = "DIR")]
    pub folder: Option<String>,
    #[command(flatten)]
    pub secrets: SecretArgs,
    #[command(flatten)]
    pub env: EnvArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct RmArgs {
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct DownArgs {
    #[arg(value_name = "NAME", conflicts_with = "all")]
    pub names: Vec<String>,
    /// All that are kept in the store
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct SnapshotsArgs {
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// [FILE] TARGET, or a key: 6 or more of its hexadecimal digits, or snap-…
    #[arg(value_name = "TARGET|KEY", required = true)]
    pub words: Vec<String>,
    #[command(flatten)]
    pub file: FileArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    /// A resolved node; the book describes the format
    #[arg(value_name = "FILE.json")]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct FsckArgs {
    /// Keys: 6 or more of their hexadecimal digits, or snap-… [default: all]
    #[arg(value_name = "KEY")]
    pub keys: Vec<String>,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct SweepArgs {
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    /// Print the settings as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}
