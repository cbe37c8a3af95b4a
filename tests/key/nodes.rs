//! Resolved nodes to compute keys of: the base of the golden vectors, and arbitrary ones.

use std::collections::{BTreeMap, BTreeSet};

use atelier::node::{
    ContentKey, ImageDigest, Kind, ObjectFormat, ObjectId, ResolvedFile, ResolvedNode,
    ResolvedRepo, ResolvedStep, Shell, Source, TreeEntry, User,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;

pub(crate) const WALLET: &str = "https://github.com/frak-id/wallet";

/// The node that the golden vectors are made from.
pub(crate) fn base() -> ResolvedNode {
    let step = |command: &str| ResolvedStep {
        user: User::Dev,
        folder: "wallet".to_owned(),
        shell: Shell::Bash,
        command: command.to_owned(),
    };
    let content = *blake3::hash(b"registry=https://npm.acme.dev/\n").as_bytes();
    let file = ResolvedFile {
        mode: "0644".to_owned(),
        content,
    };
    let env = [("CI", "1"), ("MIX_ENV", "test")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    ResolvedNode {
        repos: BTreeMap::from([("wallet".to_owned(), wallet())]),
        files: BTreeMap::from([(".npmrc".to_owned(), file)]),
        env: BTreeMap::from(env),
        path: vec![".local/bin".to_owned()],
        steps: vec![step("bun install"), step("bun run codegen")],
        ..minimal()
    }
}

/// A node of nothing but an image.
pub(crate) fn minimal() -> ResolvedNode {
    ResolvedNode {
        kind: Kind::Prebuild,
        source: Source::Image {
            digest: ImageDigest([0x11; 32]),
            platform: "linux/amd64".to_owned(),
        },
        repos: BTreeMap::new(),
        files: BTreeMap::new(),
        env: BTreeMap::new(),
        path: Vec::new(),
        steps: Vec::new(),
        needs: BTreeMap::new(),
        provides: String::new(),
    }
}

/// The base's repository.
pub(crate) fn wallet() -> ResolvedRepo {
    ResolvedRepo::Commit {
        url: WALLET.to_owned(),
        reference: "refs/heads/main".to_owned(),
        commit: "0123456789abcdef0123456789abcdef01234567".parse().unwrap(),
        depth: 1,
        submodules: false,
        lfs: false,
    }
}

/// The base with some files of its repository instead of a commit.
pub(crate) fn only(entries: impl IntoIterator<Item = TreeEntry>) -> ResolvedNode {
    let entries = entries.into_iter().collect();
    let format = ObjectFormat::Sha1;
    let repo = ResolvedRepo::Only {
        format,
        entries,
        submodules: false,
        lfs: false,
    };
    ResolvedNode {
        repos: BTreeMap::from([("wallet".to_owned(), repo)]),
        ..base()
    }
}

/// A path of a commit's tree, whose object id is one hex digit forty times; a stub has none.
pub(crate) fn entry(path: &str, mode: &str, digit: Option<char>) -> TreeEntry {
    let object = digit.map(|digit| digit.to_string().repeat(40).parse().unwrap());
    TreeEntry {
        path: path.to_owned(),
        mode: mode.to_owned(),
        object,
    }
}

/// The two files that [`only`] is used with.
pub(crate) fn manifests() -> [TreeEntry; 2] {
    [
        entry("package.json", "100644", Some('a')),
        entry("bun.lock", "100644", Some('b')),
    ]
}

/// Any node, in the one form that its key stands for: without steps it has no variables.
pub(crate) fn any_node() -> impl Strategy<Value = ResolvedNode> {
    let env = btree_map(text(), text(), 0..4);
    let (repos, files) = (
        btree_map(path(), any_repo(), 0..3),
        btree_map(path(), any_file(), 0..3),
    );
    let steps = vec(any_step(), 0..4);
    let needs = btree_map(text(), any::<[u8; 32]>().prop_map(ContentKey), 0..3);
    let kind = prop_oneof![Just(Kind::Prebuild), Just(Kind::Toolchain)];
    let parts = (
        kind,
        any_source(),
        repos,
        files,
        env,
        vec(text(), 0..4),
        steps,
        needs,
        text(),
    );
    parts.prop_map(
        |(kind, source, repos, files, env, path, steps, needs, provides)| {
            let (env, path) = if steps.is_empty() {
                Default::default()
            } else {
                (env, path)
            };
            ResolvedNode {
                kind,
                source,
                repos,
                files,
                env,
                path,
                steps,
                needs,
                provides,
            }
        },
    )
}

/// Short, so that collisions are found, with what might be taken for a separator.
fn text() -> impl Strategy<Value = String> {
    let odd = prop_oneof![Just("\0"), Just("\n"), Just(" / "), Just(","), Just("=")]
        .prop_map(str::to_owned);
    let plain = prop_oneof![3 => "[a-c]{0,3}", 1 => any::<String>()];
    vec(prop_oneof![3 => plain, 1 => odd], 0..3).prop_map(|pieces| pieces.concat())
}

fn path() -> impl Strategy<Value = String> {
    text().prop_map(|text| {
        if text.is_empty() {
            "app".to_owned()
        } else {
            text
        }
    })
}

fn any_source() -> impl Strategy<Value = Source> {
    let image = (any::<[u8; 32]>(), text()).prop_map(|(digest, platform)| Source::Image {
        digest: ImageDigest(digest),
        platform,
    });
    prop_oneof![
        image,
        any::<[u8; 32]>().prop_map(|key| Source::Parent(ContentKey(key)))
    ]
}

fn any_repo() -> impl Strategy<Value = ResolvedRepo> {
    let flags = (any::<bool>(), any::<bool>());
    let commit = (
        url(),
        text(),
        any::<bool>().prop_flat_map(object),
        any::<u32>(),
        flags,
    )
        .prop_map(
            |(url, reference, commit, depth, (submodules, lfs))| ResolvedRepo::Commit {
                url,
                reference,
                commit,
                depth,
                submodules,
                lfs,
            },
        );
    let only =
        (any::<bool>().prop_flat_map(entries), flags).prop_map(|(entries, (submodules, lfs))| {
            ResolvedRepo::Only {
                format: format_of(&entries),
                entries,
                submodules,
                lfs,
            }
        });
    prop_oneof![commit, only]
}

/// Normalised: what a file may write in other ways is `atelier_lang::url`'s affair.
fn url() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "https://[a-z]{1,4}\\.[a-z]{2,3}/[A-Za-z0-9_-]{1,4}/[A-Za-z0-9_-]{1,4}",
        "http://127\\.0\\.0\\.1:[1-9][0-9]{3}/[a-z]{1,4}",
    ]
}

