//! The node table says what is so: its forms, examples, rules and defaults against the evaluation of small files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/meaning.rs"]
mod meaning;
#[expect(dead_code, reason = "other tests use the rest")]
mod support;
#[path = "../../tests/support/whole.rs"]
mod whole;

use atelier_lang::diag::Diagnostic;
use atelier_lang::table::{STATEMENTS, Statement, Takes};
use serde_json::Value;
use support::Memory;

/// A line for each argument and property, in which `_` is its value. Nothing of the table may be missing here.
const LINES: &[(&str, &str, &str)] = &[
    ("atelier", "EDITION", "atelier _"),
    ("import", "PATH", "import _"),
    ("import", "as", "import \"./org.kdl\" as=_"),
    ("param", "NAME", "param _ default=1"),
    ("param", "CHOICE", "param x a _ default=a"),
    ("param", "default", "param x default=_"),
    ("template", "NAME", "template _ { path bin; }"),
    ("prebuild", "NAME", "prebuild _ { from host; }"),
    ("group", "NAME", "group _ base"),
    ("group", "TARGET", "group g _"),
    ("allow", "LINT", "allow _"),
    ("use", "TEMPLATE", "prebuild t { from host; use _; }"),
    ("use", "WORD", "prebuild t { from host; use words _; }"),
    ("from", "IMAGE", "prebuild t { from _; }"),
    ("from", "platform", "prebuild t { from debian platform=_; }"),
    ("from", "prebuild", "prebuild t { from prebuild=_; }"),
    ("repo", "URL", "prebuild t { from host; repo _ path=a; }"),
    (
        "repo",
        "branch",
        "prebuild t { from host; repo \"a.org/b\" branch=_; }",
    ),
    (
        "repo",
        "tag",
        "prebuild t { from host; repo \"a.org/b\" tag=_; }",
    ),
    (
        "repo",
        "commit",
        "prebuild t { from host; repo \"a.org/b\" commit=_; }",
    ),
    (
        "repo",
        "path",
        "prebuild t { from host; repo \"a.org/b\" path=_; }",
    ),
    (
        "repo",
        "auth",
        "prebuild t { from host; repo \"a.org/b\" auth=_; }",
    ),
    (
        "repo",
        "depth",
        "prebuild t { from host; repo \"a.org/b\" depth=_; }",
    ),
    (
        "repo",
        "submodules",
        "prebuild t { from host; repo \"a.org/b\" submodules=_; }",
    ),
    (
        "repo",
        "lfs",
        "prebuild t { from host; repo \"a.org/b\" lfs=_; }",
    ),
    (
        "only",
        "GLOB",
        "prebuild t { from host; repo \"a.org/b\" { only _; }; }",
    ),
    (
        "stub",
        "GLOB",
        "prebuild t { from host; repo \"a.org/b\" { only a; stub _; }; }",
    ),
    (
        "layer",
        "NAME",
        "prebuild t { from host; repo \"a.org/b\" { layer _ { only a; }; }; }",
    ),
    ("file", "DEST", "prebuild t { from host; file _ x; }"),
    ("file", "TEXT", "prebuild t { from host; file a _; }"),
    ("file", "from", "prebuild t { from host; file a from=_; }"),
    ("file", "mode", "prebuild t { from host; file a x mode=_; }"),
    ("run", "CMD", "prebuild t { from host; run _; }"),
    ("run", "in", "prebuild t { from host; run x in=_; }"),
    ("run", "as", "prebuild t { from host; run x as=_; }"),
    ("run", "shell", "prebuild t { from host; run x shell=_; }"),
    (
        "run",
        "timeout",
        "prebuild t { from host; run x timeout=_; }",
    ),
    ("run", "retry", "prebuild t { from host; run x retry=_; }"),
    ("path", "DIR", "prebuild t { from host; path _; }"),
    ("secret", "NAME", "prebuild t { from host; secret _; }"),
    ("cache", "NAME", "prebuild t { from host; cache _ path=a; }"),
    ("cache", "path", "prebuild t { from host; cache c path=_; }"),
    (
        "resources",
        "cpu",
        "prebuild t { from host; resources cpu=_; }",
    ),
    (
        "resources",
        "memory",
        "prebuild t { from host; resources memory=_; }",
    ),
    (
        "resources",
        "disk",
        "prebuild t { from host; resources disk=_; }",
    ),
    (
        "resources",
        "timeout",
        "prebuild t { from host; resources timeout=_; }",
    ),
    ("about", "TEXT", "prebuild t { from host; about _; }"),
];

