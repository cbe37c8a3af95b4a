//! Source files, and the one door through which the language sees the world.

use std::fmt;

use crate::span::{FileId, Span, Via};

/// A path inside the project: relative to its root, `/`-separated, without `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualPath(String);

/// What the names of the library's files begin with, which are in no project.
pub(crate) const LIBRARY: &str = "<std>/";

/// Why a file could not be read. The text is for people and names no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// It is larger than the limit; `size` is in bytes. Nothing was read.
    TooLarge { size: u64 },
    /// Not a regular file, or it leads out of the project.
    Refused(String),
    /// Anything else the machine said.
    Failed(String),
}

/// The language's file access, and nothing else: no clock, environment, network or listing.
pub trait World {
    /// Reads a regular file of at most `limit` bytes.
    fn read(&self, path: &VirtualPath, limit: u64) -> Result<Vec<u8>, ReadError>;
}

/// The files that an evaluation has read, by [`FileId`], and what it has expanded, by [`Via`]. The texts are for showing:
/// what looks like a secret is starred out and control characters are replaced, byte for byte, so spans hold.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// What people call each, and its text.
    files: Vec<(String, String)>,
    expansions: Vec<Expansion>,
}

/// One use of a template, or one cell of a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// Such as `use node`.
    pub what: String,
    /// What was expanded; it may come from another expansion.
    pub span: Span,
}

impl VirtualPath {
    /// Joins `relative` to the folder of `self` and normalises it; `None` if it leaves the root.
    pub fn sibling(&self, relative: &str) -> Option<Self> {
        Self::normalise(self.folder().split('/').chain(relative.split('/')))
    }

    /// A path from the project's root; `None` if it is absolute or leaves the root.
    pub fn new(path: &str) -> Option<Self> {
        if path.starts_with('/') {
            None
        } else {
            Self::normalise(path.split('/'))
        }
    }

    /// The root itself.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// The folder that it lies in; empty for the root.
    pub fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn normalise<'a>(segments: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut kept = Vec::new();
        for segment in segments {
            match segment {
                "" | "." => {}
                ".." => drop(kept.pop()?),
                name => kept.push(name),
            }
        }
        Some(Self(kept.join("/")))
    }
}

impl fmt::Display for VirtualPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Sources {
    pub fn add(&mut self, name: impl Into<String>, text: String) -> FileId {
        self.files.push((name.into(), text));
        FileId(u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX))
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn expand(&mut self, what: String, span: Span) -> Via {
        self.expansions.push(Expansion { what, span });
        Via(u32::try_from(self.expansions.len()).unwrap_or(u32::MAX))
    }

    pub(crate) fn expansions_mut(&mut self) -> impl Iterator<Item = &mut Expansion> {
        self.expansions.iter_mut()
    }

    /// The expansion that brought a text, if one did.
    pub fn expansion(&self, via: Via) -> Option<&Expansion> {
        self.expansions.get((via.0 as usize).checked_sub(1)?)
    }

    /// The expansions that brought what stands at `span`, innermost first.
    pub fn trace(&self, span: Span) -> impl Iterator<Item = &Expansion> {
        let outer = |inner: &&Expansion| self.expansion(inner.span.via);
        std::iter::successors(self.expansion(span.via), outer)
    }

    /// Where a file of the project has what stands at `span`: that itself, or the use of the library that brought it.
    pub fn in_project(&self, span: Span) -> Span {
        let uses = self.trace(span).map(|expansion| expansion.span);
        let mut places = std::iter::once(span).chain(uses);
        let is_own = |place: &Span| !self.is_library(place.file);
        places.find(is_own).unwrap_or(span)
    }

    /// Whether the file is one of the library, which is in no project.
    pub fn is_library(&self, file: FileId) -> bool {
        self.name(file).starts_with(LIBRARY)
    }

    /// The files' paths as people know them, in the order of their ids.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(name, _)| name.as_str())
    }

    /// Calls every file of the project by another name, made from the one it has.
    pub fn name_all(&mut self, name: impl Fn(&str) -> String) {
        let of_project = |called: &String| !called.starts_with(LIBRARY);
        let names = self.files.iter_mut().map(|(called, _)| called);
        for called in names.filter(|called| of_project(called)) {
            *called = name(called);
        }
    }

    /// The file's path as people know it.
    pub fn name(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).map_or("", |(name, _)| name)
    }

    pub fn text(&self, file: FileId) -> &str {
        self.files.get(file.0 as usize).map_or("", |(_, text)| text)
    }

    /// The text at `span`; empty where the span does not fit the text.
    pub fn slice(&self, span: Span) -> &str {
        self.text(span.file)
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// The line of `span`'s start, counted from 1.
    pub fn line(&self, span: Span) -> usize {
        let text = self.text(span.file).as_bytes();
        let end = text.len().min(span.start as usize);
        text[..end].split(|byte| *byte == b'\n').count()
    }
}
