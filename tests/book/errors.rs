//! A page for each code: it is there, shows a file that fails with the code as people see that, and one that is mended.
//! `just bless` puts what is seen into the pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use atelier_lang::code;
use atelier_lang::diag::Code;
use miette::{GraphicalReportHandler, GraphicalTheme};

use crate::examples::{Shown, evaluated};
use crate::pages::{self, Block};

/// The codes of the command line itself; the language's are in its own table.
const COMMAND_LINE: [u16; 13] = [
    501, 700, 701, 702, 703, 704, 705, 706, 707, 708, 709, 710, 801,
];

/// That of a lock.
const LOCK: [u16; 1] = [502];

/// Those that only a configuration has.
const CONFIGURATION: [u16; 2] = [802, 803];

/// The language's own that no example can show: bytes that are no text, a file that is too large, and a file that is not
/// there.
const UNSEEN: [u16; 3] = [101, 103, 501];

fn all() -> BTreeSet<u16> {
    let codes = code::ALL.iter().map(|(code, _)| code.0);
    let others = COMMAND_LINE.into_iter().chain(LOCK).chain(CONFIGURATION);
    codes.chain(others).collect()
}

/// The rows of the page of errors: each code with what it means.
fn rows() -> BTreeMap<u16, String> {
    let page = fs::read_to_string(pages::path("errors.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| [A"));
    let rows = rows.map(|row| {
        let (code, rest) = row.split_at(4);
        let link = format!("](errors/A{code}.md) | ");
        let rest = rest.strip_prefix(&link).expect(row);
        let (means, _) = rest.split_once(" |").unwrap();
        (code.parse().unwrap(), means.replace(" (a warning)", ""))
    });
    rows.collect()
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
fn every_code_has_a_row_and_a_page_and_nothing_else_has() {
    let rows = rows();
    assert_eq!(rows.keys().copied().collect::<BTreeSet<u16>>(), all());
    let files = fs::read_dir(pages::path("errors")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let expected = all().into_iter().map(|code| format!("{}.md", Code(code)));
    assert_eq!(names.collect::<BTreeSet<_>>(), expected.collect());
    let summary = fs::read_to_string(pages::path("SUMMARY.md")).unwrap();
    for (code, means) in &rows {
        let code = Code(*code);
        if let Some(title) = code::title(code) {
            assert!(means.starts_with(title), "{code}: {means}, {title}");
        }
        let page = fs::read_to_string(pages::path(&format!("errors/{code}.md"))).unwrap();
        assert!(
            page.starts_with(&format!("# {code}: {means}\n")),
            "{code}: {means}"
        );
        assert!(page.contains("\n## What to do\n"), "{code}");
        let line = format!("  - [{code}](errors/{code}.md)\n");
        assert!(summary.contains(&line), "{line}");
    }
}

/// What people see of a file, and the codes in it.
fn seen(block: &Block) -> (String, String) {
    let world = Shown::of("prebuild.kdl", &block.text);
    let (sources, found) = evaluated(&world, "prebuild.kdl");
    let theme = GraphicalTheme::unicode_nocolor();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
    let shown = found.iter().map(|diagnostic| {
        let mut shown = String::new();
        let rendered = atelier_lang::render::render(diagnostic, &sources);
        handler.render_report(&mut shown, &rendered).unwrap();
        shown
    });
    let shown: Vec<String> = shown.collect();
    let codes: Vec<String> = found.iter().map(|d| d.code.to_string()).collect();
    (codes.join(" "), shown.join("\n"))
}

/// A page with what is seen of its examples.
fn shown(code: Code, page: &str) -> String {
    let mut page = page.to_owned();
    let mut failing = None;
    for block in pages::blocks(&page.clone()) {
        let note = block.note.as_deref().unwrap_or("");
        match (block.kind.as_str(), note.strip_prefix("fails ")) {
            ("kdl", expected) => {
                let (codes, shown) = seen(&block);
                assert_eq!(
                    codes,
                    expected.unwrap_or(""),
                    "{code}\n{}\n{shown}",
                    block.text
                );
                failing = expected.map(|_| (block.text.clone(), shown));
                if let Some(expected) = expected {
                    assert!(expected.contains(&code.to_string()), "{code}: {expected}");
                }
            }
            ("text", _) => {
                if let Some((file, shown)) = failing.take() {
                    let fences = |text: &str| format!("{file}```\n\n```text\n{text}```\n");
                    page = page.replace(&fences(&block.text), &fences(&shown));
                }
            }
            (kind, _) => assert_eq!(kind, "console", "{code}"),
        }
    }
    page
}

#[test]
fn every_page_shows_what_is_seen() {
    for code in all() {
        let code = Code(code);
        let file = pages::path(&format!("errors/{code}.md"));
        let page = fs::read_to_string(&file).unwrap();
        let is_shown = page.contains("<!-- fails ");
        let is_of_a_file = code::title(code).is_some() && !UNSEEN.contains(&code.0);
        assert_eq!(is_shown, is_of_a_file, "{code}");
        let expected = shown(code, &page);
        if pages::is_update() {
            fs::write(&file, &expected).unwrap();
        }
        assert!(
            page == expected || pages::is_update(),
            "{code}: `just bless` writes\n{expected}"
        );
    }
}
