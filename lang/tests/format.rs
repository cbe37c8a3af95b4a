//! `fmt`: the white space of a file, and nothing else.

#![expect(
    clippy::disallowed_methods,
    reason = "the language is pure, its tests read files"
)]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;

use atelier_lang::format::{Unformatted, format};
use atelier_lang::source::Sources;
use proptest::prelude::*;

const LIMIT: u64 = 1 << 20;

/// `None` for what is not KDL.
fn formatted(text: &str) -> Option<String> {
    let read = Ok(text.as_bytes().to_vec());
    match format("x.kdl", read, LIMIT, &mut Sources::default()) {
        Ok(formatted) => Some(formatted),
        Err(Unformatted::Faulty(found)) => {
            assert!(!found.is_empty());
            None
        }
        Err(Unformatted::Changed) => panic!("{text:?}"),
    }
}

fn becomes(before: &str, after: &str) {
    assert_eq!(formatted(before).as_deref(), Some(after), "{before:?}");
    assert_eq!(formatted(after).as_deref(), Some(after), "again");
}

#[test]
fn blocks_and_lines() {
    becomes("", "");
    becomes("\n\n\n", "");
    becomes("\u{feff}from host", "from host\n");
    becomes(
        "from   host\r\n\r\n\r\n\r\nrepo \"a.b/c\"   {run \"x\"\n\n\n\t\trun \"y\"\n\n}",
        "from host\n\nrepo \"a.b/c\" {\n    run \"x\"\n\n    run \"y\"\n}\n",
    );
    becomes(
        "a {b;c 1;  d}\ne{ }\nf { \n }",
        "a { b; c 1; d }\ne {}\nf {}\n",
    );
    becomes("a {b; c\n}", "a {\n    b; c\n}\n");
    becomes("a { b { c\n} }", "a {\n    b {\n        c\n    }\n}\n");
    becomes("a ; b;\nc\u{85}d\u{2028}e\rf", "a; b;\nc\nd\ne\nf\n");
}

#[test]
fn definitions_stand_apart() {
    becomes(
        "atelier 1\nlet a=1\n// Of the template.\n// More.\ntemplate t {\n x\n}\nprebuild a { from host; }\nprebuild b {\n from host\n} // end\nallow unused\nrepo x {\n run y\n}\nenv A=1\n",
        "atelier 1\nlet a=1\n\n// Of the template.\n// More.\ntemplate t {\n    x\n}\n\nprebuild a { from host; }\n\nprebuild b {\n    from host\n} // end\n\nallow unused\nrepo x {\n    run y\n}\nenv A=1\n",
    );
    becomes(
        "prebuild a {\n x\n}; /-prebuild b {\n y\n}\nprebuild c {\n}",
        "prebuild a {\n    x\n}; /-prebuild b {\n    y\n}\n\nprebuild c {}\n",
    );
}

#[test]
fn values() {
    becomes(
        "run  \"a  b\"   in = \"x\"  as=root  ( f ) \"y\" k=( f )#\"z\"#",
        "run \"a  b\" in=\"x\" as=root (f)\"y\" k=(f)#\"z\"#\n",
    );
    becomes(
        "a {\nfile x \"\"\"\n  one\n    two\n\n  \"\"\" mode=\"0644\"\n}",
        "a {\n    file x \"\"\"\n  one\n    two\n\n  \"\"\" mode=\"0644\"\n}\n",
    );
    becomes("a \"x \\\r\n   y\"", "a \"x \\\n   y\"\n");
    becomes("a 0o17 1_000 -0x1F +1", "a 0o17 1_000 -0x1F +1\n");
    becomes("( t )a  1", "(t)a 1\n");
}

#[test]
fn comments() {
    becomes(
        "//a  \n\n\n/* b */ c   //d\nd {// e\n\n  // f\n  x /* g\n h */   y\n\n// i\n}\n// j",
        "//a\n\n/* b */ c //d\nd { // e\n\n    // f\n    x /* g\n h */ y\n\n    // i\n}\n// j\n",
    );
    becomes("a { /* x */ }", "a { /* x */ }\n");
    becomes("a { // x\n}", "a { // x\n}\n");
    becomes("a{b;/* x */}", "a { b; /* x */ }\n");
}

#[test]
fn what_is_taken_away() {
    becomes(
        "/- a  1\nb /-  c=1 /-{\n d\n} {e\n}\n/-\n\n f\n/- // why\n\n g",
        "/-a 1\nb /-c=1 /-{\n    d\n} {\n    e\n}\n/-f\n/- // why\ng\n",
    );
    becomes("a /- /* x */ b", "a /- /* x */ b\n");
}

#[test]
fn lines_that_go_on() {
    becomes(
        "a 1 \\\n  2   \\  // why\n\n b{\n}",
        "a 1 \\\n    2 \\ // why\n\nb {}\n",
    );
    becomes(
        "x {\nrun \"y\" \\\nin=z\n}",
        "x {\n    run \"y\" \\\n        in=z\n}\n",
    );
    becomes("a \\", "a \\\n");
    becomes("x { a \\\n }", "x {\n    a \\\n\n}\n");
}

#[test]
fn what_is_no_kdl_is_left_alone() {
    for text in [
        "a {",
        "a = 1\n",
        "repo https://x.y/z",
        "a \u{0}",
        "a \"\\d\"",
    ] {
        assert_eq!(formatted(text), None, "{text:?}");
    }
}

fn files(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let kdl = files.filter(|path| path.extension().is_some_and(|ending| ending == "kdl"));
    kdl.filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

/// All that there is of KDL, and what else there is of files.
#[test]
fn many_files() {
    let mut formatted_files = 0;
    for folder in [
        "tests/kdl-suite/test_cases/input",
        "tests/golden",
        "../stdlib",
    ] {
        formatted_files += files(folder)
            .iter()
            .filter_map(|text| formatted(text))
            .count();
    }
    assert!(formatted_files > 250, "{formatted_files}");
}

/// What people copy is as `fmt` leaves it.
#[test]
fn the_library_and_the_examples_are_formatted() {
    let examples = ["chain", "go", "node", "self"];
    let examples = examples
        .iter()
        .flat_map(|name| files(&format!("../examples/{name}")));
    let files: Vec<String> = files("../stdlib").into_iter().chain(examples).collect();
    assert_eq!(files.len(), 15);
    for text in files {
        becomes(&text, &text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Whatever is KDL is formatted without a change of what it means, and once.
    #[test]
    fn any_pieces(pieces in prop::collection::vec(prop::sample::select(vec![
        "a", " ", " ", "\n", "\n", "\n\n", "\r\n", ";", "; ", "{", " {", "}", " }", "\n}", "\n{", "\"x\"", " \"x y\"", " 1", " k=2", " k = 3",
        "#\"r\"#", " \"\"\"\n  m\n  \"\"\"", "(t)", " (f)\"y\"", "( t )", "/-", " /- ", "/-\n", "// c\n", " // d \n", "/* e */", " /* f\n g */ ",
        " \\\n", "\\\n", " \\ // h\n", "prebuild p {\n", "template t { ", "é", "\u{2028}", "\t", "=", "x-y",
    ]), 0..24)) {
        let text = pieces.concat();
        if let Some(once) = formatted(&text) {
            prop_assert_eq!(formatted(&once), Some(once.clone()), "{}", text);
        }
    }
}
