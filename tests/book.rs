//! The book says what the program does.
#![cfg(test)]

use std::collections::BTreeSet;
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

/// Holds the files that the page on reuse imports.
struct Shown(String);

impl World for Shown {
    fn read(&self, path: &VirtualPath, _: u64) -> Result<Vec<u8>, ReadError> {
        let text = match path.as_str() {
            "app/prebuild.kdl" => self.0.as_str(),
            "app/org.kdl" => {
                "template service { param repo; repo (f)\"{repo}\"; }\nprebuild base { from host; }"
            }
            "shared/images.kdl" => "let registry=\"ghcr.io/acme\"",
            other => return Err(ReadError::Failed(format!("there is no {other}"))),
        };
        Ok(text.as_bytes().to_vec())
    }
}

#[test]
fn every_example_of_a_file_evaluates() {
    for (page, count) in [("reuse", 6), ("library", 2)] {
        let page = fs::read_to_string(format!("book/src/{page}.md")).unwrap();
        let blocks = page.split("```kdl\n").skip(1);
        let examples: Vec<&str> = blocks
            .map(|block| block.split("```").next().unwrap())
            .collect();
        assert_eq!(examples.len(), count);
        for example in examples {
            let path = VirtualPath::new("app/prebuild.kdl").unwrap();
            let inputs = Inputs {
                std: atelier::stdlib::FILES,
                ..Inputs::new(path, "linux/amd64")
            };
            let (_, outcome) = evaluate(&Shown(example.to_owned()), &inputs);
            let found = outcome.diagnostics;
            assert!(found.is_empty(), "{example}\n{found:?}");
        }
    }
}
