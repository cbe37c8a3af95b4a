//! Files with their findings as they are shown. The first line of each names the codes that it must yield, so that
//! accepting a rendering cannot change what is found.

#![expect(
    clippy::disallowed_methods,
    reason = "the language is pure, its tests read files"
)]
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use atelier_lang::code;
use atelier_lang::span::FileId;
use miette::{GraphicalReportHandler, GraphicalTheme};

use support::{Memory, evaluate_bytes};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|e| e == "kdl"))
        .collect();
    files.sort();
    files
}

/// The codes on the first line: `// A0201 A0203`, or none for `// ok`.
fn expected(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let first = text
        .lines()
        .next()
        .unwrap_or("")
        .trim_start_matches('\u{feff}');
    let words = first
        .strip_prefix("// ")
        .expect("the first line names the codes")
        .split(' ');
    let codes = words.take_while(|word| word.starts_with('A') || *word == "ok");
    codes
        .filter(|word| *word != "ok")
        .map(str::to_owned)
        .collect()
}

/// What the first line gives: `--param NAME=V`.
fn params(bytes: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let given = text.lines().next().unwrap_or("").split(" --param ").skip(1);
    let given = given.filter_map(|given| given.trim().split_once('='));
    given
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The files of the folder `NAME.files` lie beside the golden's own.
fn beside(file: &Path) -> Memory {
    let folder = file.with_extension("files");
    let mut world = Memory::default();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        world.0.insert(name, fs::read(&path).unwrap());
    }
    world
}

fn rendered(file: &Path, bytes: &[u8]) -> (Vec<String>, String) {
    let mut world = beside(file);
    world.0.insert("prebuild.kdl".to_owned(), bytes.to_vec());
    let mut inputs = support::inputs();
    inputs.params = params(bytes);
    let (sources, outcome) = atelier_lang::evaluate(&world, &inputs);
    let handler =
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor()).with_width(100);
    let mut shown = String::new();
    for diagnostic in &outcome.diagnostics {
        handler
            .render_report(
                &mut shown,
                &atelier_lang::render::render(diagnostic, &sources),
            )
            .unwrap();
        if let Some(fix) = &diagnostic.fix {
            let _ = writeln!(
                shown,
                "   fix: {:?} -> {:?}",
                sources.slice(fix.span),
                fix.replacement
            );
        }
        shown.push('\n');
    }
    let codes = outcome
        .diagnostics
        .iter()
        .map(|d| d.code.to_string())
        .collect();
    (codes, shown)
}

#[test]
fn goldens() {
    let mut wrong = String::new();
    for file in files() {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let bytes = fs::read(&file).unwrap();
        let (codes, shown) = rendered(&file, &bytes);
        let expected = expected(&bytes);
        if codes != expected {
            let _ = writeln!(wrong, "{name}: {codes:?}, not {expected:?}\n{shown}");
        }
        if codes.is_empty() || codes != expected {
            continue;
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("golden");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, shown));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_code_has_a_golden() {
    let all: Vec<String> = files()
        .iter()
        .flat_map(|file| expected(&fs::read(file).unwrap()))
        .collect();
    for (code, title) in code::ALL {
        // A file that cannot be read has no text to keep as a golden.
        let is_elsewhere = ["A0103", "A0501"].contains(&code.to_string().as_str());
        assert!(
            is_elsewhere || all.contains(&code.to_string()),
            "{code}: {title}"
        );
    }
}

/// What `lint --fix` does, over and over: it ends, and leaves nothing that it claims to fix.
#[test]
fn fixes_come_to_an_end() {
    for file in files() {
        let Ok(mut text) = String::from_utf8(fs::read(&file).unwrap()) else {
            continue;
        };
        let mut rounds = 0;
        loop {
            let (_, outcome) = evaluate_bytes(text.as_bytes());
            let fixed = atelier_lang::repair::fixed(&text, FileId(0), &outcome.diagnostics);
            if fixed == text {
                let left = outcome
                    .diagnostics
                    .iter()
                    .filter(|d| d.fix.is_some())
                    .count();
                assert_eq!(left, 0, "{}", file.display());
                break;
            }
            text = fixed;
            rounds += 1;
            assert!(rounds < 10, "{}: {text}", file.display());
        }
    }
}
