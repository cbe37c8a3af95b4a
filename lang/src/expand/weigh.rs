//! How much the files expand to, counted before anything is expanded.

use std::collections::BTreeMap;

use super::define::Template;
use super::modules::{Imported, Modules};
use super::param::Param;
use super::target::AllCells;
use super::values::names_in;
use super::{DEPTH, STATEMENTS, TEXT, statements};
use crate::Limits;
use crate::code;
use crate::cycle;
use crate::diag::Diagnostic;
use crate::span::Spanned;
use crate::tree::{Node, Value};

/// A template by the file that defines it, and its name.
pub(super) type TemplateId = (usize, String);

/// What one use of a template costs.
#[derive(Clone, Debug, Default)]
pub(super) struct Weight {
    pub(super) statements: u64,
    pub(super) bytes: u64,
    depth: usize,
    /// Its parameters, in such an order that each comes after those that its default is made of.
    pub(super) params: Vec<usize>,
}

/// Of all templates that can be expanded; the faults of the others have been reported.
pub(super) type Weights = BTreeMap<TemplateId, Weight>;

/// What stands in some statements, all levels of blocks together.
#[derive(Default)]
struct Content<'a> {
    statements: u64,
    bytes: u64,
    uses: Vec<&'a Node>,
}

impl<'a> Content<'a> {
    fn of(nodes: &'a [Node]) -> Self {
        let mut content = Self::default();
        content.add(nodes);
        content
    }

    fn add(&mut self, nodes: &'a [Node]) {
        for node in nodes {
            self.statements += 1;
            self.bytes += bytes(node);
            if node.name.value == "use" {
                self.uses.push(node);
            }
            self.add(node.children.as_deref().unwrap_or_default());
        }
    }
}

fn bytes(node: &Node) -> u64 {
    let properties = node.properties.iter();
    let keys: usize = properties
        .map(|p| p.key.len() + text_length(&p.value))
        .sum();
    let arguments: usize = node.arguments.iter().map(text_length).sum();
    (node.name.len() + keys + arguments) as u64
}

fn text_length(value: &Value) -> usize {
    match &value.data {
        crate::tree::Data::Text(text) => text.len(),
        _ => 0,
    }
}

/// The template that a `use` names, if it is there.
pub(super) fn used(modules: &Modules, module: usize, node: &Node) -> Option<TemplateId> {
    let name = node.arguments.first()?.text()?;
    let Imported::Module(found) = modules.template(module, &name) else {
        return None;
    };
    let name = name.rsplit('.').next().unwrap_or_default().to_owned();
    Some((found, name))
}

/// Weighs every template; tells those that use themselves or nest too deep.
pub(super) fn templates(modules: &Modules, found: &mut Vec<Diagnostic>) -> Weights {
    let all: Vec<(TemplateId, &Template)> = modules
        .list
        .iter()
        .enumerate()
        .flat_map(|(index, module)| {
            let templates = module.templates.iter();
            templates.map(move |(name, template)| ((index, name.clone()), template))
        })
        .collect();
    let places = all
        .iter()
        .enumerate()
        .map(|(index, (id, _))| (id.clone(), index));
    let places: BTreeMap<TemplateId, usize> = places.collect();
    let contents: Vec<_> = all
        .iter()
        .map(|(_, template)| Content::of(&template.body))
        .collect();
    let edges = all.iter().zip(&contents).map(|((id, _), content)| {
        let used = content
            .uses
            .iter()
            .filter_map(|node| used(modules, id.0, node));
        used.filter_map(|id| places.get(&id).copied()).collect()
    });
    let edges: Vec<Vec<usize>> = edges.collect();
    for cycle in cycle::find(&edges) {
        found.push(told(modules, &all, &contents, &cycle));
    }
    let mut weights = Weights::new();
    for index in cycle::order(&edges) {
        let (id, template) = &all[index];
        let content = &contents[index];
        let Some(params) = order(&template.params, found) else {
            continue;
        };
        let mut weight = Weight {
            statements: content.statements + template.params.len() as u64,
            bytes: content.bytes,
            depth: 1,
            params,
        };
        for node in &content.uses {
            let inner = used(modules, id.0, node);
            let Some(inner) = inner.and_then(|inner| weights.get(&inner)) else {
                continue;
            };
            weight.add(inner, 1);
            weight.depth = weight.depth.max(inner.depth + 1);
            if inner.depth == DEPTH {
                found.push(too_deep(node));
            }
        }
        if weight.depth <= DEPTH {
            weights.insert(id.clone(), weight);
        }
    }
    weights
}

