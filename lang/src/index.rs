//! Where names are defined, and where they are used: what editors ask for. Spans are those of the files as they are.

use std::collections::BTreeMap;

use crate::span::{FileId, Span, Spanned};
use crate::value;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Import,
    Let,
    /// Of the file.
    Param,
    Template,
    /// Of a template.
    Parameter,
    Axis,
    Prebuild,
    Group,
}

#[derive(Clone, Debug)]
pub struct Definition {
    pub kind: Kind,
    /// Where an import says no name, this is its path.
    pub name: Spanned<String>,
    /// The statement, or the part of it.
    pub whole: Span,
    /// What a constant or a parameter of the file stands for, as far as it has a value.
    pub value: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub span: Span,
    /// Where the name stands in its definition.
    pub definition: Span,
}

/// Of all files of an evaluation, also where they have errors.
#[derive(Clone, Debug, Default)]
pub struct Index {
    pub definitions: Vec<Definition>,
    pub uses: Vec<Use>,
    pub(crate) aliases: BTreeMap<FileId, Vec<(String, FileId)>>,
}

impl Index {
    /// A name that the language takes.
    pub fn is_name(text: &str) -> bool {
        value::is_name(text)
    }

    pub(crate) fn link(&mut self, span: Span, definition: Span) {
        self.uses.push(Use { span, definition });
    }

    pub(crate) fn define(&mut self, kind: Kind, name: &Spanned<String>, whole: Span) {
        self.definitions.push(Definition {
            kind,
            name: name.clone(),
            whole,
            value: None,
        });
    }

    /// Moves all places.
    pub(crate) fn place(&mut self, place: impl Fn(Span) -> Span) {
        for definition in &mut self.definitions {
            definition.name.span = place(definition.name.span);
            definition.whole = place(definition.whole);
        }
        for name in &mut self.uses {
            name.span = place(name.span);
            name.definition = place(name.definition);
        }
    }

    /// What is defined or used at a byte of a file, and where exactly.
    pub fn at(&self, file: FileId, offset: u32) -> Option<(&Definition, Span)> {
        let holds = |span: Span| span.file == file && span.start <= offset && offset <= span.end;
        let uses = self.uses.iter().map(|name| (name.definition, name.span));
        let own = self.definitions.iter().map(|d| (d.name.span, d.name.span));
        let (definition, span) = uses.chain(own).find(|(_, span)| holds(*span))?;
        Some((self.definition(definition)?, span))
    }

    /// Whether a file could be read so far that its names are known.
    pub fn knows(&self, file: FileId) -> bool {
        self.aliases.contains_key(&file)
    }

    /// The names under which a file imports others.
    pub fn aliases(&self, file: FileId) -> &[(String, FileId)] {
        self.aliases.get(&file).map_or(&[], Vec::as_slice)
    }

    /// What is defined where a name stands.
    pub fn definition(&self, name: Span) -> Option<&Definition> {
        self.definitions
            .iter()
            .find(|found| found.name.span == name)
    }

    /// Where the name that is defined at `name` is used.
    pub fn uses_of(&self, name: Span) -> impl Iterator<Item = Span> {
        let uses = self
            .uses
            .iter()
            .filter(move |found| found.definition == name);
        uses.map(|found| found.span)
    }
}
