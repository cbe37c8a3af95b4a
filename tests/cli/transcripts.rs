//! The transcripts of the book, run: the `console` blocks of a page, one after the other, on the page's first file.

use std::fmt::Write as _;
use std::fs;

use crate::pages::{self, unnamed};
use crate::repositories::{Served, served};

/// What pages call the repository that the tests serve.
const URL: &str = "https://github.com/acme/web";

/// The texts of the blocks of this kind on a page.
pub(crate) fn blocks(page: &str, kind: &str) -> Vec<String> {
    let text = fs::read_to_string(pages::path(page)).unwrap();
    let blocks = pages::blocks(&text).into_iter();
    let blocks = blocks.filter(|block| block.kind == kind);
    blocks.map(|block| block.text).collect()
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
