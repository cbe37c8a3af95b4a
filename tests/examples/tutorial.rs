//! The tutorial, done as its reader would do it: each file is written, each command is run, and what is seen is what the
//! page shows. `just bless` puts what was seen into the page.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pages::{self, Block, unnamed};
use crate::project::Project;

/// The reader's shell: where they are, and how their last command ended.
struct Reader<'a> {
    project: &'a Project,
    folder: PathBuf,
    last: i32,
}

impl Reader<'_> {
    fn write(&self, block: &Block) {
        let name = match (&block.note, block.kind.as_str()) {
            (Some(note), _) if note.starts_with("file ") => &note[5..],
            (_, "kdl") => "prebuild.kdl",
            (_, _) => return,
        };
        let file = self.folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, &block.text).unwrap();
    }

    /// What a command prints, on either stream.
    fn sees(&mut self, line: &str) -> String {
        let here = self.project.home.join("here");
        let script = format!(
            "exec 2>&1; (exit {}); {line}\nended=$?; pwd > {}; exit $ended",
            self.last,
            here.display()
        );
        let output = self.shell().args(["-c", &script]).output().unwrap();
        self.last = output.status.code().unwrap();
        self.folder = PathBuf::from(fs::read_to_string(here).unwrap().trim_end());
        String::from_utf8(output.stdout).unwrap()
    }

    fn shell(&self) -> Command {
        let mut shell = self.project.command("bash");
        let program = Path::new(env!("CARGO_BIN_EXE_atelier"));
        let mut folders = vec![program.parent().unwrap().to_owned()];
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        shell.env("PATH", std::env::join_paths(folders).unwrap());
        shell.env("ATELIER_STORE", &self.project.store);
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "EMAIL"] {
            shell.env(name, "ann@example.org");
        }
        shell.current_dir(&self.folder);
        shell
    }
}

/// The text without digests, with every duration the same and columns as narrow as they can be.
fn steady(text: &str) -> String {
    let mut lines = Vec::new();
    for line in unnamed(text).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_number = |word: &str| word.parse::<f32>().is_ok();
        let is_time = |at: usize| is_number(words[at]) && words.get(at + 1) == Some(&"s");
        let word = |at| if is_time(at) { "#" } else { words[at] };
        let steady: Vec<&str> = (0..words.len()).map(word).collect();
        lines.push(steady.join(" "));
    }
    lines.join("\n")
}

/// Whether what was seen is what is shown: `…` alone on a line is any number of lines, at a line's end the rest of it.
fn shows(shown: &[&str], seen: &[&str]) -> bool {
    let Some((first, rest)) = shown.split_first() else {
        return seen.is_empty();
    };
    if *first == "…" {
        return (0..=seen.len()).any(|left_out| shows(rest, &seen[left_out..]));
    }
    let Some((line, others)) = seen.split_first() else {
        return false;
    };
    let is_line = match first.strip_suffix(" …") {
        Some(start) => line.starts_with(start),
        None => line == first,
    };
    is_line && shows(rest, others)
}

/// The commands of a transcript with what each shows.
fn commands(transcript: &str) -> Vec<(&str, &str)> {
    let mut rest = transcript;
    let mut commands = Vec::new();
    while let Some(after) = rest.strip_prefix("$ ") {
        let (line, below) = after.split_once('\n').unwrap();
        let end = if below.starts_with("$ ") {
            0
        } else {
            below.find("\n$ ").map_or(below.len(), |end| end + 1)
        };
        commands.push((line, &below[..end]));
        rest = &below[end..];
    }
    assert!(rest.is_empty(), "{rest}");
    commands
}

#[test]
fn the_tutorial_says_what_is_seen() {
    let project = Project::empty();
    let file = pages::path("tutorial.md");
    let mut page = fs::read_to_string(&file).unwrap();
    let mut reader = Reader {
        folder: project.home.join("hello"),
        project: &project,
        last: 0,
    };
    fs::create_dir(&reader.folder).unwrap();
    let mut wrong = String::new();
    for block in pages::blocks(&page) {
        reader.write(&block);
        if block.kind != "console" {
            continue;
        }
        let (mut whole, mut is_right) = (String::new(), true);
        for (line, shown) in commands(&block.text) {
            let seen = reader.sees(line);
            let (shown_lines, seen_lines) = (steady(shown), steady(&seen));
            let shown_lines: Vec<&str> = shown_lines.lines().collect();
            let seen_lines: Vec<&str> = seen_lines.lines().collect();
            let is_told = shown.contains("\n  × ") || block.text.contains("$ echo $?");
            let is_shown = shows(&shown_lines, &seen_lines) && (reader.last == 0 || is_told);
            is_right &= is_shown;
            let output = if is_shown { shown } else { &seen };
            write!(whole, "$ {line}\n{output}").unwrap();
        }
        if !is_right {
            page = page.replace(&block.text, &whole);
            writeln!(wrong, "{}--- is\n{whole}", block.text).unwrap();
        }
    }
    if pages::is_update() {
        fs::write(file, page).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong}");
}
