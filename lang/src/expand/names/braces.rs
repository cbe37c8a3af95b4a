//! Names between the braces of a text: those of `(f)` texts must mean something, those of plain ones had better not.

use super::{Names, Own, silences};
use crate::code;
use crate::diag::Diagnostic;
use crate::eval::unknown;
use crate::expand::define::Definition;
use crate::expand::modules::Imported;
use crate::expand::pieces::{self, Name};
use crate::span::{Span, Spanned};
use crate::spelling::visible;
use crate::tree::Value;

/// How many faults of one kind are told of one text.
const SHOWN: usize = 20;

impl Names<'_> {
    pub(super) fn interpolated(&mut self, value: &Value, text: &str, own: Own) {
        let (pieces, faults) = pieces::pieces(text);
        for fault in faults.into_iter().take(SHOWN) {
            let shown = &text[fault.at.clone()];
            let message = format!("`{}` {}", visible(shown), fault.why);
            let label = "a name stands between braces";
            let span = self.files.within(value.span, text, fault.at);
            let span = span.unwrap_or(value.span);
            let help = "write `{{` and `}}` for braces that are meant as such";
            let fault = Diagnostic::error(code::BAD_INTERPOLATION, span, message, label);
            self.found.push(fault.help(help));
        }
        let mut unknown = 0;
        for piece in pieces {
            let pieces::Piece::Name(name) = piece else {
                continue;
            };
            if let Some(definition) = self.definition(&name, own) {
                self.used.insert(definition);
                let braces = name.range();
                let inside = braces.start + 1..braces.end - 1;
                if let Some(span) = self.files.within(value.span, text, inside.clone()) {
                    let name = &text[inside];
                    self.link(span, name, name.len(), definition);
                }
            } else if unknown < SHOWN {
                unknown += 1;
                self.unknown(&name, value, own);
            }
        }
    }

    /// A name between the braces of `value` that stands for nothing.
    fn unknown(&mut self, name: &Name, value: &Value, own: Own) {
        let module = &self.modules.list[self.module];
        let text = value.text().unwrap_or_default();
        let braces = name.range();
        let exact = self
            .files
            .within(value.span, &text, braces.start + 1..braces.end - 1);
        let inside = exact.unwrap_or(value.span);
        let values = own.iter().map(|name| name.value.as_str());
        let values = values.chain(module.values.keys().map(String::as_str));
        let rank = self.found.len();
        let diagnostic = match name.alias {
            None => unknown(
                "value",
                &Spanned::new(name.own.to_owned(), inside),
                values,
                rank,
            ),
            Some(alias) => match self.modules.imported(self.module, alias) {
                Imported::Module(other) => {
                    let lets = self.modules.list[other].lets();
                    let lets: Vec<_> = lets.map(|name| format!("{alias}.{name}")).collect();
                    let written = Spanned::new(format!("{alias}.{}", name.own), inside);
                    unknown("`let`", &written, lets.iter().map(String::as_str), rank)
                }
                Imported::Broken => return,
                Imported::Unknown => self.no_import(alias, inside),
            },
        };
        if let Some(fix) = &diagnostic.fix {
            // What was meant is not unused.
            let meant = pieces::name(&fix.replacement, 0);
            self.used
                .extend(meant.and_then(|meant| self.definition(&meant, own)));
        }
        let fix = diagnostic.fix.clone().filter(|_| exact.is_some());
        self.found.push(Diagnostic { fix, ..diagnostic });
    }

    pub(super) fn no_import(&self, alias: &str, span: Span) -> Diagnostic {
        let rank = self.found.len();
        self.modules.no_import(self.module, alias, span, rank)
    }

    /// Where what a name stands for is defined.
    fn definition(&self, name: &Name, own: Own) -> Option<Span> {
        let module = &self.modules.list[self.module];
        let Some(alias) = name.alias else {
            let own = own.iter().find(|own| own.value == name.own);
            let outer = || Some(module.values.get(name.own)?.name().span);
            return own.map(|own| own.span).or_else(outer);
        };
        let Imported::Module(other) = self.modules.imported(self.module, alias) else {
            return None;
        };
        match self.modules.list[other].values.get(name.own)? {
            Definition::Let { name, .. } => Some(name.span),
            Definition::Param(_) => None,
        }
    }

    /// `{node}` in a plain text, where `node` means something.
    pub(super) fn not_interpolated(&mut self, value: &Value, text: &str, own: Own) {
        let module = &self.modules.list[self.module];
        if module.path.is_none() || silences(module, "not-interpolated") {
            return;
        }
        let meant = |name: &Name| self.definition(name, own).is_some();
        let Some(name) = pieces::unmeant(text).find(meant) else {
            return;
        };
        let range = name.range();
        let message = format!("`{}` is not interpolated", &text[range.clone()]);
        let span = self
            .files
            .within(value.span, text, range)
            .unwrap_or(value.span);
        let warning = Diagnostic::error(code::NOT_INTERPOLATED, span, message, "a plain text")
            .help("put `(f)` before the text; if the braces are meant: allow not-interpolated")
            .warning();
        let is_right = pieces::pieces(text).1.is_empty();
        self.found.push(if is_right && value.annotation.is_none() {
            let start = value.span.as_written().within(0..0);
            warning.fix(start, "(f)")
        } else {
            warning
        });
    }
}
