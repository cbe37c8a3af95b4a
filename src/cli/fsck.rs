//! `fsck`: snapshots compared with what they were when they were published.

use serde::Serialize;

use super::args::FsckArgs;
use super::failure::Failure;
use super::log::key_prefix;
use super::{exit, project, ui};
use crate::backend::local::fsck::{self, Checked};
use crate::node::ContentKey;

/// So many differences of a snapshot are shown to people, and the rest is counted.
const SHOWN: usize = 10;

/// `atelier.fsck/1`: fields in alphabetical order.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    snapshots: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    damage: Vec<String>,
    key: String,
    snapshot: String,
}

pub(super) async fn fsck(args: &FsckArgs) -> Result<u8, Failure> {
    let local = project::open(&args.store)?.local("fsck")?;
    let keys = chosen(&fsck::keys(&local)?, &args.keys)?;
    let checked = fsck::check(&local, &keys).await?;
    if args.keys.is_empty() {
        match fsck::tidy(&local).await? {
            0 => {}
            1 => ui::notice("one thing that nothing names was deleted"),
            many => ui::notice(&format!("{many} things that nothing names were deleted")),
        }
    }
    let damaged = checked.iter().any(|checked| !checked.damage.is_empty());
    if args.json {
        ui::print_json(&Report {
            schema: "atelier.fsck/1",
            snapshots: checked.into_iter().map(row).collect(),
        });
    } else {
        ui::print(&checked.iter().map(lines).collect::<String>());
    }
    Ok(if damaged { exit::BACKEND } else { 0 })
}

/// The keys that the words name; all without any.
fn chosen(all: &[ContentKey], words: &[String]) -> Result<Vec<ContentKey>, Failure> {
    if words.is_empty() {
        return Ok(all.to_vec());
    }
    let one = |word: &String| {
        let prefix = key_prefix(word).unwrap_or(word);
        let matches: Vec<&ContentKey> = all
            .iter()
            .filter(|key| key.to_hex().starts_with(prefix))
            .collect();
        match matches.as_slice() {
            [key] => Ok(**key),
            [] => Err(Failure::usage(
                format!("there is no snapshot `{word}`"),
                "see `atelier snapshots`",
            )),
            _ => Err(Failure::usage(
                format!("several snapshots begin with `{word}`"),
                "give more digits",
            )),
        }
    };
    words.iter().map(one).collect()
}

fn row(checked: Checked) -> Row {
    Row {
        damage: checked.damage,
        key: checked.key.to_hex(),
        snapshot: checked.key.snapshot_name(),
    }
}

fn lines(checked: &Checked) -> String {
    let name = checked.key.snapshot_name();
    if checked.damage.is_empty() {
        return format!("{name}  whole\n");
    }
    let mut text = format!("{name}  damaged, and taken out: build it again\n");
    for difference in checked.damage.iter().take(SHOWN) {
        text.extend(["  ", difference.as_str(), "\n"]);
    }
    match checked.damage.len().saturating_sub(SHOWN) {
        0 => text,
        more => text + &format!("  and {more} more\n"),
    }
}
