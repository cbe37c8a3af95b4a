//! The book says what the program does.

use std::collections::BTreeSet;
use std::fs;

use atelier_lang::code;

/// The codes of the command line itself; the language's are in its own table.
const COMMAND_LINE: [u16; 10] = [501, 700, 701, 702, 703, 704, 705, 706, 707, 801];

#[test]
fn the_page_of_errors_has_every_code_and_no_other() {
    let page = fs::read_to_string("book/src/errors.md").unwrap();
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| A")?.get(..4)?.parse().ok());
    let documented: BTreeSet<u16> = rows.collect();
    let codes = code::ALL.iter().map(|(code, _)| code.0).chain(COMMAND_LINE);
    assert_eq!(documented, codes.collect::<BTreeSet<u16>>());
}

#[test]
fn the_command_line_uses_no_code_that_this_list_lacks() {
    let source = fs::read_to_string("src/cli/failure.rs").unwrap();
    let used = source
        .split("Code(")
        .skip(1)
        .filter_map(|rest| rest.split(')').next()?.parse().ok());
    let known: BTreeSet<u16> = COMMAND_LINE.into();
    assert_eq!(used.collect::<BTreeSet<u16>>(), known);
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
