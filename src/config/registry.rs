//! `registry HOST …`: how one registry is reached.

use atelier_lang::code as lang;
use atelier_lang::diag::Diagnostic;
use atelier_lang::image::is_registry_host;
use atelier_lang::span::Spanned;
use atelier_lang::spelling::visible;
use atelier_lang::tree::{Data, Node, Property};

use super::faults::{form, misplaced_name, twice, wrong_arguments};
use super::statements::{Owner, Reader, absolute, text};
use crate::registry::reference::canonical;

/// What only the caller may say: over plain HTTP, or to whom a foreign CA vouches for, logins would be given away.
const OF_THE_CALLER: [&str; 2] = ["ca", "http"];

impl Reader<'_> {
    pub(super) fn registry(&mut self, node: &Node) {
        let Some(host) = self.named(node) else {
            return;
        };
        if !is_registry_host(&host) {
            self.found.push(no_host(&host));
            return;
        }
        let host = Spanned::new(canonical(&host), host.span);
        let mut registry = self.said.registries.remove(&host.value).unwrap_or_default();
        for property in &node.properties {
            let key = property.key.as_str();
            let is_misplaced =
                matches!(self.owner, Owner::Project { .. }) && OF_THE_CALLER.contains(&key);
            if is_misplaced {
                let help =
                    "move it to the caller's own config.kdl: it decides to whom logins are shown";
                let label = "not for a project to say";
                self.found.push(misplaced_name(&property.key, label, help));
                continue;
            }
            let first = match key {
                "mirror" => self
                    .mirror(property)
                    .map(|said| replace(&mut registry.mirror, said)),
                "ca" => self
                    .ca(property)
                    .map(|said| replace(&mut registry.ca, said)),
                "http" => self
                    .http(property)
                    .map(|said| replace(&mut registry.http, said)),
                _ => {
                    self.found.push(no_such(&property.key));
                    continue;
                }
            };
            if let Some(Some(first)) = first {
                let what = format!("registry {} {key}", host.value);
                self.found.push(twice(property.span(), &what, first));
            }
        }
        self.said.registries.insert(host.value, registry);
    }

    /// The one argument of a statement that says something of it with properties, and has no block.
    pub(super) fn named(&mut self, node: &Node) -> Option<Spanned<String>> {
        if node.children.is_some() {
            self.bare(
                &Node {
                    properties: Vec::new(),
                    ..node.clone()
                },
                true,
            );
        }
        let [host] = node.arguments.as_slice() else {
            let (span, label) = match node.arguments.get(1) {
                Some(extra) => (extra.span, "too many"),
                None => (node.name.span, "something is missing"),
            };
            self.found.push(wrong_arguments(node, span, label));
            return None;
        };
        // What has no text has a finding already.
        let host = text(host)?;
        if node.properties.is_empty() {
            let label = "nothing is said of it";
            self.found
                .push(wrong_arguments(node, node.name.span, label));
        }
        Some(host)
    }

    /// A host, and maybe a path below which it has the repositories.
    fn mirror(&mut self, property: &Property) -> Option<Spanned<String>> {
        let place = text(&property.value)?;
        let (host, path) = place.split_once('/').unwrap_or((&place, ""));
        let is_part = |part: &str| {
            let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
            !part.is_empty() && part.bytes().all(allowed) && part != ".."
        };
        let path = path.trim_end_matches('/');
        if !is_registry_host(host) || !(path.is_empty() || path.split('/').all(is_part)) {
            self.found.push(no_host(&place));
            return None;
        }
        let place = place.trim_end_matches('/').to_owned();
        Some(Spanned::new(place, property.span()))
    }

    fn ca(&mut self, property: &Property) -> Option<Spanned<std::path::PathBuf>> {
        let path = text(&property.value)?;
        let home = match self.owner {
            Owner::User { home, .. } => home,
            Owner::Project { .. } => None,
        };
        match absolute(&path, home) {
            Ok(path) => Some(Spanned::new(path, property.span())),
            Err(fault) => {
                self.found.push(fault);
                None
            }
        }
    }

    fn http(&mut self, property: &Property) -> Option<Spanned<bool>> {
        if let Data::Bool(value) = property.value.data {
            return Some(Spanned::new(value, property.span()));
        }
        let message = "`http` is true or false";
        let span = property.value.span;
        let fault = Diagnostic::error(lang::BAD_VALUE, span, message, "neither");
        self.found.push(fault.help("write http=#true"));
        None
    }
}

/// Puts what was said in its place; returns where the same was said before.
pub(super) fn replace<T>(
    place: &mut Option<Spanned<T>>,
    said: Spanned<T>,
) -> Option<atelier_lang::span::Span> {
    place.replace(said).map(|first| first.span)
}

fn no_such(key: &Spanned<String>) -> Diagnostic {
    let message = format!("`registry` has no `{}`", visible(key));
    Diagnostic::error(lang::UNKNOWN_PROPERTY, key.span, message, "unknown")
        .help(format!("written: {}", form("registry")))
}

fn no_host(text: &Spanned<String>) -> Diagnostic {
    let message = format!("`{}` is no registry", visible(text));
    Diagnostic::error(lang::BAD_VALUE, text.span, message, "not a host")
        .help("a host with a dot or a port, as images have it: ghcr.io, registry.acme.dev:5000")
}
