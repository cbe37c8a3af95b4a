//! The KDL project's own test cases, run through the guard and the adapter.

#![expect(
    clippy::disallowed_methods,
    reason = "the language is pure, its tests read files"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::Limits;
use crate::tree::{Data, Value};

/// Cases that come out otherwise, and why.
const DEVIATIONS: &[(&str, &str)] = &[
    ("zero_space_before_slashdash_arg.kdl", NO_SPACE),
    ("zero_space_before_slashdash_children.kdl", NO_SPACE),
    ("zero_space_before_slashdash_prop.kdl", NO_SPACE),
];

const NO_SPACE: &str =
    "`\"x\"/-1` is newer than the parser's release, which wants a space before `/-`";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kdl-suite/test_cases")
}

/// The tree, or the codes of what was found.
fn read(bytes: Vec<u8>) -> Result<Vec<Node>, Vec<String>> {
    let mut found = Vec::new();
    let mut loaded = Loaded {
        file: FileId(0),
        tree: None,
        text: String::new(),
        repairs: Vec::new(),
    };
    match limits::decode(bytes, Limits::NORMAL.file, FileId(0)) {
        (text, None) => loaded.parse(&text, &mut found),
        (_, Some(diagnostic)) => found.push(diagnostic),
    }
    let errors = found.iter().filter(|diagnostic| diagnostic.is_error());
    let codes: Vec<_> = errors
        .map(|diagnostic| diagnostic.code.to_string())
        .collect();
    match loaded.tree {
        Some(nodes) if codes.is_empty() => Ok(nodes),
        _ => Err(codes),
    }
}

/// The suite's translation: sorted properties of which the last counts, no empty blocks, no spelling.
fn canonical(nodes: &[Node], depth: usize, out: &mut String) {
    for node in nodes {
        let annotation = node
            .annotation
            .as_ref()
            .map(|annotation| annotation.value.as_str());
        let indent = " ".repeat(depth);
        let _ = write!(out, "{indent}{annotation:?}{:?}", node.name.value);
        for argument in &node.arguments {
            let _ = write!(out, " {}", spelled(argument));
        }
        let properties: BTreeMap<_, _> = node
            .properties
            .iter()
            .map(|p| (&p.key.value, spelled(&p.value)))
            .collect();
        let _ = writeln!(out, " {properties:?}");
        canonical(node.children.as_deref().unwrap_or(&[]), depth + 1, out);
    }
}

fn spelled(value: &Value) -> String {
    let annotation = value
        .annotation
        .as_ref()
        .map(|annotation| annotation.value.as_str());
    // The value of a float is not kept: the language has none.
    let data = if value.data == Data::Float {
        "float".to_owned()
    } else {
        format!("{:?}", value.data)
    };
    format!("{annotation:?}{data}")
}

fn outcome(name: &str) -> Result<(), String> {
    let input = read(fs::read(folder().join("input").join(name)).unwrap());
    let expected = fs::read(folder().join("expected_kdl").join(name)).ok();
    match (input, expected) {
        (Err(_), None) => Ok(()),
        (Ok(_), None) => Err("accepted, should be refused".to_owned()),
        (Err(codes), Some(_)) => Err(format!("refused with {codes:?}")),
        (Ok(input), Some(expected)) => {
            let expected =
                read(expected).map_err(|codes| format!("expected refused: {codes:?}"))?;
            let (mut left, mut right) = (String::new(), String::new());
            canonical(&input, 0, &mut left);
            canonical(&expected, 0, &mut right);
            if left == right {
                Ok(())
            } else {
                Err(format!("read as\n{left}not\n{right}"))
            }
        }
    }
}

#[test]
fn the_suite_passes_but_for_known_deviations() {
    let entries = fs::read_dir(folder().join("input")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 336);
    let mut wrong = Vec::new();
    for name in names {
        let is_known = DEVIATIONS.iter().any(|(deviation, _)| *deviation == name);
        match outcome(&name) {
            Ok(()) if is_known => wrong.push(format!("{name}: passes, is listed as a deviation")),
            Err(_) if is_known => {}
            Ok(()) => {}
            Err(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What decides where comments and strings begin and end.
const PIECES: &[&str] = &[
    "a", " ", "\n", "\"", "\"\"\"", "\n\"\"\"", "\\", "\\\"", "\\\n", "#", "#\"", "\"#", "##", "/",
    "//", "/*", "*/", "*", "/-", "{", "}", "(", ")", "=", ";", "'", "r\"", "\r\n", "\r", "\t", "1",
    "-", "é", "\u{2028}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// The lexer and the parser agree on what is a comment: blanking it changes no file that is accepted.
    #[test]
    fn blank_comments_change_nothing(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24),
    ) {
        let text = pieces.concat();
        let Ok(nodes) = read(text.clone().into_bytes()) else { return Ok(()) };
        let whole = syntax::parse(&text, FileId(0));
        prop_assert!(whole.is_ok(), "{:?} is read only without its comments", text);
        let (mut left, mut right) = (String::new(), String::new());
        canonical(&nodes, 0, &mut left);
        canonical(&whole.unwrap_or_default(), 0, &mut right);
        prop_assert_eq!(left, right, "{:?}", text);
    }
}
