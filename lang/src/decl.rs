//! Tree → typed declarations. Names are not resolved yet: that is `eval.rs`.
//!
//! Every fault is reported and reading goes on, so one run shows all faults of a file.

mod base;
mod fields;
mod file;
mod only;
mod repo;
mod step;
mod target;

use std::time::Duration;

use crate::check;
use crate::code;
use crate::diag::Diagnostic;
use crate::graph::{Cache, File, ImageRef, Repo, Step};
use crate::secret;
use crate::source::VirtualPath;
use crate::span::{Span, Spanned};
use crate::suggest::nearest;
use crate::table::{LINTS, Place};
use crate::tree::Node;
use crate::value;

pub(crate) use fields::Fields;

/// The edition that this version reads.
const EDITION: &str = "1";

/// What a file declares.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) prebuilds: Vec<Prebuild>,
    pub(crate) groups: Vec<Group>,
    /// Declared at the top level.
    pub(crate) secrets: Vec<Spanned<String>>,
    /// Lints that the file silences.
    pub(crate) allowed: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: Spanned<String>,
    pub(crate) members: Vec<Spanned<String>>,
}

#[derive(Debug)]
pub(crate) struct Prebuild {
    pub(crate) name: Spanned<String>,
    pub(crate) base: Option<Base>,
    pub(crate) repos: Vec<Repo>,
    pub(crate) files: Vec<File>,
    pub(crate) steps: Vec<Step>,
    pub(crate) env: Vec<Variable>,
    pub(crate) path: Vec<Spanned<String>>,
    pub(crate) secrets: Vec<Spanned<String>>,
    pub(crate) caches: Vec<Spanned<Cache>>,
    pub(crate) resources: Resources,
    pub(crate) about: Option<Spanned<String>>,
    /// The layers of its repositories, until they are prebuilds of their own.
    pub(crate) layers: Vec<Prebuild>,
    /// Whether it was written as a layer.
    pub(crate) is_layer: bool,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum Base {
    Image {
        image: Spanned<ImageRef>,
        platform: Option<String>,
        at: Span,
    },
    Parent {
        name: Spanned<String>,
        at: Span,
    },
    /// What may have been a `from`; a real one replaces it.
    Hidden {
        at: Span,
    },
    /// A `from` is there but cannot be read; its fault has been reported.
    Faulty {
        at: Span,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: Spanned<String>,
    pub(crate) value: Spanned<String>,
}

/// What is stated here; the rest is inherited, or the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resources {
    pub(crate) cpu: Option<Spanned<u32>>,
    pub(crate) memory: Option<Spanned<u64>>,
    pub(crate) disk: Option<Spanned<u64>>,
    pub(crate) timeout: Option<Spanned<Duration>>,
}

/// What reading needs to know besides the node at hand.
pub(crate) struct Reader<'a> {
    path: &'a VirtualPath,
    text: &'a str,
    found: &'a mut Vec<Diagnostic>,
    /// Secrets in the file; reported unless it allows them.
    literals: Vec<Diagnostic>,
}

/// A faulty statement that may have been the `from`: it was reported, so a missing `from` is not.
fn hidden_base(nodes: &[Node]) -> Option<Base> {
    let node = nodes.iter().find(|node| check::may_be_from(&node.name))?;
    Some(Base::Hidden { at: node.name.span })
}

impl Variable {
    pub(crate) fn at(&self) -> Span {
        Span {
            end: self.value.span.end,
            ..self.name.span
        }
    }
}

impl Base {
    pub(crate) fn at(&self) -> Span {
        match self {
            Self::Image { at, .. }
            | Self::Parent { at, .. }
            | Self::Faulty { at }
            | Self::Hidden { at } => *at,
        }
    }
}

impl<'a> Reader<'a> {
    /// A reader of the file at `path`, which holds `text`.
    pub(crate) fn new(
        path: &'a VirtualPath,
        text: &'a str,
        found: &'a mut Vec<Diagnostic>,
    ) -> Self {
        Self {
            path,
            text,
            found,
            literals: Vec::new(),
        }
    }

