//! `use`: a template's parameters bound, and its statements in the place of the `use`.

use std::rc::Rc;

use super::define::Template;
use super::kind::Kind;
use super::param::Param;
use super::scope::{Binding, Bindings, Expander, Scope};
use super::statement::copy;
use super::weigh::{self, Weights};
use crate::code;
use crate::diag::Diagnostic;
use crate::span::Spanned;
use crate::spelling::visible;
use crate::suggest::nearest;
use crate::tree::{Node, Property, Value};

impl Expander<'_> {
    /// Puts what the `use` stands for behind `out`; whether it could.
    pub(super) fn expand_use(
        &mut self,
        node: &Node,
        scope: Scope,
        weights: &Weights,
        out: &mut Vec<Node>,
    ) -> bool {
        let Some(id) = weigh::used(self.modules, scope.module, node) else {
            return false;
        };
        let Some(weight) = weights.get(&id) else {
            return false;
        };
        let modules = self.modules;
        let (module, name) = id;
        let Some(template) = modules.list[module].templates.get(&name) else {
            return false;
        };
        let own = self.bind(node, template, &weight.params, module, scope);
        let written = node.arguments.first().and_then(Value::text);
        let what = format!("use {}", written.unwrap_or_default());
        let via = self.sources.expand(what, node.head());
        let scope = Scope { module, own: &own };
        for statement in &template.body {
            self.statement(copy(statement, via), scope, weights, out);
        }
        true
    }

    /// Binds every parameter, as given or to its default; `None` for those that are at fault.
    fn bind(
        &mut self,
        node: &Node,
        template: &Template,
        order: &[usize],
        module: usize,
        caller: Scope,
    ) -> Bindings {
        self.unknown_properties(node, template);
        let mut own = Bindings::new();
        for index in order {
            let param = &template.params[*index];
            let given = match param.kind {
                Kind::Words => self.words(node, caller),
                _ => self.given(node, param, caller),
            };
            let scope = Scope { module, own: &own };
            let bound = match (given, &param.default) {
                (Given::Value(binding), _) => self.checked(param, binding, scope),
                (Given::Faulty, _) => None,
                (Given::Nothing, Some(default)) => {
                    let binding = self.text(default, scope, false);
                    binding.and_then(|binding| self.checked(param, binding, scope))
                }
                (Given::Nothing, None) => {
                    self.found.push(missing(node, template, param));
                    None
                }
            };
            own.insert(param.name.value.clone(), bound);
        }
        own
    }

    fn given(&mut self, node: &Node, param: &Param, caller: Scope) -> Given {
        let properties = node.properties.iter();
        let mut given = properties.filter(|property| property.key.value == param.name.value);
        match given.next() {
            Some(property) => self.text(&property.value, caller, false).into(),
            None => Given::Nothing,
        }
    }

    /// What follows the template's name, with spaces between.
    fn words(&mut self, node: &Node, caller: Scope) -> Given {
        let mut words: Vec<Rc<str>> = Vec::new();
        for argument in &node.arguments[1..] {
            match self.text(argument, caller, false) {
                Some(binding) => words.push(binding.text),
                None => return Given::Faulty,
            }
        }
        let Some(first) = node.arguments.get(1) else {
            return Given::Nothing;
        };
        let length = words.iter().map(|word| word.len() + 1).sum();
        if self.fits(length, first).is_none() {
            return Given::Faulty;
        }
        Given::Value(Binding {
            text: words.join(" ").into(),
            span: first.span,
            module: caller.module,
            is_words: true,
        })
    }

    fn unknown_properties(&mut self, node: &Node, template: &Template) {
        let is_words = |param: &&Param| param.kind == Kind::Words;
        let words = template.params.iter().find(is_words);
        for Property { key, .. } in &node.properties {
            let named = template.params.iter().filter(|param| !is_words(param));
            if named.clone().any(|param| param.name.value == key.value) {
                continue;
            }
            self.found
                .push(match words.filter(|words| words.name.value == key.value) {
                    Some(words) => {
                        let message = format!("`{}` is what follows the name", key.value);
                        let label = "not a property";
                        Diagnostic::error(code::UNKNOWN_PROPERTY, key.span, message, label)
                            .and(words.name.span, "takes the words of `use`")
                            .help(format!("write: use {} WORD…", template.name.value))
                    }
                    None => {
                        let names = named.map(|param| param.name.value.as_str());
                        unknown(key, template, &names.collect::<Vec<_>>())
                    }
                });
        }
        if let (Some(extra), None) = (node.arguments.get(1), words) {
            let message = format!("`{}` takes no words", template.name.value);
            self.found.push(
                Diagnostic::error(code::WRONG_ARGUMENTS, extra.span, message, "too many")
                    .and(template.name.span, "the template")
                    .help("give parameters by name, as NAME=VALUE"),
            );
        }
    }
}

/// What a `use` says of a parameter.
enum Given {
    Nothing,
    /// Reported.
    Faulty,
    Value(Binding),
}

impl From<Option<Binding>> for Given {
    fn from(binding: Option<Binding>) -> Self {
        binding.map_or(Self::Faulty, Self::Value)
    }
}

fn missing(node: &Node, template: &Template, param: &Param) -> Diagnostic {
    let (template, name) = (&template.name.value, &param.name.value);
    let message = format!("`{template}` needs `{name}`");
    let help = match param.kind {
        Kind::Words => format!("such as: use {template} WORD…"),
        _ => format!("add {name}=…"),
    };
    Diagnostic::error(code::MISSING_PARAMETER, node.head(), message, "not given")
        .and(param.head, "has no default")
        .help(help)
}

fn unknown(key: &Spanned<String>, template: &Template, params: &[&str]) -> Diagnostic {
    let message = format!(
        "`{}` has no parameter `{}`",
        template.name.value,
        visible(key)
    );
    let diagnostic = Diagnostic::error(code::UNKNOWN_PROPERTY, key.span, message, "unknown");
    match nearest(key, params.iter().copied()) {
        Some(near) => diagnostic
            .help(format!("did you mean `{near}`?"))
            .fix(key.span, near),
        None if params.is_empty() => diagnostic.help("it has no parameters"),
        None => diagnostic.help(format!("it has: {}", params.join(", "))),
    }
}
