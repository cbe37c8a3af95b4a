//! `check`: is everything cached, and if not, why, and what would it cost.

use super::args::{CheckArgs, CheckFormat};
use super::build::prepare;
use super::failure::Failure;
use super::github::Workspace;
use super::interrupt::Interrupts;
use super::pinning::Pinning;
use super::place::{Place, Words};
use super::project::Project;
use super::report::{self, Plan};
use super::{exit, ui};
use crate::backend::Backend;
use crate::plan::Action;

mod github;

/// What is said of one node.
struct Row {
    name: String,
    snapshot: String,
    is_hit: bool,
    /// Empty for a hit.
    reason: String,
    /// Seconds; for a miss alone.
    estimate: Option<f64>,
}

pub(super) async fn check(args: CheckArgs) -> Result<u8, Failure> {
    let words = Words::read(&args.words)?;
    let is_github = args.format == CheckFormat::Github;
    let workspace = match is_github {
        true => Some(Workspace::of(&Place::find(words.file.clone())?.root)),
        false => None,
    };
    let result = look(&args, words, workspace.as_ref()).await;
    if let (Some(workspace), Err(failure)) = (&workspace, &result) {
        workspace.annotate_failure(failure);
    }
    result
}

async fn look(
    args: &CheckArgs,
    words: Words,
    workspace: Option<&Workspace>,
) -> Result<u8, Failure> {
    let mut interrupts = Interrupts::watch()?;
    let pinning = Pinning::read(&args.resolve)?;
    let project = Project::load(words.file, &args.resolve.file, &args.store)?;
    if let Some(workspace) = workspace {
        workspace.annotate(&project.sources, &project.warnings);
    }
    let needed = project.select(&words.targets)?;
    let planned = prepare(&project, &needed, &[], &pinning, &mut interrupts).await?;
    let code = match planned.has_misses() {
        true => exit::MISSES,
        false => 0,
    };
    if args.json {
        ui::print_json(&Plan::new(planned.backend.name(), planned.report()));
        return Ok(code);
    }
    let rows = planned.report().into_iter().zip(&planned.actions);
    let rows: Vec<Row> = rows
        .map(|(node, action)| Row {
            name: node.name,
            snapshot: node.snapshot,
            is_hit: matches!(action, Action::Reuse(_)),
            reason: report::reason_line(action),
            estimate: node.estimate,
        })
        .collect();
    if let Some(workspace) = workspace {
        workspace.annotate(&project.sources, &planned.warnings);
        let spans = planned.nodes.iter().map(|node| node.node.name.span);
        workspace.annotate_misses(&project.sources, rows.iter().zip(spans));
        workspace.summarise(&project.file, &rows);
    }
    ui::print(&table(&rows));
    ui::print(&(summary(&rows) + "\n"));
    Ok(code)
}

impl Row {
    fn result(&self) -> &'static str {
        match self.is_hit {
            true => "hit",
            false => "miss",
        }
    }

    /// How long the last bake took, for what would be baked again.
    fn cost(&self) -> String {
        match (self.is_hit, self.estimate) {
            (true, _) => String::new(),
            (false, Some(seconds)) => report::duration(seconds),
            (false, None) => "unknown".to_owned(),
        }
    }
}

fn table(rows: &[Row]) -> String {
    let header = ["NODE", "SNAPSHOT", "RESULT", "LAST BAKE", "REASON"];
    let row = |row: &Row| {
        vec![
            row.name.clone(),
            row.snapshot.clone(),
            row.result().to_owned(),
            row.cost(),
            row.reason.clone(),
        ]
    };
    let header = header.map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = [header].into_iter().chain(rows.iter().map(row)).collect();
    report::table(&rows)
}

/// `1 of 3 cached; 2 to bake, about 2 min 10 s as they took last time`
fn summary(rows: &[Row]) -> String {
    let misses: Vec<&Row> = rows.iter().filter(|row| !row.is_hit).collect();
    let cached = format!("{} of {} cached", rows.len() - misses.len(), rows.len());
    if misses.is_empty() {
        return cached;
    }
    let known: Vec<f64> = misses.iter().filter_map(|row| row.estimate).collect();
    let unknown = misses.len() - known.len();
    let about = report::duration(known.iter().sum());
    let cost = match (known.is_empty(), unknown) {
        (true, _) => "how long that takes is unknown".to_owned(),
        (false, 0) => format!("about {about} as they took last time"),
        (false, unknown) => format!("about {about} as they took last time, and {unknown} unknown"),
    };
    format!("{cached}; {} to bake, {cost}", misses.len())
}
