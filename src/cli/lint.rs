//! `lint`: what is wrong with a file, for people and for programs; and mended where a finding says how.

mod sarif;

use std::collections::BTreeSet;

use atelier_lang::diag::Diagnostic;
use atelier_lang::source::{Sources, VirtualPath, World};
use atelier_lang::span::FileId;
use atelier_lang::{Inputs, Missing, evaluate, repair, report};

use super::args::{LintArgs, LintFormat};
use super::failure::Failure;
use super::github::Workspace;
use super::place::{Place, Words};
use super::{exit, fmt, given, ui};
use crate::world::Disk;

/// One correction can reveal the next; they come to an end, and this is far behind it.
const ROUNDS: usize = 16;

pub(super) fn lint(args: &LintArgs) -> Result<u8, Failure> {
    let words = Words::read(&args.words)?;
    if let Some(target) = words.targets.first() {
        let text = format!("`{target}` is no file");
        return Err(Failure::usage(
            text,
            "all targets of a file are checked: name the file",
        ));
    }
    let place = Place::find(words.file)?;
    let inputs = Inputs {
        missing: Missing::Open,
        ..given::to(place.inputs(), &args.file)?
    };
    let world = Disk::new(&place.root);
    if args.fix {
        for path in mend(&place, &world, &inputs)? {
            ui::notice(&format!("mended {path}"));
        }
    }
    let (sources, outcome) = evaluate(&world, &inputs);
    let found = outcome.diagnostics;
    match args.format {
        LintFormat::Human => ui::show_diagnostics(&sources, &found),
        LintFormat::Json => ui::print_json(&report::report(&found, &sources)),
        LintFormat::Sarif => ui::print_json(&sarif::log(&found, &sources)),
        LintFormat::Github => {
            ui::show_diagnostics(&sources, &found);
            Workspace::of(&place.root).annotate(&sources, &found);
        }
    }
    let fails = |finding: &Diagnostic| finding.is_error() || args.deny.is_some();
    match found.iter().any(fails) {
        true => Ok(exit::FILE),
        false => Ok(0),
    }
}

/// Carries out what findings suggest, until none does. Returns the files that were written.
fn mend(place: &Place, world: &Disk, inputs: &Inputs) -> Result<BTreeSet<String>, Failure> {
    let mut written = BTreeSet::new();
    for _ in 0..ROUNDS {
        let (sources, outcome) = evaluate(world, inputs);
        let limit = inputs.limits.file;
        let mended = mended(world, limit, &sources, &outcome.diagnostics);
        if mended.is_empty() {
            break;
        }
        for (path, text) in mended {
            fmt::write(&place.root.join(&path), &text)?;
            written.insert(path);
        }
    }
    Ok(written)
}

/// The files of the project that change, with their new texts.
fn mended(
    world: &Disk,
    limit: u64,
    sources: &Sources,
    found: &[Diagnostic],
) -> Vec<(String, String)> {
    let fixes = found.iter().filter_map(|finding| finding.fix.as_ref());
    let files: BTreeSet<FileId> = fixes.map(|fix| fix.span.file).collect();
    let own = files.into_iter().filter(|file| !sources.is_library(*file));
    let changed = own.filter_map(|file| {
        let path = sources.name(file);
        // What is shown of a file may be masked: the edits are for the file itself.
        let bytes = world.read(&VirtualPath::new(path)?, limit).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let mended = repair::fixed(&text, file, found);
        (mended != text).then(|| (path.to_owned(), mended))
    });
    changed.collect()
}