/// What else the file has.
const REST: &str = "prebuild base { from host; }
secret TOKEN
template tools { path bin; }
template words { param (words)w; env W=(f)\"{w}\"; }
";

/// Values that are right, and values that are not, as they are written.
fn samples(takes: Takes) -> (Vec<String>, Vec<String>) {
    let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let (right, wrong): (&[&str], &[&str]) = match takes {
        Takes::Text => (&["a", "\"a b\"", "\"/\""], &["#null", "1.5"]),
        Takes::Truth => (&["#true", "#false"], &["maybe", "2"]),
        Takes::Count(0) => (&["0", "7"], &["-1", "many", "1.5"]),
        Takes::Count(least) => {
            let below = (least - 1).to_string();
            return (vec![least.to_string()], vec![below, "many".to_owned()]);
        }
        Takes::Choice(choices) => return (all(choices), all(&["other"])),
        Takes::Name => (&["name-2"], &["Name", "\"2nd\"", "\"\""]),
        Takes::Target => (&["base"], &["other"]),
        Takes::Template => (&["tools"], &["base"]),
        Takes::Secret => (&["TOKEN"], &["token", "\"2ND\""]),
        Takes::Lint => (&["unused"], &["other"]),
        Takes::Parameter => (&["y", "(int)y"], &["(other)y", "Y"]),
        Takes::Path => (&["a", "\".a/b\""], &["\"../a\"", "\"/opt\"", "\"\""]),
        Takes::Folder => (&["a", "\"/opt\""], &["\"../a\"", "\"\""]),
        Takes::Local => (
            &["\"./org.kdl\"", "\"org.kdl\""],
            &["\"../../a\"", "\"/etc/a\""],
        ),
        Takes::Glob => (&["a", "\"**/a*\"", "\"!a\""], &["\"\"", "\"/a\""]),
        Takes::Image => (
            &["host", "\"a.org/b:1\"", "\"oci:./a\""],
            &["\"a b\"", "\"\""],
        ),
        Takes::Platform => (&["\"linux/arm64\""], &["linux", "\"Linux/arm64\""]),
        Takes::Url => (
            &["\".\"", "\"a.org/b\"", "\"git@a.org:b\""],
            &["\"/a\"", "\"ftp://a.org/b\""],
        ),
        Takes::Reference => (&["main", "\"a/b\""], &["\"a..b\"", "\"a b\""]),
        Takes::Commit => (
            &["\"0123456789abcdef0123456789abcdef01234567\""],
            &["\"0123456\""],
        ),
        Takes::Mode => (&["\"0755\""], &["0755", "\"0999\"", "\"755\""]),
        Takes::Duration => (
            &["\"90s\"", "\"10m\"", "\"2h\""],
            &["\"0s\"", "10", "\"1d\""],
        ),
        Takes::Size => (&["\"512MiB\"", "\"4GiB\""], &["\"4GB\"", "4", "\"0GiB\""]),
        Takes::Edition => (&["1"], &["2", "0"]),
    };
    (all(right), all(wrong))
}

fn world(file: &str) -> Memory {
    let mut world = Memory::default();
    let (name, text) = whole::IMPORTED;
    world.0.insert(name.to_owned(), text.into());
    world.0.insert("prebuild.kdl".to_owned(), file.into());
    world
}

fn found(file: &str) -> Vec<Diagnostic> {
    let (_, outcome) = atelier_lang::evaluate(&world(file), &support::inputs());
    outcome.diagnostics
}

fn means(file: &str) -> Value {
    let (sources, outcome) = atelier_lang::evaluate(&world(file), &support::inputs());
    meaning::meaning(&outcome.value.unwrap(), &sources)
}

fn line(row: &Statement, what: &str) -> &'static str {
    let known = LINES
        .iter()
        .find(|(name, entry, _)| (*name, *entry) == (row.name, what));
    assert!(
        known.is_some(),
        "{} {what} is not among the lines",
        row.name
    );
    known.unwrap().2
}

