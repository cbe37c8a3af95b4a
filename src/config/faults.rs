//! What is told of a statement that is not as it should be, and the forms it should have.

use atelier_lang::code as lang;
use atelier_lang::diag::Diagnostic;
use atelier_lang::span::{Span, Spanned};
use atelier_lang::spelling::visible;
use atelier_lang::suggest::nearest;
use atelier_lang::tree::Node;

use super::code;

/// Each statement of this version and how it is written.
const FORMS: [(&str, &str); 7] = [
    ("alias", "alias NAME \"IMAGE\""),
    ("backend", "backend local"),
    ("git", "git \"HOST\" user=NAME ca=\"~/FILE.pem\""),
    ("host", "host { path \"~/DIR\" \"/DIR\"; }"),
    (
        "kubernetes",
        "kubernetes { context NAME; namespace NAME; storage-class NAME; snapshot-class NAME; runtime-class NAME; node-selector \"NAME=VALUE\"; runner \"REGISTRY/atelier-runner@sha256:…\"; pull-secret NAME; verify #true; node-local #false; max-depth 4; }",
    ),
    (
        "registry",
        "registry \"HOST\" mirror=\"HOST\" ca=\"~/FILE.pem\" http=#true",
    ),
    ("store", "store \"~/DIR\""),
];

pub(super) fn form(name: &str) -> &'static str {
    // What stands in the block of `host` is written there.
    let name = if name == "path" { "host" } else { name };
    let row = FORMS.iter().find(|(known, _)| *known == name);
    row.map_or("", |(_, form)| form)
}

pub(super) fn wrong_arguments(node: &Node, span: Span, label: &str) -> Diagnostic {
    let name = &node.name.value;
    let message = format!("`{name}` takes something else");
    Diagnostic::error(lang::WRONG_ARGUMENTS, span, message, label)
        .help(format!("written: {}", form(name)))
}

pub(super) fn twice(span: Span, what: &str, first: Span) -> Diagnostic {
    let message = format!("`{}` twice", visible(what));
    Diagnostic::error(lang::DUPLICATE_PROPERTY, span, message, "again")
        .and(first, "first here")
        .help("delete one")
}

pub(super) fn misplaced(node: &Node, help: &str) -> Diagnostic {
    misplaced_name(&node.name, "it is about one machine", help)
}

/// The same for a property.
pub(super) fn misplaced_name(name: &Spanned<String>, label: &str, help: &str) -> Diagnostic {
    let message = format!("`{}` cannot stand in a project's configuration", name.value);
    Diagnostic::error(code::MISPLACED, name.span, message, label).help(help)
}

pub(super) fn unknown(name: &Spanned<String>) -> Diagnostic {
    let message = format!("no setting `{}`", visible(name));
    let fault = Diagnostic::error(lang::UNKNOWN_STATEMENT, name.span, message, "unknown");
    let names = FORMS.map(|(name, _)| name);
    match nearest(name, names) {
        Some(near) => fault
            .help(format!("did you mean `{near}`?"))
            .fix(name.span, near),
        None => fault.help(format!("here can stand: {}", names.join(", "))),
    }
}
