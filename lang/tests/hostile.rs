//! Inputs that were made to hurt, on a thread as small as a runtime's. Numbers are those of the design's list.

#![expect(
    clippy::disallowed_methods,
    reason = "the language is pure, its tests have a clock"
)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/shape.rs"]
mod shape;
mod support;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use atelier_lang::evaluate;
use atelier_lang::source::{ReadError, VirtualPath, World};
use shape::shape;
use support::{evaluate_bytes, inputs};

const SMALL: usize = 2 << 20;
/// Far more than any of them takes, also without optimisation on a busy machine.
const LONG: Duration = Duration::from_secs(15);

/// The codes that `bytes` yields.
fn codes(bytes: impl Into<Vec<u8>>) -> Vec<String> {
    let bytes = bytes.into();
    let started = Instant::now();
    let run = move || {
        let (_, outcome) = evaluate_bytes(&bytes);
        outcome
            .diagnostics
            .iter()
            .map(|d| d.code.to_string())
            .collect()
    };
    let thread = std::thread::Builder::new()
        .stack_size(SMALL)
        .spawn(run)
        .unwrap();
    let codes = thread.join().unwrap();
    assert!(started.elapsed() < LONG, "took {:?}", started.elapsed());
    codes
}

fn graph(bytes: impl Into<Vec<u8>>) -> String {
    let (_, outcome) = evaluate_bytes(&bytes.into());
    assert!(outcome.diagnostics.is_empty(), "{:?}", outcome.diagnostics);
    shape(&outcome.value.unwrap())
}

const FILE: &str = "from host\nenv A=1\nrun \"\"\"\n    one\n      two\n\n    three\n    \"\"\"\nfile x #\"\"\"\n  a\n  b\n  \"\"\"#\nrun \"a\\nb\"\n";

#[test]
fn n01_a_mark_at_the_start_counts_three_bytes() {
    let (sources, outcome) = evaluate_bytes("\u{feff}from host\nrum x".as_bytes());
    let diagnostic = &outcome.diagnostics[0];
    assert_eq!(diagnostic.labels[0].span.start, 13);
    assert_eq!(sources.slice(diagnostic.labels[0].span), "rum");
    assert_eq!(graph("\u{feff}from host"), graph("from host"));
}

#[test]
fn n02_a_mark_elsewhere() {
    assert_eq!(codes("\u{feff}\u{feff}from host"), ["A0102"]);
    assert_eq!(codes("from host\n\u{feff}"), ["A0102"]);
}

#[test]
fn n03_windows_line_ends() {
    assert_eq!(graph(FILE), graph(FILE.replace('\n', "\r\n")));
    let escaped = "from host\nrun \"a \\\n   b\"\n";
    assert_eq!(graph(escaped), graph(escaped.replace('\n', "\r\n")));
}

#[test]
fn n04_other_line_ends() {
    for newline in ["\r", "\u{85}", "\u{2028}", "\u{b}", "\u{c}"] {
        assert_eq!(graph(FILE), graph(FILE.replace('\n', newline)));
    }
}

#[test]
fn n05_utf_16() {
    let text: Vec<u8> = "\u{feff}from host"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let (_, outcome) = evaluate_bytes(&text);
    assert_eq!(outcome.diagnostics[0].code.to_string(), "A0101");
    assert!(outcome.diagnostics[0].message.contains("UTF-16"));
}

#[test]
fn n06_to_n08_characters() {
    assert_eq!(codes("from host\nrun \"\0\""), ["A0102"]);
    assert_eq!(codes("from host\nrun \"\\u{0}\""), ["A0102"]);
    assert_eq!(codes("from host\nrun \"\u{7f}\""), ["A0102"]);
    assert_eq!(codes("from host\n// \u{202e}"), ["A0102"]);
    assert_eq!(codes("from host\n/* \u{1b} */"), ["A0102"]);
}

#[test]
fn n09_without_width() {
    assert_eq!(codes("prebuild a\u{200b}b { from host; }"), ["A0304"]);
    let (_, outcome) = evaluate_bytes("from host\nabout \"a\u{200b}b\"".as_bytes());
    assert_eq!(outcome.diagnostics[0].code.to_string(), "A0102");
    assert!(outcome.value.is_some(), "a warning stops nothing");
    assert!(codes("from host\nabout \"\u{1f468}\u{200d}\u{1f469}\"").is_empty());
}

