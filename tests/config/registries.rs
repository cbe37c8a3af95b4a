//! How registries are reached: what may be said of them, by whom, and what of two files holds.

use crate::project::Project;
use crate::refusals::{refused, refused_in_project};

#[test]
fn what_is_said_of_a_registry_is_shown_with_its_place() {
    let project = Project::of("from host");
    project.configure(
        "registry \"ghcr.io\" mirror=\"mirror.acme.dev/hub/\" ca=\"~/acme.pem\"\nregistry \"localhost:5000\" http=#false",
    );
    project.share("registry \"GHCR.io\" mirror=\"mirror.acme.dev:5000\"\nregistry \"index.docker.io\" mirror=\"localhost:1\"");
    let ran = project.plainly(&["config"], &[]).expect(0);
    let home = project.home.to_str().unwrap();
    let root = project.root.to_str().unwrap();
    let text = ran
        .stdout
        .replace(home, "[home]")
        .replace(root, "[project]");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("registry"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let user = "[home]/.config/atelier/config.kdl";
    let shared = "[project]/.atelier/config.kdl";
    let expected = [
        ["docker.io", "mirror", "localhost:1", &format!("{shared}:2")],
        // The project's goes before the caller's, each for itself.
        [
            "ghcr.io",
            "mirror",
            "mirror.acme.dev:5000",
            &format!("{shared}:1"),
        ],
        ["ghcr.io", "ca", "[home]/acme.pem", &format!("{user}:1")],
        ["localhost:5000", "http", "false", &format!("{user}:2")],
    ];
    let expected: Vec<Vec<&str>> = expected
        .iter()
        .map(|row| [&["registry"], row.as_slice()].concat())
        .collect();
    assert_eq!(rows, expected);
}

/// What is written, the code of what is told, where it points and what it says.
const WRONG: [(&str, &str, &str, &str); 11] = [
    ("registry", "A0203", "1:1", "written: registry \"HOST\""),
    (
        "registry \"ghcr.io\"",
        "A0203",
        "1:1",
        "nothing is said of it",
    ),
    (
        "registry \"a.b\" \"c.d\" http=#true",
        "A0203",
        "1:16",
        "too many",
    ),
    (
        "registry \"ghcr\" http=#true",
        "A0306",
        "1:10",
        "not a host",
    ),
    (
        "registry \"https://ghcr.io\" http=#true",
        "A0306",
        "1:10",
        "not a host",
    ),
    (
        "registry \"a.b\" mirror=\"https://m.b\"",
        "A0306",
        "1:23",
        "not a host",
    ),
    (
        "registry \"a.b\" mirror=\"m.b/../x\"",
        "A0306",
        "1:23",
        "not a host",
    ),
    (
        "registry \"a.b\" mirors=\"m.b\"",
        "A0202",
        "1:16",
        "`registry` has no `mirors`",
    ),
    (
        "registry \"a.b\" http=\"yes\"",
        "A0306",
        "1:21",
        "http=#true",
    ),
    (
        "registry \"a.b\" ca=\"x.pem\"",
        "A0404",
        "1:19",
        "it is relative",
    ),
    (
        "registry \"a.b\" http=#true { x; }",
        "A0202",
        "1:1",
        "no block",
    ),
];

#[test]
fn what_cannot_be_said_of_a_registry() {
    for (text, code, place, word) in WRONG {
        refused(text, code, place, &[word]);
    }
    refused(
        "registry \"a.b\" http=#true\nregistry \"a.b\" http=#false",
        "A0204",
        "2:16",
        &["`registry a.b http` twice", "first here"],
    );
}

/// Whoever could say it for others would get their logins.
#[test]
fn a_project_does_not_say_whom_logins_are_shown_to() {
    for property in ["http=#true", "ca=\"ca.pem\""] {
        refused_in_project(
            &format!("registry \"ghcr.io\" {property}"),
            "A0802",
            "1:20",
            &[
                "cannot stand in a project's configuration",
                "caller's own config.kdl",
            ],
        );
    }
}
