//! The book says what the program does.
#![cfg(test)]

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "support/pages.rs"]
mod pages;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use atelier_lang::source::{ReadError, VirtualPath, World};
use atelier_lang::{Inputs, code, evaluate};

/// The codes of the command line itself; the language's are in its own table.
const COMMAND_LINE: [u16; 13] = [
    501, 700, 701, 702, 703, 704, 705, 706, 707, 708, 709, 710, 801,
];

/// That of a lock.
const LOCK: [u16; 1] = [502];

/// Those that only a configuration has.
const CONFIGURATION: [u16; 2] = [802, 803];

#[test]
fn the_page_of_errors_has_every_code_and_no_other() {
    let page = fs::read_to_string("book/src/errors.md").unwrap();
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| A")?.get(..4)?.parse().ok());
    let documented: BTreeSet<u16> = rows.collect();
    let codes = code::ALL.iter().map(|(code, _)| code.0);
    let codes = codes.chain(COMMAND_LINE).chain(LOCK).chain(CONFIGURATION);
    assert_eq!(documented, codes.collect::<BTreeSet<u16>>());
}

/// The codes that a source file writes out.
fn used(file: &str) -> BTreeSet<u16> {
    let source = fs::read_to_string(file).unwrap();
    let rests = source.split("Code(").skip(1);
    rests
        .filter_map(|rest| rest.split(')').next()?.parse().ok())
        .collect()
}

#[test]
fn the_program_uses_no_code_that_these_lists_lack() {
    assert_eq!(used("src/cli/failure.rs"), COMMAND_LINE.into());
    assert_eq!(used("src/lock.rs"), LOCK.into());
    assert_eq!(used("src/config/code.rs"), CONFIGURATION.into());
}

#[test]
fn the_page_of_the_file_has_every_statement() {
    let page = fs::read_to_string("book/src/file.md").unwrap();
    for statement in atelier_lang::table::STATEMENTS {
        let name = format!("`{}", statement.name);
        assert!(
            page.contains(&name),
            "{} is not in the book",
            statement.name
        );
    }
}

/// The files that a page has shown so far, and those that the page on reuse imports.
struct Shown(BTreeMap<String, String>);

impl World for Shown {
    fn read(&self, path: &VirtualPath, _: u64) -> Result<Vec<u8>, ReadError> {
        let text = match (self.0.get(path.as_str()), path.as_str()) {
            (Some(text), _) => text,
            (None, "app/org.kdl") => {
                "template service { param repo; repo (f)\"{repo}\"; }\nprebuild base { from host; }"
            }
            (None, "shared/images.kdl") => "let registry=\"ghcr.io/acme\"",
            (None, other) => return Err(ReadError::Failed(format!("there is no {other}"))),
        };
        Ok(text.as_bytes().to_vec())
    }
}

/// What evaluating a block finds: its codes, and everything to look at.
fn found(world: &Shown) -> (String, String) {
    let path = VirtualPath::new("app/prebuild.kdl").unwrap();
    let inputs = Inputs {
        std: atelier::stdlib::FILES,
        ..Inputs::new(path, "linux/amd64")
    };
    let (_, outcome) = evaluate(world, &inputs);
    let found = outcome.diagnostics;
    let codes = found.iter().map(|diagnostic| diagnostic.code.to_string());
    (codes.collect::<Vec<_>>().join(" "), format!("{found:#?}"))
}

/// Above a block may stand `<!-- fails CODE… -->`, or `<!-- file NAME -->` if it is no `prebuild.kdl`.
#[test]
fn every_example_of_a_file_evaluates() {
    for (page, count) in [("reuse", 6), ("library", 2), ("tutorial", 17)] {
        let text = fs::read_to_string(pages::path(&format!("{page}.md"))).unwrap();
        let mut world = Shown(BTreeMap::new());
        let mut examples = 0;
        let blocks = pages::blocks(&text).into_iter();
        for block in blocks.filter(|block| block.kind == "kdl") {
            examples += 1;
            let note = block.note.as_deref().unwrap_or("");
            let name = note.strip_prefix("file ");
            let path = format!("app/{}", name.unwrap_or("prebuild.kdl"));
            world.0.insert(path, block.text.clone());
            if name.is_some() {
                continue;
            }
            let (codes, shown) = found(&world);
            let expected = note.strip_prefix("fails ").unwrap_or("");
            assert_eq!(codes, expected, "{page}\n{}\n{shown}", block.text);
        }
        assert_eq!(examples, count, "{page}");
    }
}

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
