//! Output of steps as a terminal may have it: a line that is printed may otherwise set the clipboard, move the cursor, or
//! hide what comes after.

/// Keeps text, tabs and colours. Of what a carriage return has overwritten, the last is kept.
pub(crate) fn text(text: &str) -> String {
    let overwritten = |text: &str| text.contains('\r');
    let is_plain = |char: char| !char.is_control() || char == '\t' || char == '\n';
    if text.chars().all(is_plain) {
        return text.to_owned();
    }
    let lines = text.split('\n').map(|line| match overwritten(line) {
        true => {
            let last = line.split('\r').rfind(|part| !part.is_empty());
            of_line(last.unwrap_or_default())
        }
        false => of_line(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn of_line(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|char: char| char.is_control() && char != '\t') {
        kept.push_str(&rest[..at]);
        let (sequence, after) = rest[at..].split_at(length(&rest[at..]));
        if is_colour(sequence) {
            kept.push_str(sequence);
        }
        rest = after;
    }
    kept + rest
}

/// Of the control sequence, or the control character, that a text begins with; in bytes.
fn length(text: &str) -> usize {
    let first = text.chars().next().map_or(0, char::len_utf8);
    let after = |inside: &str, end: &dyn Fn(char) -> bool| {
        let ends = inside.char_indices().find(|(_, char)| end(*char));
        ends.map_or(inside.len(), |(at, char)| at + char.len_utf8())
    };
    let Some(inside) = text.strip_prefix('\u{1b}') else {
        return first;
    };
    match inside.chars().next() {
        // Parameters, and a letter or the like.
        Some('[') => 2 + after(&inside[1..], &|char| matches!(char, '@'..='~')),
        // A text up to a bell or the string terminator.
        Some(']' | 'P' | '^' | '_' | 'X') => {
            let inside = &inside[1..];
            let bell = inside.find('\u{7}').map(|at| at + 1);
            let terminator = inside.find("\u{1b}\\").map(|at| at + 2);
            let end = [bell, terminator].into_iter().flatten().min();
            2 + end.unwrap_or(inside.len())
        }
        Some(char) if !char.is_control() => 1 + char.len_utf8(),
        _ => first,
    }
}

fn is_colour(sequence: &str) -> bool {
    let parameters = sequence
        .strip_prefix("\u{1b}[")
        .and_then(|rest| rest.strip_suffix('m'));
    parameters.is_some_and(|text| {
        text.chars()
            .all(|char| char.is_ascii_digit() || matches!(char, ';' | ':'))
    })
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn colours_and_tabs_stay_and_nothing_else() {
        for (from, to) in [
            ("plain\ttext\u{e9}", "plain\ttext\u{e9}"),
            ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m"),
            ("a\u{1b}]52;c;aGk=\u{7}b", "ab"),
            ("a\u{1b}]0;title\u{1b}\\b", "ab"),
            ("a\u{1b}]0;never ends", "a"),
            ("a\u{1b}[2J\u{1b}[Hb", "ab"),
            ("a\u{1b}cb\u{7}\u{8}\u{9b}2Jc", "ab2Jc"),
            ("10%\r50%\r100%", "100%"),
            ("done\r", "done"),
            ("a\u{1b}", "a"),
            ("one\u{7}\ntwo", "one\ntwo"),
        ] {
            assert_eq!(text(from), to, "{from:?}");
        }
    }
}
