//! One thing as often as it fits, and as deep.

use std::fmt::Write as _;

use crate::codes;

const UNITS: &[&str] = &[
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
    "let a=(f)\"{a}\"\n",
    "let a=(f)\"{b}\" b=(f)\"{a}\"\n",
    "env A=(f)\"{\"\n",
    "env A=(f)\"{a}}{b\"\n",
    "env A=\"{a}\"\n",
    "template t {use t}\n",
    "template t {param p}\n",
    "use t\n",
    "use a.b\n",
    "import a\n",
    "import \"./prebuild.kdl\"\n",
    "param p\n",
    "prebuild a {matrix {b c}}\n",
    "prebuild a {from prebuild=(f)\"b.{c}\"}\n",
    "matrix {}\n",
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
];

#[test]
fn as_much_of_one_thing_as_fits() {
    for unit in UNITS {
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

/// Each is looked for in the text as it is written, which is not the text that is meant.
#[test]
fn a_text_of_names_that_mean_nothing() {
    let names = "{a}".repeat(20_000);
    let text = format!("from host\nenv A=(f)\"\\n{names}\"");
    assert_eq!(codes(text), ["A0301"; 20]);
    let braces = "} ".repeat(30_000);
    assert_eq!(
        codes(format!("from host\nenv A=(f)\"\\n{braces}\"")),
        ["A0307"; 20]
    );
}

/// The parser takes a string whose last line holds something for statements, each of which doubles its time.
#[test]
fn what_a_string_hides() {
    let blocks = "a /-{\n".repeat(20);
    for text in [
        format!("run \"\"\"\n{blocks}b\"\"\"\n"),
        format!("run #\"\"\"\n{blocks}b\"\"\"#\n"),
        format!("run \"\"\"\n{blocks}b \\\n  \"\"\"\n"),
    ] {
        assert_eq!(codes(text), ["A0105"]);
    }
}
