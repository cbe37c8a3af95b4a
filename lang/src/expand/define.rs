//! What a file defines: constants, parameters, templates and imports, taken out of its tree.

use std::collections::{BTreeMap, BTreeSet};

use super::kind::Kind;
use super::param::{Param, distinct, param};
use crate::check;
use crate::code;
use crate::decl::Fields;
use crate::diag::Diagnostic;
use crate::files::Files;
use crate::source::VirtualPath;
use crate::span::{FileId, Span, Spanned};
use crate::table::Place;
use crate::tree::{Node, Property, Value};
use crate::value;

/// What a file defines.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) file: FileId,
    /// `None` in `std`.
    pub(super) path: Option<VirtualPath>,
    pub(super) prefix: String,
    pub(super) imports: BTreeMap<String, Import>,
    pub(super) values: BTreeMap<String, Definition>,
    pub(super) templates: BTreeMap<String, Template>,
    /// The first statement of the file.
    pub(super) first: Option<Span>,
    /// Whether it is for other files to use: it defines something, and has no targets.
    pub(super) is_library: bool,
    /// The lints that it silences.
    pub(super) allowed: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Import {
    pub(super) alias: Spanned<String>,
    pub(super) path: Spanned<String>,
    /// `None` if it could not be read, which has been reported.
    pub(super) module: Option<usize>,
    pub(super) span: Span,
}

/// A constant or a parameter of the file.
#[derive(Debug)]
pub(super) enum Definition {
    Let { name: Spanned<String>, value: Value },
    Param(Param),
}

#[derive(Debug)]
pub(super) struct Template {
    pub(super) name: Spanned<String>,
    pub(super) params: Vec<Param>,
    pub(super) body: Vec<Node>,
    pub(super) span: Span,
}

impl Definition {
    pub(super) fn name(&self) -> &Spanned<String> {
        match self {
            Self::Let { name, .. } | Self::Param(Param { name, .. }) => name,
        }
    }

    /// The values that decide what it is.
    pub(super) fn sources(&self) -> Vec<&Value> {
        match self {
            Self::Let { value, .. } => vec![value],
            Self::Param(param) => param.default.iter().chain(&param.choices).collect(),
        }
    }
}

impl Module {
    /// The names of its constants.
    pub(super) fn lets(&self) -> impl Iterator<Item = &str> {
        self.values
            .values()
            .filter_map(|definition| match definition {
                Definition::Let { name, .. } => Some(name.value.as_str()),
                Definition::Param(_) => None,
            })
    }

    /// Takes the definitions out of a file's statements; the others are left.
    pub(super) fn read(
        file: FileId,
        path: Option<VirtualPath>,
        prefix: String,
        nodes: Vec<Node>,
        files: &Files,
        found: &mut Vec<Diagnostic>,
    ) -> (Self, Vec<Node>) {
        let mut module = Self {
            file,
            path,
            prefix,
            imports: BTreeMap::new(),
            values: BTreeMap::new(),
            templates: BTreeMap::new(),
            first: nodes.first().map(|node| node.span),
            is_library: false,
            allowed: Vec::new(),
        };
        let mut left = Vec::with_capacity(nodes.len());
        for node in nodes {
            let is_definition =
                matches!(node.name.as_str(), "import" | "let" | "param" | "template");
            if !is_definition {
                if node.name.value == "allow" {
                    let lints = Fields(&node).arguments(0).into_iter();
                    module.allowed.extend(lints.map(|lint| lint.value));
                }
                left.push(node);
            } else if check::statement(&node, Place::File, files, found).is_some() {
                module.define(node, files, found);
            }
        }
        let defines = !module.templates.is_empty() || !module.values.is_empty();
        module.is_library = defines && left.iter().all(|node| is_quiet(&node.name));
        (module, left)
    }