#[test]
fn n10_letters_of_another_script() {
    let (_, outcome) = evaluate_bytes("f\u{433}om host".as_bytes());
    assert_eq!(outcome.diagnostics[0].code.to_string(), "A0201");
    assert!(outcome.diagnostics[0].labels[0].text.contains("\\u{433}"));
    assert_eq!(codes("from host\n\u{1f600} x"), ["A0201"]);
}

#[test]
fn n11_slashdash() {
    let text = "/-atelier 99\nfrom host\n/-from other\nrun \"x\" /-y /-in=z /-{ a; }\n/-prebuild b { from host; }";
    assert_eq!(graph(text), graph("from host\nrun \"x\""));
    assert_eq!(codes("/-from host\nrun x"), ["A0401"]);
}

#[test]
fn n12_to_n16_nesting() {
    assert!(codes("/- ".repeat(2000)).iter().all(|code| code == "A0105"));
    let closed = format!("{}{}", "a /-{".repeat(16), "}".repeat(16));
    assert!(codes(closed).contains(&"A0104".to_owned()));
    assert!(codes("a /-{".repeat(20)).contains(&"A0104".to_owned()));
    assert!(
        codes("/*".repeat(10_000)).contains(&"A0104".to_owned())
            || codes("/*".repeat(10_000)) == ["A0115"]
    );
    assert!(
        codes(format!("{}{}", "/*".repeat(10_000), "*/".repeat(10_000)))
            .contains(&"A0104".to_owned())
    );
    assert!(codes("a {".repeat(10_000)).contains(&"A0104".to_owned()));
    assert!(codes("a /-\n{".repeat(20)).contains(&"A0104".to_owned()));
    assert!(codes("/-\n\n// c\na {".repeat(12)).contains(&"A0104".to_owned()));
}

#[test]
fn n17_to_n19_spellings() {
    assert_eq!(codes("from host\nrun (u8)22"), ["A0202"]);
    assert_eq!(codes("from host\nrun (secret)\"x\""), ["A0202"]);
    assert_eq!(
        graph("from host\nrun #\"a\"#"),
        graph("from \"host\"\nrun a")
    );
    assert_eq!(codes("from host\nrun #\"\"\"one\"\"\"#"), ["A0105"]);
}

#[test]
fn n20_and_n21_indentation_and_numbers() {
    assert_eq!(
        codes("from host\nrun \"\"\"\n\ta\n    b\n    \"\"\""),
        ["A0111"]
    );
    let digits = "9".repeat(50);
    assert_eq!(
        codes(format!(
            "from host\nenv A={digits} B=1e999 C=#nan D=-{digits}"
        )),
        ["A0112"; 4]
    );
}

#[test]
fn n22_another_format_altogether() {
    assert_eq!(codes("a = 1\n".repeat(4000)), ["A0110"; 20]);
}

#[test]
fn n23_to_n25_modes_urls_braces() {
    assert_eq!(codes("from host\nfile a b mode=0755"), ["A0406"]);
    assert_eq!(codes("from host\nrepo https://github.com/a/b"), ["A0108"]);
    assert_eq!(
        codes("prebuild a { from prebuild=(f)base-{x}; }"),
        ["A0207", "A0109"]
    );
}

/// Reads more than it was asked for.
struct Careless;

impl World for Careless {
    fn read(&self, _: &VirtualPath, _: u64) -> Result<Vec<u8>, ReadError> {
        Ok(vec![b'a'; 10 << 20])
    }
}

/// Reads nothing.
struct Refusing(ReadError);

impl World for Refusing {
    fn read(&self, _: &VirtualPath, _: u64) -> Result<Vec<u8>, ReadError> {
        Err(self.0.clone())
    }
}

#[test]
fn n29_a_large_file() {
    assert_eq!(codes(vec![b' '; (64 << 10) + 1]), ["A0103"]);
    let (_, outcome) = evaluate(&Careless, &inputs());
    assert_eq!(
        outcome.diagnostics[0].message,
        "file is 10 MiB; limit 64 KiB"
    );
}

