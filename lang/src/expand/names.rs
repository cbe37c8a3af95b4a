//! Names in the trees, before anything is expanded: those between braces, those of templates, and what is never used.
//!
//! What is found here is told once, where it is written, however often it is expanded.

mod braces;
mod places;
mod targets;
mod unused;

use std::collections::BTreeSet;

use super::define::{Definition, Module, Template};
use super::matrix::axes;
use super::modules::{Imported, Modules};
use crate::check;
use crate::code;
use crate::diag::Diagnostic;
use crate::eval::unknown;
use crate::files::Files;
use crate::index::Index;
use crate::span::{Span, Spanned};
use crate::table::{self, Place};
use crate::tree::{Data, Node, Value};
use targets::Targets;

/// Checks all names of all files.
pub(super) fn check(
    modules: &Modules,
    trees: &[Vec<Node>],
    files: &Files,
    index: &mut Index,
    found: &mut Vec<Diagnostic>,
) {
    let mut used = BTreeSet::new();
    let targets: Vec<Targets> = trees.iter().map(|tree| targets::of(tree)).collect();
    let all = modules.list.iter().zip(trees);
    for (at, (module, tree)) in all.enumerate() {
        places::define(modules, module, tree, index);
        let mut names = Names {
            modules,
            files,
            module: at,
            targets: &targets,
            used: &mut used,
            index,
            found,
        };
        names.module(module, tree);
    }
    unused::report(modules, &used, found);
}

/// Whether the file has an `allow` of the lint.
fn silences(module: &Module, lint: &str) -> bool {
    module.allowed.iter().any(|allowed| allowed == lint)
}

struct Names<'a> {
    modules: &'a Modules,
    files: &'a Files,
    module: usize,
    /// Those of each file.
    targets: &'a [Targets],
    /// Where the definitions stand that something uses.
    used: &'a mut BTreeSet<Span>,
    index: &'a mut Index,
    found: &'a mut Vec<Diagnostic>,
}

