//! What names stand for, and texts with the names between braces replaced. One pass: what is put in is never looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::define::Definition;
use super::modules::{Imported, Modules};
use super::pieces::{Name, Piece, pieces};
use super::{STRING, TEXT};
use crate::code;
use crate::diag::Diagnostic;
use crate::files::Files;
use crate::source::Sources;
use crate::span::Span;
use crate::spelling::visible;
use crate::tree::{Data, Value};

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) text: Rc<str>,
    /// Where the text was written.
    pub(super) span: Span,
    /// The file whose names it uses, should it name something.
    pub(super) module: usize,
    /// Whether spaces in it are spaces between words of a command.
    pub(super) is_words: bool,
}

/// Values by name; `None` for one whose fault has been reported.
pub(super) type Bindings = BTreeMap<String, Option<Binding>>;

/// Where names are looked up: what the template or the cell binds, then the file.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) module: usize,
    pub(super) own: &'a Bindings,
}

/// What an expansion works on.
pub(super) struct Expander<'a> {
    pub(super) modules: &'a Modules,
    pub(super) files: &'a Files,
    /// Of each file.
    pub(super) values: Vec<Bindings>,
    pub(super) sources: &'a mut Sources,
    pub(super) found: &'a mut Vec<Diagnostic>,
    /// How many bytes of text may still be made.
    pub(super) left: usize,
    /// Where texts stand that are not what is written there.
    pub(super) made: BTreeSet<Span>,
}

impl Expander<'_> {
    /// The value with its names replaced; `None` if something is wrong with it, which has been reported. In a shell's
    /// command (`is_command`) only what cannot be syntax may be put in.
    pub(super) fn text(
        &mut self,
        value: &Value,
        scope: Scope,
        is_command: bool,
    ) -> Option<Binding> {
        let plain = Binding {
            text: Rc::from(""),
            span: value.span,
            module: scope.module,
            is_words: false,
        };
        if !value.is_interpolated() {
            let text = Rc::from(value.text()?);
            return Some(Binding { text, ..plain });
        }
        let Data::Text(text) = &value.data else {
            return None;
        };
        let (pieces, faults) = pieces(text);
        if !faults.is_empty() {
            return None;
        }
        let mut bound = BTreeMap::new();
        for piece in &pieces {
            if let Piece::Name(name) = piece {
                let binding = self.binding(name, scope)?;
                if is_command {
                    self.is_safe(name, &binding, value, text)?;
                }
                bound.insert(name.at, binding);
            }
        }
        let length = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Name(name) => bound.get(&name.at).map_or(0, |binding| binding.text.len()),
        });
        self.fits(length.sum(), value)?;
        if let [Piece::Text(""), Piece::Name(name), Piece::Text("")] = pieces.as_slice() {
            // Nothing but the value: it stays what it is, where it was written.
            return bound.remove(&name.at);
        }
        let texts = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Name(name) => bound.get(&name.at).map_or("", |binding| &*binding.text),
        });
        let text = texts.collect::<String>().into();
        Some(Binding { text, ..plain })
    }

    fn binding(&self, name: &Name, scope: Scope) -> Option<Binding> {
        let Some(alias) = name.alias else {
            let own = scope.own.get(name.own);
            let bound = own.or_else(|| self.values[scope.module].get(name.own))?;
            return bound.clone();
        };
        let Imported::Module(other) = self.modules.imported(scope.module, alias) else {
            return None;
        };
        match self.modules.list[other].values.get(name.own)? {
            Definition::Let { .. } => self.values[other].get(name.own)?.clone(),
            Definition::Param(_) => None,
        }
    }

    /// `None` if the text would be too long; told before there is any.
    pub(super) fn fits(&mut self, length: usize, value: &Value) -> Option<()> {
        if length > STRING {
            let message = format!("this text expands past {} KiB", STRING >> 10);
            let label = format!("{} KiB", length.div_ceil(1 << 10));
            self.found.push(
                Diagnostic::error(code::EXPANDS_TOO_FAR, value.span, message, label)
                    .help("put what is long into a file, and use from="),
            );
            return None;
        }
        match self.left.checked_sub(length) {
            Some(left) => self.left = left,
            None if self.left > 0 => {
                self.left = 0;
                let message = format!("the file expands past {} MiB", TEXT >> 20);
                let label = "no room for this text";
                self.found.push(
                    Diagnostic::error(code::EXPANDS_TOO_FAR, value.span, message, label)
                        .help("put what is long into a file, and use from="),
                );
                return None;
            }
            None => return None,
        }
        Some(())
    }

    /// A parameter cannot become shell syntax.
    fn is_safe(&mut self, name: &Name, binding: &Binding, value: &Value, text: &str) -> Option<()> {
        let is_safe = |c: char| {
            c.is_ascii_alphanumeric() || "@%_+=:,./-".contains(c) || (c == ' ' && binding.is_words)
        };
        let Some(odd) = binding.text.chars().find(|c| !is_safe(*c)) else {
            return Some(());
        };
        let shown = match odd {
            ' ' => "a space".to_owned(),
            odd => format!("`{}`", visible(&odd.to_string())),
        };
        let message = format!("{shown} would reach the shell");
        let span = self.files.within(value.span, text, name.range());
        let label = "put in here";
        self.found.push(
            Diagnostic::error(
                code::UNSAFE_IN_SHELL,
                span.unwrap_or(value.span),
                message,
                label,
            )
            .and(binding.span, "the value is from here")
            .help(format!(
                "in a `run`, a value has only letters, digits and @%_+=:,./- ; give this one with `env`, and write \
                 \"${}\"",
                name.own.replace('-', "_").to_ascii_uppercase()
            )),
        );
        None
    }
}
