//! Where the file has what a leaf comes from: each leaf of a node, and the text that it is shown with.

use atelier::explain::{changes, place};

use crate::pinning::Outside;

/// The differences of the target `name` between two files, each with what of the new file stands at its place.
fn placed(old: (&Outside, &str), new: (&Outside, &str), name: &str) -> Vec<(String, String)> {
    let is_named = |node: &&atelier::pin::PinnedNode<'_>| node.node.name.value == name;
    let before = old.0.with(old.1, |nodes| {
        nodes.iter().find(is_named).unwrap().resolved.clone()
    });
    new.0.with(new.1, |nodes| {
        let node = nodes.iter().find(is_named).unwrap();
        let text = |change: &atelier::explain::Change| {
            let span = place(node, &change.field, change.new.is_some());
            new.1[span.start as usize..span.end as usize].to_owned()
        };
        let changes = changes(&before, &node.resolved);
        changes
            .iter()
            .map(|change| (change.field.to_string(), text(change)))
            .collect()
    })
}

/// The places of what an edit changes; the target is `app`.
#[track_caller]
fn edited(file: &str, from: &str, to: &str, expected: &[(&str, &str)]) {
    assert!(file.contains(from), "{from}");
    let outside = Outside::default();
    let placed = placed((&outside, file), (&outside, &file.replace(from, to)), "app");
    let placed: Vec<(&str, &str)> = placed
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    assert_eq!(placed, expected);
}

const FILE: &str = r#"
prebuild tools {
    from base platform="linux/amd64"
    env CI=1 \
        MODE=test
    path bin ".bin"
    run "true"
}
prebuild app {
    from prebuild=tools
    env OWN=1
    repo "github.com/frak-id/wallet" branch=main \
        depth=1 \
        submodules=#true
    file notes "text" mode="0644"
    run "one"
    run "two" in=app
}
"#;

/// The parent's key moves with whatever the parent hands down.
const PARENT: (&str, &str) = ("from / parent key", "from prebuild=tools");

#[test]
fn what_a_node_states_is_placed_where_it_does() {
    edited(FILE, "OWN=1", "OWN=2", &[("env / OWN / value", "OWN=2")]);
    edited(
        FILE,
        "branch=main",
        "branch=twin",
        &[("repo / wallet / ref", "twin")],
    );
    edited(
        FILE,
        "depth=1",
        "depth=2",
        &[("repo / wallet / options / depth", "depth=2")],
    );
    edited(
        FILE,
        "submodules=#true",
        "submodules=#false",
        &[("repo / wallet / options / submodules", "submodules=#false")],
    );
    edited(
        FILE,
        "frak-id/wallet",
        "Frak-id/wallet",
        &[("repo / wallet / url", "\"github.com/Frak-id/wallet\"")],
    );
    let statement = "file notes \"text\" mode=\"0755\"";
    edited(
        FILE,
        "mode=\"0644\"",
        "mode=\"0755\"",
        &[("file / notes / mode", statement)],
    );
    let step = "run \"two\" in=app as=root";
    edited(FILE, "run \"two\" in=app", step, &[("step / 2 / as", step)]);
    edited(
        FILE,
        "run \"one\"",
        "run zero\n    run \"one\"",
        &[("step / 1", "run zero")],
    );
}

#[test]
fn what_is_inherited_is_placed_where_the_ancestor_states_it() {
    edited(
        FILE,
        "MODE=test",
        "MODE=prod",
        &[PARENT, ("env / MODE / value", "MODE=prod")],
    );
    edited(
        FILE,
        "\".bin\"",
        "\".bin\" last",
        &[PARENT, ("path / 3", "last")],
    );
    // The node's own is the one that counts.
    edited(FILE, "OWN=1", "OWN=1 CI=2", &[("env / CI / value", "CI=2")]);
}

#[test]
fn what_is_gone_is_the_prebuild_s() {
    edited(FILE, "    env OWN=1\n", "", &[("env / OWN", "app")]);
    edited(FILE, "    run \"one\"\n", "", &[("step / 1", "app")]);
    edited(
        FILE,
        "    file notes \"text\" mode=\"0644\"\n",
        "",
        &[("file / notes", "app")],
    );
}

#[test]
fn an_image_is_placed_at_its_from() {
    let file = "prebuild app { from base; run \"true\"; }";
    edited(
        file,
        "from base",
        "from other",
        &[("from / image digest", "from other")],
    );
    let stated = "from base platform=\"linux/arm64\"";
    edited(file, "from base", stated, &[("from / platform", stated)]);
}

#[test]
fn a_commit_is_placed_at_its_repository() {
    let moved = Outside {
        branches: [("main", 'c')].into(),
        ..Outside::default()
    };
    let placed = placed((&Outside::default(), FILE), (&moved, FILE), "app");
    assert_eq!(placed.len(), 1);
    assert_eq!(placed[0].0, "repo / wallet / commit");
    assert!(
        placed[0]
            .1
            .starts_with("repo \"github.com/frak-id/wallet\""),
        "{placed:?}"
    );
}

const ONLY: &str = r#"
prebuild app {
    from base
    repo "github.com/frak-id/wallet" {
        only package.json "patches/**" \
            "!patches/old/**"
        stub "**/lib.rs"
        run "bun install"
    }
}
"#;

#[test]
fn a_file_of_a_repository_is_placed_at_the_pattern_that_takes_it() {
    let tree = |tree: &[(&'static str, &'static str, char)]| Outside {
        tree: tree.to_vec(),
        ..Outside::default()
    };
    let before = tree(&[
        ("package.json", "100644", '1'),
        ("patches/gone", "100644", '2'),
        ("src/lib.rs", "100644", '3'),
    ]);
    let after = tree(&[
        ("package.json", "100644", '4'),
        ("patches/new", "100644", '2'),
        ("src/lib.rs", "100755", '3'),
    ]);
    let placed = placed((&before, ONLY), (&after, ONLY), "app");
    let expected = [
        (
            "repo / wallet / only / package.json / object",
            "package.json",
        ),
        ("repo / wallet / only / patches/new", "\"patches/**\""),
        ("repo / wallet / only / src/lib.rs / mode", "\"**/lib.rs\""),
        ("repo / wallet / only / patches/gone", "\"patches/**\""),
    ];
    let expected = expected.map(|(field, text)| (field.to_owned(), text.to_owned()));
    assert_eq!(placed, expected);
}

#[test]
fn a_file_that_a_pattern_takes_away_is_placed_at_it() {
    let outside = Outside {
        tree: vec![
            ("package.json", "100644", '1'),
            ("patches/old/a", "100644", '2'),
        ],
        ..Outside::default()
    };
    let before = ONLY.replace("!patches/old/**", "patches/old/**");
    let placed = placed((&outside, &before), (&outside, ONLY), "app");
    let expected = (
        "repo / wallet / only / patches/old/a",
        "\"!patches/old/**\"",
    );
    assert_eq!(placed, [(expected.0.to_owned(), expected.1.to_owned())]);
}
