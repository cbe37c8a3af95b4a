//! What is handed out for CI: the action is run as a runner would, and what is YAML is parsed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::project::{Project, Ran};
use crate::python::python;
use crate::transcripts::blocks;

fn action() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/actions/check")
}

/// YAML as JSON.
fn parsed(yaml: &str) -> Value {
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.argv[1])))";
    let output = Command::new(python())
        .args(["-c", script, yaml])
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{yaml}\n{complaint}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A project with one target, and where a runner takes outputs.
fn project() -> Project {
    let project = Project::new("from dev-base\nrun \"true\"");
    fs::write(project.home.join("outputs"), "").unwrap();
    project
}

/// The action's one step, as its description says it is run: with these inputs, and the defaults of the others.
fn step(project: &Project, inputs: &[(&str, &str)]) -> Ran {
    let action_yml = parsed(&fs::read_to_string(action().join("action.yml")).unwrap());
    let step = &action_yml["runs"]["steps"][0];
    let mut command = project.command("bash");
    command.args([
        "--noprofile",
        "--norc",
        "-eo",
        "pipefail",
        "-c",
        step["run"].as_str().unwrap(),
    ]);
    let program = env!("CARGO_BIN_EXE_atelier");
    for (variable, expression) in step["env"].as_object().unwrap() {
        let name = expression.as_str().unwrap();
        let name = name
            .strip_prefix("${{ inputs.")
            .and_then(|rest| rest.strip_suffix(" }}"))
            .unwrap();
        let input = &action_yml["inputs"][name];
        assert!(input["description"].is_string(), "{name}");
        let given = inputs
            .iter()
            .find(|(given, _)| *given == name)
            .map(|(_, value)| *value);
        let given = given.or_else(|| (name == "program").then_some(program));
        command.env(
            variable,
            given.unwrap_or_else(|| input["default"].as_str().unwrap()),
        );
    }
    command
        .env("GITHUB_ACTION_PATH", action())
        .env("GITHUB_OUTPUT", project.home.join("outputs"))
        .env("ATELIER_STORE", &project.store);
    project.run_command(command)
}

fn outputs(project: &Project) -> String {
    fs::read_to_string(project.home.join("outputs")).unwrap()
}

#[test]
fn the_action_says_whether_all_is_cached() {
    let project = project();
    let ran = step(&project, &[]).expect(0);
    assert!(
        ran.stdout.contains(
            "::warning file=prebuild.kdl,line=1,title=atelier::default is not cached: new"
        ),
        "{ran:?}"
    );
    assert_eq!(outputs(&project), "cached=false\n");
    step(&project, &[("fail", "true")]).expect(10);
    project.run(&["build"]).expect(0);
    step(
        &project,
        &[("fail", "true"), ("options", "--locked --accept-direct")],
    )
    .expect(0);
    step(
        &project,
        &[("file", "prebuild.kdl"), ("targets", "default default")],
    )
    .expect(0);
    assert_eq!(
        outputs(&project),
        "cached=false\ncached=false\ncached=true\ncached=true\n"
    );
    let action_yml = parsed(&fs::read_to_string(action().join("action.yml")).unwrap());
    assert_eq!(
        action_yml["outputs"]["cached"]["value"],
        "${{ steps.check.outputs.cached }}"
    );
    assert_eq!(action_yml["runs"]["steps"][0]["id"], "check");
}

#[test]
fn what_is_no_answer_fails_the_action() {
    let project = project();
    step(&project, &[("file", "nothing.kdl")]).expect(2);
    step(&project, &[("targets", "$(touch${IFS}x)")]).expect(2);
    step(&project, &[("options", "--loked")]).expect(2);
    project.write("prebuild.kdl", "frm dev-base");
    let ran = step(&project, &[]).expect(3);
    assert!(
        ran.stdout
            .contains("::error file=prebuild.kdl,line=1,title=A0201::"),
        "{ran:?}"
    );
    assert_eq!(outputs(&project), "");
    assert!(!project.root.join("x").exists());
}

#[test]
fn the_recipes_of_the_book_are_yaml_and_shell() {
    let recipes = blocks("ci.md", "yaml");
    let [github, gitlab] = recipes.as_slice() else {
        panic!("{recipes:?}");
    };
    let steps = parsed(github)["jobs"]["cached"]["steps"].clone();
    assert_eq!(steps[1]["uses"], "OWNER/atelier/.github/actions/check@REF");
    let inputs =
        parsed(&fs::read_to_string(action().join("action.yml")).unwrap())["inputs"].clone();
    for name in steps[1]["with"].as_object().unwrap().keys() {
        assert!(inputs[name].is_object(), "{name}");
    }
    let gitlab = parsed(gitlab);
    assert_eq!(gitlab["cached"]["allow_failure"], json!({"exit_codes": 10}));
    assert_eq!(gitlab["bake"]["script"], json!(["atelier build --locked"]));
    // The shell's: a miss is baked, and then there is none.
    let project = project();
    let bin = project.home.join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_atelier"), bin.join("atelier")).unwrap();
    let script = blocks("ci.md", "sh").remove(0);
    let script = script.replace("/var/cache/atelier", project.store.to_str().unwrap());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run = || {
        let mut command = project.command("sh");
        command.args(["-c", &script]).env("PATH", &path);
        project.run_command(command)
    };
    let first = run().expect(0);
    assert!(first.stdout.contains("0 of 1 cached"), "{first:?}");
    assert_eq!(project.snapshots().len(), 1);
    assert!(run().expect(0).stdout.contains("1 of 1 cached"));
    project.write("prebuild.kdl", "frm dev-base");
    run().expect(1);
}
