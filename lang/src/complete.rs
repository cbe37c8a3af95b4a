//! What could be written at a place in a file, also in one that is being written.
//!
//! It goes by tokens: a tree is there only once a file is right.

mod context;

use std::ops::Range;

use crate::doc::{DocData, TemplateData};
use crate::index::{Definition, Index, Kind};
use crate::span::FileId;
use crate::table::{self, LINTS, Place, Properties, STATEMENTS, TYPES};
use context::{Context, Entry, Site};

/// What is known of the file and of those around it, perhaps from before the last letters.
pub struct Known<'a> {
    pub index: &'a Index,
    /// The file itself.
    pub file: FileId,
    pub doc: Option<&'a DocData>,
}

/// What an item is, for its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Statement,
    Property,
    Template,
    Value,
    Target,
    Word,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub label: String,
    pub what: What,
    /// In a few words.
    pub detail: String,
    pub doc: String,
    /// What is written in the place of the range.
    pub text: String,
}

/// The items for the byte at `offset`, and what of the text they take the place of.
pub fn complete(text: &str, offset: usize, known: &Known) -> (Range<usize>, Vec<Item>) {
    let Context { site, range } = context::of(text, offset);
    let items = match &site {
        Site::Statement(place) => statements(*place),
        Site::Type => TYPES.iter().map(|name| word(name)).collect(),
        Site::Braces => known.values(range.start),
        Site::Entry(entry) => known.entries(entry),
        Site::Value(entry, key) => known.property(entry, key),
        Site::Nowhere => Vec::new(),
    };
    (range, items)
}

fn word(label: &str) -> Item {
    item(label, What::Word, "")
}

fn item(label: &str, what: What, detail: &str) -> Item {
    Item {
        label: label.to_owned(),
        what,
        detail: detail.to_owned(),
        doc: String::new(),
        text: label.to_owned(),
    }
}

fn statements(place: Place) -> Vec<Item> {
    let rows = STATEMENTS.iter().filter(|row| row.stands_in(place));
    let rows = rows.map(|row| Item {
        doc: format!("such as: {}", row.example),
        ..item(row.name, What::Statement, row.form)
    });
    rows.collect()
}