impl Weight {
    fn add(&mut self, other: &Self, times: u64) {
        let times = |one: u64| one.saturating_mul(times);
        self.statements = self.statements.saturating_add(times(other.statements));
        self.bytes = self.bytes.saturating_add(times(other.bytes));
    }
}

fn told(
    modules: &Modules,
    all: &[(TemplateId, &Template)],
    contents: &[Content],
    cycle: &[usize],
) -> Diagnostic {
    let next = cycle.iter().cycle().skip(1);
    let labels = cycle.iter().zip(next).filter_map(|(from, to)| {
        let (id, _) = &all[*from];
        let is_edge = |node: &&&Node| used(modules, id.0, node).as_ref() == Some(&all[*to].0);
        let node = contents[*from].uses.iter().find(is_edge)?;
        Some(Spanned::new(node.arguments.first()?.text()?, node.head()))
    });
    let names = cycle.iter().map(|index| all[*index].1.name.value.as_str());
    cycle::diagnostic(names, labels, "uses")
}

/// The order in which parameters are bound; `None` if their defaults go round in a circle.
fn order(params: &[Param], found: &mut Vec<Diagnostic>) -> Option<Vec<usize>> {
    let place = |name: &str| params.iter().position(|param| param.name.value == name);
    let needed = |param: &Param| {
        let names = param
            .default
            .iter()
            .chain(&param.choices)
            .flat_map(names_in);
        let own = names.filter(|(alias, _)| alias.is_none());
        own.filter_map(|(_, name)| place(&name)).collect()
    };
    let edges: Vec<Vec<usize>> = params.iter().map(needed).collect();
    let cycles = cycle::find(&edges);
    for cycle in &cycles {
        let names = cycle.iter().map(|index| &params[*index].name);
        let next = names.clone().cycle().skip(1);
        let labels = names.clone().zip(next);
        let labels = labels.map(|(name, next)| Spanned::new(next.value.clone(), name.span));
        let told = names.clone().map(|name| name.value.as_str());
        found.push(cycle::diagnostic(told, labels, "is made of"));
    }
    cycles.is_empty().then(|| cycle::order(&edges))
}

fn too_deep(node: &Node) -> Diagnostic {
    let message = format!("templates nest more than {DEPTH} deep");
    let label = format!("has {DEPTH} levels below it");
    Diagnostic::error(code::EXPANDS_TOO_FAR, node.head(), message, label).help("flatten them")
}

/// Counts what all files expand to; `None` if that is too much, which is told where the limit is passed.
pub(super) fn files(
    modules: &Modules,
    trees: &[Vec<Node>],
    weights: &Weights,
    cells: &AllCells,
    limits: Limits,
    found: &mut Vec<Diagnostic>,
) -> Option<Weight> {
    let mut total = Weight::default();
    let mut targets = 0;
    for (module, at, node) in statements(trees) {
        let cells = cells.get(&(module, at)).map(|cells| cells.list.len());
        let content = Content::of(std::slice::from_ref(node));
        let times = cells.unwrap_or(1) as u64;
        if cells.is_some() {
            let own = Weight {
                statements: content.statements,
                bytes: content.bytes,
                ..Weight::default()
            };
            total.add(&own, times);
        }
        let used = content
            .uses
            .iter()
            .filter_map(|node| used(modules, module, node));
        for weight in used.filter_map(|id| weights.get(&id)) {
            total.add(weight, times);
        }
        let is_target = matches!(node.name.as_str(), "prebuild" | "group");
        targets += usize::from(is_target) + cells.unwrap_or(0);
        let (message, help) = if targets > limits.targets {
            let message = format!("more than {} targets", limits.targets);
            (
                message,
                "a machine-written file may have more, with --limits large",
            )
        } else if total.statements > STATEMENTS {
            let message = format!(
                "the file expands to {} statements; limit {STATEMENTS}",
                total.statements
            );
            (
                message,
                "templates and cells are copies: have fewer of them",
            )
        } else if total.bytes > TEXT as u64 {
            let message = format!("the file expands past {} MiB", TEXT >> 20);
            (message, "put what is long into a file, and use from=")
        } else {
            continue;
        };
        let place = content.uses.first().map_or(node.head(), |node| node.head());
        let label = "passes the limit";
        let diagnostic = Diagnostic::error(code::EXPANDS_TOO_FAR, place, message, label);
        found.push(diagnostic.help(help));
        return None;
    }
    Some(total)
}
