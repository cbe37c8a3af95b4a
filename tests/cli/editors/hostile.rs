//! Editors that are broken, or mean harm: the server ends, or answers what comes next.

use serde_json::{Value, json};

use super::scripted::{Editor, range};
use crate::project::Project;

#[test]
fn what_is_no_message_is_passed_over() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    let long = "x".repeat(100_000);
    let deep = "[".repeat(100_000);
    for bytes in [
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length: 99999999999999999999999999\r\n\r\n",
        "Content-Length: 3\r\n\r\n{}}",
        "Content-Length: 2\r\nContent-Type: application/json; charset=utf-16\r\n\r\n{}",
        "Content-Length: 5\r\n\r\n\u{0}\u{0}\u{0}\u{0}\u{0}",
        "Content-Length: 100000\r\n\r\n",
        deep.as_str(),
        long.as_str(),
        "\r\n",
    ] {
        editor.write(bytes.as_bytes());
    }
    editor.write(b"Content-Length: 3\r\n\r\n\xff\xfe\xfd");
    editor.open("prebuild.kdl", "form host\n");
    assert_eq!(editor.messages("prebuild.kdl"), ["no statement `form`"]);
    editor.end();
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let project = Project::empty();
    let mut editor = Editor::silent(&project);
    let early = editor.at("hover", "prebuild.kdl", (0, 0), &json!({}));
    assert_eq!(early["code"], -32002, "not initialised: {early}");
    editor.tell("initialized", &json!({}));
    editor.open("prebuild.kdl", "from host\n");
    editor.greet();
    let again = editor.ask("initialize", &json!({"capabilities": {}}));
    assert_eq!(again["code"], -32600, "{again}");
    assert_eq!(editor.ask("textDocument/dream", &json!({}))["code"], -32601);
    for params in [
        json!(null),
        json!([]),
        json!({"textDocument": 1}),
        json!({"textDocument": {"uri": "x"}}),
    ] {
        assert_eq!(
            editor.ask("textDocument/hover", &params.clone())["code"],
            -32602,
            "{params}"
        );
    }
    editor.end();
}

#[test]
fn places_and_documents_that_are_not_there() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    editor.open("prebuild.kdl", "let a=1\nfrom host\nenv A=(f)\"{a}\"\n");
    let far = u64::from(u32::MAX);
    let more = json!({"newName": "b", "context": {"includeDeclaration": true, "triggerKind": 1}});
    for method in [
        "hover",
        "completion",
        "definition",
        "references",
        "prepareRename",
        "rename",
    ] {
        for place in [(far, far), (far, 0), (0, far), (2, far)] {
            let answer = editor.at(method, "prebuild.kdl", place, &more);
            assert!(answer["code"].is_null(), "{method} at {place:?}: {answer}");
        }
        let answer = editor.at(method, "absent.kdl", (0, 0), &more);
        assert_eq!(answer, Value::Null, "{method}");
    }
    for uri in [
        "untitled:Untitled-1",
        "file:///",
        "file:///proc/self/mem",
        "file:///%00/prebuild.kdl",
        "https://x/prebuild.kdl",
    ] {
        let document =
            json!({"uri": uri, "languageId": "atelier", "version": 1, "text": "form host"});
        editor.tell("textDocument/didOpen", &json!({"textDocument": document}));
        let params = json!({"textDocument": {"uri": uri}, "range": range(0, 9, 3), "context": {"diagnostics": []}});
        editor.ask("textDocument/codeAction", &params);
        let change = json!({"textDocument": {"uri": uri, "version": -1}, "contentChanges": []});
        editor.tell("textDocument/didChange", &change);
        editor.tell(
            "textDocument/didClose",
            &json!({"textDocument": {"uri": uri}}),
        );
        editor.tell(
            "textDocument/didClose",
            &json!({"textDocument": {"uri": uri}}),
        );
    }
    assert_eq!(editor.messages("prebuild.kdl"), [""; 0]);
    editor.end();
}

#[test]
fn documents_that_are_too_much() {
    let project = Project::empty();
    let mut editor = Editor::start(&project);
    editor.open("prebuild.kdl", &"a {".repeat(20_000));
    assert_eq!(editor.messages("prebuild.kdl"), ["blocks nest too deep"]);
    editor.change("prebuild.kdl", &"x ".repeat(4 << 20));
    assert_eq!(
        editor.messages("prebuild.kdl"),
        ["file is 8 MiB; limit 64 KiB"]
    );
    assert_eq!(editor.labels("prebuild.kdl", (0, 9)), [""; 0]);
    // Larger than a message may be: what was there stays.
    editor.change("prebuild.kdl", &"x ".repeat(10 << 20));
    editor.change("prebuild.kdl", &"rum\n".repeat(2_000));
    assert_eq!(editor.messages("prebuild.kdl").len(), 500);
    for name in 0..100 {
        editor.change("prebuild.kdl", &format!("from host\nrun step{name}\n"));
    }
    assert_eq!(editor.messages("prebuild.kdl"), [""; 0]);
    editor.end();
}

#[test]
fn editors_that_go_away() {
    let project = Project::empty();
    let mut exits = Editor::start(&project);
    exits.open("prebuild.kdl", "from host\n");
    exits.tell("exit", &Value::Null);
    assert_eq!(exits.wait().code(), Some(1), "it was not asked for the end");
    let mut hangs_up = Editor::start(&project);
    hangs_up.write(b"Content-Length: 99\r\n\r\n{\"jsonrpc\"");
    hangs_up.say_no_more();
    assert_eq!(hangs_up.wait().code(), Some(1));
    let mut says_nothing = Editor::silent(&project);
    says_nothing.say_no_more();
    assert_eq!(says_nothing.wait().code(), Some(1));
}
