//! The files of an evaluation, and where the names lead that one of them writes: to its own things, to those of a file
//! that it imports, or to the library.

use std::collections::BTreeMap;

use super::define::Module;
use crate::diag::Diagnostic;
use crate::eval::unknown;
use crate::span::{Span, Spanned};

/// The files of an evaluation; the one that is evaluated comes first.
#[derive(Debug, Default)]
pub(super) struct Modules {
    pub(super) list: Vec<Module>,
    /// Which file of `std` defines a template.
    pub(super) std: BTreeMap<String, usize>,
    /// All templates of `std`, also of files that were not read.
    pub(super) std_names: Vec<&'static str>,
}

/// What another file's name leads to.
pub(super) enum Imported {
    Module(usize),
    /// It could not be read, which has been reported.
    Broken,
    Unknown,
}

impl Modules {
    /// What a namespace of a file leads to.
    pub(super) fn imported(&self, module: usize, alias: &str) -> Imported {
        match self.list[module].imports.get(alias) {
            Some(import) => import.module.map_or(Imported::Broken, Imported::Module),
            None => Imported::Unknown,
        }
    }

    /// A namespace that a file does not have; the name is only a part of what stands at `span`.
    pub(super) fn no_import(
        &self,
        module: usize,
        alias: &str,
        span: Span,
        rank: usize,
    ) -> Diagnostic {
        let imports = self.list[module].imports.keys().map(String::as_str);
        let name = Spanned::new(alias.to_owned(), span);
        let mut diagnostic = unknown("import", &name, imports, rank);
        diagnostic.fix = None;
        let example = || Some(format!("such as: import \"./{alias}.kdl\""));
        diagnostic.help = diagnostic.help.or_else(example);
        diagnostic
    }

    /// The file that defines the template that `name` means in a file: its own, then those of `std`.
    pub(super) fn template(&self, module: usize, name: &str) -> Imported {
        let std = |name: &str| match self.std.get(name) {
            Some(index) => Imported::Module(*index),
            None => Imported::Unknown,
        };
        match name.split_once('.') {
            Some(("std", name)) => std(name),
            Some((alias, name)) => match self.imported(module, alias) {
                Imported::Module(other) if !self.list[other].templates.contains_key(name) => {
                    Imported::Unknown
                }
                found => found,
            },
            None if self.list[module].templates.contains_key(name) => Imported::Module(module),
            None => std(name),
        }
    }

    /// All templates that a file can use, as it would write them: those of `std` with or without saying so.
    pub(super) fn template_names(&self, module: usize, says_std: bool) -> Vec<String> {
        let module = &self.list[module];
        let own = module.templates.keys().cloned();
        let std = self.std_names.iter().map(|name| match says_std {
            true => format!("std.{name}"),
            false => (*name).to_owned(),
        });
        let imports = module.imports.iter();
        let imported = imports.filter_map(|(alias, import)| Some((alias, import.module?)));
        let imported = imported.flat_map(|(alias, index)| {
            let names = self.list[index].templates.keys();
            names.map(move |name| format!("{alias}.{name}"))
        });
        own.chain(imported).chain(std).collect()
    }
}
