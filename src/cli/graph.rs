//! `graph`: which target starts from which, for programs that draw it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use atelier_lang::graph::NodeId;
use atelier_lang::schema::{self, BaseData, GraphData};

use super::args::{GraphArgs, GraphFormat};
use super::build::prepare;
use super::failure::Failure;
use super::interrupt::Interrupts;
use super::pinning::Pinning;
use super::place::Words;
use super::project::Project;
use super::ui;
use crate::plan::Action;

/// The names of the targets that are in the store; `None` if nobody asked.
type Hits = Option<BTreeSet<String>>;

pub(super) async fn graph(args: GraphArgs) -> Result<u8, Failure> {
    let words = Words::read(&args.words)?;
    let is_drawn = !matches!(args.format, GraphFormat::Json);
    if args.hits && !is_drawn {
        let text = "`--hits` colours what is drawn";
        return Err(Failure::usage(text, "plan --json tells them to programs"));
    }
    let project = Project::load(words.file, &args.resolve.file, &args.store)?;
    let needed = project.select(&words.targets)?;
    let hits = match args.hits {
        true => Some(hits(&project, &needed, &args).await?),
        false => None,
    };
    let graph = schema::data(&project.graph, &needed, &project.sources);
    match args.format {
        GraphFormat::Dot => ui::print(&dot(&graph, &hits)),
        GraphFormat::Mermaid => ui::print(&mermaid(&graph, &hits)),
        GraphFormat::Json => ui::print_json(&graph),
    }
    Ok(0)
}

async fn hits(
    project: &Project,
    needed: &[NodeId],
    args: &GraphArgs,
) -> Result<BTreeSet<String>, Failure> {
    let mut interrupts = Interrupts::watch()?;
    let pinning = Pinning::read(&args.resolve)?;
    let planned = prepare(project, needed, &[], &pinning, &mut interrupts).await?;
    let nodes = planned.nodes.iter().zip(&planned.actions);
    let hits = nodes.filter(|(_, action)| matches!(action, Action::Reuse(_)));
    Ok(hits.map(|(node, _)| node.node.name.value.clone()).collect())
}

/// The images that targets start from, in order.
fn images(graph: &GraphData) -> BTreeSet<&str> {
    let images = graph
        .targets
        .iter()
        .filter_map(|target| match &target.from {
            BaseData::Image { name, .. } => Some(name.as_str()),
            BaseData::Prebuild(_) => None,
        });
    images.collect()
}

fn dot(graph: &GraphData, hits: &Hits) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = String::from("digraph atelier {\n    rankdir=LR;\n    node [shape=box];\n");
    for image in images(graph) {
        let _ = writeln!(
            text,
            "    {} [label={}, shape=ellipse];",
            quoted(&image_id(image)),
            quoted(image)
        );
    }
    for target in hits.iter().flatten() {
        let colour = "style=filled, fillcolor=palegreen";
        let _ = writeln!(text, "    {} [{colour}];", quoted(target));
    }
    for target in &graph.targets {
        let from = match &target.from {
            BaseData::Image { name, .. } => image_id(name),
            BaseData::Prebuild(name) => name.clone(),
        };
        let _ = writeln!(text, "    {} -> {};", quoted(&from), quoted(&target.name));
    }
    text + "}\n"
}

/// No target has such a name.
fn image_id(name: &str) -> String {
    format!("image {name}")
}

fn mermaid(graph: &GraphData, hits: &Hits) -> String {
    let shown = |name: &str| format!("\"{}\"", name.replace('"', "#quot;"));
    let images: Vec<&str> = images(graph).into_iter().collect();
    let image = |name: &str| images.iter().position(|image| *image == name).unwrap_or(0);
    let target = |name: &str| {
        graph
            .order
            .iter()
            .position(|target| target == name)
            .unwrap_or(0)
    };
    let mut text = String::from("graph LR\n");
    for (index, name) in images.iter().enumerate() {
        let _ = writeln!(text, "    i{index}([{}])", shown(name));
    }
    for (index, name) in graph.order.iter().enumerate() {
        let _ = writeln!(text, "    t{index}[{}]", shown(name));
    }
    for (index, node) in graph.targets.iter().enumerate() {
        let from = match &node.from {
            BaseData::Image { name, .. } => format!("i{}", image(name)),
            BaseData::Prebuild(name) => format!("t{}", target(name)),
        };
        let _ = writeln!(text, "    {from} --> t{index}");
    }
    let hits = hits.iter().flatten().map(|hit| format!("t{}", target(hit)));
    let hits: Vec<String> = hits.collect();
    if !hits.is_empty() {
        text.push_str("    classDef hit fill:palegreen,color:black\n");
        let _ = writeln!(text, "    class {} hit", hits.join(","));
    }
    text
}
