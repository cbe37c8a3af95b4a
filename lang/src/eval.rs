//! Declarations → graph: names, parents, what is inherited, groups, and what a bare `build` builds.
//!
//! It reads no file and knows no syntax. Nothing depends on the order in which a file declares its targets.

mod assemble;
mod clash;
mod group;
pub(crate) mod inherit;

use std::collections::BTreeMap;

use crate::Inputs;
use crate::code;
use crate::cycle;
use crate::decl::{Base, Document, Prebuild};
use crate::diag::Diagnostic;
use crate::graph::Graph;
use crate::span::{FileId, Span, Spanned};
use crate::suggest::nearest;
use assemble::{assemble, inherits_too_much, levels};

/// Searching for a near name costs time; nobody reads the hundredth suggestion.
pub(crate) const SUGGESTIONS: usize = 100;

/// What a name stands for: an index into the document's prebuilds or groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Prebuild(usize),
    Group(usize),
}

/// All targets by name: they share one namespace.
type Names<'a> = BTreeMap<&'a str, Target>;

/// Links a file's declarations. The graph means nothing if an error was found, here or before.
pub(crate) fn link(
    document: &Document,
    inputs: &Inputs,
    file: FileId,
    found: &mut Vec<Diagnostic>,
) -> Graph {
    let names = names(document, found);
    let parents = parents(document, &names, found);
    if is_empty(document) && found.is_empty() {
        found.push(nothing(file));
    }
    undeclared_secrets(document, found);
    let edges: Vec<Vec<usize>> = parents
        .iter()
        .map(|parent| Vec::from_iter(*parent))
        .collect();
    let cycles = cycle::find(&edges);
    for cycle in &cycles {
        found.push(parent_cycle(document, cycle));
    }
    if !cycles.is_empty() {
        return Graph::default();
    }
    let levels = levels(&parents);
    if let Some(finding) = inherits_too_much(document, &parents, &levels, inputs.limits) {
        found.push(finding);
        return Graph::default();
    }
    clash::check(document, &parents, found);
    let members = group::members(document, &names, found);
    if found.iter().any(Diagnostic::is_error) {
        return Graph::default();
    }
    assemble(document, &inputs.platform, &parents, &levels, &members)
}

fn names<'a>(document: &'a Document, found: &mut Vec<Diagnostic>) -> Names<'a> {
    let prebuilds = document.prebuilds.iter().enumerate();
    let prebuilds = prebuilds.map(|(index, prebuild)| (&prebuild.name, Target::Prebuild(index)));
    let groups = document.groups.iter().enumerate();
    let groups = groups.map(|(index, group)| (&group.name, Target::Group(index)));
    let mut defined: Vec<(&Spanned<String>, Target)> = prebuilds.chain(groups).collect();
    defined.sort_by_key(|(name, _)| name.span);
    let mut first: BTreeMap<&str, Span> = BTreeMap::new();
    let mut names = Names::new();
    for (name, target) in defined {
        if let Some(earlier) = first.get(name.value.as_str()) {
            let message = format!("`{}` is defined twice", name.value);
            found.push(
                Diagnostic::error(code::DUPLICATE_NAME, name.span, message, "again")
                    .and(*earlier, "first here")
                    .help("rename one: prebuilds and groups share one set of names"),
            );
            continue;
        }
        first.insert(&name.value, name.span);
        names.insert(&name.value, target);
    }
    names
}

/// The parent of each prebuild that has one.
fn parents(document: &Document, names: &Names, found: &mut Vec<Diagnostic>) -> Vec<Option<usize>> {
    let parent = |prebuild: &Prebuild| match &prebuild.base {
        Some(Base::Parent { name, .. }) => match names.get(name.value.as_str()) {
            Some(Target::Prebuild(index)) => Some(*index),
            Some(Target::Group(_)) => {
                let message = format!("`{}` is a group, not a prebuild", name.value);
                let label = "nothing can start from a group";
                found.push(Diagnostic::error(
                    code::UNKNOWN_NAME,
                    name.span,
                    message,
                    label,
                ));
                None
            }
            None => {
                let prebuilds = names
                    .iter()
                    .filter(|(_, t)| matches!(t, Target::Prebuild(_)));
                let prebuilds = prebuilds.map(|(name, _)| *name);
                found.push(unknown_target(
                    document,
                    "prebuild",
                    name,
                    prebuilds,
                    found.len(),
                ));
                None
            }
        },
        Some(Base::Image { .. } | Base::Faulty { .. } | Base::Hidden { .. }) => None,
        None => {
            found.push(no_base(prebuild));
            None
        }
    };
    document.prebuilds.iter().map(parent).collect()
}