#[test]
fn n30_a_file_that_is_none() {
    let code = |error| {
        evaluate(&Refusing(error), &inputs()).1.diagnostics[0]
            .code
            .to_string()
    };
    assert_eq!(code(ReadError::Refused("it is a FIFO".to_owned())), "A0404");
    assert_eq!(
        code(ReadError::Failed("permission denied".to_owned())),
        "A0501"
    );
    assert_eq!(code(ReadError::TooLarge { size: 1 << 30 }), "A0103");
}

#[test]
fn as_much_of_one_thing_as_fits() {
    for unit in [
        "/ \n",
        "}\n",
        "{\n",
        "(\n",
        ")",
        "=",
        "= ",
        "a=",
        "\\\n",
        "\"\n",
        "#\n",
        "/-\n",
        "/-a ",
        "a/*",
        "*/",
        "/**/",
        "/**/a ",
        "'",
        "' ",
        "a:",
        "a:\n",
        "[",
        "r\"",
        "r#",
        "\"\"",
        "\"\"\"\n",
        "\\",
        "\"\\",
        "-\n",
        "a{}",
        "a{",
        "${",
        "a{x}",
        "x https://b\n",
        "x a/b\n",
        "x 1e",
        "x 'a' ",
        ";",
        "(f)",
        "(f)\"x\"",
        "x \"a\"b ",
        "x \"\\q\"\n",
        "env A=1\n",
        "group g g\n",
        "prebuild a{from prebuild=b}\n",
        "repo a.b/c\n",
        "run x\n",
        "\u{e9}",
        "x \u{2028}",
        "from a b=c\n",
        "file a b\n",
        "secret A\n",
        "x-a ",
        "x /*\n",
        "/-{}",
        "a /-{}\n",
        "~/",
        "x ~/",
        "x a://",
        "from \"a://a://",
        "path \"~/~/~/",
        "run \"/home/dev//home/dev/",
    ] {
        let text = unit.repeat((64 << 10) / unit.len());
        assert!(codes(text.clone()).len() < 70_000, "{unit:?}");
        assert!(
            codes(format!("from host\nx-a {text}")).len() < 70_000,
            "{unit:?}"
        );
    }
}

/// As deep as it may be, with what makes a parser go back at every level.
#[test]
fn as_deep_as_it_may_be() {
    for (before, inside, after) in [
        ("a {\n", "", "x\n/-b { /-c { d; }\n }\n }\n"),
        ("a {\n/-b { /-c { d; }\n }\n", "", "}\n"),
        ("a {\n", "", "} /-{ /-c { d; }\n }\n"),
        ("a /-b /-{ c { d; }\n } {\n", "", "}\n"),
        ("a {\n", "(", "}\n"),
        ("a {\n", "= 1", "}\n"),
        ("a {\n", "(x", "x\n}\n"),
        ("a {\n(", "x", ")\n}\n"),
        ("a x=\\\n{\n", "b", "}\n"),
        ("a \"\"\"\n\"\"\" {\n", "b", "; / }\n"),
    ] {
        let block = format!("{}{inside}{}", before.repeat(15), after.repeat(15));
        let many = block.repeat((60 << 10) / block.len());
        assert!(codes(block).len() < 100, "{before:?} {inside:?} {after:?}");
        assert!(codes(many).len() < 2000, "{before:?} {inside:?} {after:?}");
        let dashed = format!(
            "/-z {{ {}{inside}{} }}",
            before.repeat(14),
            after.repeat(14)
        );
        assert!(codes(dashed).len() < 100, "{before:?} {inside:?} {after:?}");
    }
}

#[test]
fn a_comment_full_of_stars() {
    let stars = format!("from host\n/*{}*/\n", "*".repeat(60_000));
    assert!(codes(stars).is_empty());
    let slashes = format!("from host\n/*{}*/\n", " / * ".repeat(12_000));
    assert!(codes(slashes).is_empty());
}

#[test]
fn many_names_that_miss_by_one() {
    let mut text = String::new();
    for index in 0..1500 {
        let _ = writeln!(text, "prebuild a{index:04}{{from prebuild=b{index:04}}}");
    }
    assert_eq!(codes(text).len(), 1500);
}

#[test]
fn a_long_chain() {
    let mut text = String::from("prebuild a0000{from host;env A=1;repo \"a.b/c\"}\n");
    for index in 1..1500 {
        let parent = index - 1;
        let _ = writeln!(text, "prebuild a{index:04}{{from prebuild=a{parent:04}}}");
    }
    assert!(codes(text).is_empty());
}
