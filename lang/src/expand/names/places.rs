//! Where names are defined and used, for the index.

use super::Names;
use crate::expand::define::{Definition, Module};
use crate::expand::matrix::axes;
use crate::expand::modules::{Imported, Modules};
use crate::index::{Index, Kind};
use crate::span::{Span, Spanned};
use crate::tree::{Node, Value};

/// Notes what a file defines.
pub(super) fn define(modules: &Modules, module: &Module, tree: &[Node], index: &mut Index) {
    let aliases = module.imports.iter().filter_map(|(alias, import)| {
        let other = modules.list.get(import.module?)?;
        Some((alias.clone(), other.file))
    });
    index.aliases.insert(module.file, aliases.collect());
    for import in module.imports.values() {
        index.define(Kind::Import, &import.alias, import.span);
    }
    for definition in module.values.values() {
        let (kind, whole) = match definition {
            Definition::Let { name, value } => {
                let end = value.span.end;
                (Kind::Let, Span { end, ..name.span })
            }
            Definition::Param(param) => (Kind::Param, param.head),
        };
        index.define(kind, definition.name(), whole);
    }
    for template in module.templates.values() {
        index.define(Kind::Template, &template.name, template.span);
        for param in &template.params {
            index.define(Kind::Parameter, &param.name, param.head);
        }
    }
    for node in tree {
        let kind = match node.name.as_str() {
            "prebuild" => Kind::Prebuild,
            "group" => Kind::Group,
            _ => continue,
        };
        let name = node.arguments.first().and_then(Value::spanned);
        if let Some(name) = name {
            index.define(kind, &name, node.span);
        }
        for axis in axes(node) {
            index.define(Kind::Axis, &axis, axis.span);
        }
    }
}

impl Names<'_> {
    /// Notes that the first `length` bytes of `name`, which stands at `span` as it is, lead to a definition; and an alias in
    /// it to an import.
    pub(super) fn link(&mut self, span: Span, name: &str, length: usize, definition: Span) {
        let written = self.files.slice(span.as_written());
        // In quotes, the name is a part of what stands there.
        let Some(start) = written.find(name) else {
            return;
        };
        let alias = name.find('.');
        let own = alias.map_or(0, |dot| dot + 1);
        let part = span.within(start + own..start + length);
        self.index.link(part, definition);
        let imports = &self.modules.list[self.module].imports;
        if let Some(dot) = alias
            && let Some(import) = imports.get(&name[..dot])
        {
            let part = span.within(start..start + dot);
            self.index.link(part, import.alias.span);
        }
    }

    /// Links the properties of a `use` to the parameters that they are values of.
    pub(super) fn parameter_names(&mut self, node: &Node) {
        let Some(written) = node.arguments.first().and_then(Value::spanned) else {
            return;
        };
        let modules = self.modules;
        let Imported::Module(module) = modules.template(self.module, &written) else {
            return;
        };
        let name = written.rsplit('.').next().unwrap_or_default();
        let Some(template) = modules.list[module].templates.get(name) else {
            return;
        };
        for property in &node.properties {
            let key = &property.key;
            let mut params = template.params.iter().map(|param| &param.name);
            if let Some(param) = params.find(|param| param.value == key.value) {
                self.link(key.span, key, key.len(), param.span);
            }
        }
    }

    /// Links the axes of a `skip` or a `cell` to the places where they are named first.
    pub(super) fn axis_names(&mut self, node: &Node, axes: &[&Spanned<String>]) {
        for property in &node.properties {
            let key = &property.key;
            let axis = axes.iter().find(|axis| axis.value == key.value);
            if let Some(axis) = axis.filter(|axis| axis.span != key.span) {
                self.link(key.span, key, key.len(), axis.span);
            }
        }
    }
}
