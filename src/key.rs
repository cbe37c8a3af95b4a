//! The content key: a canonical encoding of a [`ResolvedNode`], and its SHA-256. Pure.
//!
//! The encoding is PASETO's pre-authentication encoding, nested: a count, then each piece with its length, all as
//! little-endian 64-bit numbers. That makes it injective, and so it can be decoded. One walker, [`write_preimage`],
//! feeds two sinks: the bytes that are hashed, and the tree that explains a difference; they cannot drift apart.

use sha2::{Digest, Sha256};

use crate::node::{
    ContentKey, Kind, ObjectFormat, ResolvedFile, ResolvedNode, ResolvedRepo, ResolvedStep, Shell,
    Source, TreeEntry, User,
};

mod decode;
pub mod json;
pub mod tree;

pub use decode::{NotAPreimage, decode};

pub(crate) const TAG: &str = "atelier/node/1";

/// Receives a node piece by piece. Pieces between `open` and `close` are one nested piece of what surrounds it.
pub trait Preimage {
    fn open(&mut self, field: &str);
    fn piece(&mut self, field: &str, value: Value<'_>);
    fn close(&mut self);
}

/// One leaf of the encoding; both forms are hashed as they are, and differ in how they are shown.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// The bytes that are hashed, and stored beside the snapshot.
pub fn preimage(node: &ResolvedNode) -> Vec<u8> {
    let mut bytes = Bytes {
        open: vec![Piece::default()],
    };
    write_preimage(node, &mut bytes);
    bytes.open.pop().map(|root| root.pieces).unwrap_or_default()
}

pub fn key(node: &ResolvedNode) -> ContentKey {
    key_of_preimage(&preimage(node))
}

pub fn key_of_preimage(preimage: &[u8]) -> ContentKey {
    ContentKey(Sha256::digest(preimage).into())
}

/// Writes a node in its canonical order. Destructures without `..`: a new field does not compile until someone
/// decides whether it is in the key.
pub fn write_preimage(node: &ResolvedNode, sink: &mut impl Preimage) {
    let ResolvedNode {
        kind,
        source,
        repos,
        files,
        env,
        path,
        steps,
        needs,
        provides,
    } = node;
    sink.open("node");
    sink.piece("scheme", Value::Text(TAG));
    sink.piece("kind", Value::Text(kind_name(*kind)));
    write_source(source, sink);
    list(sink, "repo", repos, |sink, (path, repo)| {
        write_repo(path, repo, sink);
    });
    list(sink, "file", files, |sink, (path, file)| {
        write_file(path, file, sink);
    });
    // Variables matter to nothing but steps.
    list(
        sink,
        "env",
        env.iter().filter(|_| !steps.is_empty()),
        |sink, (name, value)| {
            sink.open(name);
            sink.piece("name", Value::Text(name));
            sink.piece("value", Value::Text(value));
            sink.close();
        },
    );
    list(
        sink,
        "path",
        path.iter().enumerate().filter(|_| !steps.is_empty()),
        |sink, (index, folder)| sink.piece(&(index + 1).to_string(), Value::Text(folder)),
    );
    list(
        sink,
        "step",
        steps.iter().enumerate(),
        |sink, (index, step)| {
            write_step(index, step, sink);
        },
    );
    list(sink, "needs", needs, |sink, (mount, key)| {
        sink.open(mount);
        sink.piece("mount", Value::Text(mount));
        sink.piece("key", Value::Bytes(&key.0));
        sink.close();
    });
    sink.piece("provides", Value::Text(provides));
    sink.close();
}

fn list<S: Preimage, T>(
    sink: &mut S,
    field: &str,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut S, T),
) {
    sink.open(field);
    for item in items {
        write(sink, item);
    }
    sink.close();
}

fn write_source(source: &Source, sink: &mut impl Preimage) {
    sink.open("from");
    match source {
        Source::Image { digest, platform } => {
            sink.piece("kind", Value::Text("image"));
            sink.piece("image digest", Value::Text(&digest.to_string()));
            sink.piece("platform", Value::Text(platform));
        }
        Source::Parent(key) => {
            sink.piece("kind", Value::Text("prebuild"));
            sink.piece("parent key", Value::Bytes(&key.0));
        }
    }
    sink.close();
}

