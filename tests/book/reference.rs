//! The page that is made of the node table. `just bless` writes it anew.

use std::fmt::Write as _;
use std::fs;

use atelier_lang::Limits;
use atelier_lang::table::{
    Argument, LATER, LINTS, Place, Property, RESERVED, STATEMENTS, Statement, TYPES, Times,
};

use crate::pages;
use crate::whole::{IMPORTED, whole};

const OPENING: &str = "# Reference

Every statement of edition 1, made of the table that the checks, the suggestions and editors use too. How things belong
together is told on [the page of the file](file.md), and in [the tutorial](tutorial.md) from the beginning.

In the forms, what is in capitals is yours to fill in, `[…]` may be left out, `…` may be repeated, and `│` stands between
alternatives. *In the key* says what makes [another snapshot](keys.md) when it changes.
";

fn is_where(row: &Statement) -> String {
    let places = [
        (Place::File, "at the top level"),
        (Place::Prebuild, "in a `prebuild`"),
        (Place::Repo, "in a `repo`"),
        (Place::Layer, "in a `layer`"),
        (Place::Template, "in a `template`"),
        (Place::Matrix, "in a `matrix`"),
    ];
    let places = places.iter().filter(|(place, _)| row.stands_in(*place));
    let places: Vec<&str> = places.map(|(_, words)| *words).collect();
    places.join(", ")
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn arguments(page: &mut String, arguments: &[Argument]) {
    let _ = writeln!(page, "\n| argument | takes | |\n|-|-|-|");
    for argument in arguments {
        let name = match argument.times {
            Times::Once => format!("`{}`", argument.name),
            Times::AtMostOnce => format!("`[{}]`", argument.name),
            Times::OnceOrMore => format!("`{}…`", argument.name),
            Times::AnyNumber => format!("`[{}…]`", argument.name),
        };
        let (takes, about) = (cell(&argument.takes.rule()), cell(argument.about));
        let _ = writeln!(page, "| {name} | {takes} | {about} |");
    }
}

fn properties(page: &mut String, properties: &[Property]) {
    let _ = writeln!(
        page,
        "\n| property | takes | default | in the key | |\n|-|-|-|-|-|"
    );
    for property in properties {
        let default = property.default.map_or(String::new(), |d| format!("`{d}`"));
        let in_key = if property.is_in_key { "yes" } else { "no" };
        let (takes, about) = (cell(&property.takes.rule()), cell(property.about));
        let name = property.name;
        let _ = writeln!(
            page,
            "| `{name}=` | {takes} | {default} | {in_key} | {about} |"
        );
    }
}

fn section(page: &mut String, row: &Statement) {
    let (name, about, form) = (row.name, row.about, row.form);
    let _ = writeln!(page, "\n## `{name}`\n\n{about}\n\n```text\n{form}\n```");
    let _ = writeln!(page, "\nStands {}. In the key: {}.", is_where(row), row.key);
    if !row.arguments.is_empty() {
        arguments(page, row.arguments);
    }
    if !row.properties.known().is_empty() {
        properties(page, row.properties.known());
    }
    if row.name == "import" {
        let (file, text) = IMPORTED;
        let _ = writeln!(
            page,
            "\nWhere `{file}` has:\n\n<!-- file {file} -->\n\n```kdl\n{text}```"
        );
    }
    let _ = writeln!(page, "\n```kdl\n{}```", whole(row));
}

fn words(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

fn limits(page: &mut String) {
    let (normal, large) = (Limits::NORMAL, Limits::LARGE);
    let kib = |bytes: u64| format!("{} KiB", bytes >> 10);
    let rows = [
        ("one file", kib(normal.file), kib(large.file)),
        ("all files together", kib(normal.total), kib(large.total)),
        ("files", normal.files.to_string(), large.files.to_string()),
        (
            "targets",
            normal.targets.to_string(),
            large.targets.to_string(),
        ),
    ];
    let _ = writeln!(
        page,
        "\n## Limits\n\n| | normal | `--limits large` |\n|-|-|-|"
    );
    for (what, normal, large) in rows {
        let _ = writeln!(page, "| {what} | {normal} | {large} |");
    }
    let _ = writeln!(
        page,
        "\nWhat templates and matrices may expand to is on [the page of reuse](reuse.md#limits)."
    );
}

fn reference() -> String {
    let mut page = OPENING.to_owned();
    let _ = writeln!(page, "\n| statement | stands | in the key |\n|-|-|-|");
    for row in STATEMENTS {
        let (name, key) = (row.name, cell(row.key));
        let _ = writeln!(page, "| [`{name}`](#{name}) | {} | {key} |", is_where(row));
    }
    for row in STATEMENTS {
        section(&mut page, row);
    }
    let _ = writeln!(page, "\n## Words\n");
    let _ = writeln!(
        page,
        "- Types of a `param`: {}; see [reuse](reuse.md#constants-and-parameters).",
        words(TYPES)
    );
    let _ = writeln!(page, "- Lints that `allow` names: {}.", words(LINTS));
    let _ = writeln!(
        page,
        "- Statements that a later version has: {}.",
        words(LATER)
    );
    let _ = writeln!(
        page,
        "- Reserved, so that a later edition may use them: {}.",
        words(RESERVED)
    );
    let _ = writeln!(
        page,
        "- Names that begin with `x-` are ignored, with all that belongs to them."
    );
    limits(&mut page);
    page
}

#[test]
fn the_reference_is_that_of_the_table() {
    let file = pages::path("reference.md");
    let expected = reference();
    if pages::is_update() {
        fs::write(&file, &expected).unwrap();
    }
    let page = fs::read_to_string(&file).unwrap();
    assert!(
        page == expected,
        "`just bless` writes this page:\n{expected}"
    );
}
