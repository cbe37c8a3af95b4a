//! The program that stands beside the steps. Everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    atelier::runner::run(std::env::args_os())
}
