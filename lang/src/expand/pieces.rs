//! What stands in a text that is interpolated: `{name}`, `{alias.name}`, `{{` and `}}` for a brace.

use std::ops::Range;

use crate::value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Name(Name<'a>),
}

/// A name between braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name<'a> {
    pub(super) alias: Option<&'a str>,
    pub(super) own: &'a str,
    /// Where its brace opens.
    pub(super) at: usize,
}

/// A brace that means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: Range<usize>,
    pub(super) why: &'static str,
}

impl Name<'_> {
    /// From brace to brace.
    pub(super) fn range(&self) -> Range<usize> {
        let alias = self.alias.map_or(0, |alias| alias.len() + 1);
        self.at..self.at + alias + self.own.len() + 2
    }
}

/// Takes a text apart. Faults leave the rest to be looked at.
pub(super) fn pieces(text: &str) -> (Vec<Piece<'_>>, Vec<Fault>) {
    let mut pieces = Vec::new();
    let mut faults = Vec::new();
    let mut start = 0;
    while let Some(at) = text[start..].find(['{', '}']).map(|at| start + at) {
        let rest = &text[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            pieces.push(Piece::Text(&text[start..=at]));
            start = at + 2;
            continue;
        }
        pieces.push(Piece::Text(&text[start..at]));
        start = at + 1;
        if rest.starts_with('}') {
            let why = "closes nothing";
            faults.push(Fault {
                at: at..at + 1,
                why,
            });
            continue;
        }
        let end = text[start..].find(['{', '}']).map(|end| start + end);
        let Some(end) = end.filter(|end| text[*end..].starts_with('}')) else {
            let why = "is never closed";
            faults.push(Fault {
                at: at..at + 1,
                why,
            });
            continue;
        };
        match name(&text[start..end], at) {
            Some(name) => pieces.push(Piece::Name(name)),
            None => {
                let why = "has no name inside";
                faults.push(Fault {
                    at: at..end + 1,
                    why,
                });
            }
        }
        start = end + 1;
    }
    pieces.push(Piece::Text(&text[start..]));
    (pieces, faults)
}

/// What would be a name if the text were interpolated, with what may be `$` before it left out.
pub(super) fn unmeant(text: &str) -> impl Iterator<Item = Name<'_>> {
    text.match_indices('{').filter_map(|(at, _)| {
        let is_shell = text[..at].ends_with(['$', '{']);
        let inside = &text[at + 1..];
        // Longer than any name.
        let end = inside.bytes().take(82).position(|byte| byte == b'}')?;
        if is_shell || inside[end..].starts_with("}}") {
            return None;
        }
        name(inside.get(..end)?, at)
    })
}

pub(super) fn name(inside: &str, at: usize) -> Option<Name<'_>> {
    let (alias, name) = match inside.split_once('.') {
        Some((alias, name)) => (Some(alias), name),
        None => (None, inside),
    };
    let is_right = value::is_name(name) && alias.is_none_or(value::is_name);
    is_right.then_some(Name {
        alias,
        own: name,
        at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(alias: Option<&'static str>, name: &'static str, at: usize) -> Piece<'static> {
        Piece::Name(Name {
            alias,
            own: name,
            at,
        })
    }

    #[test]
    fn texts_are_taken_apart() {
        let (found, faults) = pieces("a{b}{{c}}{d.e}");
        assert_eq!(faults, []);
        let text = Piece::Text;
        let expected = [
            text("a"),
            named(None, "b", 1),
            text("{"),
            text("c}"),
            text(""),
            named(Some("d"), "e", 9),
            text(""),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn braces_that_mean_nothing() {
        let faults = |text: &'static str| {
            let faults = pieces(text).1.into_iter();
            faults.map(|fault| &text[fault.at]).collect::<Vec<_>>()
        };
        assert_eq!(faults("{a"), ["{"]);
        assert_eq!(faults("a}"), ["}"]);
        assert_eq!(
            faults("{a b}{}{A}{a.b.c}{é}"),
            ["{a b}", "{}", "{A}", "{a.b.c}", "{é}"]
        );
        assert_eq!(faults("{a{b}"), ["{"]);
        assert_eq!(faults("}}}"), ["}"]);
    }

    #[test]
    fn what_was_perhaps_meant() {
        let names = |text| unmeant(text).map(|name| name.own).collect::<Vec<_>>();
        assert_eq!(names("{a} ${b} {{c}} { d } {e.f} é{g}"), ["a", "f", "g"]);
    }
}
