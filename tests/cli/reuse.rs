//! Templates, matrices and other files, from the disk to the command line.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::project::Project;

const ORG: &str = r#"
let greeting="hello"
template greet {
    param (words)whom
    run (f)"echo {greeting} {whom} > greeting"
}
prebuild base { from dev-base; run "echo base > base"; }
"#;

const MAIN: &str = r#"
import "../org/org.kdl"
param place default=world
prebuild web {
    from prebuild=org.base
    matrix { os debian alpine; }
    use org.greet dear (f)"{place}"
    env OS=(f)"{os}"
}
group default web
"#;

pub(crate) fn project() -> Project {
    let project = Project::new(MAIN);
    fs::remove_file(project.root.join("prebuild.kdl")).unwrap();
    project.write("app/prebuild.kdl", MAIN);
    project.write("org/org.kdl", ORG);
    project
}

pub(crate) fn eval(project: &Project, words: &[&str]) -> String {
    let words = [&["eval", "app/prebuild.kdl"], words].concat();
    project.run(&words).expect(0).stdout
}

#[test]
fn what_is_imported_is_baked() {
    let project = project();
    let ran = project.run(&["build", "app/prebuild.kdl", "--param", "place=moon"]);
    ran.expect(0);
    let words = [
        "up",
        "app/prebuild.kdl",
        "web-alpine",
        "--param",
        "place=moon",
        "--",
    ];
    let shown = project.run(&[&words[..], &["sh", "-c", "cat base greeting; echo $OS"]].concat());
    assert_eq!(shown.expect(0).stdout, "base\nhello dear moon\nalpine\n");
    let plan = project.run(&[
        "plan",
        "app/prebuild.kdl",
        "--exit-code",
        "--param",
        "place=moon",
    ]);
    plan.expect(0);
    project
        .run(&["plan", "app/prebuild.kdl", "--exit-code"])
        .expect(10);
}

#[test]
fn eval_prints_a_file_without_reuse() {
    let project = project();
    let printed = eval(&project, &[]);
    let expected = r#"prebuild org-base {
    from dev-base
    run "echo base > base"
}

prebuild web-alpine {
    from prebuild=org-base
    env OS=alpine
    run "echo hello dear world > greeting"
}

prebuild web-debian {
    from prebuild=org-base
    env OS=debian
    run "echo hello dear world > greeting"
}

group default web-alpine web-debian
group web web-alpine web-debian
"#;
    assert_eq!(printed, expected);
    let keys = |file: &str, words: &[&str]| {
        let words = [&["eval", file, "--json", "--resolved"], words].concat();
        let json: Value = serde_json::from_str(&project.run(&words).expect(0).stdout).unwrap();
        let targets = json["targets"].as_array().unwrap().iter();
        targets
            .map(|target| target["pins"]["key"].clone())
            .collect::<Vec<_>>()
    };
    project.write("printed.kdl", &printed);
    assert_eq!(keys("printed.kdl", &[]), keys("app/prebuild.kdl", &[]));
    let one = keys("app/prebuild.kdl", &["web-debian"]);
    assert_eq!(one.len(), 2, "with what it starts from");
    assert_ne!(
        keys("app/prebuild.kdl", &["--param", "place=moon"])[1],
        one[1]
    );
}

/// Wherever a checkout lies, whoever it belongs to, and whatever language they speak.
#[test]
fn eval_is_the_same_everywhere() {
    let (one, other) = (project(), project());
    let json = eval(&one, &["--json"]);
    assert_eq!(json, eval(&other, &["--json"]));
    for locale in ["C", "de_DE.UTF-8", "tr_TR.UTF-8", "ar_EG.UTF-8"] {
        let mut command = other.atelier(&["eval", "app/prebuild.kdl", "--json"]);
        command.env("LC_ALL", locale).env("LANG", locale);
        command.env("TZ", "Asia/Kathmandu").env("COLUMNS", "20");
        assert_eq!(
            json,
            other.run_command(command).expect(0).stdout,
            "{locale}"
        );
    }
    let data: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(data["schema"], "atelier.graph/1");
    assert_eq!(
        data["files"],
        serde_json::json!(["app/prebuild.kdl", "org/org.kdl"])
    );
    assert_eq!(
        data["order"],
        serde_json::json!(["org.base", "web-alpine", "web-debian"])
    );
    assert_eq!(
        data["targets"][0]["from"]["image"],
        serde_json::json!({"name": "dev-base", "platform": null})
    );
    let step = &data["targets"][1]["steps"][0];
    let text = |place: &Value, file: &str| {
        let at = |index: usize| usize::try_from(place[index].as_u64().unwrap()).unwrap();
        file[at(1)..at(1) + at(2)].to_owned()
    };
    assert_eq!(step["span"][0], 1);
    assert_eq!(
        text(&step["span"], ORG),
        "run (f)\"echo {greeting} {whom} > greeting\""
    );
    assert_eq!(step["via"][0]["what"], "use org.greet");
    assert_eq!(
        text(&step["via"][0]["span"], MAIN),
        "use org.greet dear (f)\"{place}\""
    );
    assert_eq!(step["via"][1]["what"], "cell os=alpine");
    assert!(!json.contains(one.root.to_str().unwrap()));
}

