//! Globs over the paths of a commit: which files `only` and `stub` name.
//!
//! `*`, `?` and `[…]` stay within one segment, `**` is any number of segments, a leading dot is a character like any
//! other. Patterns count in their order; one that begins with `!` takes away from what was added before it.

use regex::Regex;

use crate::code;
use crate::value::Problem;

/// Patterns in their order.
#[derive(Debug)]
pub struct Globs(Vec<Pattern>);

#[derive(Debug)]
struct Pattern {
    takes_away: bool,
    expression: Regex,
}

impl Globs {
    /// Of patterns that the language has passed; one that it would not is left out.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let patterns = patterns.into_iter().map(Pattern::read);
        Self(patterns.filter_map(Result::ok).collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the path is among those named; marks in `seen` the patterns that match it.
    pub fn name(&self, path: &str, seen: &mut [bool]) -> bool {
        let mut is_named = false;
        for (pattern, seen) in self.0.iter().zip(seen) {
            if pattern.expression.is_match(path) {
                *seen = true;
                is_named = !pattern.takes_away;
            }
        }
        is_named
    }
}

impl Pattern {
    fn read(text: &str) -> Result<Self, Problem> {
        let (takes_away, glob) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        check(glob)?;
        let expression = Regex::new(&expression(glob)?);
        let expression = expression.map_err(|_| bad("its `[…]` is no set of characters"))?;
        Ok(Self {
            takes_away,
            expression,
        })
    }
}

/// The regular expression for a glob, segment by segment.
fn expression(glob: &str) -> Result<String, Problem> {
    let mut expression = "(?s)^".to_owned();
    let mut segments = glob.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match (segment, is_last) {
            ("**", true) => expression.push_str(".+"),
            ("**", false) => expression.push_str("(?:[^/]+/)*"),
            (segment, _) => {
                push_segment(&mut expression, segment)?;
                expression.push_str(if is_last { "" } else { "/" });
            }
        }
    }
    expression.push('$');
    Ok(expression)
}

fn push_segment(expression: &mut String, segment: &str) -> Result<(), Problem> {
    let mut characters = segment.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '[' => {
                let rest = characters.as_str();
                // A `]` that comes first is one of the characters.
                let negated = rest.starts_with(['!', '^']);
                let set = if negated { &rest[1..] } else { rest };
                let end = set.char_indices().skip(1).find(|(_, one)| *one == ']');
                let (end, _) = end.ok_or_else(|| bad("its `[` is not closed"))?;
                push_set(expression, negated, &set[..end]);
                characters = set[end + 1..].chars();
            }
            other => expression.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    Ok(())
}

/// No set has the slash between segments, even if a range goes over it.
fn push_set(expression: &mut String, negated: bool, set: &str) {
    expression.push_str(if negated { "[[^" } else { "[[" });
    for character in set.chars() {
        if character != '-' && !character.is_alphanumeric() {
            expression.push('\\');
        }
        expression.push(character);
    }
    expression.push_str("]&&[^/]]");
}

/// Whether a text can be a pattern.
pub(crate) fn pattern(text: &str) -> Result<(), Problem> {
    Pattern::read(text).map(drop)
}

fn check(glob: &str) -> Result<(), Problem> {
    if glob.is_empty() {
        return Err(bad("it is empty"));
    }
    if let Some(folder) = glob.strip_suffix('/') {
        return Err(
            bad("it names a folder").help(format!("for all that is in it: \"{folder}/**\""))
        );
    }
    if let Some(rest) = glob.strip_prefix("./") {
        return Err(bad("paths begin at the repository's root").help(format!("write \"{rest}\"")));
    }
    if glob.starts_with('/') {
        return Err(bad("paths begin at the repository's root").help("leave out the first `/`"));
    }
    for segment in glob.split('/') {
        if matches!(segment, "" | "." | "..") {
            return Err(bad("no path has such a segment"));
        }
        if segment.contains("**") && segment != "**" {
            return Err(bad("`**` stands alone between slashes"));
        }
    }
    if glob.contains(|character: char| character.is_control() || character == '\\') {
        return Err(bad("`\\` and control characters cannot be in it"));
    }
    Ok(())
}

fn bad(label: &str) -> Problem {
    Problem::new(code::BAD_VALUE, "not a pattern for paths".to_owned(), label)
}

#[cfg(test)]
mod tests {
    use super::{Globs, pattern};

    fn names(patterns: &[&str], path: &str) -> bool {
        let globs = Globs::new(patterns.iter().copied());
        assert_eq!(globs.len(), patterns.len(), "{patterns:?}");
        globs.name(path, &mut vec![false; patterns.len()])
    }

    #[test]
    fn a_pattern_names_what_the_language_says() {
        for (pattern, path, expected) in [
            ("package.json", "package.json", true),
            ("package.json", "a/package.json", false),
            ("*.json", ".eslintrc.json", true),
            ("*.json", "a/b.json", false),
            ("a/*", "a/.b", true),
            ("a/*", "a/b/c", false),
            ("a/?", "a/b", true),
            ("a?b", "a/b", false),
            ("[a-c].rs", "b.rs", true),
            ("[!a-c].rs", "b.rs", false),
            ("a[!x]b", "a/b", false),
            ("a[+-9]b", "a/b", false),
            ("a[+-9]b", "a5b", true),
            ("[]a]", "]", true),
            ("[^]a]", "b", true),
            ("[a.^&~]", "&", true),
            ("[a-]", "-", true),
            ("[äö]", "ö", true),
            ("(a|b)", "(a|b)", true),
            ("**/Cargo.toml", "Cargo.toml", true),
            ("**/Cargo.toml", "a/b/Cargo.toml", true),
            ("a/**", "a/b/c", true),
            ("a/**", "a", false),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("**", "a/.b/c", true),
            ("{a,b}", "a", false),
            ("{a,b}", "{a,b}", true),
            ("Ä*", "Äb", true),
            ("?", "Ä", true),
        ] {
            assert_eq!(names(&[pattern], path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_last_pattern_that_matches_decides() {
        let patterns = ["**/*.json", "!b/**", "b/keep.json"];
        assert!(names(&patterns, "a/x.json"));
        assert!(!names(&patterns, "b/x.json"));
        assert!(names(&patterns, "b/keep.json"));
        assert!(!names(&["!a", "b"], "a"));
    }

    #[test]
    fn what_matches_nothing_is_told() {
        let globs = Globs::new(["a", "b*", "!c"]);
        let mut seen = [false; 3];
        for path in ["a", "c", "d"] {
            globs.name(path, &mut seen);
        }
        assert_eq!(seen, [true, false, true]);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in [
            "", "!", "/a", "./a", "a/", "a//b", "../a", "a/./b", "a**", "**a/b", "[a", "[]",
            "[z-a]", "a[/]b", "a\\b", "a\nb",
        ] {
            assert!(pattern(text).is_err(), "{text:?}");
        }
    }
}
