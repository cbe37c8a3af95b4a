//! Pointers: the small texts that a commit has in the place of files in LFS.

/// The lines of a pointer, for git's own search.
pub(super) const LINES: &str =
    "^(version https?://[^ ]+|ext-[0-9]-.*|oid sha256:[0-9a-f]{64}|size [0-9]+)$";

/// So many bytes may a pointer have.
pub(in crate::git) const LARGEST: u64 = 1024;

/// A file that is kept in LFS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) path: Vec<u8>,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub(super) oid: String,
    pub(super) size: u64,
}

impl Kept {
    pub(super) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }
}

/// Reads what the search found: `PATH<nul>NUMBER<nul>LINE` for each line.
pub(super) fn parse(found: &[u8]) -> Vec<Kept> {
    let mut kept = Vec::new();
    let mut reading = Reading::default();
    for line in found.split(|&byte| byte == b'\n') {
        let mut fields = line.splitn(3, |&byte| byte == 0);
        let (Some(path), Some(number), Some(text)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        if path != reading.path {
            reading = Reading::of(path);
        }
        kept.extend(reading.take(number, text));
    }
    kept
}

/// Reads a whole file: `None` if it is no pointer.
pub(super) fn pointer(path: &str, content: &[u8]) -> Option<Kept> {
    if content.len() as u64 > LARGEST {
        return None;
    }
    let lines = content.strip_suffix(b"\n")?.split(|&byte| byte == b'\n');
    let mut reading = Reading::of(path.as_bytes());
    let mut kept = None;
    for (line, number) in lines.zip(1_u32..) {
        if !is_of_pointer(line) {
            return None;
        }
        // The size comes last, and has it all.
        kept = reading.take(number.to_string().as_bytes(), line);
    }
    kept
}

/// The same as [`LINES`].
fn is_of_pointer(line: &[u8]) -> bool {
    let starts = ["version http://", "version https://", "ext-", "size "];
    let digest = line.strip_prefix(b"oid sha256:");
    starts
        .iter()
        .any(|start| line.starts_with(start.as_bytes()))
        || digest
            .is_some_and(|digest| digest.len() == 64 && digest.iter().all(u8::is_ascii_hexdigit))
}

/// A file of which some lines have come.
#[derive(Default)]
struct Reading<'a> {
    path: &'a [u8],
    lines: u32,
    oid: Option<String>,
}

impl<'a> Reading<'a> {
    fn of(path: &'a [u8]) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }

    /// Takes one more line: a pointer is one without a gap, from the version to the size.
    fn take(&mut self, number: &[u8], text: &[u8]) -> Option<Kept> {
        self.lines += 1;
        let (number, text) = (
            std::str::from_utf8(number).ok()?,
            std::str::from_utf8(text).ok()?,
        );
        let is_first = text.starts_with("version ");
        if number.parse() != Ok(self.lines) || is_first != (self.lines == 1) {
            self.oid = None;
            return None;
        }
        if let Some(oid) = text.strip_prefix("oid sha256:") {
            self.oid = Some(oid.to_owned());
        }
        let size = text.strip_prefix("size ")?.parse().ok()?;
        Some(Kept {
            path: self.path.to_owned(),
            oid: self.oid.take()?,
            size,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, pointer};

    #[test]
    fn pointers_are_read_and_texts_are_not() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let found = format!(
            "x.bin\0001\0version https://git-lfs.github.com/spec/v1\nx.bin\0002\0oid sha256:{a}\nx.bin\0003\0size 5\n\
             e\0001\0version https://git-lfs.github.com/spec/v1\ne\0002\0ext-0-case sha256:{a}\ne\0003\0oid sha256:{b}\ne\0004\0size 0\n\
             text\0002\0version https://git-lfs.github.com/spec/v1\ntext\0003\0oid sha256:{a}\ntext\0004\0size 5\n\
             torn\0001\0version https://git-lfs.github.com/spec/v1\ntorn\0002\0oid sha256:{a}\ntorn\0007\0size 5\n\
             short\0001\0oid sha256:{a}\nshort\0002\0size 5\n"
        );
        let kept = parse(found.as_bytes());
        let told: Vec<_> = kept
            .iter()
            .map(|kept| (kept.shown(), &kept.oid, kept.size))
            .collect();
        assert_eq!(told, [("x.bin".to_owned(), &a, 5), ("e".to_owned(), &b, 0)]);
    }
    #[test]
    fn a_file_is_a_pointer_as_a_whole_or_not_at_all() {
        let oid = "a".repeat(64);
        let version = "version https://git-lfs.github.com/spec/v1";
        let whole = format!("{version}\noid sha256:{oid}\nsize 5\n");
        let kept = pointer("x", whole.as_bytes()).unwrap();
        assert_eq!((kept.oid.as_str(), kept.size), (oid.as_str(), 5));
        let extended = format!("{version}\next-0-case sha256:{oid}\noid sha256:{oid}\nsize 5\n");
        assert!(pointer("x", extended.as_bytes()).is_some());
        for text in [
            whole.trim_end().to_owned(),
            format!("{whole}more\n"),
            format!("{whole}size 5\n"),
            format!("# a note\n{whole}"),
            format!("{version}\nsize 5\n"),
            format!("{version}\noid sha256:../../x\nsize 5\n"),
            whole.replace("size 5", "size five"),
            format!("{whole}{}", "\n".repeat(1024)),
            String::new(),
        ] {
            assert_eq!(pointer("x", text.as_bytes()), None, "{text:?}");
        }
    }
}
