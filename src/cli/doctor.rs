//! `doctor`: what of this machine, or of a cluster, sandboxes need, tried one by one.

use serde::Serialize;

use super::args::DoctorArgs;
use super::backend::Chosen;
use super::failure::Failure;
use super::{exit, project, report, ui};
use crate::backend::kubernetes;
use crate::backend::local::doctor::{self, Check, Finding};

/// `atelier.doctor/1`: fields in alphabetical order.
#[derive(Serialize)]
struct Report {
    checks: Vec<Row>,
    schema: &'static str,
    works: bool,
}

#[derive(Serialize)]
struct Row {
    detail: String,
    finding: &'static str,
    help: Option<String>,
    name: &'static str,
}

pub(super) async fn doctor(args: &DoctorArgs) -> Result<u8, Failure> {
    let checks = match project::open(&args.store)? {
        Chosen::Local(local) => doctor::examine(&local).await,
        Chosen::Kubernetes(cluster) => kubernetes::doctor::examine(&cluster).await,
    };
    let works = checks.iter().all(|check| check.finding != Finding::Missing);
    if args.json {
        ui::print_json(&Report {
            checks: checks.into_iter().map(row).collect(),
            schema: "atelier.doctor/1",
            works,
        });
    } else {
        ui::print(&table(&checks));
    }
    Ok(if works { 0 } else { exit::BACKEND })
}

fn row(check: Check) -> Row {
    Row {
        detail: check.detail,
        finding: word(check.finding),
        help: check.help,
        name: check.name,
    }
}

fn word(finding: Finding) -> &'static str {
    match finding {
        Finding::Good => "good",
        Finding::Limited => "limited",
        Finding::Missing => "missing",
    }
}

fn table(checks: &[Check]) -> String {
    let line = |check: &Check| {
        let help = check
            .help
            .iter()
            .map(|help| [String::new(), String::new(), format!("→ {help}")].to_vec());
        let found = [
            check.name.to_owned(),
            word(check.finding).to_owned(),
            check.detail.clone(),
        ];
        [found.to_vec()].into_iter().chain(help).collect::<Vec<_>>()
    };
    report::table(&checks.iter().flat_map(line).collect::<Vec<_>>())
}
