//! The transcripts of the book, run: the `console` blocks of a page, one after the other, on the page's first file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::repositories::{Served, served};

/// What pages call the repository that the tests serve.
const URL: &str = "https://github.com/acme/web";

/// Text between a fence of this kind and its end, for each such block.
pub(crate) fn blocks(page: &str, kind: &str) -> Vec<String> {
    let text = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("book/src")
            .join(page),
    )
    .unwrap();
    let fence = format!("```{kind}\n");
    let blocks = text.split(&fence).skip(1);
    blocks
        .map(|rest| rest.split_once("```").unwrap().0.to_owned())
        .collect()
}

/// Digests are called by the order in which they appear: the machine decides what they are.
fn unnamed(text: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut whole = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, from) = rest.split_at(start);
        let end = from
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        whole += before;
        if word.len() < 12 {
            whole += word;
        } else {
            let name = word[..12].to_owned();
            let known = names.iter().position(|known| *known == name);
            let index = known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            write!(whole, "<{index}>").unwrap();
        }
        rest = after;
    }
    whole + rest
}

/// Runs a line as a shell would, as far as pages need one; returns what is seen, and the exit code.
fn run(served: &Served, line: &str, last: i32) -> (String, i32) {
    if line == "echo $?" {
        return (format!("{last}\n"), 0);
    }
    if line == "git -C ../web push --quiet" {
        served.clone.commit("pushed", line);
        served.clone.git(&["push", "--quiet", "origin", "HEAD"]);
        return (String::new(), 0);
    }
    let Some(words) = line.strip_prefix("atelier ") else {
        let mut shell = served.project.command("sh");
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "EMAIL"] {
            shell.env(name, "ann@example.org");
        }
        let output = shell.args(["-euc", line]).output();
        let output = output.unwrap();
        let text = [output.stdout, output.stderr].concat();
        return (
            String::from_utf8(text).unwrap(),
            output.status.code().unwrap(),
        );
    };
    let words: Vec<&str> = words.split(' ').collect();
    let is_silent = words.ends_with(&["2>", "build.log"]);
    let words = if is_silent {
        &words[..words.len() - 2]
    } else {
        &words[..]
    };
    let ran = served.project.run(words);
    let code = ran.code();
    let stderr = if is_silent { String::new() } else { ran.stderr };
    (
        (ran.stdout + &stderr).replace(&served.server.url("web"), URL),
        code,
    )
}

/// Runs the commands of a page, and compares what is seen with what the page has.
#[track_caller]
fn says_what_the_program_says(page: &str) {
    let served = served("");
    let file = blocks(page, "kdl").remove(0);
    assert!(file.contains(URL), "{file}");
    let file = file.replace(URL, &served.server.url("web"));
    served.project.write("prebuild.kdl", &file);
    served.project.commit("first");
    let (mut seen, mut code) = (String::new(), 0);
    let page = blocks(page, "console").concat();
    for line in page.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let (output, ended) = run(&served, line, code);
        code = ended;
        write!(seen, "$ {line}\n{output}").unwrap();
    }
    assert_eq!(unnamed(&seen), unnamed(&page), "{seen}");
}

#[test]
fn the_page_on_ci_says_what_the_program_says() {
    says_what_the_program_says("ci.md");
}

#[test]
fn the_page_on_reasons_says_what_the_program_says() {
    says_what_the_program_says("reasons.md");
}
