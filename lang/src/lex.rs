//! Text → tokens, in one linear pass that never fails.
//!
//! Not the parser: it lets the guard count and the advice on spelling look at what was meant, also where the text is
//! not KDL. A word is therefore wider here than in KDL: `apps/web` is one.

mod string;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Space,
    Newline,
    /// `\`, up to and with the newline that it takes away.
    Continuation,
    LineComment,
    BlockComment {
        depth: usize,
        closed: bool,
    },
    /// `# note`: no comment in KDL.
    HashComment,
    Slashdash,
    Open,
    Close,
    ParenOpen,
    ParenClose,
    Equals,
    Semicolon,
    Word,
    Text {
        spelling: Spelling,
        fault: Option<Fault>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `"…"`
    Quoted,
    /// `"""` on lines of their own.
    MultiLine,
    /// `#"…"#`
    Raw,
    /// `#"""` on lines of their own.
    MultiLineRaw,
    /// `r"…"`, KDL 1's raw string.
    OldRaw,
    /// `'…'`, no string in KDL.
    Single,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Unclosed,
    /// `"""` with something behind it.
    NoNewline,
    /// `"""` that closes behind something.
    LastLine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Token {
    pub(crate) fn text<'a>(&self, source: &'a str) -> &'a str {
        source.get(self.start..self.end).unwrap_or("")
    }

    /// Whether KDL sees nothing but space here.
    pub(crate) fn is_blank(&self) -> bool {
        matches!(
            self.kind,
            Kind::Space | Kind::Continuation | Kind::BlockComment { .. }
        )
    }
}

/// The tokens of `source`: together they are the whole text.
pub(crate) fn lex(source: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut start = 0;
    while start < source.len() {
        let after_equals = tokens
            .last()
            .is_some_and(|token| token.kind == Kind::Equals);
        let (kind, length) = next(&source[start..], after_equals);
        let end = start + length.max(1);
        tokens.push(Token { kind, start, end });
        start = end;
    }
    tokens
}

fn next(rest: &str, after_equals: bool) -> (Kind, usize) {
    let Some(first) = rest.chars().next() else {
        return (Kind::Space, 0);
    };
    let one = |kind| (kind, first.len_utf8());
    match first {
        '{' => one(Kind::Open),
        '}' => one(Kind::Close),
        '(' => one(Kind::ParenOpen),
        ')' => one(Kind::ParenClose),
        '=' => one(Kind::Equals),
        ';' => one(Kind::Semicolon),
        '\r' if rest.starts_with("\r\n") => (Kind::Newline, 2),
        _ if is_newline(first) => one(Kind::Newline),
        _ if is_space(first) => (Kind::Space, run(rest, is_space)),
        '/' if rest.starts_with("//") => (Kind::LineComment, line(rest)),
        '/' if rest.starts_with("/*") => block_comment(rest),
        '/' if rest.starts_with("/-") => (Kind::Slashdash, 2),
        '\\' => continuation(rest).map_or_else(
            || word(rest, after_equals),
            |length| (Kind::Continuation, length),
        ),
        '"' => string::quoted(rest),
        '\'' => string::single(rest).unwrap_or_else(|| word(rest, after_equals)),
        'r' => string::old_raw(rest).unwrap_or_else(|| word(rest, after_equals)),
        '#' => string::raw(rest).unwrap_or_else(|| hash(rest, after_equals)),
        _ => word(rest, after_equals),
    }
}

/// `#true`, or what a shell would take for a comment.
fn hash(rest: &str, after_equals: bool) -> (Kind, usize) {
    let behind = rest[1..].chars().next();
    let ends = behind.is_none_or(|c| is_space(c) || is_newline(c) || c == '#' || c == '!');
    if ends {
        (Kind::HashComment, line(rest))
    } else {
        word(rest, after_equals)
    }
}

