//! The runner as tests/cluster/build links it: statically, of what the tests are made of already. As a program of its own it would have
//! every dependency compiled once more, since those of tests share other features.

use std::process::ExitCode;

fn main() -> ExitCode {
    atelier::runner::run(std::env::args_os())
}
