//! The paths that image `host` shows beside the system: where they lead, and whether they may be shown.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use atelier_lang::code as lang;
use atelier_lang::diag::Diagnostic;
use atelier_lang::span::Spanned;
use atelier_lang::spelling::visible;

use super::code;
use super::private::{self, Places};
use super::statements::absolute;
use crate::resolve::host::HostPath;

/// In order; every path that is refused has a finding.
pub(super) fn paths(
    written: &[Spanned<String>],
    home: Option<&Path>,
    store: Option<&Path>,
) -> (Vec<HostPath>, Vec<Diagnostic>) {
    let places = Places::of(home, store);
    let mut paths = Vec::new();
    let mut found = Vec::new();
    for text in written {
        match look(text, home, &places) {
            Ok(path) => paths.push(path),
            Err(fault) => found.push(fault),
        }
    }
    (paths, found)
}

fn look(
    text: &Spanned<String>,
    home: Option<&Path>,
    places: &Places,
) -> Result<HostPath, Diagnostic> {
    let named = plain(text, &absolute(text, home)?)?;
    // By its name first: what is private is no less so where it is missing.
    private_by_place(text, &named, places)?;
    let real = fs::canonicalize(&named).map_err(|error| missing(text, &error))?;
    let real = plain(text, &real)?;
    private_by_place(text, &real, places)?;
    let metadata = fs::metadata(&real).map_err(|error| missing(text, &error))?;
    if !metadata.is_dir() && !metadata.is_file() {
        let help = "name a folder, or a regular file";
        return Err(unusable(text, "it is neither a folder nor a file", help));
    }
    if let Some((path, what)) = private::within(&real) {
        let message = format!("{} holds {what}", visible(text));
        let label = format!("{} is in it", path.display());
        let help = "name the folders that hold the programs, such as its bin";
        return Err(Diagnostic::error(code::PRIVATE, text.span, message, label).help(help));
    }
    Ok(HostPath { named, real })
}

/// The path without `.` and doubled slashes. It has to stand in a list of folders, and in JSON.
fn plain(text: &Spanned<String>, path: &Path) -> Result<PathBuf, Diagnostic> {
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(unusable(text, "it has `..`", "write where it leads"));
    }
    match path.to_str() {
        Some(path) if !path.contains(':') => Ok(Path::new(path).components().collect()),
        _ => Err(unusable(
            text,
            "it cannot stand in PATH",
            "a path of UTF-8 without `:`",
        )),
    }
}

fn private_by_place(
    text: &Spanned<String>,
    path: &Path,
    places: &Places,
) -> Result<(), Diagnostic> {
    let Some(why) = places.forbid(path) else {
        return Ok(());
    };
    let message = format!("image `host` must not show {}", visible(text));
    let help = "name the folders that hold the programs, such as ~/.cargo/bin";
    Err(Diagnostic::error(code::PRIVATE, text.span, message, why).help(help))
}

fn missing(text: &Spanned<String>, error: &io::Error) -> Diagnostic {
    let message = format!("cannot find {}", visible(text));
    let fault = Diagnostic::error(lang::UNREADABLE, text.span, message, error.to_string());
    fault.help("delete it, or install what was there")
}

fn unusable(text: &Spanned<String>, why: &str, help: &str) -> Diagnostic {
    let message = format!("`{}` cannot be used: {why}", visible(text));
    Diagnostic::error(lang::PATH_ESCAPES, text.span, message, "this path").help(help)
}