/// Everything up to what ends a value. Behind `=`, another `=` belongs to the value.
fn word(rest: &str, after_equals: bool) -> (Kind, usize) {
    let mut parens = 0_usize;
    for (at, character) in rest.char_indices() {
        let here = &rest[at..];
        let ends = match character {
            '(' => {
                parens += 1;
                false
            }
            ')' => parens.checked_sub(1).map(|left| parens = left).is_none(),
            '=' => !after_equals,
            '/' => here.starts_with("//") || here.starts_with("/*"),
            '\\' => continuation(here).is_some(),
            _ => is_space(character) || is_newline(character) || "{};\"".contains(character),
        };
        if ends && at > 0 {
            return (Kind::Word, at);
        }
    }
    (Kind::Word, rest.len())
}

/// Comments nest.
fn block_comment(rest: &str) -> (Kind, usize) {
    let bytes = rest.as_bytes();
    let (mut at, mut depth, mut deepest) = (0, 0_usize, 0);
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => {
                depth += 1;
                deepest = deepest.max(depth);
                at += 2;
            }
            Some(b"*/") => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return (
                        Kind::BlockComment {
                            depth: deepest,
                            closed: true,
                        },
                        at,
                    );
                }
            }
            _ => at += 1,
        }
    }
    (
        Kind::BlockComment {
            depth: deepest,
            closed: false,
        },
        bytes.len(),
    )
}

/// `\`, spaces, perhaps a comment, and the newline.
fn continuation(rest: &str) -> Option<usize> {
    let after = &rest[1..];
    let mut at = 1 + run(after, is_space);
    if rest[at..].starts_with("//") {
        at += line(&rest[at..]);
    }
    match rest[at..].chars().next() {
        None => Some(at),
        Some('\r') if rest[at..].starts_with("\r\n") => Some(at + 2),
        Some(newline) if is_newline(newline) => Some(at + newline.len_utf8()),
        Some(_) => None,
    }
}

/// How much of `rest` is on its first line.
fn line(rest: &str) -> usize {
    rest.find(is_newline).unwrap_or(rest.len())
}

fn run(rest: &str, fits: impl Fn(char) -> bool) -> usize {
    rest.find(|character| !fits(character))
        .unwrap_or(rest.len())
}

pub(crate) fn is_newline(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// KDL's spaces, and the mark at the start of a file.
pub(crate) fn is_space(character: char) -> bool {
    matches!(
        character,
        '\t' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(Kind, &str)> {
        let tokens = lex(source);
        let shown = tokens.iter().map(|token| (token.kind, token.text(source)));
        shown.filter(|(kind, _)| *kind != Kind::Space).collect()
    }

    #[test]
    fn words_are_wider_than_kdl() {
        for word in [
            "apps/web", "~/.cache", "$(pwd)", "22.x", "feat/x-1", "#true", "a#b",
        ] {
            assert_eq!(kinds(word), [(Kind::Word, word)]);
        }
        assert_eq!(kinds("k=a=b")[2], (Kind::Word, "a=b"));
        assert_eq!(kinds("(u8)1")[3], (Kind::Word, "1"));
    }

    #[test]
    fn comments() {
        let nested = Kind::BlockComment {
            depth: 2,
            closed: true,
        };
        assert_eq!(kinds("/* /* */ */"), [(nested, "/* /* */ */")]);
        let open = Kind::BlockComment {
            depth: 1,
            closed: false,
        };
        assert_eq!(kinds("a/*/"), [(Kind::Word, "a"), (open, "/*/")]);
        assert_eq!(
            kinds("https://x"),
            [(Kind::Word, "https:"), (Kind::LineComment, "//x")]
        );
        assert_eq!(kinds("# note"), [(Kind::HashComment, "# note")]);
    }

    #[test]
    fn lines_go_on() {
        assert_eq!(
            kinds("a \\ // c\r\nb")[1],
            (Kind::Continuation, "\\ // c\r\n")
        );
        assert_eq!(kinds("C:\\x"), [(Kind::Word, "C:\\x")]);
    }
}
