//! Every argument and property of every statement, changed in the text of a file: a new key exactly if the table says so.

use std::collections::BTreeSet;

use atelier::node::ContentKey;
use atelier_lang::table::{self, Place, STATEMENTS};

use crate::pinning::Outside;

const FILE: &str = r#"
secret T U
prebuild target {
    from base platform="linux/amd64"
    about "for people"
    repo "github.com/frak-id/wallet" branch=main path=wallet depth=1 submodules=#true lfs=#true auth=T
    repo "github.com/frak-id/lib" { only manifest; stub program; }
    file ".npmrc" "text" mode="0644"
    run "make all" in=wallet as=dev shell=bash timeout="10m" retry=0
    run "make rest"
    env FIRST=1
    path bin "/opt/bin"
    cache kept path=".kept"
    secret T
    resources cpu=2 memory="4GiB" disk="20GiB" timeout="60m"
}
"#;

/// What is changed, as the statement and the argument's number or the property's name; the text; and whether the key is new.
const CHANGES: &[(&str, &str, &str, &str, bool)] = &[
    ("from", "0", "from base ", "from other ", true),
    ("from", "0", "from base ", "from base-again ", false),
    ("from", "platform", "linux/amd64", "linux/arm64", true),
    ("repo", "0", "frak-id/wallet", "frak-id/Wallet", true),
    ("repo", "branch", "branch=main", "branch=twin", true),
    ("repo", "branch", "branch=main ", "", false),
    ("repo", "path", "path=wallet", "path=purse", true),
    ("repo", "depth", "depth=1", "depth=0", true),
    (
        "repo",
        "submodules",
        "submodules=#true",
        "submodules=#false",
        true,
    ),
    ("repo", "lfs", "lfs=#true", "lfs=#false", true),
    ("repo", "auth", "auth=T", "auth=U", false),
    ("only", "0", "only manifest", "only manifest other", true),
    ("stub", "0", "stub program", "stub program other", true),
    ("file", "0", "\".npmrc\"", "\".yarnrc\"", true),
    ("file", "1", "\"text\"", "\"other\"", true),
    ("file", "from", "\"text\"", "from=text", false),
    ("file", "from", "\"text\"", "from=other", true),
    ("file", "mode", "0644", "0600", true),
    ("run", "0", "make all", "make  all", true),
    ("run", "in", "in=wallet", "in=bin", true),
    ("run", "as", "as=dev", "as=root", true),
    ("run", "shell", "shell=bash", "shell=sh", true),
    (
        "run",
        "timeout",
        "timeout=\"10m\"",
        "timeout=\"11m\"",
        false,
    ),
    ("run", "retry", "retry=0", "retry=1", false),
    ("env", "name", "FIRST=1", "SECOND=1", true),
    ("env", "value", "FIRST=1", "FIRST=2", true),
    ("path", "0", "bin \"/opt/bin\"", "\"/opt/bin\" bin", true),
    ("cache", "0", "cache kept", "cache other", false),
    ("cache", "path", "\".kept\"", "\".other\"", false),
    (
        "secret",
        "0",
        "secret T\n    resources",
        "secret U\n    resources",
        false,
    ),
    ("resources", "cpu", "cpu=2", "cpu=3", false),
    ("resources", "memory", "4GiB", "5GiB", false),
    ("resources", "disk", "20GiB", "21GiB", false),
    ("resources", "timeout", "60m", "61m", false),
    ("about", "0", "for people", "for others", false),
    (
        "prebuild",
        "0",
        "prebuild target",
        "prebuild renamed",
        false,
    ),
    (
        "allow",
        "0",
        "secret T U",
        "secret T U\nallow secret-literal",
        false,
    ),
    (
        "group",
        "0",
        "secret T U",
        "secret T U\ngroup g target",
        false,
    ),
];

/// Properties and statements that other tests change: of reuse, which is gone before there are keys; of what needs another
/// file than this; and of what stands for others.
const ELSEWHERE: &[(&str, &str)] = &[
    ("from", "prebuild"),
    ("repo", "tag"),
    ("repo", "commit"),
    ("import", "as"),
    ("param", "default"),
];

fn outside() -> Outside {
    let mut outside = Outside {
        tree: vec![
            ("manifest", "100644", 'c'),
            ("program", "100644", 'd'),
            ("other", "100644", 'e'),
        ],
        ..Outside::default()
    };
    outside.files.extend([("text", "text"), ("other", "other")]);
    outside
}

fn key(file: &str) -> ContentKey {
    outside().key(file)
}

#[test]
fn a_change_gives_a_new_key_exactly_if_the_table_says_so() {
    let before = key(FILE);
    for (statement, what, old, new, is_new) in CHANGES {
        assert!(FILE.contains(old), "{statement} {what}: {old}");
        let after = key(&FILE.replacen(old, new, 1));
        assert_eq!(
            after != before,
            *is_new,
            "{statement} {what}: {old} → {new}"
        );
    }
}

#[test]
fn every_property_of_a_prebuild_is_among_the_changes() {
    let changed: BTreeSet<(&str, &str)> =
        CHANGES.iter().map(|change| (change.0, change.1)).collect();
    let places = [Place::Prebuild, Place::Repo];
    for statement in STATEMENTS
        .iter()
        .filter(|row| places.iter().any(|place| row.stands_in(*place)))
    {
        for property in statement.properties.known() {
            let pair = (statement.name, property.name);
            assert!(
                changed.contains(&pair) || ELSEWHERE.contains(&pair),
                "{pair:?}"
            );
        }
    }
}

/// What the table says of each property, and with it the reference.
#[test]
fn the_table_says_which_properties_are_in_the_key() {
    for (statement, what, old, new, _) in CHANGES {
        let row = table::find(statement).unwrap();
        let Some(property) = row.property(what) else {
            continue;
        };
        // The same input, said in another way.
        let is_same = [("branch=main ", ""), ("\"text\"", "from=text")].contains(&(old, new));
        let is_new = key(&FILE.replacen(old, new, 1)) != key(FILE);
        assert_eq!(property.is_in_key && !is_same, is_new, "{statement} {what}");
    }
}
