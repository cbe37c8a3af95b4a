//! The book says what the program does.
#![cfg(test)]

mod editors;
mod errors;
mod examples;
mod reference;

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../support/pages.rs"]
mod pages;
#[path = "../support/whole.rs"]
mod whole;

use std::fs;

#[test]
fn the_page_of_the_file_has_every_statement() {
    let page = fs::read_to_string(pages::path("file.md")).unwrap();
    for statement in atelier_lang::table::STATEMENTS {
        let name = format!("`{}", statement.name);
        assert!(
            page.contains(&name),
            "{} is not in the book",
            statement.name
        );
    }
}