    fn define(&mut self, node: Node, files: &Files, found: &mut Vec<Diagnostic>) {
        match node.name.as_str() {
            "import" => self.import(&node, found),
            "let" => {
                let mut seen = BTreeSet::new();
                for Property { key, value } in node.properties {
                    // Twice in one `let` is a property twice, which is reported as such.
                    if seen.insert(key.value.clone()) {
                        self.value(Definition::Let { name: key, value }, found);
                    }
                }
            }
            "param" => {
                if let Some(param) = param(&node, found) {
                    if param.kind == Kind::Words {
                        let message = "`words` is for a template's parameter";
                        let label = "what follows a template's name";
                        let diagnostic =
                            Diagnostic::error(code::BAD_VALUE, param.name.span, message, label);
                        found.push(diagnostic.help("leave the type out"));
                    }
                    self.value(Definition::Param(param), found);
                }
            }
            _ => self.template(node, files, found),
        }
    }

    fn value(&mut self, definition: Definition, found: &mut Vec<Diagnostic>) {
        let name = definition.name();
        if !is_named(name, found) {
            return;
        }
        if let Some(first) = self.values.get(&name.value) {
            found.push(twice(name, first.name()));
            return;
        }
        self.values.insert(name.value.clone(), definition);
    }

    fn import(&mut self, node: &Node, found: &mut Vec<Diagnostic>) {
        let Some(path) = Fields(node).argument(0) else {
            return;
        };
        let Some(alias) = alias(node, &path, found) else {
            return;
        };
        if let Some(first) = self.imports.get(&alias.value) {
            found.push(twice(&alias, &first.alias));
            return;
        }
        let import = Import {
            alias: alias.clone(),
            path,
            module: None,
            span: node.head(),
        };
        self.imports.insert(alias.value, import);
    }

    fn template(&mut self, node: Node, files: &Files, found: &mut Vec<Diagnostic>) {
        let Some(name) = Fields(&node).argument(0) else {
            return;
        };
        if !is_named(&name, found) {
            return;
        }
        let mut template = Template {
            name,
            params: Vec::new(),
            body: Vec::new(),
            span: node.span,
        };
        for child in node.children.into_iter().flatten() {
            if child.name.value != "param" {
                template.body.push(child);
            } else if check::statement(&child, Place::Template, files, found).is_some() {
                template.params.extend(param(&child, found));
            }
        }
        template.params = distinct(template.params, found);
        match self.templates.get(&template.name.value) {
            Some(first) => found.push(twice(&template.name, &first.name)),
            None => drop(self.templates.insert(template.name.value.clone(), template)),
        }
    }
}

/// Whether a statement says nothing about targets.
fn is_quiet(name: &str) -> bool {
    matches!(name, "atelier" | "allow" | "secret") || name.starts_with("x-")
}

/// The namespace of an import: as stated, or the file's stem.
fn alias(
    node: &Node,
    path: &Spanned<String>,
    found: &mut Vec<Diagnostic>,
) -> Option<Spanned<String>> {
    let stated = Fields(node).property("as");
    if stated.is_none() && Fields(node).value("as").is_some() {
        return None;
    }
    let is_stated = stated.is_some();
    let alias = stated.unwrap_or_else(|| {
        let last = path.rsplit('/').next().unwrap_or_default();
        let stem = last.strip_suffix(".kdl").unwrap_or(last);
        Spanned::new(stem.to_owned(), path.span)
    });
    if alias.value == "std" {
        let message = "`std` is the library that comes with atelier";
        found.push(
            Diagnostic::error(
                code::SHADOWING,
                alias.span,
                message,
                "already means something",
            )
            .help("give the import another name, with as=NAME"),
        );
        return None;
    }
    match value::name(&alias) {
        Ok(()) => Some(alias),
        Err(problem) if is_stated => {
            found.push(problem.at(alias.span));
            None
        }
        Err(_) => {
            let message = "the file's name cannot be the import's";
            found.push(
                Diagnostic::error(code::BAD_NAME, path.span, message, "not a name")
                    .help("give it one, with as=NAME"),
            );
            None
        }
    }
}

pub(super) fn is_named(name: &Spanned<String>, found: &mut Vec<Diagnostic>) -> bool {
    match value::name(name) {
        Ok(()) => true,
        Err(problem) => {
            found.push(problem.at(name.span));
            false
        }
    }
}

pub(super) fn twice(name: &Spanned<String>, first: &Spanned<String>) -> Diagnostic {
    let message = format!("`{}` is defined twice", name.value);
    Diagnostic::error(code::DUPLICATE_NAME, name.span, message, "again")
        .and(first.span, "first here")
        .help("rename one, or delete it")
}
