//! What stands for a leaf, or for an item with all its leaves.

use super::Name;
use crate::key::tree::{Content, Tree};

/// The text of `piece`, which is in `within`; of an item, what its name does not say.
pub(super) fn of(within: &Name, piece: &Tree) -> String {
    let text = match (within.parts().as_slice(), &piece.content) {
        (_, Content::Text(text)) => return text.clone(),
        (["step"], _) => step(piece),
        (["repo"], _) => repo(piece),
        ([], _) if piece.name == "from" => from(piece),
        _ => Some(leaves(piece)),
    };
    text.unwrap_or_else(|| piece.name.clone())
}

/// The command, and what of its world is not the usual.
fn step(step: &Tree) -> Option<String> {
    let folder = step.leaf("in")?;
    let unusual = [
        (step.leaf("as")? != "dev").then(|| "as root".to_owned()),
        (!folder.is_empty()).then(|| format!("in {folder}")),
        (step.leaf("shell")? != "bash").then(|| "with sh".to_owned()),
    ];
    let unusual: Vec<String> = unusual.into_iter().flatten().collect();
    let command = step.leaf("run")?;
    Some(match unusual.is_empty() {
        true => command.to_owned(),
        false => format!("{command} ({})", unusual.join(", ")),
    })
}

fn repo(repo: &Tree) -> Option<String> {
    if let Some(entries) = repo.piece("only") {
        return Some(match entries.pieces().len() {
            1 => "1 of its files".to_owned(),
            count => format!("{count} of its files"),
        });
    }
    let words = [repo.leaf("url")?, repo.leaf("ref")?, repo.leaf("commit")?];
    Some(
        words
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
    )
}

fn from(from: &Tree) -> Option<String> {
    Some(match from.leaf("parent key") {
        Some(key) => format!("prebuild {key}"),
        None => format!("{} {}", from.leaf("image digest")?, from.leaf("platform")?),
    })
}

/// All that is neither the item's own name nor the same for all.
fn leaves(item: &Tree) -> String {
    let told = ["name", "path", "mount", "hash"];
    let leaves = item
        .pieces()
        .iter()
        .filter(|leaf| !told.contains(&leaf.name.as_str()));
    let texts = leaves.filter_map(|leaf| item.leaf(&leaf.name));
    texts
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
