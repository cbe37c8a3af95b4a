//! A few bytes that stand for many: templates, matrices, chains and imports.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use atelier_lang::evaluate;
use atelier_lang::source::{ReadError, VirtualPath, World};

use crate::support::inputs;
use crate::{codes, each};

/// What each of a few bytes can be made to stand for.
#[test]
fn bombs() {
    let text = "x".repeat(30 << 10);
    let uses = "use t;".repeat(4000);
    let long = format!("template t {{ about \"{text}\"; }}\nprebuild p {{ from host; {uses} }}");
    assert_eq!(codes(long), ["A0312"]);
    let put_in = "env A=(f)\"{big}\";".repeat(1500);
    let found = codes(format!(
        "let big=\"{text}\"\nprebuild p {{ from host; {put_in} }}"
    ));
    assert!(found.contains(&"A0312".to_owned()), "{:?}", &found[..3]);
    let params = each(0..2000, |index| format!("param p{index} default=1;"));
    let wide = format!(
        "template t {{ {params} }}\nprebuild p {{ from host; {} }}",
        "use t;".repeat(2000)
    );
    assert!(codes(wide).contains(&"A0312".to_owned()));
    let wide = each(0..2000, |index| format!("env A{index}=1\n"));
    let cells = each(0..60, |index| format!("{index} "));
    assert_eq!(
        codes(format!(
            "prebuild p {{ from host; matrix {{ a {cells} }}\n{wide} }}"
        )),
        ["A0312"]
    );
    let layers = each(0..300, |index| format!("layer l{index} {{ only a; }};"));
    let layered = format!(
        "prebuild p {{ from host; matrix {{ a {cells} }}\nrepo \"a.b/c\" {{ {layers} }} }}"
    );
    assert_eq!(codes(layered), ["A0312"]);
}

#[test]
fn long_chains_of_long_lists() {
    let variables = each(0..5000, |index| format!(" A{index}="));
    let variables = variables.replace("= ", "=1 ") + "1";
    let mut text = format!("prebuild a0{{from host;env{variables}}}\n");
    for index in 1..400 {
        let _ = writeln!(text, "prebuild a{index}{{from prebuild=a{}}}", index - 1);
    }
    assert_eq!(codes(text), ["A0312"]);
}

#[test]
fn as_many_statements_as_there_may_be() {
    let body = each(0..250, |index| format!("file \"a{index}/b\" x;"));
    let mut text = format!(
        "template t {{ param n; {} }}\n",
        body.replace("\"a", "(f)\"a{n}-")
    );
    let uses = each(0..79, |index| format!("use t n=n{index};"));
    let _ = writeln!(text, "prebuild p {{ from host; {uses} }}");
    assert_eq!(codes(text.clone()), [""; 0]);
    let again = text.replace("n=n7;", "n=n8;");
    assert_eq!(codes(again), ["A0405"; 250]);
}

/// Holds the files that it is given, and says how many it was asked for.
struct Folder {
    files: BTreeMap<String, String>,
    asked: Cell<usize>,
}

impl World for Folder {
    fn read(&self, path: &VirtualPath, limit: u64) -> Result<Vec<u8>, ReadError> {
        self.asked.set(self.asked.get() + 1);
        let text = self.files.get(path.as_str());
        let text = text.ok_or(ReadError::Failed("does not exist".to_owned()))?;
        match text.len() as u64 {
            size if size > limit => Err(ReadError::TooLarge { size }),
            _ => Ok(text.clone().into_bytes()),
        }
    }
}

/// The codes of a project's files, and how many of them were read.
fn project(files: impl IntoIterator<Item = (String, String)>) -> (Vec<String>, usize) {
    let files = files.into_iter().collect();
    let asked = Cell::new(0);
    let world = Folder { files, asked };
    let (_, outcome) = evaluate(&world, &inputs());
    let codes = outcome.diagnostics.iter().map(|d| d.code.to_string());
    (codes.collect(), world.asked.get())
}

#[test]
fn imports_without_end() {
    let file = |index: usize| {
        let name = if index == 0 {
            "prebuild".to_owned()
        } else {
            format!("f{index}")
        };
        let next = index + 1;
        (
            format!("{name}.kdl"),
            format!("import \"./f{next}.kdl\"\nfrom host"),
        )
    };
    let (codes, asked) = project((0..200).map(file));
    assert_eq!((codes, asked), (vec!["A0312".to_owned()], 64));
    let fan = each(0..200, |index| format!("import \"./f{index}.kdl\"\n"));
    let fan = ("prebuild.kdl".to_owned(), fan + "from host");
    let leaf = |index: usize| (format!("f{index}.kdl"), "let a=1".to_owned());
    let (codes, asked) = project((0..200).map(leaf).chain([fan]));
    assert_eq!((codes.len(), asked), (137, 64));
    let itself = (
        "prebuild.kdl".to_owned(),
        "import \"./x/../prebuild.kdl\" as=me\nfrom host".to_owned(),
    );
    assert_eq!(project([itself]).0, ["A0403"]);
}

#[test]
fn imports_of_a_megabyte() {
    let imports = each(0..30, |index| format!("import \"./f{index:02}.kdl\"\n"));
    let main = ("prebuild.kdl".to_owned(), imports + "from host");
    let file = |index: usize| {
        (
            format!("f{index:02}.kdl"),
            format!("let a=1 // {}", "x".repeat(60 << 10)),
        )
    };
    let (codes, _) = project((0..30).map(file).chain([main]));
    assert!(
        codes.iter().all(|code| code == "A0312") && codes.len() == 13,
        "{codes:?}"
    );
}
