//! The small tree that the parser yields: nodes, arguments, properties and where each was written.
//!
//! It knows no statement and no parser. Comments, spelling of strings and what `/-` took away are already gone.

use crate::span::{Span, Spanned};

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: Spanned<String>,
    /// `(type)` before the name.
    pub(crate) annotation: Option<Spanned<String>>,
    pub(crate) arguments: Vec<Value>,
    /// As written: a key may stand twice.
    pub(crate) properties: Vec<Property>,
    pub(crate) children: Option<Vec<Node>>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) key: Spanned<String>,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) data: Data,
    /// `(type)` before the value.
    pub(crate) annotation: Option<Spanned<String>>,
    /// Of the value alone.
    pub(crate) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Text(String),
    Integer(i128),
    Bool(bool),
    Float,
    Null,
}

impl Node {
    /// Without the block.
    pub(crate) fn head(&self) -> Span {
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
    pub(crate) fn span(&self) -> Span {
        Span {
            end: self.value.span.end,
            ..self.key.span
        }
    }
}

impl Value {
    /// Everything is text: integers are canonical decimal. `None` for what the language does not accept.
    pub(crate) fn text(&self) -> Option<String> {
        match &self.data {
            Data::Text(text) => Some(text.clone()),
            Data::Integer(number) => Some(number.to_string()),
            Data::Bool(truth) => Some(truth.to_string()),
            Data::Float | Data::Null => None,
        }
    }
}
