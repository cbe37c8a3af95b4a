//! Editors colour what the language has.

use std::collections::BTreeSet;
use std::fs;

/// What editors colour are the statements of the table.
#[test]
fn editors_know_every_statement() {
    let vscode = fs::read_to_string("editors/vscode/syntaxes/atelier.tmLanguage.json").unwrap();
    let grammar: serde_json::Value = serde_json::from_str(&vscode).unwrap();
    let statements = &grammar["repository"]["statements"]["patterns"];
    let statements = statements.as_array().unwrap().iter();
    let keywords =
        statements.filter_map(|pattern| pattern["match"].as_str()?.split_once("(atelier|"));
    let (_, keywords) = keywords.into_iter().next().unwrap();
    let keywords = keywords.split(')').next().unwrap().split('|');
    let keywords: BTreeSet<&str> = keywords.chain(["atelier"]).collect();
    let known: BTreeSet<&str> = atelier_lang::table::STATEMENTS
        .iter()
        .map(|row| row.name)
        .collect();
    assert_eq!(keywords, known);
    let queries = fs::read_to_string("editors/tree-sitter/highlights.scm").unwrap();
    let quoted: BTreeSet<&str> = queries.split('"').skip(1).step_by(2).collect();
    assert!(known.is_subset(&quoted), "{:?}", known.difference(&quoted));
}
