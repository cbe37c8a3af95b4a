//! Where in a file a byte is: at the start of a statement, behind its name, in a property, between braces.

use std::ops::Range;

use crate::lex::{Kind, Token, lex};
use crate::table::{self, Place};

/// What can be written there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Site {
    Statement(Place),
    /// An argument, or the name of a property.
    Entry(Entry),
    /// The value of a property.
    Value(Entry, String),
    /// Between parentheses.
    Type,
    /// Between the braces of an interpolated text.
    Braces,
    /// In a comment, or a text.
    Nowhere,
}

#[derive(Debug)]
pub(super) struct Context {
    pub(super) site: Site,
    /// What is there of the word.
    pub(super) range: Range<usize>,
}

/// A statement as far as it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
    pub(super) properties: Vec<String>,
}

pub(super) fn of(text: &str, offset: usize) -> Context {
    let offset = text.floor_char_boundary(offset.min(text.len()));
    let tokens = lex(text);
    let mut walk = Walk::default();
    for token in &tokens {
        // A word counts once it is done: the one at the place is being written.
        let is_word = matches!(token.kind, Kind::Word | Kind::Text { .. });
        let is_passed = if is_word || is_comment(token) {
            token.end < offset
        } else {
            token.end <= offset
        };
        if is_passed {
            walk.pass(token, text);
            continue;
        }
        let start = token.start.min(offset);
        return match token.kind {
            _ if token.start > offset => walk.here(offset..offset),
            Kind::Word => walk.here(start..token.end),
            Kind::Text { .. } if token.start < offset => walk.inside(token, text, offset),
            _ if is_comment(token) && token.start < offset => nowhere(offset),
            _ => walk.here(offset..offset),
        };
    }
    walk.here(offset..offset)
}

fn is_comment(token: &Token) -> bool {
    matches!(
        token.kind,
        Kind::LineComment | Kind::BlockComment { .. } | Kind::HashComment
    )
}

fn nowhere(offset: usize) -> Context {
    Context {
        site: Site::Nowhere,
        range: offset..offset,
    }
}

#[derive(Default)]
struct Walk {
    /// The names of the statements whose blocks are open.
    blocks: Vec<String>,
    /// The statement that is being written, if it has a name.
    entry: Option<Entry>,
    /// The last word, which is an argument unless `=` follows.
    word: Option<String>,
    /// The property whose value comes.
    key: Option<String>,
    in_parens: bool,
    is_interpolated: bool,
}

impl Walk {
    fn pass(&mut self, token: &Token, text: &str) {
        match token.kind {
            Kind::Newline | Kind::Semicolon => self.end(),
            Kind::Open => {
                let entry = self.entry.take().unwrap_or_default();
                self.end();
                self.blocks.push(entry.name);
            }
            Kind::Close => {
                self.blocks.pop();
                self.end();
            }
            Kind::ParenOpen => self.in_parens = true,
            Kind::ParenClose => self.in_parens = false,
            Kind::Word | Kind::Text { .. } if self.in_parens => {
                self.is_interpolated = token.text(text) == "f";
            }
            Kind::Equals => self.key = self.word.take(),
            Kind::Word | Kind::Text { .. } => {
                let written = token.text(text).trim_matches(['"', '#']).to_owned();
                self.settle();
                match (&mut self.entry, self.key.take()) {
                    (None, _) => {
                        self.entry = Some(Entry {
                            name: written,
                            ..Entry::default()
                        });
                    }
                    (Some(entry), Some(key)) => entry.properties.push(key),
                    (Some(_), None) => self.word = Some(written),
                }
                self.is_interpolated = false;
            }
            _ => {}
        }
    }

    /// The last word was an argument.
    fn settle(&mut self) {
        if let (Some(entry), Some(word)) = (&mut self.entry, self.word.take()) {
            entry.arguments.push(word);
        }
    }

    fn end(&mut self) {
        self.entry = None;
        self.word = None;
        self.key = None;
        self.in_parens = false;
        self.is_interpolated = false;
    }

