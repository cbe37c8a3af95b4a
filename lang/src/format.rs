//! `fmt`: a file with its white space set right. Every token stays as it is, so neither what the file means nor what its
//! comments say can change; that is checked before the text is handed out.

mod outline;
mod print;

use crate::diag::Diagnostic;
use crate::lex::{Kind, Token, is_newline, lex};
use crate::load;
use crate::source::{ReadError, Sources};
use crate::tree::Node;

/// Why there is no formatted text.
#[derive(Debug)]
pub enum Unformatted {
    /// The file cannot be read, or has errors as text.
    Faulty(Vec<Diagnostic>),
    /// The text would mean something else, or would be formatted otherwise the next time: a bug.
    Changed,
}

/// Formats what reading the file called `name`, at most `limit` bytes of it, has yielded.
pub fn format(
    name: &str,
    read: Result<Vec<u8>, ReadError>,
    limit: u64,
    sources: &mut Sources,
) -> Result<String, Unformatted> {
    let text = match &read {
        Ok(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Err(_) => String::new(),
    };
    let tree = tree(name, read, limit, sources).map_err(Unformatted::Faulty)?;
    let tokens = lex(&text);
    let formatted = print::print(&text, &tokens);
    let again = lex(&formatted);
    // It may be longer than a file that is read may be: the limit is for what people write.
    let bytes = Ok(formatted.clone().into_bytes());
    let after = self::tree(name, bytes, u64::MAX, &mut Sources::default());
    let means_the_same = after.is_ok_and(|after| shape(&after) == shape(&tree));
    let says_the_same = words(&text, &tokens).eq(words(&formatted, &again));
    if means_the_same && says_the_same && print::print(&formatted, &again) == formatted {
        Ok(formatted)
    } else {
        Err(Unformatted::Changed)
    }
}

fn tree(
    name: &str,
    read: Result<Vec<u8>, ReadError>,
    limit: u64,
    sources: &mut Sources,
) -> Result<Vec<Node>, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let loaded = load::load(name, read, limit, sources, &mut found);
    let has_error = found.iter().any(Diagnostic::is_error);
    loaded.tree.filter(|_| !has_error).ok_or(found)
}

/// The tree without its places.
fn shape(nodes: &[Node]) -> String {
    let mut shape = String::new();
    for node in nodes {
        outline::node(node, &mut shape);
    }
    shape
}

/// Everything but white space, line ends all alike.
fn words<'a>(text: &'a str, tokens: &'a [Token]) -> impl Iterator<Item = String> + 'a {
    let words = tokens.iter().filter_map(move |token| match token.kind {
        Kind::Space | Kind::Newline => None,
        _ => Some(spelled(token, text)),
    });
    words.filter(|word| !word.is_empty())
}

/// A token as it is printed; of a line that goes on, the comment alone.
fn spelled(token: &Token, source: &str) -> String {
    let text = token.text(source);
    match token.kind {
        Kind::LineComment => text.trim_end().to_owned(),
        Kind::Continuation => text
            .find("//")
            .map_or("", |at| text[at..].trim_end())
            .to_owned(),
        _ => text.replace("\r\n", "\n").replace(is_newline, "\n"),
    }
}
