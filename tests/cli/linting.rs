//! `lint` and `fmt`: a file checked, mended and laid out, without a store, a network or a sandbox.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::project::Project;

const FAULTY: &str = "import \"./org.kdl\"\nlet é=1\nfrom dev-base\nrepo https://github.com/acme/api\nrum \"☕\" cwd=\"x\"\nuse org.greet\n";

fn faulty() -> Project {
    let project = Project::new(FAULTY);
    let org = "template greet {\n    fle x y\n    env A=\"{b}\" B=1.50\n}\nlet b=1\n";
    project.write("org.kdl", org);
    project
}

#[test]
fn what_fails() {
    let project = Project::new("let a=1\nfrom dev-base");
    let warned = project.run(&["lint"]).expect(0);
    assert!(warned.stderr.contains("A0309"), "{}", warned.stderr);
    assert_eq!(warned.stdout, "");
    project.run(&["lint", "--deny", "warnings"]).expect(3);
    project.write("prebuild.kdl", "from dev-base");
    let fine = project.run(&["lint", "--deny", "warnings"]).expect(0);
    assert_eq!(fine.stderr, "");
    project.write("prebuild.kdl", "form dev-base");
    let failed = project.run(&["lint"]).expect(3).stderr;
    assert!(failed.contains("did you mean `from`?"), "{failed}");
    project.run(&["lint", "target"]).expect(2);
    let wanting = Project::new("param x\nfrom dev-base\nenv X=(f)\"{x}\"");
    for words in [vec!["lint"], vec!["lint", "--param", "x=1"]] {
        assert_eq!(wanting.run(&words).expect(0).stderr, "");
    }
}

#[test]
fn findings_as_data() {
    let project = faulty();
    let ran = project.run(&["lint", "--format", "json"]).expect(3);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["schema"], "atelier.lint/1");
    let findings = report["findings"].as_array().unwrap();
    let rum = findings
        .iter()
        .find(|f| f["message"] == "no statement `rum`")
        .unwrap();
    let place = json!({
        "file": "prebuild.kdl",
        "offset": FAULTY.find("rum").unwrap(),
        "length": 3,
        "start": {"line": 5, "column": 1},
        "end": {"line": 5, "column": 4},
    });
    assert_eq!(rum["labels"][0]["place"], place);
    assert_eq!(rum["code"], "A0201");
    assert_eq!(rum["severity"], "error");
    assert_eq!(rum["fix"], json!({"place": place, "replacement": "run"}));
    let fle = findings
        .iter()
        .find(|f| f["message"] == "no statement `fle`")
        .unwrap();
    assert_eq!(fle["labels"][0]["place"]["file"], "org.kdl");
    assert_eq!(ran.stderr, "");
}

#[test]
fn findings_for_code_scanning() {
    let project = faulty();
    let ran = project.run(&["lint", "--format", "sarif"]).expect(3);
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "atelier");
    let results = run["results"].as_array().unwrap();
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]));
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["region"]["startLine"].as_u64().unwrap() > 0);
        let file = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(["prebuild.kdl", "org.kdl"].contains(&file), "{file}");
    }
    let url = results
        .iter()
        .find(|result| result["ruleId"] == "A0108")
        .unwrap();
    let region = json!({"startLine": 4, "startColumn": 6, "endLine": 4, "endColumn": 33});
    let place = &url["locations"][0]["physicalLocation"];
    assert_eq!(place["region"], region);
    let change = &url["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(
        change["insertedContent"]["text"],
        "\"https://github.com/acme/api\""
    );
}

/// What the library brings is told where the project uses it.
#[test]
fn places_in_the_library_are_places_in_the_project() {
    let project = Project::new("from dev-base\nuse npm \"a;b\"");
    let ran = project.run(&["lint", "--format", "sarif"]).expect(3);
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "prebuild.kdl");
    assert_eq!(place["region"]["startLine"], 2);
    let ran = project.run(&["lint", "--format", "github"]).expect(3);
    let annotation = "::error file=prebuild.kdl,line=2,title=A0308::";
    assert!(ran.stdout.starts_with(annotation), "{}", ran.stdout);
}

#[test]
fn what_can_be_mended_is() {
    let project = faulty();
    let secret = format!("let t=\"ghp_{}\"\n", "a".repeat(36));
    let text = fs::read_to_string(project.root.join("org.kdl")).unwrap() + &secret;
    project.write("org.kdl", &text);
    let path = project.root.join("org.kdl");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let ran = project.run(&["lint", "--fix"]).expect(3);
    assert!(ran.stderr.contains("mended prebuild.kdl"), "{}", ran.stderr);
    let mended = fs::read_to_string(project.root.join("prebuild.kdl")).unwrap();
    let expected = "import \"./org.kdl\"\nlet é=1\nfrom dev-base\nrepo \"https://github.com/acme/api\"\nrun \"☕\" in=\"x\"\nuse org.greet\n";
    assert_eq!(mended, expected);
    let org = fs::read_to_string(&path).unwrap();
    let expected = "template greet {\n    file x y\n    env A=(f)\"{b}\" B=\"1.50\"\n}\nlet b=1\n";
    assert_eq!(org, expected.to_owned() + &secret);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    let again = project.run(&["lint", "--fix"]).expect(3).stderr;
    assert!(!again.contains("mended"), "{again}");
    assert!(again.contains("A0304"), "{again}");
}

const LOOSE: &str = "from   dev-base\nrepo \"a.b/c\" {run   \"x\"}  // why\n";
const TIDY: &str = "from dev-base\nrepo \"a.b/c\" { run \"x\" } // why\n";

#[test]
fn files_are_formatted() {
    let project = Project::new(LOOSE);
    project.write("sub/other.kdl", LOOSE);
    let path = project.root.join("prebuild.kdl");
    let ran = project.run(&["fmt", "--check"]).expect(1);
    assert_eq!(ran.stdout, format!("{}\n", path.display()));
    assert_eq!(fs::read_to_string(&path).unwrap(), LOOSE);
    let ran = project
        .run(&["fmt", "prebuild.kdl", "sub/other.kdl"])
        .expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    for file in ["prebuild.kdl", "sub/other.kdl"] {
        assert_eq!(fs::read_to_string(project.root.join(file)).unwrap(), TIDY);
    }
    assert_eq!(project.run(&["fmt", "--check"]).expect(0).stdout, "");
}

/// One that is faulty does not keep the others from being formatted.
#[test]
fn files_that_cannot_be_formatted() {
    let project = Project::new(LOOSE);
    let faulty = "repo https://x.y/z {\n";
    project.write("faulty.kdl", faulty);
    fs::write(project.root.parent().unwrap().join("outside.kdl"), LOOSE).unwrap();
    symlink("../outside.kdl", project.root.join("link.kdl")).unwrap();
    let ran = project
        .run(&["fmt", "faulty.kdl", "prebuild.kdl"])
        .expect(3);
    assert!(ran.stderr.contains("A0108"), "{}", ran.stderr);
    let read = |file: &str| fs::read_to_string(project.root.join(file)).unwrap();
    assert_eq!(
        (read("faulty.kdl").as_str(), read("prebuild.kdl").as_str()),
        (faulty, TIDY)
    );
    project.run(&["fmt", "link.kdl"]).expect(2);
    project.run(&["fmt", "none.kdl"]).expect(2);
    assert_eq!(read("link.kdl"), LOOSE);
}
