//! Two texts beside each other, cut so that what differs is to be seen.

use std::borrow::Cow;

use atelier_lang::spelling::{is_odd, quoted};

/// So much of a line of its own is shown, in characters.
const WIDTH: usize = 96;

/// So much of what is the same stays before the difference.
const BEFORE: usize = 12;

/// So many lines of a side are shown.
const LINES: usize = 4;

/// Of a digest.
const DIGITS: usize = 12;

/// Both sides of a difference.
#[derive(Debug, PartialEq)]
pub(super) enum Sides {
    /// Short enough for one line.
    Inline(String, String),
    /// What differs of the old lines, and of the new ones.
    Lines(Vec<String>, Vec<String>),
}

/// Both sides: on one line if each is one and has no more than `limit` characters.
pub(super) fn sides(old: Option<&str>, new: Option<&str>, limit: usize) -> Sides {
    let (before, after) = inline(old, new, usize::MAX);
    let is_short = |shown: &str, text: Option<&str>| {
        shown.chars().count() <= limit && !text.is_some_and(|text| text.contains('\n'))
    };
    if is_short(&before, old) && is_short(&after, new) {
        return Sides::Inline(before, after);
    }
    let lines = |text: Option<&'_ str>| -> Vec<String> {
        let lines = text.into_iter().flat_map(|text| text.split('\n'));
        lines.map(str::to_owned).collect()
    };
    let (old, new) = (lines(old), lines(new));
    let same = |(a, b): &(&String, &String)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = tail.take_while(same).count();
    let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    Sides::Lines(excerpt(old, new), excerpt(new, old))
}

fn excerpt(lines: &[String], others: &[String]) -> Vec<String> {
    let shown = lines.iter().take(LINES).enumerate().map(|(index, line)| {
        let other = others.get(index).map_or("", String::as_str);
        match line.is_empty() {
            true => String::new(),
            false => window(&spelled(line), &spelled(other), WIDTH),
        }
    });
    let mut shown: Vec<String> = shown.collect();
    match lines.len().saturating_sub(LINES) {
        0 => {}
        1 => shown.push("… and 1 more line".to_owned()),
        more => shown.push(format!("… and {more} more lines")),
    }
    shown
}

/// Both sides, each on a line of no more than `limit` characters.
pub(super) fn inline(old: Option<&str>, new: Option<&str>, limit: usize) -> (String, String) {
    let both = |shown: &dyn Fn(&str) -> String| {
        let (old, new) = (old.map(shown), new.map(shown));
        let side = |text: &Option<String>, other: &Option<String>| match text {
            Some(text) => window(text, other.as_deref().unwrap_or_default(), limit),
            None => "nothing".to_owned(),
        };
        (side(&old, &new), side(&new, &old))
    };
    let (before, after) = both(&|text| short(&spelled(text)));
    match before == after {
        // Digests that begin alike.
        true => both(&|text| spelled(text).into_owned()),
        false => (before, after),
    }
}

/// What a reader would not see is written out.
fn spelled(text: &str) -> Cow<'_, str> {
    let is_plain = text == text.trim() && !text.is_empty() && !text.chars().any(is_odd);
    match is_plain {
        true => Cow::Borrowed(text),
        false => Cow::Owned(quoted(text)),
    }
}

/// Digests are shown by their beginning.
pub(super) fn short(text: &str) -> String {
    let word = |word: &str| {
        let start = word.find(':').map_or(0, |colon| colon + 1);
        let digest = &word[start..];
        let is_digest = digest.len() >= 40 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        match is_digest {
            true => format!("{}…", &word[..start + DIGITS]),
            false => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// So much of a text that the first difference from `other` is in it.
fn window(text: &str, other: &str, limit: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= limit {
        return text.to_owned();
    }
    let same = text
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count();
    // Where all before the difference has room, it stays.
    let start = match same + BEFORE < limit {
        true => 0,
        false => same - BEFORE.min(same),
    };
    let end = characters.len().min(start + limit);
    let start = end.saturating_sub(limit).min(start);
    let ellipsis = |is_cut: bool| if is_cut { "…" } else { "" };
    let shown: String = characters[start..end].iter().collect();
    format!(
        "{}{shown}{}",
        ellipsis(start > 0),
        ellipsis(end < characters.len())
    )
}

#[cfg(test)]
mod tests {
    use super::{Sides, inline, sides};

    fn shown(old: &str, new: &str) -> (String, String) {
        inline(Some(old), Some(new), 20)
    }

    fn texts(old: &str, new: &str) -> (String, String) {
        (old.to_owned(), new.to_owned())
    }

    #[test]
    fn the_difference_is_always_in_what_is_shown() {
        assert_eq!(shown("a", "b"), texts("a", "b"));
        assert_eq!(shown("a", "a "), texts("a", "\"a \""));
        assert_eq!(shown("", "\u{202e}"), texts("\"\"", "\"\\u{202e}\""));
        let (old, new) = ("0".repeat(40), "0".repeat(39) + "1");
        assert_eq!(
            shown(&old, &("1".repeat(40))),
            texts("000000000000…", "111111111111…")
        );
        assert_eq!(
            shown(&old, &new),
            texts("…00000000000000000000", "…00000000000000000001")
        );
        let long = "abcdefghij".repeat(6);
        assert_eq!(
            shown(
                &format!("{long} one and much more"),
                &format!("{long} two and much more")
            ),
            texts("…jabcdefghij one and …", "…jabcdefghij two and …")
        );
        assert_eq!(
            shown(&("one ".to_owned() + &long), &("two ".to_owned() + &long)),
            texts("one abcdefghijabcdef…", "two abcdefghijabcdef…")
        );
        assert_eq!(inline(None, Some("x"), 20), texts("nothing", "x"));
        let prefixed = "sha256:".to_owned() + &old + " linux/amd64";
        assert_eq!(
            inline(Some(&prefixed), None, 99).0,
            "sha256:000000000000… linux/amd64"
        );
    }

    #[test]
    fn of_long_texts_the_lines_that_differ_are_shown() {
        let lines = |old: &[&str], new: &[&str]| {
            let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
            Sides::Lines(lines(old), lines(new))
        };
        let compare = |old: &str, new: &str| sides(Some(old), Some(new), 20);
        assert_eq!(
            compare("set -e\nmake\n", "set -e\nmake all\n"),
            lines(&["make"], &["make all"])
        );
        assert_eq!(compare("a\nb", "a\nb\n"), lines(&[], &[""]));
        assert_eq!(compare("a\nb\nc", "a\nc"), lines(&["b"], &[]));
        assert_eq!(
            compare("1\n2\n3\n4\n5\n6", "0"),
            lines(&["1", "2", "3", "4", "… and 2 more lines"], &["0"])
        );
        assert_eq!(compare("x\r\ny", "x\ny"), lines(&["\"x\\r\""], &["x"]));
        let long = "x".repeat(200);
        let Sides::Lines(old, new) = compare(&format!("{long}a"), &format!("{long}b")) else {
            panic!("on one line")
        };
        assert!(old[0].ends_with("xa") && new[0].ends_with("xb"), "{old:?}");
        assert_eq!(
            compare("a", "b"),
            Sides::Inline("a".to_owned(), "b".to_owned())
        );
    }
}
