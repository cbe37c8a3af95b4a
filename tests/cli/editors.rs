//! `lsp`, as an editor that is scripted speaks with it.

mod hostile;
mod names;
mod scripted;

use serde_json::json;

use crate::project::Project;
use scripted::{Editor, edited, range};

#[test]
fn findings_come_as_one_types_and_go() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    editor.open("prebuild.kdl", "form host\nabout \"☕👩\" /* é */; rum x\n");
    assert_eq!(
        editor.messages("prebuild.kdl"),
        ["no statement `form`", "no statement `rum`"]
    );
    let found = editor.found["prebuild.kdl"].clone();
    assert_eq!(
        found[1]["range"],
        range(1, 21, 24),
        "columns are UTF-16 units"
    );
    assert_eq!(found[1]["code"], "A0201");
    assert_eq!(
        (&found[1]["severity"], &found[1]["source"]),
        (&json!(1), &json!("atelier"))
    );
    editor.change("prebuild.kdl", "from host\nlet a=1\n");
    assert_eq!(editor.messages("prebuild.kdl"), ["`a` is never used"]);
    assert_eq!(editor.found["prebuild.kdl"][0]["tags"], json!([1]));
    editor.change("prebuild.kdl", "from host\n");
    assert_eq!(editor.messages("prebuild.kdl"), [""; 0]);
    editor.change("prebuild.kdl", &"a {".repeat(10_000));
    assert_eq!(editor.messages("prebuild.kdl"), ["blocks nest too deep"]);
    editor.end();
}

/// What is open counts, not what is on the disk; and what is wrong in another file is told there.
#[test]
fn files_that_belong_together() {
    let project = Project::empty();
    project.write("org.kdl", "form host\n");
    let mut editor = Editor::start(&project);
    editor.open(
        "prebuild.kdl",
        "import \"./org.kdl\"\nprebuild a { from prebuild=org.base; }\n",
    );
    assert_eq!(editor.messages("prebuild.kdl"), ["no prebuild `org.base`"]);
    assert_eq!(editor.messages("org.kdl"), ["no statement `form`"]);
    editor.open("org.kdl", "prebuild base { from host; }\n");
    assert_eq!(editor.messages("prebuild.kdl"), [""; 0]);
    assert_eq!(editor.messages("org.kdl"), [""; 0]);
    editor.end();
}

#[test]
fn a_value_that_has_to_be_given_is_no_error() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    editor.open(
        "prebuild.kdl",
        "param node\nfrom host\nenv NODE=(f)\"{node}\"\n",
    );
    assert_eq!(editor.messages("prebuild.kdl"), [""; 0]);
    editor.end();
}

#[test]
fn what_can_be_mended_is_offered() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    let text = "from host\nrepo https://github.com/a/b\n";
    editor.open("prebuild.kdl", text);
    let params = json!({
        "textDocument": {"uri": editor.uri("prebuild.kdl")},
        "range": range(1, 0, 10),
        "context": {"diagnostics": []},
    });
    let actions = editor.ask("textDocument/codeAction", &params);
    assert_eq!(actions.as_array().unwrap().len(), 1);
    assert_eq!(actions[0]["kind"], "quickfix");
    let edits = &actions[0]["edit"]["changes"][editor.uri("prebuild.kdl")];
    assert_eq!(
        edited(text, edits),
        "from host\nrepo \"https://github.com/a/b\"\n"
    );
    editor.end();
}

#[test]
fn what_could_be_written() {
    let project = Project::empty();
    project.write("org.kdl", "let registry=x\ntemplate tool { param (words)w; param name; env A=(f)\"{w}{name}\"; }\nprebuild base { from host; }\n");
    let mut editor = Editor::start(&project);
    let text = "import \"./org.kdl\"\nlet major=22\nprebuild web {\n    from prebuild=org.base\n    matrix { os debian; }\n    use org.tool \n    run (f)\"é {}\"\n    run x as=\n    \n}\n";
    editor.open("prebuild.kdl", &text.replace(" as=", ""));
    editor.change("prebuild.kdl", text);
    let statements = editor.labels("prebuild.kdl", (8, 4));
    assert!(statements.contains(&"cache".to_owned()) & !statements.contains(&"only".to_owned()));
    assert_eq!(editor.labels("prebuild.kdl", (5, 17)), ["name"]);
    let templates = editor.labels("prebuild.kdl", (5, 8));
    assert!(
        templates.starts_with(&["org.tool".to_owned()]),
        "{templates:?}"
    );
    assert!(templates.contains(&"npm-layer".to_owned()), "{templates:?}");
    assert_eq!(
        editor.labels("prebuild.kdl", (6, 15)),
        ["os", "major", "org.registry"]
    );
    assert_eq!(editor.labels("prebuild.kdl", (7, 13)), ["dev", "root"]);
    assert_eq!(editor.labels("prebuild.kdl", (3, 18)), ["web", "org.base"]);
    let items = editor.at("completion", "prebuild.kdl", (3, 20), &json!({}));
    assert_eq!(items[0]["textEdit"]["range"], range(3, 18, 26));
    editor.end();
}

