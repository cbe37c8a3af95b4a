//! The small tree that the parser yields: nodes, arguments, properties and where each was written.
//!
//! It knows no statement and no parser. Comments, spelling of strings and what `/-` took away are already gone.

use crate::span::{Span, Spanned};

#[derive(Clone, Debug)]
pub struct Node {
    pub name: Spanned<String>,
    /// `(type)` before the name.
    pub annotation: Option<Spanned<String>>,
    pub arguments: Vec<Value>,
    /// As written: a key may stand twice.
    pub properties: Vec<Property>,
    pub children: Option<Vec<Node>>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Property {
    pub key: Spanned<String>,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub struct Value {
    pub data: Data,
    /// `(type)` before the value.
    pub annotation: Option<Spanned<String>>,
    /// Of the value alone.
    pub span: Span,
    /// Where the text was written, if not here.
    pub given: Option<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Text(String),
    Integer(i128),
    Bool(bool),
    Float,
    Null,
}

impl Node {
    /// Without the block.
    pub fn head(&self) -> Span {
        let values = self
            .arguments
            .iter()
            .chain(self.properties.iter().map(|p| &p.value));
        let end = values
            .map(|value| value.span.end)
            .fold(self.name.span.end, u32::max);
        Span { end, ..self.span }
    }
}

impl Property {
    pub fn span(&self) -> Span {
        Span {
            end: self.value.span.end,
            ..self.key.span
        }
    }
}

impl Value {
    /// Everything is text: integers are canonical decimal. `None` for what the language does not accept.
    pub fn text(&self) -> Option<String> {
        match &self.data {
            Data::Text(text) => Some(text.clone()),
            Data::Integer(number) => Some(number.to_string()),
            Data::Bool(truth) => Some(truth.to_string()),
            Data::Float | Data::Null => None,
        }
    }

    /// The same, with its place.
    pub(crate) fn spanned(&self) -> Option<Spanned<String>> {
        let written = self.given.unwrap_or(self.span);
        Some(Spanned::new(self.text()?, written))
    }

    /// Whether it is `(f)` text: names between braces stand for their values.
    pub(crate) fn is_interpolated(&self) -> bool {
        let annotation = self.annotation.as_ref();
        annotation.is_some_and(|annotation| annotation.value == "f")
    }
}
