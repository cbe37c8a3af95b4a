//! The constants and parameters of all files, each after those that it is made of.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::define::Definition;
use super::kind::Kind;
use super::modules::{Imported, Modules};
use super::param::Param;
use super::pieces::{Piece, pieces};
use super::scope::{Binding, Bindings, Expander, Scope};
use crate::code;
use crate::cycle;
use crate::diag::Diagnostic;
use crate::index::Index;
use crate::span::{Span, Spanned};
use crate::spelling::{quoted, visible};
use crate::suggest::nearest;
use crate::tree::{Data, Value};
use crate::{Inputs, Missing};

impl Expander<'_> {
    /// Binds everything that the files define.
    pub(super) fn bind_files(&mut self, inputs: &Inputs) {
        let modules = self.modules;
        let all: Vec<(usize, &Definition)> = modules
            .list
            .iter()
            .enumerate()
            .flat_map(|(index, module)| module.values.values().map(move |value| (index, value)))
            .collect();
        self.unknown_params(inputs);
        let edges = edges(modules, &all);
        for cycle in cycle::find(&edges) {
            let names = cycle.iter().map(|index| all[*index].1.name());
            let next = names.clone().cycle().skip(1);
            let labels = names.clone().zip(next);
            let labels = labels.map(|(name, next)| Spanned::new(next.value.clone(), name.span));
            let told = names.clone().map(|name| name.value.as_str());
            self.found
                .push(cycle::diagnostic(told, labels, "is made of"));
        }
        for index in cycle::order(&edges) {
            let (module, definition) = all[index];
            let binding = self.definition(module, definition, inputs);
            let name = definition.name().value.clone();
            self.values[module].insert(name, binding);
        }
    }

    /// Notes what the names of the files stand for.
    pub(super) fn tell(&self, index: &mut Index) {
        let mut values = BTreeMap::new();
        for (module, bindings) in self.modules.list.iter().zip(&self.values) {
            let bound = bindings.iter().filter_map(|(name, binding)| {
                let definition = module.values.get(name)?;
                Some((definition.name().span, binding.as_ref()?.text.to_string()))
            });
            values.extend(bound);
        }
        for definition in &mut index.definitions {
            definition.value = values.remove(&definition.name.span);
        }
    }

    fn definition(
        &mut self,
        module: usize,
        definition: &Definition,
        inputs: &Inputs,
    ) -> Option<Binding> {
        let own = Bindings::new();
        let scope = Scope { module, own: &own };
        let param = match definition {
            Definition::Let { value, .. } => return self.text(value, scope, false),
            Definition::Param(param) => param,
        };
        let given = inputs.params.get(&param.name.value).filter(|_| module == 0);
        if let Some(given) = given {
            self.made.insert(param.name.span);
            let binding = Binding {
                text: Rc::from(given.as_str()),
                span: param.name.span,
                module,
                is_words: false,
            };
            return self.checked(param, binding, scope);
        }
        let Some(default) = &param.default else {
            if module == 0 && inputs.missing == Missing::Open {
                return None;
            }
            let message = format!("`{}` needs a value", param.name.value);
            let help = if module == 0 {
                format!("give it with --param {}=…, or a default", param.name.value)
            } else {
                "give it a default: an imported file is given no values".to_owned()
            };
            let label = "no value, no default";
            self.found.push(
                Diagnostic::error(code::MISSING_PARAMETER, param.name.span, message, label)
                    .help(help),
            );
            return None;
        };
        let binding = self.text(default, scope, false)?;
        self.checked(param, binding, scope)
    }

    /// The binding, if it is of the parameter's type and among its choices.
    pub(super) fn checked(
        &mut self,
        param: &Param,
        binding: Binding,
        scope: Scope,
    ) -> Option<Binding> {
        if let Some((message, rule)) = param.kind.fault(&binding.text) {
            let name = &param.name;
            let diagnostic = Diagnostic::error(code::BAD_VALUE, binding.span, message, rule);
            self.found.push(if name.span == binding.span {
                diagnostic
            } else {
                diagnostic.and(name.span, format!("what `{}` has to be", name.value))
            });
            return None;
        }
        let is_words = param.kind == Kind::Words;
        let binding = Binding {
            is_words,
            ..binding
        };
        if param.choices.is_empty() {
            return Some(binding);
        }
        let mut choices = Vec::new();
        for choice in &param.choices {
            choices.push(self.text(choice, scope, false)?.text);
        }
        if choices.contains(&binding.text) {
            return Some(binding);
        }
        let name = &param.name;
        let message = format!(
            "`{}` is no choice of `{}`",
            visible(&binding.text),
            name.value
        );
        let diagnostic = Diagnostic::error(code::BAD_VALUE, binding.span, message, "not a choice");
        let diagnostic = if name.span == binding.span {
            diagnostic
        } else {
            diagnostic.and(name.span, "the choices are here")
        };
        let near = nearest(&binding.text, choices.iter().map(|choice| &**choice));
        self.found.push(match near {
            Some(near) if name.span != binding.span => diagnostic
                .help(format!("did you mean `{}`?", visible(near)))
                .fix(binding.span, quoted(near)),
            _ => diagnostic.help(format!("one of: {}", visible(&choices.join(", ")))),
        });
        None
    }

    /// What the command line gives and the file does not ask for.
    fn unknown_params(&mut self, inputs: &Inputs) {
        let root = &self.modules.list[0];
        let params = root
            .values
            .values()
            .filter_map(|definition| match definition {
                Definition::Param(param) => Some(param.name.value.as_str()),
                Definition::Let { .. } => None,
            });
        let params: Vec<&str> = params.collect();
        for name in inputs.params.keys() {
            if params.contains(&name.as_str()) {
                continue;
            }
            let help = match nearest(name, params.iter().copied()) {
                Some(near) => format!("did you mean --param {near}=…?"),
                None if params.is_empty() => "the file has none".to_owned(),
                None => format!("there is: {}", params.join(", ")),
            };
            self.found.push(Diagnostic {
                labels: Vec::new(),
                ..Diagnostic::error(
                    code::UNKNOWN_NAME,
                    Span::new(root.file, 0, 0),
                    format!("--param {}: the file has no such `param`", visible(name)),
                    "",
                )
                .help(help)
            });
        }
    }
}

/// Which definitions each is made of.
fn edges(modules: &Modules, all: &[(usize, &Definition)]) -> Vec<Vec<usize>> {
    let place = |(index, (module, definition)): (usize, &(usize, &Definition))| {
        ((*module, definition.name().value.clone()), index)
    };
    let places: BTreeMap<(usize, String), usize> = all.iter().enumerate().map(place).collect();
    let edges = all.iter().map(|(module, definition)| {
        let mut needed = Vec::new();
        for value in definition.sources() {
            for (alias, name) in names_in(value) {
                let module = match alias.as_deref().map(|a| modules.imported(*module, a)) {
                    None => *module,
                    Some(Imported::Module(other)) => other,
                    Some(Imported::Broken | Imported::Unknown) => continue,
                };
                needed.extend(places.get(&(module, name)));
            }
        }
        needed
    });
    edges.collect()
}

/// The names between the braces of a value.
pub(super) fn names_in(value: &Value) -> Vec<(Option<String>, String)> {
    let Data::Text(text) = &value.data else {
        return Vec::new();
    };
    if !value.is_interpolated() {
        return Vec::new();
    }
    let names = pieces(text).0.into_iter().filter_map(|piece| match piece {
        Piece::Name(name) => Some((name.alias.map(str::to_owned), name.own.to_owned())),
        Piece::Text(_) => None,
    });
    names.collect()
}
