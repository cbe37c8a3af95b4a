//! Definitions, uses and other names.

use std::fs;

use serde_json::json;

use super::scripted::{Editor, edited, range};
use crate::project::Project;

#[test]
fn names_lead_to_their_definitions() {
    let project = Project::empty();
    project.write("org.kdl", "// é\nprebuild base { from host; }\n");
    let mut editor = Editor::start(&project);
    editor.open("prebuild.kdl", "import \"./org.kdl\"\nprebuild a { from prebuild=org.base; }\nprebuild b { from prebuild=a; use npm; }\n");
    let base = editor.at("definition", "prebuild.kdl", (1, 33), &json!({}));
    assert_eq!(
        (&base["uri"], &base["range"]),
        (&json!(editor.uri("org.kdl")), &range(1, 9, 13))
    );
    let import = editor.at("definition", "prebuild.kdl", (0, 10), &json!({}));
    assert_eq!(import["uri"], editor.uri("org.kdl"));
    let library = editor.at("definition", "prebuild.kdl", (2, 35), &json!({}));
    let path = library["uri"]
        .as_str()
        .unwrap()
        .strip_prefix("file://")
        .unwrap()
        .to_owned();
    assert!(path.starts_with(project.home.to_str().unwrap()), "{path}");
    let line = usize::try_from(library["range"]["start"]["line"].as_u64().unwrap()).unwrap();
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.lines().nth(line), Some("template npm {"));
    let uses = editor.at(
        "references",
        "prebuild.kdl",
        (1, 9),
        &json!({"context": {"includeDeclaration": true}}),
    );
    let lines: Vec<_> = uses
        .as_array()
        .unwrap()
        .iter()
        .map(|place| place["range"].clone())
        .collect();
    assert_eq!(lines, [range(1, 9, 10), range(2, 27, 28)]);
    editor.end();
}

#[test]
fn names_are_given_others_everywhere() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    let org = "let registry=\"é\"\ntemplate tool { param name; env A=(f)\"{registry}☕{name}{registry}\"; }\n";
    let main = "import \"./org.kdl\"\nprebuild a { from host; use org.tool name=x; env B=(f)\"{org.registry}\"; matrix { os 1; }; }\nprebuild b { from prebuild=a-1; }\n";
    editor.open("org.kdl", org);
    editor.open("prebuild.kdl", main);
    let mut rename = |place, new: &str| {
        let edit = editor.at("rename", "prebuild.kdl", place, &json!({"newName": new}));
        let changes = &edit["changes"];
        let of = |editor: &Editor, file: &str, text: &str| {
            let edits = &changes[editor.uri(file)];
            if edits.is_null() {
                text.to_owned()
            } else {
                edited(text, edits)
            }
        };
        (
            of(&editor, "org.kdl", org),
            of(&editor, "prebuild.kdl", main),
            edit,
        )
    };
    let (one, other, _) = rename((1, 61), "mirror");
    assert_eq!(
        (one, other),
        (
            org.replace("registry", "mirror"),
            main.replace("registry", "mirror")
        )
    );
    let (one, other, _) = rename((1, 33), "thing");
    assert_eq!(
        (one, other),
        (org.replace("tool", "thing"), main.replace("tool", "thing"))
    );
    let (_, other, _) = rename((1, 9), "web");
    assert_eq!(
        other,
        main.replace("prebuild a", "prebuild web")
            .replace("=a-1", "=web-1")
    );
    let (_, other, _) = rename((1, 29), "o");
    assert_eq!(
        other,
        main.replace("\"./org.kdl\"", "\"./org.kdl\" as=o")
            .replace("org.tool", "o.tool")
            .replace("{org.", "{o.")
    );
    let (_, _, refused) = rename((1, 9), "Web");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("is not a name"),
        "{refused}"
    );
    editor.end();
}

