//! The cluster: what may be said of it, by whom, and what of two files holds.

use crate::project::Project;
use crate::refusals::{refused, refused_in_project};

#[test]
fn what_is_said_of_the_cluster_is_shown_with_its_place() {
    let project = Project::of("from host");
    let digest = "0".repeat(64);
    project.configure(&format!(
        "backend kubernetes\nkubernetes {{\n context acme\n node-selector \"pool=a\" \"disk=ssd\"\n storage-class mine\n runner \"r.dev/runner@sha256:{digest}\"\n}}"
    ));
    project.share("kubernetes { storage-class fast; verify #false; }");
    let ran = project.plainly(&["config"], &[]).expect(0);
    let rows: Vec<String> = ran
        .stdout
        .lines()
        .filter(|line| line.contains("kubernetes"))
        .map(|line| {
            line.split_whitespace()
                .take(line.split_whitespace().count() - 1)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let expected = [
        "backend kubernetes".to_owned(),
        "kubernetes context acme".to_owned(),
        "kubernetes node-selector pool=a disk=ssd".to_owned(),
        format!("kubernetes runner r.dev/runner@sha256:{digest}"),
        "kubernetes storage-class fast".to_owned(),
        "kubernetes verify false".to_owned(),
    ];
    assert_eq!(rows, expected);
    // The command line has the last word.
    let ran = project
        .plainly(&["config", "--backend", "local"], &[])
        .expect(0);
    let backend = ran.stdout.lines().find(|line| line.starts_with("backend"));
    assert!(
        backend.is_some_and(|line| line.contains("local") && line.ends_with("--backend")),
        "{}",
        ran.stdout
    );
}

#[test]
fn what_is_wrong_of_the_cluster() {
    refused("kubernetes", "A0203", "1:1", &["something is missing"]);
    refused(
        "kubernetes acme { context a; }",
        "A0203",
        "1:12",
        &["not here"],
    );
    refused(
        "kubernetes { contxt acme; }",
        "A0201",
        "1:14",
        &["did you mean `context`?"],
    );
    refused(
        "kubernetes { context; }",
        "A0203",
        "1:14",
        &["nothing follows"],
    );
    refused(
        "kubernetes { context a b; }",
        "A0203",
        "1:24",
        &["too many"],
    );
    refused(
        "kubernetes { verify maybe; }",
        "A0306",
        "1:21",
        &["#true or #false"],
    );
    refused(
        "kubernetes { max-depth 0; }",
        "A0306",
        "1:24",
        &["from 1 on"],
    );
    refused(
        "kubernetes { node-selector pool; }",
        "A0306",
        "1:28",
        &["NAME=VALUE"],
    );
    refused(
        "kubernetes { runner \"r.dev/runner:1\"; }",
        "A0306",
        "1:21",
        &["by digest"],
    );
    refused(
        "kubernetes { context a; context b; }",
        "A0204",
        "1:25",
        &["twice"],
    );
}

/// Logins and secrets are handed to pods there.
#[test]
fn which_cluster_and_which_runner_is_the_callers_to_say() {
    let digest = "0".repeat(64);
    let runner = format!("kubernetes {{ runner \"r.dev/runner@sha256:{digest}\"; }}");
    for text in [
        "kubernetes { context acme; }",
        "kubernetes { namespace theirs; }",
        "kubernetes { runtime-class none; }",
        "kubernetes { node-selector \"a=b\"; }",
        "kubernetes { pull-secret theirs; }",
        runner.as_str(),
    ] {
        refused_in_project(text, "A0802", "1:14", &["not for a project to say"]);
    }
}
