//! One entry of a lock: its argument, its properties, and what is told of them if they are not as they should be.

use std::collections::BTreeMap;

use atelier_lang::code as lang;
use atelier_lang::diag::{Code, Diagnostic};
use atelier_lang::span::{Span, Spanned};
use atelier_lang::spelling::visible;
use atelier_lang::tree::{Node, Value};

use super::{Reader, WAY_OUT};

/// How each statement is written.
const FORMS: [(&str, &str); 3] = [
    (
        "image",
        "image \"NAME\" platform=\"linux/amd64\" digest=\"sha256:…\" [reference=\"…\"]",
    ),
    ("lock", "lock 1"),
    (
        "repo",
        "repo \"https://…\" ref=\"refs/heads/…\" head=\"…\" [default=#true]",
    ),
];

/// An entry's one argument, and its properties by name.
pub(super) struct Fields<'n> {
    pub(super) argument: Spanned<String>,
    pub(super) properties: BTreeMap<&'n str, &'n Value>,
}

impl Reader<'_> {
    /// The values of an entry, if it has its argument and the first `required` of the properties `names`.
    pub(super) fn fields<'n>(
        &mut self,
        node: &'n Node,
        names: &[&str],
        required: usize,
    ) -> Option<Fields<'n>> {
        let before = self.found.len();
        let properties = self.properties(node, names);
        let name = node.name.as_str();
        let argument = match node.arguments.as_slice() {
            // What has no text has a finding already, from the reader of documents.
            [argument] => Some(Spanned::new(argument.text()?, argument.span)),
            other => {
                let span = other.get(1).map_or(node.name.span, |extra| extra.span);
                let message = format!("`{name}` takes one text");
                self.fault(node, lang::WRONG_ARGUMENTS, span, message, "not so");
                None
            }
        };
        let is_missing = |name: &&&str| !properties.contains_key(**name);
        let missing = names[..required].iter().find(is_missing);
        if let (Some(missing), true) = (missing, self.found.len() == before) {
            let message = format!("`{name}` has no `{missing}=`");
            let span = node.head();
            self.fault(node, lang::WRONG_ARGUMENTS, span, message, "incomplete");
        }
        let argument = argument.filter(|_| self.found.len() == before)?;
        Some(Fields {
            argument,
            properties,
        })
    }

    /// Those called `names`; anything else, and a block, is a fault.
    fn properties<'n>(&mut self, node: &'n Node, names: &[&str]) -> BTreeMap<&'n str, &'n Value> {
        let name = node.name.as_str();
        let mut properties = BTreeMap::new();
        for property in &node.properties {
            let key = property.key.as_str();
            if !names.contains(&key) {
                let message = format!("`{name}` has no `{}`", visible(key));
                let span = property.key.span;
                self.fault(node, lang::UNKNOWN_PROPERTY, span, message, "unknown");
            } else if properties.insert(key, &property.value).is_some() {
                let message = format!("`{key}` twice");
                let span = property.span();
                self.fault(node, lang::DUPLICATE_PROPERTY, span, message, "again");
            }
        }
        if node.children.is_some() {
            let message = format!("`{name}` has no block");
            let (span, label) = (node.name.span, "a block is not for it");
            self.fault(node, lang::UNKNOWN_PROPERTY, span, message, label);
        }
        properties
    }

    fn fault(&mut self, node: &Node, code: Code, span: Span, message: String, label: &str) {
        let form = form(&node.name);
        let fault = Diagnostic::error(code, span, message, label);
        self.found.push(fault.help(format!("written: {form}")));
    }

    /// A property's text, if it is what it should be.
    pub(super) fn text(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        is_good: fn(&str) -> bool,
        wanted: &str,
    ) -> Option<String> {
        let value = fields.properties.get(name)?;
        let text = value.text()?;
        if is_good(&text) {
            return Some(text);
        }
        self.bad(value.span, &text, wanted);
        None
    }

    pub(super) fn parsed<T: std::str::FromStr>(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        wanted: &str,
    ) -> Option<T> {
        let value = fields.properties.get(name)?;
        let text = value.text()?;
        match text.parse() {
            Ok(parsed) => Some(parsed),
            Err(_) => {
                self.bad(value.span, &text, wanted);
                None
            }
        }
    }

    pub(super) fn bad(&mut self, span: Span, text: &str, wanted: &str) {
        let message = format!("`{}` cannot be used here", visible(text));
        let label = format!("not {wanted}");
        self.found
            .push(Diagnostic::error(lang::BAD_VALUE, span, message, label).help(WAY_OUT));
    }
}

fn form(name: &str) -> &'static str {
    let row = FORMS.iter().find(|(known, _)| *known == name);
    row.map_or("", |(_, form)| form)
}
