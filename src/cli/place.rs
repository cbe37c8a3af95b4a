//! Where the file that the command line names is, and the project that it belongs to.

use std::path::{Path, PathBuf};

use atelier_lang::Inputs;
use atelier_lang::source::VirtualPath;

use super::failure::Failure;
use crate::stdlib;

pub(super) const FILE: &str = "prebuild.kdl";

/// The words of `[FILE] [TARGET…]`.
pub(super) struct Words {
    pub file: Option<PathBuf>,
    pub targets: Vec<String>,
}

impl Words {
    /// What contains `/` or ends in .kdl is the file, all else are targets.
    pub(super) fn read(words: &[String]) -> Result<Self, Failure> {
        let is_file = |word: &&String| {
            word.contains('/')
                || Path::new(word)
                    .extension()
                    .is_some_and(|ending| ending == "kdl")
        };
        let (files, targets): (Vec<&String>, Vec<&String>) = words.iter().partition(is_file);
        if let [_, second, ..] = files.as_slice() {
            let text = format!("`{second}` is a second file");
            return Err(Failure::usage(
                text,
                "give one file; targets contain no `/`",
            ));
        }
        Ok(Self {
            file: files.first().map(PathBuf::from),
            targets: targets.into_iter().cloned().collect(),
        })
    }
}

/// Where the file and its project are.
pub(super) struct Place {
    /// Absolute.
    pub file: PathBuf,
    /// What the project may read lies below it.
    pub root: PathBuf,
    /// The file from there.
    pub inside: VirtualPath,
}

impl Place {
    /// Of `file`, or of the prebuild.kdl of this folder or the nearest one above, up to the git root.
    pub(super) fn find(file: Option<PathBuf>) -> Result<Self, Failure> {
        match file {
            Some(file) => Self::of(&std::path::absolute(&file).unwrap_or(file)),
            None => Self::nearest()?.ok_or_else(nowhere),
        }
    }

    /// The same of a file that may have been there once.
    pub(super) fn find_once(file: Option<PathBuf>) -> Result<Self, Failure> {
        match file {
            Some(file) if file.symlink_metadata().is_err() => {
                let file = std::path::absolute(&file).unwrap_or(file);
                let folder = file.parent().unwrap_or(Path::new("/"));
                let folder = folder.canonicalize().unwrap_or(folder.to_owned());
                let name = file.file_name().unwrap_or_default();
                Self::below(project_root(&folder), folder.join(name))
            }
            file => Self::find(file),
        }
    }

    /// `None`: there is no prebuild.kdl.
    pub(super) fn nearest() -> Result<Option<Self>, Failure> {
        let here = here()?;
        let is_root = |folder: &Path| folder.join(".git").exists();
        for folder in here.ancestors() {
            if folder.join(FILE).is_file() {
                return Self::of(&folder.join(FILE)).map(Some);
            }
            if is_root(folder) {
                break;
            }
        }
        Ok(None)
    }

    fn of(named: &Path) -> Result<Self, Failure> {
        let folder = named.parent().unwrap_or(Path::new("/"));
        let folder = folder.canonicalize().unwrap_or(folder.to_owned());
        let file = match named.canonicalize() {
            Ok(file) if file.is_dir() => file.join(FILE),
            Ok(file) => file,
            Err(error) => {
                let text = format!("cannot read {}: {error}", named.display());
                let help = "name a file, or run this where a prebuild.kdl is";
                return Err(Failure::usage(text, help));
            }
        };
        // A link that was cloned may lead to what is none of the project's business, and errors show parts of it.
        let is_link = named.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        if is_link && !file.starts_with(project_root(&folder)) {
            let text = format!(
                "{} is a link that leads out of the project",
                named.display()
            );
            return Err(Failure::usage(text, "name the file that it leads to"));
        }
        let root = project_root(file.parent().unwrap_or(Path::new("/")));
        Self::below(root, file)
    }

    fn below(root: PathBuf, file: PathBuf) -> Result<Self, Failure> {
        let inside = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy();
        let Some(inside) = VirtualPath::new(&inside) else {
            let text = format!("`{inside}` is no file");
            return Err(Failure::usage(text, "name a file"));
        };
        Ok(Self { file, root, inside })
    }

    /// What is evaluated where there is no file.
    pub(super) fn nothing() -> Inputs {
        inputs(VirtualPath::root())
    }

    /// What the file is evaluated from, if nothing is given.
    pub(super) fn inputs(&self) -> Inputs {
        inputs(self.inside.clone())
    }
}

pub(super) fn inputs(file: VirtualPath) -> Inputs {
    Inputs {
        std: stdlib::FILES,
        ..Inputs::new(file, platform())
    }
}

fn nowhere() -> Failure {
    let here = here().map_or(String::new(), |here| format!(" in {}", here.display()));
    let text = format!("there is no {FILE}{here} or above it, up to the git root");
    let help = "write one, or name a file: atelier build path/to/prebuild.kdl";
    Failure::usage(text, help)
}

fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|error| Failure::machine(&format!("cannot tell the current folder: {error}")))
}

/// The root of the project that the current folder lies in.
pub(super) fn root_here() -> Result<PathBuf, Failure> {
    Ok(project_root(&here()?))
}

/// The git root that holds a folder, else the folder itself.
pub(super) fn project_root(folder: &Path) -> PathBuf {
    let root = folder
        .ancestors()
        .find(|folder| folder.join(".git").exists());
    root.unwrap_or(folder).to_owned()
}

/// This machine's, as images name it.
fn platform() -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("linux/{architecture}")
}
