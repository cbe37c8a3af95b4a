//! Definitions that nothing uses.

use std::collections::BTreeSet;

use super::silences;
use crate::code;
use crate::diag::Diagnostic;
use crate::expand::define::Module;
use crate::expand::modules::Modules;
use crate::span::{Span, Spanned};

/// Warns of what is not among those `used`, in the files of the project.
pub(super) fn report(modules: &Modules, used: &BTreeSet<Span>, found: &mut Vec<Diagnostic>) {
    for (index, module) in modules.list.iter().enumerate() {
        if module.path.is_some() && !silences(module, "unused") {
            // What another file defines, and what a file without targets defines, is for others.
            let is_for_others = index > 0 || module.is_library;
            let names = defined(module, is_for_others);
            let unused = names.iter().filter(|name| !used.contains(&name.span));
            found.extend(unused.map(warning));
        }
    }
}

/// What the file should use itself.
fn defined(module: &Module, is_for_others: bool) -> Vec<Spanned<String>> {
    let templates = module.templates.values();
    let params = templates.clone().flat_map(|template| &template.params);
    let mut names: Vec<_> = params.map(|param| param.name.clone()).collect();
    if !is_for_others {
        names.extend(module.values.values().map(|value| value.name().clone()));
        names.extend(templates.map(|template| template.name.clone()));
    }
    names
}

fn warning(name: &Spanned<String>) -> Diagnostic {
    let message = format!("`{}` is never used", name.value);
    Diagnostic::error(code::UNUSED, name.span, message, "unused")
        .help("delete it; if it is to stay: allow unused")
        .warning()
}