/// Columns are UTF-16 units: behind an emoji they are two for one, behind these letters one for three bytes.
#[test]
fn names_behind_wide_letters() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    let text =
        "let a=1; /* 漢字👩💻 */ let b=2; prebuild p { from host; env X=(f)\"漢👩{a}字{b}\"; }\n";
    editor.open("prebuild.kdl", text);
    let column = |part: &str| {
        let before = &text[..text.find(part).unwrap()];
        before.encode_utf16().count() as u64
    };
    let used = column("{b}") + 1;
    assert_eq!(used, 73);
    let place = (0, used + 1);
    let definition = editor.at("definition", "prebuild.kdl", place, &json!({}));
    let defined = column("b=2");
    assert_eq!(definition["range"], range(0, defined, defined + 1));
    let hover = editor.at("hover", "prebuild.kdl", place, &json!({}));
    assert_eq!(hover["range"], range(0, used, used + 1));
    assert_eq!(editor.labels("prebuild.kdl", (0, used)), ["a", "b"]);
    let edit = editor.at("rename", "prebuild.kdl", place, &json!({"newName": "wide"}));
    let edits = &edit["changes"][editor.uri("prebuild.kdl")];
    let expected = text.replace("let b", "let wide").replace("{b}", "{wide}");
    assert_eq!(edited(text, edits), expected);
    editor.end();
}

#[test]
fn parameters_and_axes_are_given_other_names() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    let text = "template t { param one; param two; run (f)\"{one} {two}\"; }; let taken=1
prebuild p { from host; use t one=1 two=(f)\"{taken}{os}\"; matrix { os a b; arch c d; skip os=a arch=d; }; }
prebuild q { from host; use t one=1 two=2; matrix { cell os=a; cell os=b; }; about (f)\"{os}\"; }
";
    editor.open("prebuild.kdl", text);
    assert_eq!(editor.messages("prebuild.kdl"), [""; 0]);
    let mut rename = |place, new: &str| {
        let edit = editor.at("rename", "prebuild.kdl", place, &json!({"newName": new}));
        let edits = &edit["changes"][editor.uri("prebuild.kdl")];
        if edits.is_null() {
            return edit["message"].as_str().unwrap().to_owned();
        }
        edited(text, edits)
    };
    let parameter = text
        .replace("param one", "param first")
        .replace("{one}", "{first}");
    assert_eq!(
        rename((1, 31), "first"),
        parameter.replace("one=1", "first=1")
    );
    let lines: Vec<&str> = text.split('\n').collect();
    let system = |line: &str| {
        line.replace("os=", "system=")
            .replace("{os}", "{system}")
            .replace(" os ", " system ")
    };
    let first = [lines[0], &system(lines[1]), lines[2], ""].join("\n");
    assert_eq!(
        rename((1, 68), "system"),
        first,
        "of its own prebuild alone"
    );
    let second = [lines[0], lines[1], &system(lines[2]), ""].join("\n");
    assert_eq!(rename((2, 69), "system"), second);
    assert_eq!(rename((1, 31), "two"), "there is a value `two` already");
    assert_eq!(rename((1, 68), "taken"), "there is a value `taken` already");
    assert_eq!(rename((1, 9), "q"), "there is a target `q` already");
    assert_eq!(
        rename((0, 9), "p").lines().next().unwrap(),
        lines[0].replace("template t", "template p")
    );
    editor.end();
}

#[test]
fn what_comes_with_atelier_keeps_its_names() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    editor.open(
        "prebuild.kdl",
        "from host\nrepo \"https://github.com/a/b\"\nuse npm in=b\n",
    );
    let refused = editor.at(
        "rename",
        "prebuild.kdl",
        (2, 5),
        &json!({"newName": "mine"}),
    );
    assert_eq!(refused["message"], "it comes with atelier");
    let prepared = editor.at("prepareRename", "prebuild.kdl", (2, 5), &json!({}));
    assert!(prepared.is_null());
    editor.end();
}
