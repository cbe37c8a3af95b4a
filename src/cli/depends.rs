//! `why-depends`: the prebuilds from one to another that it stands on.

use atelier_lang::graph::{Base, Graph, NodeId};
use serde::Serialize;

use super::args::WhyDependsArgs;
use super::failure::Failure;
use super::leaves::Line;
use super::place::Words;
use super::project::Project;
use super::{report, ui};

/// `atelier.why-depends/1`: fields in alphabetical order.
#[derive(Serialize)]
struct Report {
    /// From the first to the second; empty if the first does not depend on it.
    chain: Vec<Link>,
    depends: bool,
    from: String,
    schema: &'static str,
    to: String,
}

#[derive(Serialize)]
struct Link {
    /// What it starts from.
    line: Line,
    name: String,
}

pub(super) fn why_depends(args: &WhyDependsArgs) -> Result<u8, Failure> {
    let words = Words::read(&args.words)?;
    let [from, to] = words.targets.as_slice() else {
        let help = "such as: atelier why-depends web tools";
        return Err(Failure::usage("name two prebuilds", help));
    };
    let project = Project::load(words.file, &args.file, &args.store)?;
    let (first, second) = (project.prebuild(from)?, project.prebuild(to)?);
    let chain = chain(&project.graph, first, second);
    let link = |id: &NodeId| {
        let node = project.graph.node(*id);
        Link {
            line: Line::of(&project.sources, node.places.base),
            name: node.name.value.clone(),
        }
    };
    let report = Report {
        depends: !chain.is_empty(),
        chain: chain.iter().map(link).collect(),
        from: from.clone(),
        schema: "atelier.why-depends/1",
        to: to.clone(),
    };
    match args.json {
        true => ui::print_json(&report),
        false => ui::print(&text(&report)),
    }
    Ok(0)
}

/// Every node has one parent, so there is one way. Empty if there is none.
fn chain(graph: &Graph, first: NodeId, second: NodeId) -> Vec<NodeId> {
    let parent = |id: &NodeId| match graph.node(*id).base {
        Base::Parent(parent) => Some(parent),
        Base::Image(_) => None,
    };
    let mut chain: Vec<NodeId> = std::iter::successors(Some(first), parent).collect();
    let end = chain.iter().position(|id| *id == second);
    chain.truncate(end.map_or(0, |end| end + 1));
    chain
}

fn text(report: &Report) -> String {
    let Report {
        chain, from, to, ..
    } = report;
    let Some((_, links)) = chain.split_last() else {
        return format!("{from} does not depend on {to}\n");
    };
    if links.is_empty() {
        return format!("{from} is {to}\n");
    }
    let rows = links.iter().zip(chain.iter().skip(1)).map(|(link, next)| {
        let (line, next) = (&link.line, &next.name);
        vec![
            format!("{} → {next}", link.name),
            line.place(),
            line.text.clone(),
        ]
    });
    report::table(&rows.collect::<Vec<_>>())
}
