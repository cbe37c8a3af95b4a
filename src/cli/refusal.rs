//! What a backend cannot do is told where the file asks for it, before anything is baked.

use atelier_lang::diag::{Code, Diagnostic};
use atelier_lang::graph::{Base, User};
use atelier_lang::source::Sources;
use atelier_lang::span::Span;

use super::backend::Chosen;
use super::exit;
use super::failure::Failure;
use crate::pin::PinnedNode;
use crate::resolve::ImageLocation;

/// Of nodes that would be baked or booted.
pub(super) fn check(
    backend: &Chosen,
    sources: &Sources,
    nodes: &[PinnedNode<'_>],
) -> Result<(), Failure> {
    if let Chosen::Local(_) = backend {
        return Ok(());
    }
    let diagnostics: Vec<Diagnostic> = nodes.iter().flat_map(in_cluster).collect();
    if diagnostics.is_empty() {
        return Ok(());
    }
    Err(Failure::File {
        sources: sources.clone(),
        diagnostics,
        exit: exit::BACKEND,
    })
}

fn in_cluster(node: &PinnedNode<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let is_pullable = matches!(node.image.location, ImageLocation::Registry(_));
    if let (false, Base::Image(image)) = (is_pullable, &node.node.base) {
        let message = "a cluster takes images from a registry alone";
        let help = "push it and name it where it is, such as in the configuration: alias dev-base \"REGISTRY/NAME:TAG\"; or bake with --backend local";
        found.push(refused(
            image.span,
            message,
            "this one is on this machine",
            help,
        ));
    }
    let as_root = node
        .node
        .steps
        .iter()
        .filter(|step| step.user == User::Root);
    found.extend(as_root.map(|step| {
        let help = "have the image hold what it installs, or bake with --backend local";
        refused(
            step.span,
            "a cluster runs no step as root",
            "this step",
            help,
        )
    }));
    found
}

fn refused(span: Span, message: &str, label: &str, help: &str) -> Diagnostic {
    Diagnostic::error(Code(702), span, message.to_owned(), label).help(help)
}