#[test]
fn what_stands_there() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    let text = "// Which one.\nlet node=22\ntemplate tool { param name; run (f)\"make {name}\"; }\nprebuild web {\n    from host\n    env NODE=(f)\"☕{node}\"\n    use tool name=all\n}\n";
    editor.open("prebuild.kdl", text);
    let mut hover = |place| {
        let told = editor.at("hover", "prebuild.kdl", place, &json!({}));
        (
            told["contents"]["value"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            told["range"].clone(),
        )
    };
    let (value, place) = hover((5, 20));
    assert!(
        value.contains("node=22") & value.contains("Which one."),
        "{value}"
    );
    assert_eq!(place, range(5, 19, 23));
    let (template, _) = hover((6, 9));
    assert!(template.contains("run \"make all\""), "{template}");
    let (prebuild, _) = hover((3, 10));
    assert!(prebuild.contains("env NODE=\"☕22\""), "{prebuild}");
    let (statement, _) = hover((4, 5));
    assert!(statement.contains("from IMAGE"), "{statement}");
    assert_eq!(hover((0, 5)).0, "");
    editor.end();
}

#[test]
fn symbols_and_formatting() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    let text =
        "let a=1\ntemplate t {param b; env A=(f)\"{a}{b}\"}\nprebuild  p {from host\nuse t b=2}";
    editor.open("prebuild.kdl", text);
    let document = json!({"textDocument": {"uri": editor.uri("prebuild.kdl")}});
    let symbols = editor.ask("textDocument/documentSymbol", &document);
    let names: Vec<_> = symbols
        .as_array()
        .unwrap()
        .iter()
        .map(|symbol| symbol["name"].clone())
        .collect();
    assert_eq!(names, ["a", "t", "p"]);
    assert_eq!(symbols[1]["children"][0]["name"], "b");
    let document = json!({
        "textDocument": {"uri": editor.uri("prebuild.kdl")},
        "options": {"tabSize": 4, "insertSpaces": true},
    });
    let edits = editor.ask("textDocument/formatting", &document);
    let formatted = edits[0]["newText"].as_str().unwrap();
    assert_eq!(
        formatted,
        "let a=1\ntemplate t { param b; env A=(f)\"{a}{b}\" }\n\nprebuild p {\n    from host\n    use t b=2\n}\n"
    );
    editor.end();
}

/// Editors send all files of a notation to one server.
#[test]
fn files_of_others_are_left_alone() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    editor.open_as("kdl", "layout.kdl", "pane split_direction=\"vertical\"\n");
    assert_eq!(editor.messages("layout.kdl"), [""; 0]);
    assert_eq!(editor.labels("layout.kdl", (0, 0)), [""; 0]);
    project.write(
        "prebuild.kdl",
        "import \"./org.kdl\"\nfrom host\nuse org.t\n",
    );
    editor.open_as(
        "kdl",
        "org.kdl",
        "prebuild a { from host; }; template t { rum x; }\n",
    );
    assert_eq!(editor.messages("org.kdl"), ["no statement `rum`"]);
    editor.change(
        "org.kdl",
        "prebuild a { from host; }; template t { run x; }\n",
    );
    assert_eq!(
        editor.messages("org.kdl"),
        [""; 0],
        "others use what it does not"
    );
    editor.open_as("kdl", "prebuild.kdl", "form host\n");
    assert_eq!(editor.messages("prebuild.kdl"), ["no statement `form`"]);
    editor.close("prebuild.kdl");
    assert_eq!(editor.messages("prebuild.kdl"), [""; 0]);
    editor.end();
}

/// A file that is being written is broken most of the time.
#[test]
fn what_could_be_written_in_a_broken_file() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    let start = "let node=22\ntemplate t { param p; run (f)\"{p}\"; }\nfrom host\n";
    editor.open("prebuild.kdl", start);
    editor.change("prebuild.kdl", &format!("{start}env A=(f)\"{{"));
    assert_eq!(editor.labels("prebuild.kdl", (3, 11)), ["node"]);
    editor.change("prebuild.kdl", &format!("{start}x \"\nuse "));
    let labels = editor.labels("prebuild.kdl", (4, 4));
    assert_eq!(labels.first().map(String::as_str), Some("t"));
    editor.change("prebuild.kdl", &format!("{start}env {{ {{ \nuse "));
    let labels = editor.labels("prebuild.kdl", (4, 4));
    assert_eq!(labels.first().map(String::as_str), Some("t"));
    assert!(labels.contains(&"npm-layer".to_owned()), "{labels:?}");
    editor.end();
}
