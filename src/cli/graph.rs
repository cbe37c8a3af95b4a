//! `graph`: which target starts from which, for programs that draw it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use atelier_lang::schema::{self, BaseData, GraphData};

use super::args::{GraphArgs, GraphFormat};
use super::failure::Failure;
use super::project::{Project, Words};
use super::ui;

pub(super) fn graph(args: &GraphArgs) -> Result<u8, Failure> {
    let words = Words::read(&args.words)?;
    let project = Project::load(words.file, &args.file, &args.store)?;
    let needed = project.select(&words.targets)?;
    let (sources, graph) = project.evaluate_anywhere()?;
    let graph = schema::data(&graph, &needed, &sources);
    match args.format {
        GraphFormat::Dot => ui::print(&dot(&graph)),
        GraphFormat::Mermaid => ui::print(&mermaid(&graph)),
        GraphFormat::Json => ui::print_json(&graph),
    }
    Ok(0)
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

fn dot(graph: &GraphData) -> String {
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

fn mermaid(graph: &GraphData) -> String {
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
    text
}
