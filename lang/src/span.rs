//! Where something stands in a source file.

use std::ops::{Deref, Range};

use serde::Serialize;

/// The index of a file in [`crate::source::Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FileId(pub u32);

/// A range of bytes, `start..end`, in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

impl Span {
    /// The part of this span at `range`, counted from its start.
    pub(crate) fn within(self, range: Range<usize>) -> Self {
        let at = |offset: usize| {
            u32::try_from(offset).map_or(self.end, |o| self.start.saturating_add(o))
        };
        Self {
            start: at(range.start),
            end: at(range.end),
            ..self
        }
    }
}

impl<T> Spanned<T> {
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned::new(f(self.value), self.span)
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
