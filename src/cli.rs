//! The command line: arguments, configuration of the run, commands, and what people see. The only part that knows the
//! terminal, the environment and exit codes.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

mod args;
mod backend;
mod build;
mod check;
mod config;
mod depends;
mod diff;
mod doc;
mod doctor;
mod eval;
mod excerpt;
mod exec;
mod explain;
mod failure;
mod fmt;
mod fsck;
mod github;
mod given;
mod graph;
mod history;
mod input;
mod interrupt;
mod key;
mod leaves;
mod lint;
mod log;
mod lsp;
mod pinning;
mod place;
mod progress;
mod project;
mod refusal;
mod report;
mod sandboxes;
mod snapshots;
mod stored;
mod sweep;
mod ui;
mod up;
mod update;

use args::{Arguments, Command};
use failure::Failure;

use crate::backend::local::launcher;
use crate::sys;

/// Exit codes that say more than success and failure; see the book.
mod exit {
    pub(super) const STEP_FAILED: u8 = 1;
    /// What is the same number.
    pub(super) const UNFORMATTED: u8 = 1;
    pub(super) const USAGE: u8 = 2;
    pub(super) const FILE: u8 = 3;
    pub(super) const LOCK: u8 = 4;
    pub(super) const UNRESOLVED: u8 = 5;
    pub(super) const BACKEND: u8 = 6;
    pub(super) const MISSES: u8 = 10;
    pub(super) const BUG: u8 = 70;
    pub(super) const INTERRUPTED: u8 = 130;
}

/// Runs one command line, from the program's name on.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    // Before anything else: a sandbox is a process start away.
    if arguments
        .get(1)
        .is_some_and(|first| first == launcher::ARGUMENT)
    {
        let rest = arguments
            .iter()
            .skip(2)
            .map(|word| word.to_string_lossy().into_owned());
        return launcher::main(&rest.collect::<Vec<_>>());
    }
    if let Err(error) = sys::keep_descriptors() {
        let text = format!("cannot close what the caller left open: {error}");
        return ExitCode::from(ui::show_failure(&Failure::machine(&text)));
    }
    // Files in the store are read by other users of a sandbox; nothing may depend on the caller's umask.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let parsed = match Arguments::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            error.print().ok();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { 0 });
        }
    };
    ui::prepare();
    // A panic is a fault of ours, and unwinding has taken down what was mounted.
    let result = std::panic::catch_unwind(|| execute(parsed.command));
    match result {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(failure)) => ExitCode::from(ui::show_failure(&failure)),
        Err(_) => ExitCode::from(exit::BUG),
    }
}

fn execute(command: Command) -> Result<u8, Failure> {
    // One thread: what a sandbox's launcher watches is the thread that started it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::machine(&format!("cannot start: {error}")))?;
    let result = runtime.block_on(dispatch(command));
    // A deletion that goes on in the background must not hold the end up.
    runtime.shutdown_background();
    result
}

async fn dispatch(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Build(args) => Box::pin(build::build(args)).await,
        Command::Plan(args) => Box::pin(build::plan(args)).await,
        Command::Check(args) => Box::pin(check::check(args)).await,
        Command::Update(args) => Box::pin(update::update(args)).await,
        Command::Explain(args) => Box::pin(explain::explain(args)).await,
        Command::Diff(args) => Box::pin(diff::diff(args)).await,
        Command::WhyDepends(args) => depends::why_depends(&args),
        Command::Up(args) => Box::pin(up::up(args)).await,
        Command::Ps(args) => sandboxes::ps(&args).await,
        Command::Exec(args) => Box::pin(exec::exec(args)).await,
        Command::Rm(args) => sandboxes::rm(&args).await,
        Command::Down(args) => sandboxes::down(&args).await,
        Command::Snapshots(args) => snapshots::snapshots(&args).await,
        Command::Log(args) => log::log(&args),
        Command::Eval(args) => Box::pin(eval::eval(args)).await,
        Command::Lint(args) => lint::lint(&args),
        Command::Fmt(args) => Ok(fmt::fmt(&args)),
        Command::Lsp => Ok(Box::pin(lsp::lsp()).await),
        Command::Doc(args) => doc::doc(&args),
        Command::Graph(args) => Box::pin(graph::graph(args)).await,
        Command::Key(args) => key::key(&args),
        Command::Fsck(args) => fsck::fsck(&args).await,
        Command::Sweep(args) => Box::pin(sweep::sweep(&args)).await,
        Command::Doctor(args) => doctor::doctor(&args).await,
        Command::Config(args) => config::config(&args),
    }
}
