//! `key`: the key of a resolved node, so that others can check theirs.

use super::args::KeyArgs;
use super::failure::Failure;
use super::ui;

pub(super) fn key(args: &KeyArgs) -> Result<u8, Failure> {
    let file = args.file.display();
    let text = std::fs::read_to_string(&args.file).map_err(|error| {
        Failure::usage(format!("cannot read {file}: {error}"), "name a JSON file")
    })?;
    let node = crate::key::json::read(&text)
        .map_err(|error| Failure::usage(format!("{file}: {error}"), "the book has the format"))?;
    ui::print(&format!("{}\n", crate::key::key(&node).to_hex()));
    Ok(0)
}