#[test]
fn a_step_of_a_template_that_fails_shows_how_it_came() {
    let project = Project::new(
        "template broken { run \"exit 3\"; }\nprebuild a {\n  from dev-base\n  use broken\n}",
    );
    let stderr = project.run(&["build"]).expect(1).stderr;
    assert!(stderr.contains("run \"exit 3\""), "{stderr}");
    assert!(
        stderr.contains("while expanding `use broken` at prebuild.kdl:4"),
        "{stderr}"
    );
}

#[test]
fn what_is_no_file_of_the_project_is_not_imported() {
    let project = project();
    let outside = project.root.parent().unwrap().join("outside.kdl");
    fs::write(&outside, "let a=1").unwrap();
    symlink(&outside, project.root.join("org/linked.kdl")).unwrap();
    project
        .command("mkfifo")
        .arg("org/fifo.kdl")
        .status()
        .unwrap();
    symlink("/dev/zero", project.root.join("org/zero.kdl")).unwrap();
    project.write("org/large.kdl", &"// x\n".repeat(20_000));
    for (path, code) in [
        ("../org/linked.kdl", "A0404"),
        ("../org/fifo.kdl", "A0404"),
        ("../org/zero.kdl", "A0404"),
        ("../../outside.kdl", "A0404"),
        ("../org", "A0404"),
        ("../org/large.kdl", "A0103"),
        ("../org/none.kdl", "A0501"),
    ] {
        project.write(
            "app/prebuild.kdl",
            &format!("import \"{path}\" as=x\nfrom dev-base"),
        );
        let ran = project.run(&["eval", "app/prebuild.kdl"]).expect(3);
        assert!(
            ran.stderr.trim_start().starts_with(code),
            "{path}: {}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains("app/prebuild.kdl:1:8"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn parameters_of_the_command_line() {
    let project =
        Project::new("param channel stable nightly\nfrom dev-base\nenv CHANNEL=(f)\"{channel}\"");
    let refused = |words: &[&str], code: i32, text: &str| {
        let ran = project.run(&[&["plan"], words].concat()).expect(code);
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    };
    refused(&[], 3, "A0305");
    refused(&["--param", "channel=beta"], 3, "A0306");
    refused(
        &["--param", "channel=stable", "--param", "chanel=x"],
        3,
        "did you mean --param channel=…?",
    );
    refused(&["--param", "channel"], 2, "is not understood");
    refused(
        &["--param", "channel=stable", "--param", "channel=nightly"],
        2,
        "is given twice",
    );
    project
        .run(&["plan", "--param", "channel=stable"])
        .expect(0);
}

/// behaviours 2.7: what is not given is the default, with its key; what is given as nothing is not.
#[test]
fn a_parameter_that_is_not_given_is_its_default_and_an_empty_one_is_neither() {
    let project = Project::new(
        "param place default=world\nfrom dev-base\nenv PLACE=(f)\"{place}\"\nrun \"echo <$PLACE> > place\"",
    );
    let key = |words: &[&str]| {
        let ran = project
            .run(&[&["plan", "--json"], words].concat())
            .expect(0);
        ran.column("key").remove(0).1
    };
    let unset = key(&[]);
    let [default, empty, other] = ["world", "", "moon"].map(|value| {
        let given = format!("place={value}");
        key(&["--param", &given])
    });
    assert_eq!(unset, default);
    assert_ne!(unset, empty);
    assert_ne!(unset, other);
    assert_ne!(empty, other);
    // Without a default there is no key at all.
    project.edit("param place default=world", "param place");
    let ran = project.run(&["plan", "--json"]).expect(3);
    assert_eq!(ran.stdout, "");
    assert_eq!(key(&["--param", "place="]), empty);
}

#[test]
fn files_of_machines_may_be_larger() {
    let mut file = String::from("prebuild a0 { from dev-base; }\n");
    for index in 1..5000 {
        writeln!(file, "prebuild a{index} {{ from prebuild=a0; }}").unwrap();
    }
    let project = Project::new(&file);
    let ran = project.run(&["eval", "a4999"]).expect(3);
    assert!(
        ran.stderr.trim_start().starts_with("A0103"),
        "{}",
        ran.stderr
    );
    let printed = project
        .run(&["eval", "a4999", "--limits", "large"])
        .expect(0)
        .stdout;
    assert!(printed.contains("prebuild a4999 {"));
    assert!(!printed.contains("prebuild a4998 {"));
}

#[test]
fn a_library_has_nothing_to_build() {
    let project = Project::new("let a=1");
    let ran = project.run(&["build"]).expect(2);
    assert!(
        ran.stderr.contains("declares no prebuild"),
        "{}",
        ran.stderr
    );
}
