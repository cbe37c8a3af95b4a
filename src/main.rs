//! The program: arguments in, an exit code out. Everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    atelier::cli::run(std::env::args_os())
}