    fn here(mut self, range: Range<usize>) -> Context {
        let is_type = self.in_parens;
        self.settle();
        let site = match (self.entry, self.key) {
            _ if is_type => Site::Type,
            (None, _) => place(&self.blocks).map_or(Site::Nowhere, Site::Statement),
            (Some(entry), Some(key)) => Site::Value(entry, key),
            (Some(entry), None) => Site::Entry(entry),
        };
        Context { site, range }
    }

    /// In a text: between braces, or as a whole where it is a name.
    fn inside(self, token: &Token, text: &str, offset: usize) -> Context {
        if !self.is_interpolated {
            return nowhere(offset);
        }
        let before = text.get(token.start..offset).unwrap_or("");
        let Some(open) = before.rfind(['{', '}']) else {
            return nowhere(offset);
        };
        if before[open..].starts_with('}') || before[..open].ends_with('{') {
            return nowhere(offset);
        }
        let after = text.get(offset..token.end).unwrap_or("");
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        Context {
            site: Site::Braces,
            range: token.start + open + 1..offset + end,
        }
    }
}

/// What may stand in the innermost block.
fn place(blocks: &[String]) -> Option<Place> {
    let Some(innermost) = blocks.last() else {
        return Some(Place::File);
    };
    table::find(innermost).and_then(|row| row.block)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place of `|` in the text.
    fn site(text: &str) -> (Site, String) {
        let offset = text.find('|').unwrap();
        let text = text.replacen('|', "", 1);
        let context = of(&text, offset);
        (context.site, text[context.range].to_owned())
    }

    fn entry(name: &str, arguments: &[&str], properties: &[&str]) -> Entry {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Entry {
            name: name.to_owned(),
            arguments: owned(arguments),
            properties: owned(properties),
        }
    }

    #[test]
    fn statements() {
        for (text, place, word) in [
            ("|", Place::File, ""),
            ("from host\nru|", Place::File, "ru"),
            ("from host; |", Place::File, ""),
            ("prebuild a { | }", Place::Prebuild, ""),
            ("prebuild a {\n  repo x { la|y\n}", Place::Repo, "lay"),
            ("prebuild a { repo x { layer { |", Place::Layer, ""),
            ("template t {\n    // a comment\n    |", Place::Template, ""),
            ("prebuild a { from host; }\n|", Place::File, ""),
        ] {
            assert_eq!(
                site(text),
                (Site::Statement(place), word.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn entries() {
        let of = |text| site(text).0;
        assert_eq!(of("use |"), Site::Entry(entry("use", &[], &[])));
        assert_eq!(site("use np|m").1, "npm");
        assert_eq!(of("use npm |"), Site::Entry(entry("use", &["npm"], &[])));
        let run = entry("run", &["x y"], &["in"]);
        assert_eq!(of("run \"x y\" in=\"a\" a|"), Site::Entry(run.clone()));
        assert_eq!(
            of("run \"x y\" in=\"a\" as=|"),
            Site::Value(run.clone(), "as".to_owned())
        );
        assert_eq!(
            of("run \"x y\" in=\"a\" as=ro|ot"),
            Site::Value(run, "as".to_owned())
        );
        assert_eq!(of("param (|)x"), Site::Type);
        assert_eq!(of("param (ve|"), Site::Type);
    }

    #[test]
    fn texts_and_comments() {
        assert_eq!(
            site("env A=(f)\"x{no|de}\""),
            (Site::Braces, "node".to_owned())
        );
        assert_eq!(site("env A=(f)\"{|"), (Site::Braces, String::new()));
        for text in [
            "run \"a {|\"",
            "run (f)\"a|\"",
            "run (f)\"{{a|\"",
            "run (f)\"{a}|\"",
            "// x|",
            "x { a b|c // \n",
        ] {
            let is_nowhere = site(text).0 == Site::Nowhere;
            assert_eq!(is_nowhere, !text.starts_with("x {"), "{text}");
        }
    }
}
