//! The forms in which a value may have been written.

use std::collections::BTreeSet;

/// The value and what encoders make of it, each once. One of several lines may have either kind of line ends.
pub(super) fn of(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let unix: Vec<u8> = value
        .iter()
        .copied()
        .filter(|&byte| byte != b'\r')
        .collect();
    let lines: Vec<&[u8]> = unix.split(|&byte| byte == b'\n').collect();
    let windows = lines.join(&b"\r\n"[..]);
    let all = [value, &unix, &windows]
        .into_iter()
        .collect::<BTreeSet<_>>();
    all.into_iter().flat_map(of_one).collect()
}

/// What base64 makes of a value, wherever it stands in what was encoded.
pub fn base64_forms(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let value = without_line_end(value);
    let ways = (0..3).flat_map(|before| [(before, *b"+/"), (before, *b"-_")]);
    ways.map(|(before, last)| base64(value, before, last))
        .collect()
}

fn of_one(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = base64_forms(value);
    forms.insert(value.to_vec());
    // As RFC 3986 has it, as encodeURIComponent does, and as HTML forms do.
    for (kept, space) in [("-_.~", "%20"), ("-_.~!'()*", "%20"), ("-_.*", "+")] {
        forms.insert(percent(value, kept.as_bytes(), space, false));
        forms.insert(percent(value, kept.as_bytes(), space, true));
    }
    forms
}

pub(super) fn without_line_end(mut value: &[u8]) -> &[u8] {
    while let [rest @ .., b'\n' | b'\r'] = value {
        value = rest;
    }
    value
}

/// The characters that the value alone decides, where `before` bytes of something else precede it in a group of three.
fn base64(value: &[u8], before: usize, last: [u8; 2]) -> Vec<u8> {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let bit = |at: usize| {
        let byte = value.get(at / 8).copied().unwrap_or(0);
        usize::from(byte >> (7 - at % 8) & 1)
    };
    // From the first bit of the value at which a character begins, to the last character that is full.
    let start = (6 - before * 8 % 6) % 6;
    let mut text = Vec::new();
    let mut at = start;
    while at + 6 <= value.len() * 8 {
        let digit = (at..at + 6).fold(0, |digit, at| digit << 1 | bit(at));
        text.push(match digit {
            62 | 63 => last[digit - 62],
            digit => LETTERS[digit],
        });
        at += 6;
    }
    text
}

fn percent(value: &[u8], kept: &[u8], space: &str, is_lower: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for &byte in value {
        match byte {
            b' ' => text.extend_from_slice(space.as_bytes()),
            _ if byte.is_ascii_alphanumeric() || kept.contains(&byte) => text.push(byte),
            _ if is_lower => text.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            _ => text.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    text
}
