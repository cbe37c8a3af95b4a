//! Texts that look like secrets: what must not be in a file, and must never be shown.
//!
//! A token has a prefix that its issuer chose so that tools like this can find it.

use std::ops::Range;

use crate::lex::is_newline;

/// A token's issuer, how it starts, and what must follow.
struct Token {
    kind: &'static str,
    prefix: &'static str,
    least: usize,
    fits: fn(u8) -> bool,
}

const TOKENS: &[Token] = &[
    token("a GitHub token", "ghp_", 36, word),
    token("a GitHub token", "gho_", 36, word),
    token("a GitHub token", "ghu_", 36, word),
    token("a GitHub token", "ghs_", 36, word),
    token("a GitHub token", "ghr_", 36, word),
    token("a GitHub token", "github_pat_", 22, word),
    token("a GitLab token", "glpat-", 20, dashed),
    token("an AWS key", "AKIA", 16, upper),
    token("an AWS key", "ASIA", 16, upper),
    token("a Slack token", "xoxb-", 20, dashed),
    token("a Slack token", "xoxp-", 20, dashed),
    token("an npm token", "npm_", 36, word),
    token("a PyPI token", "pypi-AgEI", 30, dashed),
    token("a Google API key", "AIza", 35, dashed),
    token("a Stripe key", "sk_live_", 20, word),
    token("an Anthropic key", "sk-ant-", 20, dashed),
    token("an OpenAI key", "sk-proj-", 20, dashed),
];

const PRIVATE_KEY: &str = "PRIVATE KEY-----";

const fn token(
    kind: &'static str,
    prefix: &'static str,
    least: usize,
    fits: fn(u8) -> bool,
) -> Token {
    Token {
        kind,
        prefix,
        least,
        fits,
    }
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn dashed(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

/// The first token in `text`, and what it looks like.
pub(crate) fn first(text: &str) -> Option<(Range<usize>, &'static str)> {
    tokens(text)
        .into_iter()
        .min_by_key(|(range, _)| range.start)
}

/// The text with what must not be shown starred out, byte for byte; line ends stay.
pub(crate) fn masked(text: &str) -> String {
    let mut is_hidden = vec![false; text.len()];
    for range in hidden(text) {
        is_hidden[range].fill(true);
    }
    let mut shown = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        if is_hidden[at] && !is_newline(character) {
            shown.extend((0..character.len_utf8()).map(|_| '*'));
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Everything in `text` that must not be shown: tokens, who stands before the `@` of a URL, and passwords.
fn hidden(text: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<_> = tokens(text).into_iter().map(|(range, _)| range).collect();
    for (start, scheme) in text.match_indices("://") {
        let start = start + scheme.len();
        let rest = &text[start..];
        let authority = rest.find(ends_authority).map_or(rest, |end| &rest[..end]);
        if let Some((user, _)) = authority
            .rsplit_once('@')
            .filter(|(user, _)| *user != "git")
        {
            ranges.push(start..start + user.len());
        }
    }
    let mut from = 0;
    for (at, _) in text.match_indices('@') {
        let before = &text[from..at];
        let run = before
            .rfind(ends_authority)
            .map_or(from, |stop| from + stop + 1);
        from = at + 1;
        // `user:password@host`
        if let Some(colon) = text.get(run..at).and_then(|run| run.find(':')) {
            ranges.push(run + colon + 1..at);
        }
    }
    ranges
}

fn ends_authority(character: char) -> bool {
    character.is_ascii_whitespace() || matches!(character, '/' | '"' | '\'' | '?' | '#')
}

fn tokens(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let mut found = Vec::new();
    for token in TOKENS {
        let mut last = 0;
        for (start, prefix) in text.match_indices(token.prefix) {
            let stands_alone = text[..start].bytes().next_back().is_none_or(|b| !word(b));
            if start < last || !stands_alone {
                continue;
            }
            let body = start + prefix.len();
            let length = text[body..]
                .bytes()
                .take_while(|b| (token.fits)(*b))
                .count();
            last = body + length;
            if length >= token.least {
                found.push((start..last, token.kind));
            }
        }
    }
    found.extend(private_keys(text));
    found
}

fn private_keys(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let mut found: Vec<(Range<usize>, &'static str)> = Vec::new();
    for (at, end) in text.match_indices(PRIVATE_KEY) {
        let near = text.floor_char_boundary(at.saturating_sub(40));
        let Some(start) = text[near..at]
            .rfind("-----BEGIN ")
            .map(|start| near + start)
        else {
            continue;
        };
        if found.last().is_some_and(|(last, _)| start < last.end) {
            continue;
        }
        let body = at + end.len();
        let tail = text[body..]
            .find("-----END ")
            .map_or(text.len(), |tail| body + tail);
        found.push((start..tail, "a private key"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found() {
        let token = format!("x=ghp_{} y", "a1".repeat(18));
        assert_eq!(first(&token), Some((2..42, "a GitHub token")));
        assert_eq!(first("ghp_short"), None);
        assert_eq!(first(&format!("lengthghp_{}", "a".repeat(36))), None);
        let key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----";
        assert_eq!(first(key).map(|(_, kind)| kind), Some("a private key"));
    }

    #[test]
    fn who_logs_in_is_hidden() {
        assert_eq!(hidden("git clone https://u:p@h/x"), [18..21, 20..21]);
        assert_eq!(hidden("u\u{e9}:p@h/x \"é@:b:c@d\""), [4..5, 15..18]);
        assert!(hidden("ssh://git@h/x https://h/a@b").is_empty());
    }
}
