//! How a text is written in KDL, and how an odd character is named to people.

/// How much of a text a message repeats, in characters.
const MESSAGE: usize = 80;

/// A quoted string that means `text`.
pub fn quoted(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len() + 2);
    spelled.push('"');
    for character in text.chars() {
        match character {
            '"' => spelled.push_str("\\\""),
            '\\' => spelled.push_str("\\\\"),
            '\n' => spelled.push_str("\\n"),
            '\r' => spelled.push_str("\\r"),
            '\t' => spelled.push_str("\\t"),
            odd if is_odd(odd) => spelled.push_str(&escape(odd)),
            plain => spelled.push(plain),
        }
    }
    spelled.push('"');
    spelled
}

/// `\u{202e}`, as KDL and this project's messages write it.
pub(crate) fn escape(character: char) -> String {
    format!("\\u{{{:x}}}", u32::from(character))
}

/// `text` as a message can quote it: invisible characters made visible, and not endless.
pub fn visible(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars().take(MESSAGE) {
        if is_odd(character) {
            shown.push_str(&escape(character));
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(MESSAGE).is_some() {
        shown.push('…');
    }
    shown
}

/// A character that a reader would not see, or not see as what it is.
pub fn is_odd(character: char) -> bool {
    character.is_control() || is_zero_width(character) || is_direction(character)
}

/// Takes no space: a name with one looks like a name without.
pub(crate) fn is_zero_width(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// Changes the direction of the text around it, so that a line reads otherwise than it means.
pub(crate) fn is_direction(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// What people call a forbidden character.
pub(crate) fn called(character: char) -> &'static str {
    match character {
        '\0' => "NUL",
        '\u{1b}' => "the escape character",
        '\u{7f}' => "DEL",
        '\u{200e}' => "left-to-right mark",
        '\u{200f}' => "right-to-left mark",
        '\u{61c}' => "Arabic letter mark",
        '\u{202a}' => "left-to-right embedding",
        '\u{202b}' => "right-to-left embedding",
        '\u{202c}' => "pop directional formatting",
        '\u{202d}' => "left-to-right override",
        '\u{202e}' => "right-to-left override",
        '\u{2066}'..='\u{2069}' => "a directional isolate",
        '\u{feff}' => "a byte order mark inside the file",
        _ if is_zero_width(character) => "an invisible character",
        _ if character.is_control() => "a control character",
        _ => "this character",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_survives_a_round_trip() {
        for text in ["plain", "a \"b\" \\ c", "\t\n\r", "\u{202e}é\u{0}"] {
            let parsed: kdl::KdlEntry = quoted(text).parse().unwrap();
            assert_eq!(parsed.value().as_string(), Some(text));
        }
    }
}
