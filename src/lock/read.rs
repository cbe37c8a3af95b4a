//! A lock file's text → its entries. Strict: what is not understood may be what pins.

use std::collections::BTreeMap;

use atelier_lang::code as lang;
use atelier_lang::diag::{self, Diagnostic};
use atelier_lang::document;
use atelier_lang::graph::ImageRef;
use atelier_lang::source::{ReadError, Sources};
use atelier_lang::span::{FileId, Span, Spanned};
use atelier_lang::spelling::visible;
use atelier_lang::tree::{Data, Node};
use atelier_lang::url::normal_form;

use super::{ImageKey, Lock, LockedImage, LockedRepo, RepoKey, UNUSABLE, Unusable, VERSION};
use crate::git::is_valid_ref;

mod fields;

use fields::Fields;

/// Nobody writes a lock by hand.
const WAY_OUT: &str = "restore it from a commit, or delete it and run `atelier update`";

/// Reads what reading the file called `name` has yielded.
pub fn read(name: &str, read: Result<Vec<u8>, ReadError>) -> Result<Lock, Unusable> {
    let conflict = read.as_deref().ok().and_then(conflict);
    let mut sources = Sources::default();
    let mut document = document::parse(name, read, &mut sources);
    if let Some(conflict) = conflict {
        // Whatever else is wrong comes from it.
        return Err(Unusable {
            sources,
            diagnostics: vec![conflict],
        });
    }
    let mut reader = Reader {
        lock: Lock::default(),
        places: BTreeMap::new(),
        found: &mut document.diagnostics,
    };
    reader.document(&document.nodes);
    let lock = reader.lock;
    match document.diagnostics.is_empty() {
        true => Ok(lock),
        false => Err(Unusable {
            diagnostics: diag::presentable(document.diagnostics, &sources),
            sources,
        }),
    }
}

/// What git leaves where two sides have changed the same lines.
fn conflict(bytes: &[u8]) -> Option<Diagnostic> {
    let mut start = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let marker = [b"<<<<<<<", b"|||||||", b">>>>>>>"];
        if marker.iter().any(|marker| line.starts_with(*marker)) {
            let span = span(start, start + 7);
            let message = "a merge has left conflicts in the lock";
            let label = "the two sides begin here";
            let help = "keep either side and delete the marks, then run `atelier update`";
            return Some(Diagnostic::error(UNUSABLE, span, message, label).help(help));
        }
        start += line.len();
    }
    None
}

fn span(start: usize, end: usize) -> Span {
    let at = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
    Span::new(FileId(0), at(start), at(end))
}