    /// Reads a whole file.
    pub(crate) fn document(&mut self, nodes: &[Node]) -> Document {
        let mut document = Document::default();
        let mut bare = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let Some(row) = check::statement(node, Place::File, self.text, self.found) else {
                continue;
            };
            match row.name {
                "atelier" => self.edition(node, index),
                "prebuild" => document.prebuilds.extend(self.prebuild(node)),
                "group" => document.groups.extend(self.group(node)),
                "allow" => document.allowed.extend(self.lints(node)),
                "secret" => {
                    let names = self.secrets(node, &document.secrets);
                    document.secrets.extend(names);
                }
                _ => bare.push(node),
            }
        }
        self.bare_form(nodes, &bare, &mut document);
        let layers = document.prebuilds.iter_mut().flat_map(only::unfold);
        let layers: Vec<Prebuild> = layers.collect();
        document.prebuilds.extend(layers);
        if !document.allowed.iter().any(|lint| lint == "secret-literal") {
            self.found.append(&mut self.literals);
        }
        document
    }

    /// Statements at the top level are one prebuild, unless the file has named ones.
    fn bare_form(&mut self, nodes: &[Node], bare: &[&Node], document: &mut Document) {
        let named = nodes.iter().find(|node| node.name.value == "prebuild");
        if let Some(named) = named {
            for statement in bare {
                let message = "a statement outside a prebuild, in a file with prebuilds";
                let (here, there) = ("belongs to no prebuild", "the file has named prebuilds");
                self.found.push(
                    Diagnostic::error(code::MIXED_FORMS, statement.head(), message, here)
                        .and(named.head(), there)
                        .help("move it inside a prebuild"),
                );
            }
        }
        let Some((first, last)) = bare.first().zip(bare.last()) else {
            return;
        };
        let span = Span {
            end: last.span.end,
            ..first.span
        };
        let name = Spanned::new("default".to_owned(), first.name.span);
        let mut prebuild = Prebuild::new(name, span);
        prebuild.base = hidden_base(nodes);
        for statement in bare {
            self.fill(&mut prebuild, statement);
        }
        if named.is_none() {
            prebuild.secrets.clone_from(&document.secrets);
            document.prebuilds.push(prebuild);
        }
    }

    fn edition(&mut self, node: &Node, index: usize) {
        let Some(edition) = Fields(node).argument(0) else {
            return;
        };
        if index > 0 {
            let message = "`atelier` must come first";
            self.found.push(
                Diagnostic::error(code::BAD_EDITION, node.span, message, "not the first node")
                    .help("move it to the top, or delete it: without it, the edition is 1"),
            );
        }
        if edition.value == EDITION {
            return;
        }
        let is_number = edition.bytes().all(|b| b.is_ascii_digit()) && edition.value != "0";
        let diagnostic = if is_number && !edition.is_empty() {
            let message = format!(
                "edition {} is newer than this binary ({EDITION})",
                edition.value
            );
            Diagnostic::error(code::BAD_EDITION, edition.span, message, "unknown edition")
                .help("upgrade atelier")
        } else {
            let message = "an edition is a whole number from 1";
            Diagnostic::error(code::BAD_EDITION, edition.span, message, "not an edition")
                .help("write: atelier 1")
                .fix(edition.span, EDITION)
        };
        self.found.push(diagnostic);
    }

    fn group(&mut self, node: &Node) -> Option<Group> {
        let name = Fields(node).argument(0)?;
        let members = Fields(node).arguments(1);
        self.take(&name, value::name)?;
        Some(Group { name, members })
    }

    fn lints(&mut self, node: &Node) -> Vec<String> {
        let mut known = Vec::new();
        for lint in Fields(node).arguments(0) {
            if LINTS.contains(&lint.as_str()) {
                known.push(lint.value);
                continue;
            }
            let message = format!("no lint `{}`", lint.value);
            let diagnostic = Diagnostic::error(code::BAD_VALUE, lint.span, message, "unknown");
            self.found
                .push(match nearest(&lint, LINTS.iter().copied()) {
                    Some(near) => diagnostic
                        .help(format!("did you mean `{near}`?"))
                        .fix(lint.span, near),
                    None => diagnostic.help(format!("there is: {}", LINTS.join(", "))),
                });
        }
        known
    }

    /// Notes a secret in a value that ends up in snapshots, keys or logs.
    fn no_secret(&mut self, value: &Spanned<String>) {
        let Some((range, kind)) = secret::first(value) else {
            return;
        };
        let start = value.span.start as usize;
        let written = self.text.get(start..value.span.end as usize).unwrap_or("");
        let at = written.find(&value.value[range.clone()]);
        let span = at.map_or(value.span, |at| value.span.within(at..at + range.len()));
        let message = format!("this looks like {kind}");
        self.literals.push(
            Diagnostic::error(
                code::SECRET,
                span,
                message,
                "a secret in a file is no secret",
            )
            .help("declare a `secret` and use its variable; if it is none: allow secret-literal"),
        );
    }

    /// Parses a text; a problem is reported where the text stands.
    fn take<T>(
        &mut self,
        text: &Spanned<String>,
        parse: impl FnOnce(&str) -> Result<T, value::Problem>,
    ) -> Option<T> {
        match parse(text) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.found.push(problem.at(text.span));
                None
            }
        }
    }
}
