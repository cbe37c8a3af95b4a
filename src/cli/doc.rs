//! `doc`: what can be given to a file, and the templates that it can use.

use std::fmt::Write as _;
use std::path::PathBuf;

use atelier_lang::doc::{self, DocData, ParamData, TemplateData, ValueData};
use atelier_lang::source::{ReadError, VirtualPath, World};
use atelier_lang::spelling::{quoted, visible};
use atelier_lang::suggest::nearest;

use super::args::DocArgs;
use super::failure::Failure;
use super::place::{Place, Words};
use super::{exit, ui};
use crate::world::Disk;

pub(super) fn doc(args: &DocArgs) -> Result<u8, Failure> {
    let words = Words::read(&args.words)?;
    let mut doc = describe(words.file)?;
    if !words.targets.is_empty() {
        select(&mut doc, &words.targets)?;
    }
    match args.json {
        true => ui::print_json(&doc),
        false => ui::print(&page(&doc)),
    }
    Ok(0)
}

/// What a project has where there is none.
struct Nothing;

impl World for Nothing {
    fn read(&self, _: &VirtualPath, _: u64) -> Result<Vec<u8>, ReadError> {
        Ok(Vec::new())
    }
}

/// Describes the file, or the library alone where there is no file.
fn describe(file: Option<PathBuf>) -> Result<DocData, Failure> {
    let place = match file {
        Some(file) => Some(Place::find(Some(file))?),
        None => Place::nearest()?,
    };
    let (sources, outcome) = match &place {
        Some(place) => doc::doc(&Disk::new(&place.root), &place.inputs()),
        None => doc::doc(&Nothing, &Place::nothing()),
    };
    outcome.value.ok_or(Failure::File {
        sources,
        diagnostics: outcome.diagnostics,
        exit: exit::FILE,
    })
}

/// Keeps the templates of these names; one of the library may go without `std.`, as in `use`.
fn select(doc: &mut DocData, names: &[String]) -> Result<(), Failure> {
    let mut kept = Vec::new();
    for name in names {
        let is_named = |template: &TemplateData| template.name == *name;
        let in_library = |template: &TemplateData| template.name.strip_prefix("std.") == Some(name);
        let templates = &mut doc.templates;
        let found = templates.iter().position(is_named);
        let Some(found) = found.or_else(|| templates.iter().position(in_library)) else {
            return Err(unknown(doc, name));
        };
        kept.push(templates.remove(found));
    }
    doc.params.clear();
    doc.templates = kept;
    Ok(())
}

fn unknown(doc: &DocData, name: &str) -> Failure {
    let names = doc.templates.iter().map(|template| template.name.as_str());
    let short = names.clone().filter_map(|name| name.strip_prefix("std."));
    let text = format!("there is no template `{}`", visible(name));
    let help = match nearest(name, names.clone().chain(short)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there is: {}", names.collect::<Vec<_>>().join(", ")),
    };
    Failure::usage(text, help)
}

fn page(doc: &DocData) -> String {
    let mut entries = Vec::new();
    for param in &doc.params {
        let mut entry = format!("--param {}=V\n", param.name);
        indented(&mut entry, 4, &facts(param));
        indented(&mut entry, 4, &param.doc);
        entries.push(entry);
    }
    entries.extend(doc.templates.iter().map(template));
    if entries.is_empty() {
        return "no parameters, no templates\n".to_owned();
    }
    entries.join("\n")
}

fn template(template: &TemplateData) -> String {
    let mut page = format!("use {}", template.name);
    for param in &template.params {
        let word = match param.kind {
            "words" => "WORD…".to_owned(),
            _ => format!("{}=V", param.name),
        };
        let _ = match param.default {
            Some(_) => write!(page, " [{word}]"),
            None => write!(page, " {word}"),
        };
    }
    page.push('\n');
    indented(&mut page, 4, &template.doc);
    let lengths = template.params.iter().map(|param| param.name.len());
    let width = lengths.max().unwrap_or(0) + 2;
    for param in &template.params {
        let _ = writeln!(page, "\n    {:width$}{}", param.name, facts(param));
        indented(&mut page, 4 + width, &param.doc);
    }
    page
}

/// Its type, its choices, its default.
fn facts(param: &ParamData) -> String {
    let mut facts = param.kind.to_owned();
    if !param.choices.is_empty() {
        let choices: Vec<String> = param.choices.iter().map(written).collect();
        let _ = write!(facts, ", one of {}", choices.join(" "));
    }
    match &param.default {
        Some(default) => {
            let _ = write!(facts, ", default {}", written(default));
        }
        None => facts.push_str(", required"),
    }
    facts
}

fn written(value: &ValueData) -> String {
    let text = quoted(&value.text);
    match value.interpolated {
        true => format!("(f){text}"),
        false => text,
    }
}

fn indented(page: &mut String, indent: usize, text: &str) {
    for line in text.lines() {
        let _ = writeln!(page, "{:indent$}{line}", "");
    }
}