struct Reader<'a> {
    lock: Lock,
    /// Where each entry is, by what there can be one of.
    places: BTreeMap<String, Span>,
    found: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn document(&mut self, nodes: &[Node]) {
        let Some((first, entries)) = nodes.split_first() else {
            // What is no KDL has a finding already.
            if self.found.is_empty() {
                self.no_version(span(0, 0), "it is empty");
            }
            return;
        };
        match version(first) {
            Some(version) if version == i128::from(VERSION) => {}
            Some(version) if version > i128::from(VERSION) => {
                let message =
                    format!("lock {version} is newer than what this atelier reads ({VERSION})");
                let fault = Diagnostic::error(UNUSABLE, first.head(), message, "this version");
                // Its entries may be others.
                self.found.clear();
                let help =
                    "upgrade atelier; for this run, --fresh goes without the project's own lock";
                self.found.push(fault.help(help));
                return;
            }
            _ => self.no_version(first.head(), "something else comes first"),
        }
        for node in entries {
            self.entry(node);
        }
    }

    fn no_version(&mut self, span: Span, label: &str) {
        let message = format!("the lock does not begin with `lock {VERSION}`");
        self.found
            .push(Diagnostic::error(UNUSABLE, span, message, label).help(WAY_OUT));
    }

    fn entry(&mut self, node: &Node) {
        match node.name.as_str() {
            "image" => self.image(node),
            "repo" => self.repo(node),
            "lock" => {
                let fault = Diagnostic::error(
                    lang::DUPLICATE_PROPERTY,
                    node.head(),
                    "`lock` twice",
                    "again",
                );
                self.found.push(fault.help("delete one"));
            }
            name => {
                let message = format!("a lock has no `{}`", visible(name));
                let fault =
                    Diagnostic::error(lang::UNKNOWN_STATEMENT, node.name.span, message, "unknown");
                self.found.push(fault.help(WAY_OUT));
            }
        }
    }

    fn image(&mut self, node: &Node) {
        let names = ["platform", "digest", "reference"];
        let Some(fields) = self.fields(node, &names, 2) else {
            return;
        };
        if !is_lockable(&fields.argument) {
            let name = &fields.argument;
            return self.bad(name.span, name, "an alias or an image of a registry");
        }
        let platform = self.text(&fields, "platform", document::is_platform, "a platform");
        let digest = self.parsed(&fields, "digest", "`sha256:` and 64 lower-case hex digits");
        let reference = match fields.properties.contains_key("reference") {
            true => self.text(&fields, "reference", is_registry, "an image of a registry"),
            false => None,
        };
        let (Some(platform), Some(digest)) = (platform, digest) else {
            return;
        };
        let name = fields.argument.value;
        if self.once(node, format!("image {name} {platform}")) {
            let entry = LockedImage { digest, reference };
            self.lock.images.insert(ImageKey { name, platform }, entry);
        }
    }

    fn repo(&mut self, node: &Node) {
        let names = ["ref", "head", "default"];
        let Some(fields) = self.fields(node, &names, 2) else {
            return;
        };
        let url = &fields.argument;
        if normal_form(url).as_ref() != Some(&url.value) {
            return self.bad(url.span, url, "a URL as `atelier update` writes it");
        }
        let reference = self.text(&fields, "ref", is_ref, "the full name of a branch or tag");
        let head = self.parsed(&fields, "head", "40 or 64 lower-case hex digits");
        let is_default = self.default(&fields);
        let (Some(reference), Some(head), Some(is_default)) = (reference, head, is_default) else {
            return;
        };
        let url = fields.argument.value;
        let mut is_new = self.once(node, format!("repo {url} {reference}"));
        if is_default {
            is_new &= self.once(node, format!("the default branch of {url}"));
        }
        if is_new {
            let entry = LockedRepo { head, is_default };
            self.lock.repos.insert(RepoKey { url, reference }, entry);
        }
    }

    /// `None` if it is there and not as it should be.
    fn default(&mut self, fields: &Fields<'_>) -> Option<bool> {
        let Some(value) = fields.properties.get("default") else {
            return Some(false);
        };
        let is_branch = fields
            .properties
            .get("ref")
            .and_then(|value| value.text())
            .is_none_or(|name| name.starts_with("refs/heads/"));
        match (&value.data, is_branch) {
            (Data::Bool(true), true) => Some(true),
            _ => {
                let text = value.text().unwrap_or_default();
                self.bad(value.span, &text, "`#true`, beside a branch");
                None
            }
        }
    }

    /// Whether there was no such entry yet.
    fn once(&mut self, node: &Node, what: String) -> bool {
        let Some(first) = self.places.get(&what).copied() else {
            self.places.insert(what, node.head());
            return true;
        };
        let message = format!("{} twice", visible(&what));
        let fault = Diagnostic::error(lang::DUPLICATE_PROPERTY, node.head(), message, "again");
        let help = "a merge may have kept both sides: delete one, then run `atelier update`";
        self.found.push(fault.and(first, "first here").help(help));
        false
    }
}

/// What the first statement says.
fn version(node: &Node) -> Option<i128> {
    match (node.name.as_str(), node.arguments.as_slice()) {
        ("lock", [number]) if node.properties.is_empty() && node.children.is_none() => {
            number.text()?.parse().ok()
        }
        _ => None,
    }
}

fn is_ref(name: &str) -> bool {
    let is_known = name.starts_with("refs/heads/") || name.starts_with("refs/tags/");
    is_known && is_valid_ref(name)
}

fn image(name: &str) -> Option<ImageRef> {
    document::image(&Spanned::new(name.to_owned(), span(0, 0))).ok()
}

fn is_registry(name: &str) -> bool {
    matches!(image(name), Some(ImageRef::Registry(_)))
}

fn is_lockable(name: &str) -> bool {
    matches!(
        image(name),
        Some(ImageRef::Registry(_) | ImageRef::Alias(_))
    )
}
