//! The types of parameters. Everything is text; a type is a check.

use crate::image;
use crate::spelling::visible;
use crate::url;
use crate::value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Int,
    Bool,
    Version,
    Name,
    Path,
    Url,
    Image,
    /// What follows the template's name in `use`, with spaces between.
    Words,
}

const NAMES: [(&str, Kind); 9] = [
    ("text", Kind::Text),
    ("int", Kind::Int),
    ("bool", Kind::Bool),
    ("version", Kind::Version),
    ("name", Kind::Name),
    ("path", Kind::Path),
    ("url", Kind::Url),
    ("image", Kind::Image),
    ("words", Kind::Words),
];

impl Kind {
    pub(super) fn named(name: &str) -> Option<Self> {
        let mut names = NAMES.iter();
        names
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }

    pub(super) fn name(self) -> &'static str {
        let mut names = NAMES.iter();
        let name = names.find(|(_, kind)| *kind == self);
        name.map_or("text", |(name, _)| name)
    }

    /// What is wrong with a value of this type, if something is: what it is not, and the rule.
    pub(super) fn fault(self, text: &str) -> Option<(String, &'static str)> {
        let (is_right, what, rule) = match self {
            Self::Text | Self::Words => return None,
            Self::Int => (
                is_integer(text),
                "an integer",
                "digits without a zero before them, maybe with `-`",
            ),
            Self::Bool => (
                matches!(text, "true" | "false"),
                "a boolean",
                "#true or #false",
            ),
            Self::Version => (
                is_version(text),
                "a version",
                "digits and letters, then also `.`, `+`, `_` and `-`; up to 64 in all",
            ),
            Self::Name => (
                value::name(text).is_ok(),
                "a name",
                "a lower-case letter, then up to 39 of a-z, 0-9 and `-`",
            ),
            Self::Path => (
                value::relative_path(text).is_ok(),
                "a path",
                "relative, with `/` between its parts, without `.` and `..`",
            ),
            Self::Url => (
                is_repository(text),
                "a repository",
                "such as \"github.com/acme/api\", or a path that starts with \"./\"",
            ),
            Self::Image => (
                image::parse(text).is_ok(),
                "an image",
                "such as dev-base or \"ghcr.io/acme/dev:3\"",
            ),
        };
        (!is_right).then(|| (format!("`{}` is not {what}", visible(text)), rule))
    }
}

/// In canonical decimal.
fn is_integer(text: &str) -> bool {
    text.parse::<i128>()
        .is_ok_and(|number| number.to_string() == text)
}

fn is_version(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b".+_-".contains(&b))
}

fn is_repository(text: &str) -> bool {
    let is_on_disk =
        matches!(text, "." | "..") || text.starts_with("./") || text.starts_with("../");
    is_on_disk || url::normalise(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_table() {
        assert!(NAMES.iter().map(|(name, _)| name).eq(crate::table::TYPES));
        assert!(NAMES.iter().all(|(name, kind)| kind.name() == *name));
    }

    #[test]
    fn values() {
        for (kind, right, wrong) in [
            (
                Kind::Int,
                vec!["0", "-5", "42"],
                vec!["", "042", "+1", "1.0", "x"],
            ),
            (Kind::Bool, vec!["true", "false"], vec!["", "yes", "True"]),
            (
                Kind::Version,
                vec!["1", "v1.2.3-rc.1+b_2"],
                vec!["", ".1", "1 2", "1/2"],
            ),
            (Kind::Name, vec!["a-1"], vec!["", "A", "1a"]),
            (Kind::Path, vec!["a/b"], vec!["", "/a", "../a"]),
            (
                Kind::Url,
                vec!["github.com/a/b", ".", "./x"],
                vec!["", "ftp://a.b/c", "https://t@a.b/c"],
            ),
            (Kind::Image, vec!["host", "ghcr.io/a/b:1"], vec!["", "A b"]),
        ] {
            assert!(
                right.iter().all(|text| kind.fault(text).is_none()),
                "{kind:?}"
            );
            assert!(
                wrong.iter().all(|text| kind.fault(text).is_some()),
                "{kind:?}"
            );
        }
    }
}
