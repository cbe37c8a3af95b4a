//! `only`, `stub` and `layer` from the text of a file: which changes of a repository make a new key.

use crate::pinning::Outside;

const DEPS: &str = r#"
prebuild wallet {
    from base
    env CI=1
    repo "github.com/frak-id/wallet" {
        layer {
            only package.json "patches/**"
            stub "**/lib.rs"
            run "bun install"
        }
        run "bun run codegen"
    }
}
"#;

/// What `layer` stands for.
const BY_HAND: &str = r#"
prebuild wallet-deps {
    from base
    env CI=1
    repo "github.com/frak-id/wallet" {
        only package.json "patches/**"
        stub "**/lib.rs"
        run "bun install"
    }
}
prebuild wallet {
    from prebuild=wallet-deps
    repo "github.com/frak-id/wallet" { run "bun run codegen"; }
}
"#;

const TREE: &[(&str, &str, char)] = &[
    ("README.md", "100644", '1'),
    ("package.json", "100644", '2'),
    ("patches/a", "100644", '3'),
    ("src/lib.rs", "100644", '4'),
];

fn outside(tree: &[(&'static str, &'static str, char)]) -> Outside {
    Outside {
        tree: tree.to_vec(),
        ..Outside::default()
    }
}

/// A tree that differs from [`TREE`] in one entry.
fn with(entry: (&'static str, &'static str, char)) -> Outside {
    let mut tree = TREE.to_vec();
    tree.retain(|(path, ..)| *path != entry.0);
    tree.push(entry);
    // The commit moves with it.
    let mut outside = outside(&tree);
    outside.branches.insert("main", 'c');
    outside
}

#[test]
fn a_layer_has_the_keys_of_its_hand_expansion() {
    assert_eq!(outside(TREE).keys(DEPS), outside(TREE).keys(BY_HAND));
    let bare = "from base\nenv CI=1\nrepo \"github.com/frak-id/wallet\" { layer more { only package.json; cache c path=c; }; layer { only \"patches/**\"; }; }";
    let names: Vec<String> = outside(TREE).keys(bare).into_keys().collect();
    assert_eq!(names, ["default", "default-deps", "default-more"]);
}

/// behaviours 1.23
#[test]
fn what_the_patterns_do_not_name_is_not_in_the_key() {
    let before = outside(TREE).keys(DEPS);
    for entry in [
        ("README.md", "100644", '9'),
        ("new.txt", "100644", '9'),
        ("src/lib.rs", "100644", '9'),
    ] {
        let after = with(entry).keys(DEPS);
        assert_eq!(after["wallet-deps"], before["wallet-deps"], "{entry:?}");
        assert_ne!(after["wallet"], before["wallet"], "{entry:?}");
    }
}

/// behaviours 1.4: modes and links too.
#[test]
fn what_the_patterns_name_is() {
    let before = outside(TREE).keys(DEPS);
    for entry in [
        ("package.json", "100644", '9'),
        ("package.json", "100755", '2'),
        ("package.json", "120000", '2'),
        ("patches/b", "100644", '3'),
        ("src/lib.rs", "100755", '4'),
        ("src/deep/lib.rs", "100644", '4'),
    ] {
        let after = with(entry).keys(DEPS);
        assert_ne!(after["wallet-deps"], before["wallet-deps"], "{entry:?}");
    }
}

#[test]
fn a_path_that_both_lists_name_is_a_stub() {
    let file = "from base\nrepo \"github.com/frak-id/wallet\" { only \"**\"; stub \"**/lib.rs\"; }";
    let before = outside(TREE).key(file);
    assert_eq!(with(("src/lib.rs", "100644", '9')).key(file), before);
    assert_ne!(with(("README.md", "100644", '9')).key(file), before);
    // A link has no content that could be left out.
    let link = with(("src/lib.rs", "120000", '4')).key(file);
    assert_ne!(with(("src/lib.rs", "120000", '9')).key(file), link);
}

#[test]
fn a_renamed_file_is_another_one() {
    let file = "from base\nrepo \"github.com/frak-id/wallet\" { only \"patches/**\"; }";
    let mut tree = TREE.to_vec();
    tree[2].0 = "patches/renamed";
    assert_ne!(outside(&tree).key(file), outside(TREE).key(file));
    tree[2].0 = "elsewhere";
    assert_ne!(outside(&tree).key(file), outside(TREE).key(file));
}