fn write_repo(path: &str, repo: &ResolvedRepo, sink: &mut impl Preimage) {
    sink.open(path);
    match repo {
        ResolvedRepo::Commit {
            url,
            reference,
            commit,
            depth,
            submodules,
            lfs,
        } => {
            sink.piece("kind", Value::Text("commit"));
            sink.piece("path", Value::Text(path));
            sink.piece("url", Value::Text(url));
            sink.piece("ref", Value::Text(reference));
            sink.piece("hash", Value::Text(format_name(commit.format())));
            sink.piece("commit", Value::Bytes(commit.as_bytes()));
            sink.open("options");
            sink.piece("depth", Value::Text(&depth.to_string()));
            write_options(*submodules, *lfs, sink);
            sink.close();
        }
        ResolvedRepo::Only {
            format,
            entries,
            submodules,
            lfs,
        } => {
            sink.piece("kind", Value::Text("only"));
            sink.piece("path", Value::Text(path));
            sink.piece("hash", Value::Text(format_name(*format)));
            list(sink, "only", entries, |sink, entry| {
                write_entry(entry, sink);
            });
            sink.open("options");
            write_options(*submodules, *lfs, sink);
            sink.close();
        }
    }
    sink.close();
}

fn write_options(submodules: bool, lfs: bool, sink: &mut impl Preimage) {
    sink.piece(
        "submodules",
        Value::Text(if submodules { "submodules" } else { "" }),
    );
    sink.piece("lfs", Value::Text(if lfs { "lfs" } else { "" }));
}

fn write_entry(entry: &TreeEntry, sink: &mut impl Preimage) {
    let TreeEntry { path, mode, object } = entry;
    sink.open(path);
    sink.piece("path", Value::Text(path));
    sink.piece("mode", Value::Text(mode));
    sink.piece(
        "object",
        Value::Bytes(object.as_ref().map_or(&[], |object| object.as_bytes())),
    );
    sink.close();
}

fn write_file(path: &str, file: &ResolvedFile, sink: &mut impl Preimage) {
    let ResolvedFile { mode, content } = file;
    sink.open(path);
    sink.piece("path", Value::Text(path));
    sink.piece("mode", Value::Text(mode));
    sink.piece("hash", Value::Text("blake3"));
    sink.piece("content", Value::Bytes(content));
    sink.close();
}

fn write_step(index: usize, step: &ResolvedStep, sink: &mut impl Preimage) {
    let ResolvedStep {
        user,
        folder,
        shell,
        command,
    } = step;
    sink.open(&(index + 1).to_string());
    sink.piece("as", Value::Text(user_name(*user)));
    sink.piece("in", Value::Text(folder));
    sink.piece("shell", Value::Text(shell_name(*shell)));
    sink.piece("run", Value::Text(command));
    sink.close();
}

pub(crate) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Prebuild => "prebuild",
        Kind::Toolchain => "toolchain",
    }
}

pub(crate) fn format_name(format: ObjectFormat) -> &'static str {
    match format {
        ObjectFormat::Sha1 => "sha1",
        ObjectFormat::Sha256 => "sha256",
    }
}

pub(crate) fn user_name(user: User) -> &'static str {
    match user {
        User::Dev => "dev",
        User::Root => "root",
    }
}

pub(crate) fn shell_name(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => "bash",
        Shell::Sh => "sh",
    }
}

/// The sink whose bytes are hashed.
struct Bytes {
    /// The pieces that are not closed yet; the first holds the finished root.
    open: Vec<Piece>,
}

#[derive(Default)]
struct Piece {
    count: u64,
    pieces: Vec<u8>,
}

impl Bytes {
    fn push(&mut self, bytes: &[u8]) {
        if let [root] = self.open.as_mut_slice() {
            root.pieces.extend_from_slice(bytes);
        } else if let Some(parent) = self.open.last_mut() {
            parent.count += 1;
            parent
                .pieces
                .extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            parent.pieces.extend_from_slice(bytes);
        }
    }
}

impl Preimage for Bytes {
    fn open(&mut self, _field: &str) {
        self.open.push(Piece::default());
    }

    fn piece(&mut self, _field: &str, value: Value<'_>) {
        match value {
            Value::Text(text) => self.push(text.as_bytes()),
            Value::Bytes(bytes) => self.push(bytes),
        }
    }

    fn close(&mut self) {
        if let Some(Piece { count, pieces }) = self.open.pop() {
            let mut whole = count.to_le_bytes().to_vec();
            whole.extend_from_slice(&pieces);
            self.push(&whole);
        }
    }
}
