//! Every field of a node is in its key, and its change is told by name.

use atelier::explain::changes;
use atelier::key::key;
use atelier::node::{
    ContentKey, ImageDigest, Kind, ObjectFormat, ObjectId, ResolvedFile, ResolvedNode,
    ResolvedRepo, Shell, Source, TreeEntry, User,
};

use crate::nodes::{base, entry, manifests, only, wallet};

type Mutation = (&'static str, fn(&mut ResolvedNode));

fn commit(node: &mut ResolvedNode, change: impl FnOnce(&mut ResolvedRepo)) {
    change(node.repos.get_mut("wallet").unwrap());
}

fn move_repo(node: &mut ResolvedNode) {
    node.repos.remove("wallet");
    node.repos.insert("app".to_owned(), wallet());
}

fn move_file(node: &mut ResolvedNode) {
    let file = node.files.remove(".npmrc").unwrap();
    node.files.insert("wallet/.npmrc".to_owned(), file);
}

fn file(node: &mut ResolvedNode) -> &mut ResolvedFile {
    node.files.get_mut(".npmrc").unwrap()
}

/// One change of one field, by the name of the field that says so.
const MUTATIONS: [Mutation; 24] = [
    ("kind", |node| node.kind = Kind::Toolchain),
    ("from / image digest", |node| {
        node.source = Source::Image {
            digest: ImageDigest([0x12; 32]),
            platform: "linux/amd64".to_owned(),
        };
    }),
    ("from / platform", |node| {
        node.source = Source::Image {
            digest: ImageDigest([0x11; 32]),
            platform: "linux/arm64".to_owned(),
        };
    }),
    ("from", |node| {
        node.source = Source::Parent(ContentKey([1; 32]));
    }),
    ("repo / app", move_repo),
    ("repo / wallet / url", |node| {
        commit(node, |repo| match repo {
            ResolvedRepo::Commit { url, .. } => "https://github.com/Frak-ID/wallet".clone_into(url),
            ResolvedRepo::Only { .. } => {}
        });
    }),
    ("repo / wallet / ref", |node| {
        commit(node, |repo| match repo {
            ResolvedRepo::Commit { reference, .. } => "refs/heads/next".clone_into(reference),
            ResolvedRepo::Only { .. } => {}
        });
    }),
    ("repo / wallet / commit", |node| {
        commit(node, |repo| match repo {
            ResolvedRepo::Commit { commit, .. } => *commit = ObjectId::Sha1([1; 20]),
            ResolvedRepo::Only { .. } => {}
        });
    }),
    ("repo / wallet / commit", |node| {
        commit(node, |repo| match repo {
            ResolvedRepo::Commit { commit, .. } => *commit = ObjectId::Sha256([1; 32]),
            ResolvedRepo::Only { .. } => {}
        });
    }),
    ("repo / wallet / options / depth", |node| {
        commit(node, |repo| match repo {
            ResolvedRepo::Commit { depth, .. } => *depth = 0,
            ResolvedRepo::Only { .. } => {}
        });
    }),
    ("repo / wallet / options / submodules", |node| {
        commit(node, |repo| match repo {
            ResolvedRepo::Commit { submodules, .. } => *submodules = true,
            ResolvedRepo::Only { .. } => {}
        });
    }),
    ("repo / wallet / options / lfs", |node| {
        commit(node, |repo| match repo {
            ResolvedRepo::Commit { lfs, .. } => *lfs = true,
            ResolvedRepo::Only { .. } => {}
        });
    }),
    ("file / wallet/.npmrc", move_file),
    ("file / .npmrc / mode", |node| {
        "0600".clone_into(&mut file(node).mode);
    }),
    ("file / .npmrc / content", |node| {
        file(node).content[31] ^= 1;
    }),
    ("env / MIX_ENV / value", |node| {
        drop(node.env.insert("MIX_ENV".to_owned(), "prod".to_owned()));
    }),
    ("env / npm_config_x", |node| {
        drop(node.env.insert("npm_config_x".to_owned(), "1".to_owned()));
    }),
    ("path / 1", |node| node.path.insert(0, "bin".to_owned())),
    ("step / 1 / as", |node| node.steps[0].user = User::Root),
    ("step / 1 / in", |node| node.steps[0].folder.clear()),
    ("step / 1 / shell", |node| node.steps[0].shell = Shell::Sh),
    ("step / 1 / run", |node| node.steps[0].command.push(' ')),
    ("needs / /opt/node", |node| {
        node.needs
            .insert("/opt/node".to_owned(), ContentKey([7; 32]));
    }),
    ("provides", |node| {
        "/opt/node".clone_into(&mut node.provides);
    }),
];

/// behaviours 1.4, 2.2
#[test]
fn every_change_of_a_field_gives_a_new_key_and_says_which_field() {
    let mut seen = vec![key(&base())];
    for (field, mutate) in MUTATIONS {
        let mut node = base();
        mutate(&mut node);
        let changed = changes(&base(), &node);
        let names: Vec<String> = changed
            .iter()
            .map(|change| change.field.to_string())
            .collect();
        let moved = match field {
            "repo / app" => Some("repo / wallet"),
            "file / wallet/.npmrc" => Some("file / .npmrc"),
            _ => None,
        };
        let expected: Vec<&str> = [field].into_iter().chain(moved).collect();
        assert_eq!(names, expected);
        assert!(
            !seen.contains(&key(&node)),
            "{field}: a key that there was before"
        );
        seen.push(key(&node));
    }
}

/// behaviours 2.1
#[test]
fn a_changed_step_is_exactly_one_changed_field() {
    let mut node = base();
    "bun install --frozen-lockfile".clone_into(&mut node.steps[0].command);
    let changed = changes(&base(), &node);
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].field.to_string(), "step / 1 / run");
    assert_eq!(changed[0].old.as_deref(), Some("bun install"));
    assert_eq!(
        changed[0].new.as_deref(),
        Some("bun install --frozen-lockfile")
    );
}