fn no_base(prebuild: &Prebuild) -> Diagnostic {
    let message = format!("`{}` starts from nothing", prebuild.name.value);
    Diagnostic::error(code::NO_BASE, prebuild.name.span, message, "no `from`")
        .help("say what it starts from, such as: from dev-base")
}

/// Whether the file says nothing to build, and nothing for others.
fn is_empty(document: &Document) -> bool {
    let is_own = |prebuild: &Prebuild| !prebuild.is_imported;
    let has_groups = document.groups.iter().any(|group| !group.is_imported);
    let has_targets = document.prebuilds.iter().any(is_own) || has_groups;
    !has_targets && !document.is_library
}

fn nothing(file: FileId) -> Diagnostic {
    let start = Span::new(file, 0, 0);
    let message = "the file declares no prebuild";
    Diagnostic::error(code::NO_BASE, start, message, "nothing to build")
        .help("say what it starts from, such as: from dev-base")
}

/// A name that no target has, as the file calls it that refers to it.
fn unknown_target<'a>(
    document: &Document,
    what: &str,
    name: &Spanned<String>,
    known: impl Iterator<Item = &'a str>,
    rank: usize,
) -> Diagnostic {
    let prefix = document.prefixes.get(&name.span.file);
    let prefix = prefix.map_or("", String::as_str);
    let seen: Vec<&str> = known
        .filter_map(|known| known.strip_prefix(prefix))
        // Imports are not transitive.
        .filter(|known| known.matches('.').count() <= 1)
        .collect();
    let own = name.value.strip_prefix(prefix).unwrap_or(&name.value);
    let own = Spanned::new(own.to_owned(), name.span);
    unknown(what, &own, seen.into_iter(), rank)
}

/// `rank` is how many findings there are already.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &Spanned<String>,
    known: impl Iterator<Item = &'a str> + Clone,
    rank: usize,
) -> Diagnostic {
    let message = format!("no {what} `{}`", name.value);
    let diagnostic = Diagnostic::error(code::UNKNOWN_NAME, name.span, message, "unknown");
    let near = if rank < SUGGESTIONS {
        nearest(name, known.clone())
    } else {
        None
    };
    if let Some(near) = near {
        return diagnostic
            .help(format!("did you mean `{near}`?"))
            .fix(name.span, near);
    }
    let listed: Vec<_> = known.take(20).collect();
    if listed.is_empty() {
        return diagnostic;
    }
    diagnostic.help(format!("there is: {}", listed.join(", ")))
}

/// `auth=` names a secret of the file or of the same prebuild.
fn undeclared_secrets(document: &Document, found: &mut Vec<Diagnostic>) {
    // A layer has the repository of its target, where this is told.
    for prebuild in document
        .prebuilds
        .iter()
        .filter(|prebuild| !prebuild.is_layer)
    {
        for auth in prebuild.repos.iter().filter_map(|repo| repo.auth.as_ref()) {
            let mut declared = document.secrets.iter().chain(&prebuild.secrets);
            if declared.any(|secret| secret.value == auth.value) {
                continue;
            }
            let message = format!("no secret `{}` is declared", auth.value);
            let declared = document.secrets.iter().chain(&prebuild.secrets);
            let near = nearest(auth, declared.map(|secret| secret.value.as_str()));
            let diagnostic = Diagnostic::error(code::SECRET, auth.span, message, "not declared");
            found.push(match near {
                Some(near) => diagnostic
                    .help(format!("did you mean `{near}`?"))
                    .fix(auth.span, near),
                None => diagnostic.help(format!(
                    "declare it at the top level: secret {}",
                    auth.value
                )),
            });
        }
    }
}

fn parent_cycle(document: &Document, cycle: &[usize]) -> Diagnostic {
    let edge = |index: &usize| match &document.prebuilds[*index].base {
        Some(Base::Parent { name, .. }) => name.clone(),
        _ => document.prebuilds[*index].name.clone(),
    };
    let names = cycle
        .iter()
        .map(|index| document.prebuilds[*index].name.value.as_str());
    cycle::diagnostic(names, cycle.iter().map(edge), "starts from")
}
