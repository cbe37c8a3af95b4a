//! Bare words in a value's place: KDL 1's keywords, numbers out of range, and what must be quoted.

use super::{Page, Role};
use crate::code;
use crate::diag::Diagnostic;
use crate::lex::{Kind, Spelling};
use crate::spelling::{quoted, visible};

impl Page<'_> {
    /// A word or string that is an argument, a key or a value (or a name that is wrong in the same ways).
    pub(super) fn value(&self, at: usize, found: &mut Vec<Diagnostic>) -> usize {
        if let Some(next) = self.half_comment(at, found) {
            return next;
        }
        if let Some(next) = self.brace(at, found) {
            return next;
        }
        if let Some(next) = self.joined(at, found) {
            return next;
        }
        match self.kind(at) {
            Some(Kind::Text {
                spelling: Spelling::OldRaw,
                ..
            }) => self.old_raw(at, found),
            Some(Kind::Text {
                spelling: Spelling::Single,
                ..
            }) => self.single(at, found),
            Some(Kind::Text { .. }) => self.string(at, found),
            _ => self.word(at, found),
        }
        at + 1
    }

    fn word(&self, at: usize, found: &mut Vec<Diagnostic>) {
        let word = self.written(at);
        let range = self.range(at);
        if matches!(word, "true" | "false" | "null") && self.roles[at] != Role::Key {
            let replacement = if word == "null" {
                quoted(word)
            } else {
                format!("#{word}")
            };
            let message = format!("KDL 2 writes `#{word}`");
            let label = "a keyword of KDL 1";
            found.push(self.habit(code::KDL_1, &range, message, label, replacement));
        } else if is_integer(word) {
            if !fits(word) {
                let message = "this number is too large to be read";
                let label = "more than 127 bits";
                found.push(self.habit(code::UNUSABLE_NUMBER, &range, message, label, quoted(word)));
            }
        } else if let Some(lower) = miscased_keyword(word) {
            let message = format!("KDL writes `{lower}`");
            let label = "keywords are lower-case";
            found.push(self.habit(code::KDL_1, &range, message, label, lower));
        } else if let Some(label) = unreadable(word) {
            found.push(self.must_be_quoted(at, &label));
        }
    }

    fn must_be_quoted(&self, at: usize, label: &str) -> Diagnostic {
        let word = self.written(at);
        let message = format!("`{}` must be quoted here", visible(word));
        self.habit(
            code::UNQUOTED,
            &self.range(at),
            message,
            label,
            quoted(word),
        )
    }
}

/// Why KDL cannot read a bare word, if it cannot.
fn unreadable(word: &str) -> Option<String> {
    if is_number(word) || is_keyword(word) {
        return None;
    }
    if matches!(word, "inf" | "-inf" | "nan" | "true" | "false" | "null") {
        return Some(format!("bare `{word}` is kept free for a keyword"));
    }
    let stop = word.find(['/', '\\', '(', ')', '[', ']', '#', '=']);
    if let Some(stop) = stop.and_then(|at| word[at..].chars().next()) {
        return Some(format!("`{stop}` ends a bare word"));
    }
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let after_dot = unsigned.strip_prefix('.').unwrap_or(unsigned);
    let is_like_a_number = after_dot.starts_with(|first: char| first.is_ascii_digit());
    is_like_a_number.then(|| "starts like a number, and is none".to_owned())
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "#true" | "#false" | "#null" | "#inf" | "#-inf" | "#nan"
    )
}

fn miscased_keyword(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    (lower != word && is_keyword(&lower)).then_some(lower)
}

fn is_integer(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    match unsigned.as_bytes() {
        [b'0', b'x' | b'X', rest @ ..] => is_digits(rest, |b| b.is_ascii_hexdigit()),
        [b'0', b'o' | b'O', rest @ ..] => is_digits(rest, |b| matches!(b, b'0'..=b'7')),
        [b'0', b'b' | b'B', rest @ ..] => is_digits(rest, |b| matches!(b, b'0' | b'1')),
        rest => is_digits(rest, |b| b.is_ascii_digit()),
    }
}

/// An integer, or one with a fraction or an exponent.
fn is_number(word: &str) -> bool {
    if is_integer(word) {
        return true;
    }
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let is_decimal = |part: &str| is_digits(part.as_bytes(), |b| b.is_ascii_digit());
    let exponent = exponent.map(|part| part.strip_prefix(['+', '-']).unwrap_or(part));
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    is_decimal(whole) && fraction.is_none_or(is_decimal) && exponent.is_none_or(is_decimal)
}

/// One digit, then digits and `_`.
fn is_digits(bytes: &[u8], fits: impl Fn(u8) -> bool) -> bool {
    bytes.first().is_some_and(|b| fits(*b)) && bytes.iter().all(|b| fits(*b) || *b == b'_')
}

/// Whether an integer is one that can be read.
fn fits(word: &str) -> bool {
    let unsigned = word
        .strip_prefix(['+', '-'])
        .unwrap_or(word)
        .replace('_', "");
    let (digits, radix) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&unsigned[2..], 16),
        [b'0', b'o' | b'O', ..] => (&unsigned[2..], 8),
        [b'0', b'b' | b'B', ..] => (&unsigned[2..], 2),
        _ => (unsigned.as_str(), 10),
    };
    i128::from_str_radix(digits, radix).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for number in [
            "0",
            "-1",
            "+5",
            "1_000",
            "0xdead_beef",
            "0o755",
            "0b1",
            "22.10",
            "1e5",
            "1.5E-3",
        ] {
            assert!(is_number(number), "{number}");
        }
        for word in [
            "", "-", "22.x", "1.", ".5", "0x", "0b2", "_1", "1e", "30m", "e5",
        ] {
            assert!(!is_number(word), "{word}");
        }
    }

    #[test]
    fn words_that_kdl_can_read() {
        for word in [
            "a", "-", "+", "--flag", "a-b", "feat", ".", "..", ".npmrc", "'", "é", "a:b", "*",
        ] {
            assert_eq!(unreadable(word), None, "{word}");
        }
        for word in [
            "a/b", "~/x", "30m", ".5", "-.5", "22.x", "nan", "a#b", "$(x)", "C:\\x", "[a]",
        ] {
            assert!(unreadable(word).is_some(), "{word}");
        }
    }
}
