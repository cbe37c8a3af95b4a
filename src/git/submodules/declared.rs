//! What `.gitmodules` says: read as text, and believed only where it can do no harm.

use std::collections::BTreeMap;

use atelier_lang::spelling::visible;

/// One entry of `.gitmodules`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) url: Option<String>,
    /// `none` for one that is not to be checked out.
    pub(super) update: Option<String>,
    pub(super) shallow: bool,
}

/// Reads what `git config -z --list` prints. By path: where several entries name one, the last holds, as for git.
pub(super) fn parse(listed: &[u8]) -> Result<BTreeMap<Vec<u8>, Declared>, String> {
    let mut entries: BTreeMap<&[u8], (Declared, Option<&[u8]>)> = BTreeMap::new();
    let mut order = Vec::new();
    for line in listed.split(|&byte| byte == 0) {
        let (key, value) = split_at(line, b'\n').unwrap_or((line, b"true"));
        let Some((name, field)) = submodule_key(key) else {
            continue;
        };
        let text = || utf8(value);
        let (entry, path) = entries.entry(name).or_insert_with(|| {
            order.push(name);
            (Declared::default(), None)
        });
        match field {
            b"path" => *path = Some(value),
            b"url" => entry.url = Some(text()?),
            b"update" => entry.update = Some(text()?),
            b"shallow" => entry.shallow = matches!(value, b"true" | b"yes" | b"on" | b"1"),
            _ => {}
        }
    }
    let mut by_path = BTreeMap::new();
    for name in order {
        if let Some((mut entry, Some(path))) = entries.remove(name) {
            entry.name = utf8(name)?;
            by_path.insert(path.to_owned(), entry);
        }
    }
    Ok(by_path)
}

/// `submodule.NAME.FIELD`; the name may have dots.
fn submodule_key(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = key.strip_prefix(b"submodule.")?;
    let dot = rest.iter().rposition(|&byte| byte == b'.')?;
    Some((&rest[..dot], &rest[dot + 1..]))
}

fn split_at(line: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|&byte| byte == separator)?;
    Some((&line[..at], &line[at + 1..]))
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(".gitmodules has a text that is not UTF-8".to_owned()),
    }
}

/// Says what is wrong with a name: it becomes a folder below `.git/modules`, which it must not leave (CVE-2018-11235).
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let shown = visible(name);
    if !is_plain(name) {
        return Err(format!("`{shown}` is no name for a submodule"));
    }
    if name
        .split(['/', '\\'])
        .any(|part| matches!(part, "" | "." | ".."))
    {
        return Err(format!("its name `{shown}` leads out of .git/modules"));
    }
    Ok(())
}

/// Says what is wrong with a path in a tree: it must stay in the work tree, and is nobody's `.git`.
pub(super) fn check_path(path: &[u8]) -> Result<String, String> {
    let path = utf8(path).map_err(|_| "its path is not UTF-8".to_owned())?;
    let shown = visible(&path);
    let parts = || path.split('/');
    if !is_plain(&path) || parts().any(|part| matches!(part, "" | "." | "..")) {
        return Err(format!("its path `{shown}` is no path in a repository"));
    }
    if parts().any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(format!("its path `{shown}` leads into a .git"));
    }
    Ok(path)
}

/// Whether a text can stand in a line, and is no option of a program.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && !text.contains(|c: char| c.is_control())
}

#[cfg(test)]
mod tests {
    use super::{check_name, check_path, parse};

    #[test]
    fn entries_are_found_by_their_path() {
        let listed = b"core.x\ny\0submodule.a.b.path\nlib/a\0submodule.a.b.url\n../a\0submodule.a.b.shallow\0\
            submodule.c.url\n../c\0submodule.d.path\nlib/d\0submodule.d.update\nnone\0submodule.e.path\nlib/d\0";
        let entries = parse(listed).unwrap();
        assert_eq!(entries.len(), 2);
        let a = &entries[b"lib/a".as_slice()];
        assert_eq!(
            (a.name.as_str(), a.url.as_deref(), a.shallow),
            ("a.b", Some("../a"), true)
        );
        assert_eq!(entries[b"lib/d".as_slice()].name, "e");
        assert!(parse(b"submodule.a.url\n\xff\0").is_err());
    }

    /// CVE-2018-11235, CVE-2024-32002, CVE-2025-48384 and their kind.
    #[test]
    fn names_and_paths_stay_where_they_belong() {
        for name in ["lib", "vendor/lib", "a b", "lib.git", "é"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in [
            "", "..", "../x", "a/../b", "a\\..\\b", "/a", "a//b", "./a", "-a", "a\r", "a\nb",
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
        for path in ["lib", "a/b c", ".github/x", "a.git"] {
            assert_eq!(check_path(path.as_bytes()).as_deref(), Ok(path));
        }
        for path in [
            "", "/a", "a//b", "../a", "a/..", ".git/x", "a/.GIT/b", "-a", "a\r", "a\t",
        ] {
            assert!(check_path(path.as_bytes()).is_err(), "{path}");
        }
        assert!(check_path(b"\xff").is_err());
    }
}
