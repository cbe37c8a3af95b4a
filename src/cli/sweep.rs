//! `sweep`: removes what crashes have left, without a build that would do so on its way.

use super::args::SweepArgs;
use super::backend::Chosen;
use super::failure::Failure;
use super::{project, ui};
use crate::backend::Backend;

pub(super) async fn sweep(args: &SweepArgs) -> Result<u8, Failure> {
    let removed = match project::open(&args.store)? {
        Chosen::Local(local) => local.sweep().await?,
        Chosen::Kubernetes(cluster) => cluster.sweep_thoroughly().await?,
    };
    match removed {
        0 => ui::notice("there was nothing to remove"),
        1 => ui::notice("one thing that a crash had left was removed"),
        many => ui::notice(&format!("{many} things that crashes had left were removed")),
    }
    Ok(0)
}
