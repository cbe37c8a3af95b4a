//! A file's top level: the edition, what it allows, groups, prebuilds, and the bare form.

use super::{Base, Document, Fields, Group, Prebuild, Reader, only};
use crate::check;
use crate::code;
use crate::diag::Diagnostic;
use crate::expand::Expanded;
use crate::span::Spanned;
use crate::suggest::nearest;
use crate::table::{LINTS, Place};
use crate::tree::Node;

/// The edition that this version reads.
const EDITION: &str = "1";

impl Reader<'_> {
    /// Reads a whole file.
    pub(super) fn document(&mut self, file: &Expanded) -> Document {
        let mut document = Document {
            is_library: file.is_library,
            ..Document::default()
        };
        let mut bare = Vec::new();
        for (index, node) in file.nodes.iter().enumerate() {
            let Some(row) = check::statement(node, Place::File, self.files, self.found) else {
                continue;
            };
            match row.name {
                "atelier" => self.edition(node, file.first == Some(node.span)),
                "prebuild" => {
                    let cell = file.cells.get(&index);
                    document.prebuilds.extend(self.prebuild(node, cell));
                }
                "group" => document.groups.extend(group(node)),
                "allow" => {
                    let lints = self.lints(node).into_iter();
                    self.allowed.extend(lints.map(|lint| (file.file, lint)));
                }
                "secret" => {
                    let names = self.secrets(node, &document.secrets);
                    document.secrets.extend(names);
                }
                _ => bare.push(node),
            }
        }
        self.bare_form(file, &bare, &mut document);
        only::unfold(&mut document);
        document
    }

    /// Statements at the top level are one prebuild, unless the file has named ones.
    fn bare_form(&mut self, file: &Expanded, bare: &[&Node], document: &mut Document) {
        let nodes = &file.nodes;
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
        let Some(first) = bare.first() else {
            return;
        };
        let (name, span) = file.bare.unwrap_or((first.name.span, first.span));
        let name = Spanned::new(format!("{}default", file.prefix), name);
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

    fn edition(&mut self, node: &Node, is_first: bool) {
        let Some(edition) = Fields(node).argument(0) else {
            return;
        };
        if !is_first {
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
}

/// A faulty statement that may have been the `from`: it was reported, so a missing `from` is not.
pub(super) fn hidden_base(nodes: &[Node]) -> Option<Base> {
    let node = nodes.iter().find(|node| check::may_be_from(&node.name))?;
    Some(Base::Hidden { at: node.name.span })
}

fn group(node: &Node) -> Option<Group> {
    let name = Fields(node).argument(0)?;
    let members = Fields(node).arguments(1);
    Some(Group {
        name,
        members,
        is_imported: false,
    })
}
