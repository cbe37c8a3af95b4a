//! The examples of pages evaluate, or fail as the page says.

use std::collections::BTreeMap;
use std::fs;

use atelier_lang::diag::Diagnostic;
use atelier_lang::source::{ReadError, Sources, VirtualPath, World};
use atelier_lang::{Inputs, evaluate};

use crate::pages;

/// The files that a page has shown so far, and those that the page on reuse imports.
pub(crate) struct Shown(BTreeMap<String, String>);

impl Shown {
    /// A single file.
    pub(crate) fn of(path: &str, text: &str) -> Self {
        Self(BTreeMap::from([(path.to_owned(), text.to_owned())]))
    }
}

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

/// What evaluating a file finds, and the texts to show that in.
pub(crate) fn evaluated(world: &Shown, path: &str) -> (Sources, Vec<Diagnostic>) {
    let path = VirtualPath::new(path).unwrap();
    let inputs = Inputs {
        std: atelier::stdlib::FILES,
        ..Inputs::new(path, "linux/amd64")
    };
    let (sources, outcome) = evaluate(world, &inputs);
    (sources, outcome.diagnostics)
}

/// Above a block may stand `<!-- fails CODE… -->`, or `<!-- file NAME -->` if it is no `prebuild.kdl`.
#[test]
fn every_example_of_a_file_evaluates() {
    for (page, count) in [
        ("reuse", 6),
        ("library", 2),
        ("tutorial", 17),
        ("reference", 26),
    ] {
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
            let (_, found) = evaluated(&world, "app/prebuild.kdl");
            let codes: Vec<String> = found.iter().map(|d| d.code.to_string()).collect();
            let expected = note.strip_prefix("fails ").unwrap_or("");
            assert_eq!(
                codes.join(" "),
                expected,
                "{page}\n{}\n{found:#?}",
                block.text
            );
        }
        assert_eq!(examples, count, "{page}");
    }
}
