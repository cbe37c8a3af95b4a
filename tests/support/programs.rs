//! Small programs in C, for what a shell cannot do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Linked statically, so that every sandbox can run it.
pub(crate) fn compile(folder: &Path, name: &str, source: &str) -> PathBuf {
    let program = folder.join(name);
    let text = folder.join(format!("{name}.c"));
    fs::write(&text, source).unwrap();
    let compiler = Command::new("cc")
        .args(["-static", "-w", "-o"])
        .arg(&program)
        .arg(&text)
        .status();
    assert!(compiler.unwrap().success(), "{name}.c does not compile");
    program
}
