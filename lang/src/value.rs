//! Texts that must have a form: names, paths, durations, sizes, references. Each parser returns the value or the
//! problem; the caller knows where the text stands.

use std::time::Duration;

use unicode_normalization::is_nfc;

use crate::code;
use crate::diag::{Code, Diagnostic};
use crate::graph::{Reference, Shell, User};
use crate::span::Span;
use crate::spelling::{is_odd, quoted, visible};
use crate::suggest::nearest;

/// A finding that does not know its place yet.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    code: Code,
    message: String,
    label: String,
    help: Option<String>,
    replacement: Option<String>,
}

impl Problem {
    pub(crate) fn new(code: Code, message: String, label: &str) -> Self {
        Self {
            code,
            message,
            label: label.to_owned(),
            help: None,
            replacement: None,
        }
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// What should have been written: help for people, an edit for the machine.
    pub(crate) fn write(self, text: &str) -> Self {
        let help = format!("write {}", visible(text));
        Self {
            replacement: Some(text.to_owned()),
            ..self
        }
        .help(help)
    }

    pub(crate) fn at(self, span: Span) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.code, span, self.message, self.label);
        diagnostic.help = self.help;
        match self.replacement {
            Some(replacement) => diagnostic.fix(span, replacement),
            None => diagnostic,
        }
    }
}

type Parsed<T> = Result<T, Problem>;

/// The name of a target or a cache.
pub(crate) fn name(text: &str) -> Parsed<()> {
    if is_name(text) {
        return Ok(());
    }
    let message = format!("`{}` is not a name", visible(text));
    let rule = "a lower-case letter, then up to 39 of a-z, 0-9 and `-`";
    let problem = Problem::new(code::BAD_NAME, message, rule);
    let simpler = kebab(text);
    Err(if is_name(&simpler) {
        problem.write(&simpler)
    } else {
        problem
    })
}

pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= 40
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// The nearest spelling that could be a name.
fn kebab(text: &str) -> String {
    let mut spelled = String::new();
    let mut was_small = false;
    for character in text.chars().filter(|&character| !is_odd(character)) {
        let lower = character.to_ascii_lowercase();
        if was_small && character.is_ascii_uppercase() {
            spelled.push('-');
        }
        was_small = character.is_ascii_lowercase() || character.is_ascii_digit();
        if lower.is_ascii_lowercase() || lower.is_ascii_digit() {
            spelled.push(lower);
        } else if !spelled.is_empty() && !spelled.ends_with('-') {
            spelled.push('-');
        }
    }
    spelled.truncate(40);
    spelled.trim_end_matches('-').to_owned()
}

pub(crate) fn secret_name(text: &str) -> Parsed<()> {
    let fits = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    if is_variable(text) && text.bytes().all(fits) {
        return Ok(());
    }
    let message = format!("`{}` is not a secret's name", visible(text));
    let rule = "A-Z or `_`, then up to 63 of A-Z, 0-9 and `_`";
    let problem = Problem::new(code::BAD_NAME, message, rule);
    let upper = text.to_ascii_uppercase().replace('-', "_");
    let is_better = is_variable(&upper) && upper.bytes().all(fits);
    Err(if is_better {
        problem.write(&upper)
    } else {
        problem
    })
}

pub(crate) fn env_key(text: &str) -> Parsed<()> {
    if is_variable(text) {
        return Ok(());
    }
    let message = format!("`{}` is not a variable's name", visible(text));
    let rule = "a letter or `_`, then up to 63 letters, digits and `_`";
    Err(Problem::new(code::BAD_NAME, message, rule))
}

