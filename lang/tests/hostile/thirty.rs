//! The thirty of the design's list, by their numbers.

use std::fmt::Write as _;

use atelier_lang::evaluate;
use atelier_lang::source::{ReadError, VirtualPath, World};

use crate::support::{evaluate_bytes, inputs};
use crate::{codes, each, graph};

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
    assert_eq!(codes("/- ".repeat(2000)), ["A0105"; 20]);
    let closed = format!("{}{}", "a /-{".repeat(16), "}".repeat(16));
    assert_eq!(codes(closed), ["A0104"]);
    // Both too many that `/-` takes away, and too many.
    assert_eq!(codes("a /-{".repeat(20)), ["A0104"; 2]);
    assert_eq!(codes("/*".repeat(10_000)), ["A0104"]);
    let closed = format!("{}{}", "/*".repeat(10_000), "*/".repeat(10_000));
    assert_eq!(codes(closed), ["A0104"]);
    assert_eq!(codes("a {".repeat(10_000)), ["A0104"]);
    assert_eq!(codes("a /-\n{".repeat(20)), ["A0104"; 2]);
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
        ["A0301", "A0109"]
    );
}

#[test]
fn n26_doubling() {
    let mut text = format!("let l0={}\n", "x".repeat(64));
    for index in 1..=30 {
        let before = index - 1;
        let _ = writeln!(text, "let l{index}=(f)\"{{l{before}}}{{l{before}}}\"");
    }
    text.push_str("from host\nenv A=(f)\"{l30}\"");
    assert_eq!(codes(text), ["A0312"]);
}

#[test]
fn n27_templates_that_use_themselves() {
    let message = |text: &str| {
        let (_, outcome) = evaluate_bytes(text.as_bytes());
        let messages = outcome.diagnostics.iter().map(|d| d.message.clone());
        messages.collect::<Vec<_>>()
    };
    let text = "template a { use a; }\nprebuild p { from host; use a; }";
    assert_eq!(message(text), ["a → a"]);
    let text = "template a { use b; }\ntemplate b { use c; }\ntemplate c { use a; }\nprebuild p { from host; use b; }";
    assert_eq!(message(text), ["a → b → c → a"]);
}

#[test]
fn n28_too_many_cells() {
    let axis = |name: char| format!("{name} 1 2 3 4 5 6 7 8;");
    let axes = each('a'..='h', axis);
    assert_eq!(
        codes(format!("prebuild p {{ from host; matrix {{ {axes} }} }}")),
        ["A0312"]
    );
    for (axes, values) in [(200, "1 2"), (3000, "1")] {
        let wide = each(0..axes, |index| format!("a{index} {values};"));
        assert_eq!(
            codes(format!("prebuild p {{ from host; matrix {{ {wide} }} }}")),
            ["A0312"]
        );
        let wide = each(0..axes, |index| format!("a{index}=1 "));
        assert_eq!(
            codes(format!(
                "prebuild p {{ from host; matrix {{ cell {wide} }} }}"
            )),
            ["A0312"]
        );
    }
    let long = each(0..9000, |index| format!("{index} "));
    assert_eq!(
        codes(format!("prebuild p {{ from host; matrix {{ a {long} }} }}")),
        ["A0312"]
    );
    let skips = "skip a=1 b=2;".repeat(4000);
    let values = each(0..64, |index| format!("{index} "));
    assert_eq!(
        codes(format!(
            "prebuild p {{ from host; matrix {{ a {values}; b {values}; {skips} }} }}"
        )),
        ["A0312"]
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
    for (error, expected) in [
        (ReadError::Refused("it is a FIFO".to_owned()), "A0404"),
        (ReadError::Failed("permission denied".to_owned()), "A0501"),
        (ReadError::TooLarge { size: 1 << 30 }, "A0103"),
    ] {
        let (_, outcome) = evaluate(&Importing(error), &inputs());
        let found: Vec<_> = outcome
            .diagnostics
            .iter()
            .map(|d| d.code.to_string())
            .collect();
        assert_eq!(found, [expected]);
        assert_eq!(
            outcome.diagnostics[0].labels[0].span.start, 7,
            "at the import"
        );
    }
    for path in [
        "../../etc/passwd",
        "/etc/passwd",
        "/dev/zero",
        "~/x.kdl",
        "a\\\\b.kdl",
        ".",
    ] {
        assert_eq!(
            codes(format!("import \"{path}\" as=x\nfrom host")),
            ["A0404"],
            "{path}"
        );
    }
}

/// Has a file that imports one that cannot be read.
struct Importing(ReadError);

impl World for Importing {
    fn read(&self, path: &VirtualPath, _: u64) -> Result<Vec<u8>, ReadError> {
        match path.as_str() {
            "prebuild.kdl" => Ok(b"import \"./x.kdl\"\nfrom host".to_vec()),
            _ => Err(self.0.clone()),
        }
    }
}
