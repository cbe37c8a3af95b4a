//! A node's arguments and properties as texts. What cannot be used is left out: `check.rs` has reported it.

use crate::span::Spanned;
use crate::tree::{Node, Value};

#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a Node);

impl<'a> Fields<'a> {
    pub(crate) fn argument(self, index: usize) -> Option<Spanned<String>> {
        self.0.arguments.get(index).and_then(text)
    }

    /// The arguments from `first` on.
    pub(crate) fn arguments(self, first: usize) -> Vec<Spanned<String>> {
        self.0
            .arguments
            .iter()
            .skip(first)
            .filter_map(text)
            .collect()
    }

    /// The first with that key: a second one has been reported.
    pub(crate) fn property(self, key: &str) -> Option<Spanned<String>> {
        text(self.value(key)?)
    }

    /// The same, before it is made a text.
    pub(crate) fn value(self, key: &str) -> Option<&'a Value> {
        self.0
            .properties
            .iter()
            .find(|p| p.key.value == key)
            .map(|p| &p.value)
    }
}

fn text(value: &Value) -> Option<Spanned<String>> {
    // What is still to be interpolated could not be: the text is not what it means.
    if value.is_interpolated() {
        return None;
    }
    value.spanned()
}