fn is_variable(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A path in the workspace.
pub(crate) fn relative_path(text: &str) -> Parsed<()> {
    if let Some(rest) = text.strip_prefix("/home/dev/") {
        let problem = bad_path(text, "is absolute", "paths start in /home/dev");
        let is_better = is_path(rest);
        return Err(if is_better {
            problem.write(&quoted(rest))
        } else {
            problem
        });
    }
    if text.starts_with('/') {
        return Err(bad_path(text, "leaves the workspace", "an absolute path")
            .help("only what is inside /home/dev is in a snapshot: give a path relative to it"));
    }
    segments(text)
}

/// A folder in the workspace, or an absolute one of the sandbox.
pub(crate) fn folder(text: &str) -> Parsed<()> {
    segments(text.strip_prefix('/').unwrap_or(text))
}

/// Where a cache is mounted.
pub(crate) fn cache_folder(text: &str) -> Parsed<()> {
    folder(text)?;
    let Some(absolute) = text.strip_prefix('/') else {
        return Ok(());
    };
    if absolute.starts_with("home/dev/") {
        return relative_path(text);
    }
    let first = absolute.split('/').next().unwrap_or(absolute);
    match absolute {
        "home" | "home/dev" => Err(bad_path(text, "hides the workspace", "mounted over it")
            .help("nothing could be kept in a snapshot: give a folder inside /home/dev")),
        _ if matches!(first, "dev" | "proc" | "sys") => {
            Err(bad_path(text, "is the kernel's", "no folder for files")
                .help("give a folder inside /home/dev, or another absolute one"))
        }
        _ => Ok(()),
    }
}

/// A folder that goes before PATH.
pub(crate) fn search_folder(text: &str) -> Parsed<()> {
    folder(text)?;
    if text.contains(':') {
        return Err(bad_path(
            text,
            "cannot be in PATH",
            "`:` separates folders there",
        ));
    }
    Ok(())
}

fn segments(text: &str) -> Parsed<()> {
    if text == "~" || text.starts_with("~/") {
        let problem = bad_path(
            text,
            "starts with `~`, which nothing expands",
            "a shell's habit",
        );
        return Err(match text.strip_prefix("~/") {
            Some(rest) if is_path(rest) => problem.write(&quoted(rest)),
            _ => problem.help("paths start in /home/dev, so leave `~` out"),
        });
    }
    if text.is_empty() {
        return Err(bad_path(text, "is not a path", "empty"));
    }
    if text.contains(|character: char| character.is_control() || character == '\\') {
        let label = "`\\` and control characters cannot be in a path";
        return Err(bad_path(text, "is not a path", label));
    }
    if text.split('/').any(|segment| segment == "..") {
        return Err(bad_path(text, "leaves the workspace", "`..` goes up")
            .help("paths start in /home/dev and stay inside"));
    }
    if text
        .split('/')
        .any(|segment| segment.is_empty() || segment == ".")
    {
        let problem = bad_path(
            text,
            "is not a path in its one spelling",
            "empty or `.` segments",
        );
        let kept = text
            .split('/')
            .filter(|segment| !matches!(*segment, "" | "."));
        let simpler = kept.collect::<Vec<_>>().join("/");
        return Err(if simpler.is_empty() {
            problem
        } else {
            problem.write(&quoted(&simpler))
        });
    }
    if !is_nfc(text) {
        return Err(bad_path(
            text,
            "is not in Unicode's NFC form",
            "decomposed characters",
        )
        .help("two spellings of one name would be two paths: type the name again"));
    }
    Ok(())
}

/// Whether [`segments`] finds nothing wrong, without saying what.
fn is_path(text: &str) -> bool {
    !text.starts_with("~/") && !text.starts_with('/') && segments(text).is_ok()
}

fn bad_path(text: &str, how: &str, label: &str) -> Problem {
    Problem::new(
        code::PATH_ESCAPES,
        format!("`{}` {how}", visible(text)),
        label,
    )
}

/// `90s`, `10m`, `2h`.
pub(crate) fn duration(text: &str) -> Parsed<Duration> {
    let scale = |unit: &str| match unit {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    match scaled(text, scale) {
        Some(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err(bad_value(
            text,
            "a duration",
            "such as \"90s\", \"10m\" or \"2h\"",
        )),
    }
}

/// `512MiB`, `4GiB`, `1TiB`.
pub(crate) fn size(text: &str) -> Parsed<u64> {
    let scale = |unit: &str| match unit {
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        "TiB" => Some(1 << 40),
        _ => None,
    };
    match scaled(text, scale) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(bad_value(text, "a size", "such as \"512MiB\" or \"4GiB\"")),
    }
}

fn scaled(text: &str, scale: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let unit = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(unit);
    number.parse::<u64>().ok()?.checked_mul(scale(unit)?)
}

/// A number from `least` up.
pub(crate) fn count(text: &str, least: u32) -> Parsed<u32> {
    match text.parse() {
        Ok(number) if number >= least && text.bytes().all(|b| b.is_ascii_digit()) => Ok(number),
        _ => Err(bad_value(
            text,
            "a number that fits here",
            &format!("a whole number from {least}"),
        )),
    }
}

pub(crate) fn truth(text: &str) -> Parsed<bool> {
    choice(text, &[("true", true), ("false", false)]).map_err(|problem| Problem {
        help: Some("write #true or #false".to_owned()),
        replacement: None,
        ..problem
    })
}

pub(crate) fn user(text: &str) -> Parsed<User> {
    choice(text, &[("dev", User::Dev), ("root", User::Root)])
}

pub(crate) fn shell(text: &str) -> Parsed<Shell> {
    choice(text, &[("bash", Shell::Bash), ("sh", Shell::Sh)])
}

fn choice<T: Copy>(text: &str, choices: &[(&str, T)]) -> Parsed<T> {
    if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text) {
        return Ok(*value);
    }
    let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
    let problem = bad_value(text, "one of the choices", &names.join(" or "));
    Err(match nearest(text, names) {
        Some(near) => problem.write(near),
        None => problem,
    })
}

fn bad_value(text: &str, what: &str, rule: &str) -> Problem {
    Problem::new(
        code::BAD_VALUE,
        format!("`{}` is not {what}", visible(text)),
        rule,
    )
}

/// Four octal digits.
pub(crate) fn mode(text: &str) -> Parsed<()> {
    let octal = !text.is_empty() && text.bytes().all(|b| matches!(b, b'0'..=b'7'));
    if octal && text.len() == 4 {
        return Ok(());
    }
    let message = format!("`{}` is not a mode", visible(text));
    let problem = Problem::new(code::BAD_MODE, message, "four octal digits in quotes");
    let is_short = octal && text.len() == 3;
    Err(if is_short {
        problem.write(&quoted(&format!("0{text}")))
    } else {
        problem
    })
}

/// `linux/amd64`, `linux/arm/v7`.
pub(crate) fn platform(text: &str) -> Parsed<()> {
    let word = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let parts: Vec<_> = text.split('/').collect();
    if matches!(parts.len(), 2 | 3) && parts.iter().all(|part| word(part)) {
        return Ok(());
    }
    Err(bad_value(
        text,
        "a platform",
        "such as \"linux/amd64\" or \"linux/arm64\"",
    ))
}

/// A whole commit id, so that nobody has to ask a server what it means.
pub(crate) fn commit(text: &str) -> Parsed<Reference> {
    let hex = text.bytes().all(|b| b.is_ascii_hexdigit());
    if !hex || !matches!(text.len(), 40 | 64) {
        return Err(bad_value(
            text,
            "a commit",
            "40 or 64 hex digits, the whole id",
        ));
    }
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        let lower = text.to_ascii_lowercase();
        return Err(
            bad_value(text, "a commit as git writes it", "lower-case digits")
                .write(&quoted(&lower)),
        );
    }
    Ok(Reference::Commit(text.to_owned()))
}

/// A branch's or a tag's name, by git's own rules.
pub(crate) fn reference(text: &str) -> Parsed<String> {
    let forbidden = |c: char| c.is_control() || " ~^:?*[\\\u{7f}".contains(c);
    let bad_segment = |part: &str| {
        part.is_empty() || part.starts_with('.') || part.to_ascii_lowercase().ends_with(".lock")
    };
    let bad = text.contains(forbidden)
        || text.starts_with('-')
        || text.ends_with('.')
        || text == "@"
        || text.contains("..")
        || text.contains("@{")
        || text.split('/').any(bad_segment);
    if bad {
        return Err(bad_value(
            text,
            "a name that git allows",
            "see `git check-ref-format`",
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests;