/// Every argument and property, with what it takes.
fn entries() -> Vec<(&'static Statement, &'static str, Takes)> {
    let entries = STATEMENTS.iter().flat_map(|row| {
        let arguments = row.arguments.iter().map(|a| (a.name, a.takes));
        let properties = row.properties.known().iter().map(|p| (p.name, p.takes));
        arguments
            .chain(properties)
            .map(move |(name, takes)| (row, name, takes))
    });
    entries.collect()
}

#[test]
fn every_rule_holds() {
    for (row, what, takes) in entries() {
        let line = line(row, what);
        let (right, wrong) = samples(takes);
        for (values, is_right) in [(right, true), (wrong, false)] {
            for value in values {
                let file = format!("{}\n{REST}", line.replace('_', &value));
                let found = found(&file);
                let is_fine = !found.iter().any(Diagnostic::is_error);
                let found: Vec<&str> = found.iter().map(|d| d.message.as_str()).collect();
                assert_eq!(
                    is_fine, is_right,
                    "{} {what}:\n{file}\n{found:#?}",
                    row.name
                );
            }
        }
    }
}

#[test]
fn every_default_is_what_leaving_it_out_means() {
    for row in STATEMENTS {
        for property in row.properties.known() {
            let Some(default) = property.default else {
                continue;
            };
            let line = line(row, property.name);
            let stated = line.replace('_', default);
            let left_out = line.replace(&format!(" {}=_", property.name), "");
            // Nothing to state is no statement.
            let left_out = left_out.replace("resources; ", "");
            assert_ne!(stated, left_out);
            let [stated, left_out] =
                [stated, left_out].map(|line| means(&format!("{line}\n{REST}")));
            assert_eq!(stated, left_out, "{} {}", row.name, property.name);
        }
    }
}

#[test]
fn every_form_has_what_the_table_has() {
    for (row, what, _) in entries() {
        let short = ["EDITION", "TEXT", "WORD"];
        assert!(
            row.form.contains(what) || short.contains(&what),
            "{}: {what}",
            row.name
        );
    }
    for row in STATEMENTS {
        for property in row.properties.known() {
            let Some(default) = property.default else {
                continue;
            };
            let shown = [
                format!("{}={default}", property.name),
                format!("{}={default}│", property.name),
            ];
            assert!(
                shown.iter().any(|shown| row.form.contains(shown)),
                "{}: {shown:?}",
                row.name
            );
        }
    }
}

#[test]
fn everything_is_said_in_sentences() {
    for row in STATEMENTS {
        let arguments = row.arguments.iter().map(|argument| argument.about);
        let properties = row.properties.known().iter().map(|property| property.about);
        for text in arguments.chain(properties).chain([row.about]) {
            let is_sentence = text.starts_with(|c: char| c.is_uppercase() || "`#".contains(c));
            assert!(
                is_sentence && text.ends_with('.') && !text.contains("  "),
                "{}: {text}",
                row.name
            );
        }
    }
}

#[test]
fn every_example_is_right() {
    for row in STATEMENTS {
        let file = whole::whole(row);
        let found = found(&file);
        assert!(found.is_empty(), "{file}\n{found:#?}");
    }
}
