//! `fmt`: the white space of files, set right.

use std::path::{Path, PathBuf};

use atelier_lang::Limits;
use atelier_lang::format::{self, Unformatted};
use atelier_lang::source::{Sources, World};

use super::args::FmtArgs;
use super::failure::Failure;
use super::place::Place;
use super::{exit, ui};
use crate::draft;
use crate::world::Disk;

/// All files are looked at, also behind one that is faulty.
pub(super) fn fmt(args: &FmtArgs) -> u8 {
    let named = args.files.iter().cloned().map(Some);
    let files: Vec<Option<PathBuf>> = match args.files.is_empty() {
        true => vec![None],
        false => named.collect(),
    };
    let mut code = 0;
    for file in files {
        let done = one(file, args.check);
        code = code.max(done.unwrap_or_else(|failure| ui::show_failure(&failure)));
    }
    code
}

fn one(file: Option<PathBuf>, is_check: bool) -> Result<u8, Failure> {
    let place = Place::find(file)?;
    let world = Disk::new(&place.root);
    let read = world.read(&place.inside, Limits::LARGE.file);
    let before = read.clone().ok();
    let mut sources = Sources::default();
    let name = place.inside.as_str();
    let formatted = match format::format(name, read, Limits::LARGE.file, &mut sources) {
        Ok(formatted) => formatted,
        Err(Unformatted::Faulty(diagnostics)) => {
            return Err(Failure::File {
                sources,
                diagnostics,
                exit: exit::FILE,
            });
        }
        Err(Unformatted::Changed) => {
            let text = format!("what {name} means would change with its format");
            return Err(Failure::bug(text));
        }
    };
    if before.is_some_and(|before| before == formatted.as_bytes()) {
        return Ok(0);
    }
    if is_check {
        ui::print(&format!("{}\n", place.file.display()));
        return Ok(exit::UNFORMATTED);
    }
    write(&place.file, &formatted)?;
    Ok(0)
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    draft::rewrite(path, text.as_bytes()).map_err(|error| {
        let text = format!("cannot write {}: {error}", path.display());
        Failure::machine(&text)
    })
}
