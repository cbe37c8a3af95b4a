//! How servers of repositories are reached: what may be said of them, and what of two files holds.

use crate::project::{Project, pairs};
use crate::refusals::{refused, refused_in_project};

#[test]
fn what_is_said_of_a_server_is_shown_with_its_place() {
    let project = Project::of("from host");
    project.configure(
        "git \"Git.acme.dev:443\" user=oauth2 ca=\"~/acme.pem\"\ngit \"127.0.0.1:3000\" user=me",
    );
    project.share("git \"git.acme.dev\" user=\"x token\"\ngit \"b.dev\" ca=\"certificates/b.pem\"");
    let (user, shared) = (
        "[home]/.config/atelier/config.kdl",
        "[project]/.atelier/config.kdl",
    );
    let [one, two] = [1, 2].map(|line| [format!("{user}:{line}"), format!("{shared}:{line}")]);
    // The project's goes before the caller's, each for itself.
    let expected = [
        ("me", two[0].as_str()),
        ("[project]/.atelier/certificates/b.pem", &two[1]),
        ("x token", &one[1]),
        ("[home]/acme.pem", &one[0]),
    ];
    assert_eq!(project.settings("git", &[], &[]), pairs(&expected));
    let ran = project.plainly(&["config"], &[]).expect(0);
    let row = |line: &&str| line.starts_with("git git.acme.dev user");
    assert!(ran.stdout.lines().any(|line| row(&line)), "{}", ran.stdout);
}

/// What is written, the code of what is told, where it points and what it says.
const WRONG: [(&str, &str, &str, &str); 11] = [
    ("git", "A0203", "1:1", "written: git \"HOST\" user=NAME"),
    ("git \"a.b\"", "A0203", "1:1", "nothing is said of it"),
    ("git \"a.b\" \"c.d\" user=x", "A0203", "1:11", "too many"),
    ("git acme user=x", "A0306", "1:5", "not a host"),
    ("git \"https://a.b\" user=x", "A0306", "1:5", "not a host"),
    ("git \"a.b/team\" user=x", "A0306", "1:5", "not a host"),
    ("git \"me@a.b\" user=x", "A0306", "1:5", "not a host"),
    ("git \"a.b\" usr=x", "A0202", "1:11", "`git` has no `usr`"),
    (
        "git \"a.b\" user=\"me:token\"",
        "A0306",
        "1:16",
        "the token is given with --secret",
    ),
    ("git \"a.b\" user=\"\"", "A0306", "1:16", "not a name"),
    ("git \"a.b\" user=x { y; }", "A0202", "1:1", "no block"),
];

#[test]
fn what_cannot_be_said_of_a_server() {
    for (text, code, place, word) in WRONG {
        refused(text, code, place, &[word]);
    }
    refused(
        "git \"a.b\" user=x\ngit \"A.B\" user=y",
        "A0204",
        "2:11",
        &["`git a.b user` twice", "first here"],
    );
}

#[test]
fn a_project_names_no_certificate_outside_of_it() {
    for path in ["~/a.pem", "/etc/ssl/a.pem", "../../a.pem"] {
        let text = format!("git \"a.b\" ca=\"{path}\"");
        refused_in_project(&text, "A0404", "1:14", &["lies outside of the project"]);
    }
}
