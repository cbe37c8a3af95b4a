//! Where something stands in a source file.

use std::ops::{Deref, Range};

/// The index of a file in [`crate::source::Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// The expansion that something comes from, if it was not written where it counts: a number that
/// [`crate::source::Sources`] knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Via(pub(crate) u32);

/// A range of bytes, `start..end`, in one file; and by which expansion it came to where it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
    pub via: Via,
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    pub value: T,
    pub span: Span,
}

impl Via {
    /// Written where it counts.
    pub const NONE: Self = Self(0);
}

impl Span {
    /// A range of bytes as it stands in the file.
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self {
            file,
            start,
            end,
            via: Via::NONE,
        }
    }

    /// Whether it lies in `outer`, and came with it.
    pub(crate) fn is_within(self, outer: Self) -> bool {
        (self.file, self.via) == (outer.file, outer.via)
            && self.start >= outer.start
            && self.end <= outer.end
    }

    /// The text itself, however it came.
    pub(crate) fn as_written(self) -> Self {
        Self {
            via: Via::NONE,
            ..self
        }
    }

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