impl Known<'_> {
    /// Arguments and properties of a statement.
    fn entries(&self, entry: &Entry) -> Vec<Item> {
        let mut items = self.arguments(entry);
        if entry.name == "use" && entry.arguments.is_empty() {
            return items;
        }
        let Some(row) = table::find(&entry.name) else {
            return items;
        };
        let parameters: Vec<String> = match row.properties {
            Properties::Known(names) => names.iter().map(|name| name.name.to_owned()).collect(),
            Properties::Open => Vec::new(),
            Properties::Parameters => self.parameters(entry),
        };
        let unused = parameters
            .iter()
            .filter(|name| !entry.properties.contains(name));
        items.extend(unused.map(|name| Item {
            text: format!("{name}="),
            ..item(name, What::Property, row.form)
        }));
        items
    }

    fn arguments(&self, entry: &Entry) -> Vec<Item> {
        match (entry.name.as_str(), entry.arguments.len()) {
            ("use", 0) => self.templates(),
            ("group", 1..) => self.targets(&[Kind::Prebuild, Kind::Group]),
            ("allow", _) => LINTS.iter().map(|lint| word(lint)).collect(),
            ("from", 0) => vec![word("host"), word("dev-base")],
            _ => Vec::new(),
        }
    }

    fn property(&self, entry: &Entry, key: &str) -> Vec<Item> {
        let words = |words: &[&str]| words.iter().map(|text| word(text)).collect();
        match (entry.name.as_str(), key) {
            ("from", "prebuild") => self.targets(&[Kind::Prebuild]),
            ("run", "as") => words(&["dev", "root"]),
            ("run", "shell") => words(&["bash", "sh"]),
            ("repo", "submodules" | "lfs") => words(&["#true", "#false"]),
            ("from", "platform") => words(&["\"linux/amd64\"", "\"linux/arm64\""]),
            ("use", key) => {
                let template = self.template(entry);
                let params = template.map(|template| template.params.as_slice());
                let mut params = params.unwrap_or_default().iter();
                let param = params.find(|param| param.name == key);
                let choices = param.map(|param| param.choices.as_slice());
                let choices = choices.unwrap_or_default().iter();
                choices.map(|choice| word(&choice.text)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Those of the library without saying so.
    fn templates(&self) -> Vec<Item> {
        let templates = self.doc.map_or(&[][..], |doc| &doc.templates);
        let templates = templates.iter().map(|template| {
            let name = template.name.strip_prefix("std.").unwrap_or(&template.name);
            let params = template.params.iter().map(|param| param.name.as_str());
            let params: Vec<&str> = params.collect();
            Item {
                doc: template.doc.clone(),
                ..item(name, What::Template, &params.join(" "))
            }
        });
        templates.collect()
    }

    fn template(&self, entry: &Entry) -> Option<&TemplateData> {
        let name = entry.arguments.first()?;
        let mut templates = self.doc?.templates.iter();
        let is_named = |template: &&TemplateData| {
            template.name == *name || template.name.strip_prefix("std.") == Some(name)
        };
        templates.find(is_named)
    }

    fn parameters(&self, entry: &Entry) -> Vec<String> {
        let template = self.template(entry);
        let params = template.map(|template| template.params.as_slice());
        let named = params.unwrap_or_default().iter();
        let named = named.filter(|param| param.kind != "words");
        named.map(|param| param.name.clone()).collect()
    }

    fn targets(&self, kinds: &[Kind]) -> Vec<Item> {
        let targets = self.visible(|kind| kinds.contains(&kind));
        let targets = targets.map(|(name, _)| item(&name, What::Target, ""));
        targets.collect()
    }

    /// What can stand between braces at a byte of the file.
    fn values(&self, offset: usize) -> Vec<Item> {
        let mut items = Vec::new();
        for definition in &self.index.definitions {
            let is_here = definition.name.span.file == self.file && self.holds(definition, offset);
            if matches!(definition.kind, Kind::Parameter | Kind::Axis) && is_here {
                items.push(item(&definition.name.value, What::Value, ""));
            }
        }
        let is_value = |kind| matches!(kind, Kind::Let | Kind::Param);
        for (name, definition) in self.visible(is_value) {
            let is_own = definition.name.span.file == self.file;
            if is_own || definition.kind == Kind::Let {
                let value = definition.value.as_deref().unwrap_or_default();
                items.push(item(&name, What::Value, value));
            }
        }
        items
    }

    /// Whether the template or the prebuild that a name belongs to holds a byte.
    fn holds(&self, of: &Definition, offset: usize) -> bool {
        let outer = self.index.definitions.iter().filter(|outer| {
            matches!(outer.kind, Kind::Template | Kind::Prebuild) && of.whole.is_within(outer.whole)
        });
        let mut outer = outer.map(|outer| outer.whole);
        outer.any(|whole| (whole.start as usize..=whole.end as usize).contains(&offset))
    }

    /// The definitions of the file and of those that it imports, as it names them.
    fn visible(
        &self,
        counts: impl Fn(Kind) -> bool,
    ) -> impl Iterator<Item = (String, &Definition)> {
        let aliases = self.index.aliases(self.file);
        let definitions = self.index.definitions.iter();
        let counted = definitions.filter(move |definition| counts(definition.kind));
        counted.filter_map(move |definition| {
            let file = definition.name.span.file;
            let name = &definition.name.value;
            if file == self.file {
                return Some((name.clone(), definition));
            }
            let alias = aliases.iter().find(|(_, imported)| *imported == file);
            alias.map(|(alias, _)| (format!("{alias}.{name}"), definition))
        })
    }
}