fn object(sha256: bool) -> BoxedStrategy<ObjectId> {
    if sha256 {
        any::<[u8; 32]>().prop_map(ObjectId::Sha256).boxed()
    } else {
        any::<[u8; 20]>().prop_map(ObjectId::Sha1).boxed()
    }
}

fn entries(sha256: bool) -> impl Strategy<Value = BTreeSet<TreeEntry>> {
    let entry = (
        text(),
        "100644|100755|120000|160000",
        option::weighted(0.8, object(sha256)),
    );
    let entry = entry.prop_map(|(path, mode, object)| TreeEntry { path, mode, object });
    // One entry a path, as in a tree.
    btree_set(entry, 0..4).prop_map(|entries| {
        let by_path: BTreeMap<_, _> = entries
            .into_iter()
            .map(|entry| (entry.path.clone(), entry))
            .collect();
        by_path.into_values().collect()
    })
}

/// Stubs alone do not say which hash made the others, and then it is the usual one.
fn format_of(entries: &BTreeSet<TreeEntry>) -> ObjectFormat {
    let ids = entries.iter().filter_map(|entry| entry.object.as_ref());
    ids.map(ObjectId::format)
        .next()
        .unwrap_or(ObjectFormat::Sha1)
}

fn any_file() -> impl Strategy<Value = ResolvedFile> {
    ("[0-7]{4}", any::<[u8; 32]>()).prop_map(|(mode, content)| ResolvedFile { mode, content })
}

fn any_step() -> impl Strategy<Value = ResolvedStep> {
    let user = prop_oneof![Just(User::Dev), Just(User::Root)];
    let shell = prop_oneof![Just(Shell::Bash), Just(Shell::Sh)];
    (user, text(), shell, text()).prop_map(|(user, folder, shell, command)| ResolvedStep {
        user,
        folder,
        shell,
        command,
    })
}
