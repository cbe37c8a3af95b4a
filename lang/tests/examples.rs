//! The examples of the language's description, of which language.md is a copy.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/meaning.rs"]
mod meaning;
mod support;

use serde_json::Value;
use support::evaluate_bytes;

const DESCRIPTION: &str = include_str!("language.md");

/// What stands in blocks of KDL.
fn examples() -> Vec<&'static str> {
    let blocks = DESCRIPTION.split("```kdl\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap())
        .collect()
}

fn means(text: &str) -> Value {
    let (sources, outcome) = evaluate_bytes(text.as_bytes());
    assert!(
        outcome.diagnostics.is_empty(),
        "{text}\n{:#?}",
        outcome.diagnostics
    );
    meaning::meaning(&outcome.value.unwrap(), &sources)
}

#[test]
fn every_example_evaluates() {
    let examples = examples();
    assert_eq!(examples.len(), 4);
    let (locks, files): (Vec<&str>, Vec<&str>) = examples
        .iter()
        .partition(|text| text.contains("\nlock 1\n"));
    assert_eq!(locks.len(), 1, "a lock is another kind of file");
    for file in files {
        assert!(
            means(file)["order"]
                .as_array()
                .is_some_and(|order| !order.is_empty())
        );
    }
}

/// `layer` is short for the pair that the description shows.
#[test]
fn the_layer_is_its_expansion() {
    let examples = examples();
    let (short, long) = (examples[1], examples[2]);
    let short = format!(
        "prebuild wallet {{\n{}\n}}",
        short.replace("path \".local/bin\"\n", "")
    );
    assert_eq!(means(&short), means(long));
}
