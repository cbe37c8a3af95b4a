//! Files that import others, and leaves that an expansion has brought.

use serde_json::json;

use super::{differs, fails};
use crate::explanations::lettered;
use crate::project::Project;

const FILE: &str = r#"
import "lib/org.kdl"
param mode default=plain
prebuild web {
    from prebuild=org.base
    use org.service port="1"
    env MODE=(f)"{mode}"
}
prebuild cell {
    from dev-base
    matrix { n 1 2; }
    run (f)"echo {n}"
}
"#;

const ORG: &str = r#"
import "more/deep.kdl"
prebuild base {
    from dev-base
    use deep.say what=hello
}
template service {
    param port
    run (f)"echo serve {port}"
}
"#;

/// Of three commits: the second changes what an import imports, the third a use and a matrix.
fn project() -> Project {
    let project = Project::empty();
    project.write("prebuild.kdl", FILE);
    project.write("lib/org.kdl", ORG);
    let deep = "template say {\n    param what\n    run (f)\"echo {what}\"\n}\n";
    project.write("lib/more/deep.kdl", deep);
    project.commit("first");
    project.write("lib/more/deep.kdl", &deep.replace("echo", "echo -n"));
    project.commit("second");
    project.edit("port=\"1\"", "port=\"2\"");
    project.edit("n 1 2", "n 1 3");
    project.commit("third");
    project
}

#[test]
fn imports_are_those_of_the_revision() {
    let project = project();
    // Neither side is what the folder has.
    std::fs::remove_dir_all(project.root.join("lib")).unwrap();
    let words = ["HEAD~2", "HEAD~1", "web"];
    let expected = "org.base  changed  snap-A → snap-B
  HEAD~1:lib/more/deep.kdl:3  run (f)\"echo -n {what}\"
    by HEAD~1:lib/org.kdl:5  use deep.say what=hello
      step / 1 / run: echo hello → echo -n hello
web       changed  snap-C → snap-D
  HEAD~1:prebuild.kdl:5  from prebuild=org.base
      from / parent key: snap-A → snap-B
";
    differs(&project, &words, 10, expected);
    // As it is, the file imports what is not there any more.
    fails(&project, &["HEAD", "prebuild.kdl"], 3, "lib/org.kdl");
    project.write("lib/org.kdl", "import \"../../out.kdl\"\n");
    project.commit("an import leads out");
    fails(&project, &["HEAD~1", "HEAD"], 3, "HEAD:lib/org.kdl:1");
}

#[test]
fn a_leaf_is_shown_with_the_uses_that_brought_it() {
    let project = project();
    let expected = "cell-1    same     snap-A
cell-3    new      snap-B
org.base  same     snap-C
web       changed  snap-D → snap-E
  HEAD:lib/org.kdl:9  run (f)\"echo serve {port}\"
    by HEAD:prebuild.kdl:6  use org.service port=\"2\"
      step / 1 / run: echo serve 1 → echo serve 2
cell-2    gone     snap-F
";
    differs(&project, &["HEAD~1", "HEAD"], 10, expected);
    let words = ["diff", "HEAD~1", "HEAD", "web", "--json"];
    let json = project.run(&words).expect(10).json();
    let line = &json["nodes"][1]["changes"][0]["line"];
    let by = json!({"file": "HEAD:prebuild.kdl", "line": 6, "text": "use org.service port=\"2\""});
    assert_eq!(line["via"], json!([by]));
    project.edit("run (f)\"echo {n}\"", "run (f)\"echo -n {n}\"");
    let ran = project.run(&["diff", "HEAD", "prebuild.kdl", "cell-1"]);
    let expected = "cell-1  changed  snap-A → snap-B
  prebuild.kdl:12  run (f)\"echo -n {n}\"
    by prebuild.kdl:11  matrix { n 1 3; }
      step / 1 / run: echo 1 → echo -n 1
";
    assert_eq!(lettered(&ran.expect(10).stdout), expected);
}

#[test]
fn values_of_the_command_line_are_for_both_sides() {
    let project = project();
    let snapshot = |words: &[&str]| {
        let words = [&["diff", "HEAD", "prebuild.kdl", "web", "--json"], words].concat();
        let json = project.run(&words).expect(0).json();
        json["nodes"][1]["a"].as_str().unwrap().to_owned()
    };
    assert_ne!(snapshot(&[]), snapshot(&["--param", "mode=fancy"]));
    let words = ["HEAD", "HEAD", "--param", "none=1"];
    fails(&project, &words, 3, "has no such `param`");
}