/// What a template or a prebuild adds to the names of its file.
type Own<'a> = &'a [&'a Spanned<String>];

impl Names<'_> {
    fn module(&mut self, module: &Module, tree: &[Node]) {
        for definition in module.values.values() {
            for value in definition.sources() {
                self.value(value, &[], true);
            }
        }
        for template in module.templates.values() {
            self.template(template);
        }
        for node in tree {
            let axes = axes(node);
            let axes: Vec<_> = axes.iter().collect();
            self.no_shadowing(&axes);
            self.node(node, &axes);
        }
    }

    fn template(&mut self, template: &Template) {
        let own: Vec<_> = template.params.iter().map(|param| &param.name).collect();
        self.no_shadowing(&own);
        for param in &template.params {
            for value in param.default.iter().chain(&param.choices) {
                self.value(value, &own, true);
            }
        }
        for node in &template.body {
            self.statement(node, Place::Template);
            self.node(node, &own);
        }
    }

    /// What is wrong with a statement wherever its template is used.
    fn statement(&mut self, node: &Node, place: Place) {
        if node.name.value == "use" {
            return;
        }
        let Some(row) = check::statement(node, place, self.files, self.found) else {
            return;
        };
        if let Some(place) = row.block {
            for child in node.children.iter().flatten() {
                self.statement(child, place);
            }
        }
    }

    /// A name means one thing in a file.
    fn no_shadowing(&mut self, own: Own) {
        for name in own {
            let Some(outer) = self.modules.list[self.module].values.get(&name.value) else {
                continue;
            };
            let what = match outer {
                Definition::Let { .. } => "a `let`",
                Definition::Param(_) => "a `param`",
            };
            self.used.insert(outer.name().span);
            let message = format!("`{}` already means {what}", name.value);
            self.found.push(
                Diagnostic::error(code::SHADOWING, name.span, message, "cannot be both")
                    .and(outer.name().span, "in the whole file")
                    .help("rename one"),
            );
        }
    }

    fn node(&mut self, node: &Node, own: Own) {
        if node.name.starts_with("x-") || table::find(&node.name).is_none() {
            return;
        }
        if node.name.value == "use" {
            // Nobody sees it once it is expanded, so it is checked here.
            check::statement(node, Place::Prebuild, self.files, self.found);
            self.template_name(node);
            self.parameter_names(node);
        }
        self.target_names(node);
        for (index, value) in node.arguments.iter().enumerate() {
            self.value(value, own, is_open(&node.name, Some(index)));
        }
        for property in &node.properties {
            let is_open = is_open(&node.name, None) && property.key.value != "auth";
            self.value(&property.value, own, is_open);
        }
        for child in node.children.iter().flatten() {
            if node.name.value == "matrix" {
                // Axes have names of their own, and see only the file's.
                self.axis_names(child, own);
                let values = child.arguments.iter();
                let values = values.chain(child.properties.iter().map(|p| &p.value));
                values.for_each(|value| self.value(value, &[], true));
            } else {
                self.node(child, own);
            }
        }
    }

    /// `is_open`: whether it may be interpolated.
    fn value(&mut self, value: &Value, own: Own, is_open: bool) {
        let (is_meant, Data::Text(text)) = (value.is_interpolated(), &value.data) else {
            if value.is_interpolated() {
                let help = "leave `(f)` out";
                self.no_interpolation(value, "`(f)` is for texts", "no braces in it", help);
            }
            return;
        };
        if is_meant && is_open {
            self.interpolated(value, text, own);
        } else if is_meant {
            let help = "leave `(f)` out: names are written as they are";
            self.no_interpolation(value, "`(f)` has no place here", "a name", help);
        } else if is_open {
            self.not_interpolated(value, text, own);
        }
    }

    fn no_interpolation(&mut self, value: &Value, message: &str, label: &str, help: &str) {
        let at = value.annotation.as_ref().map_or(value.span, |a| a.span);
        let wrong = Diagnostic::error(code::UNKNOWN_PROPERTY, at, message, label);
        self.found.push(wrong.help(help));
    }

    fn template_name(&mut self, node: &Node) {
        let written = node
            .arguments
            .first()
            .filter(|name| !name.is_interpolated());
        let Some(written) = written.and_then(Value::spanned) else {
            return;
        };
        if self.mark_template(&written) {
            return;
        }
        let alias = written.split_once('.').map(|(alias, _)| alias);
        let imported = alias.map(|alias| self.modules.imported(self.module, alias));
        let diagnostic = match (alias, imported) {
            (Some("std") | None, _) | (_, Some(Imported::Module(_))) => {
                let known = self
                    .modules
                    .template_names(self.module, alias == Some("std"));
                let known = known.iter().map(String::as_str);
                unknown("template", &written, known, self.found.len())
            }
            (Some(alias), _) => self.no_import(alias, written.span),
        };
        if let Some(fix) = &diagnostic.fix {
            let meant = Spanned::new(fix.replacement.clone(), written.span);
            self.mark_template(&meant);
        }
        self.found.push(diagnostic);
    }

    /// Notes that a template is used; whether there is such a one, or may be in a file that could not be read.
    fn mark_template(&mut self, written: &Spanned<String>) -> bool {
        match self.modules.template(self.module, written) {
            Imported::Module(module) => {
                let name = written.rsplit('.').next().unwrap_or_default();
                if let Some(template) = self.modules.list[module].templates.get(name) {
                    self.used.insert(template.name.span);
                    self.link(written.span, written, written.len(), template.name.span);
                }
                true
            }
            Imported::Broken => true,
            Imported::Unknown => false,
        }
    }
}

/// Whether a statement's argument, or its properties, may be interpolated: names that are defined may not.
pub(super) fn is_open(statement: &str, argument: Option<usize>) -> bool {
    !matches!(
        (statement, argument),
        (
            "atelier" | "import" | "allow" | "prebuild" | "template" | "layer" | "secret",
            _
        ) | ("group" | "param" | "use", Some(0))
    )
}
