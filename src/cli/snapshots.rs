//! `snapshots`: what is in the store.

use super::args::SnapshotsArgs;
use super::failure::Failure;
use super::report::{self, Snapshots};
use super::{project, ui};
use crate::backend::{Backend, Snapshot};
use crate::node::ContentKey;

pub(super) async fn snapshots(args: &SnapshotsArgs) -> Result<u8, Failure> {
    let backend = project::open(&args.store)?;
    let snapshots = backend.list().await?;
    if args.json {
        let snapshots = snapshots.into_iter().map(Into::into).collect();
        ui::print_json(&Snapshots {
            schema: "atelier.snapshots/1",
            snapshots,
        });
    } else {
        ui::print(&table(&snapshots));
    }
    Ok(0)
}

fn table(snapshots: &[Snapshot]) -> String {
    let header = ["SNAPSHOT", "NODE", "CREATED", "ADDS", "PARENT"]
        .map(str::to_owned)
        .to_vec();
    let row = |snapshot: &Snapshot| {
        vec![
            snapshot.key.snapshot_name(),
            snapshot.node.clone(),
            snapshot.created.clone(),
            report::size(snapshot.bytes),
            snapshot
                .parent
                .map_or("-".to_owned(), ContentKey::snapshot_name),
        ]
    };
    report::table(
        &[header]
            .into_iter()
            .chain(snapshots.iter().map(row))
            .collect::<Vec<_>>(),
    )
}