#[test]
fn every_field_of_only_is_in_the_key() {
    let [package, lock] = manifests();
    let id = ObjectId::Sha256([1; 32]);
    let variants = [
        only([package.clone(), lock.clone()]),
        only([package.clone(), entry("bun.lock", "100755", Some('b'))]),
        only([package.clone(), entry("bun.lock", "100644", Some('c'))]),
        only([package.clone(), entry("bun.lockb", "100644", Some('b'))]),
        only([package.clone(), entry("bun.lock", "100644", None)]),
        only([package.clone()]),
        only([package, lock, entry("src/main.rs", "100644", None)]),
        only([TreeEntry {
            object: Some(id),
            ..entry("bun.lock", "100644", None)
        }]),
        only([]),
    ];
    let mut keys: Vec<_> = variants.iter().map(key).collect();
    for (submodules, lfs, format) in [
        (true, false, ObjectFormat::Sha1),
        (false, true, ObjectFormat::Sha1),
        (false, false, ObjectFormat::Sha256),
    ] {
        let repo = ResolvedRepo::Only {
            format,
            entries: manifests().into(),
            submodules,
            lfs,
        };
        let mut node = base();
        node.repos.insert("wallet".to_owned(), repo);
        keys.push(key(&node));
    }
    keys.push(key(&base()));
    let all = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), all);
}

#[test]
fn the_names_of_fields_are_unique_whatever_a_path_is_called() {
    let only = |entries: &[TreeEntry]| ResolvedRepo::Only {
        format: ObjectFormat::Sha1,
        entries: entries.iter().cloned().collect(),
        submodules: false,
        lfs: false,
    };
    let mut old = base();
    old.repos.insert("a".to_owned(), only(&[]));
    let mut new = base();
    let entry = entry("b", "100644", Some('1'));
    new.repos.insert("a".to_owned(), only(&[entry]));
    new.repos.insert("a / only / b".to_owned(), wallet());
    let changed = changes(&old, &new);
    let names: Vec<String> = changed
        .iter()
        .map(|change| change.field.to_string())
        .collect();
    assert_eq!(names, ["repo / a / only / b", "repo / \"a / only / b\""]);
}
