//! What is read, what is refused, what is written, and what an update makes of it.

use std::collections::BTreeMap;
use std::path::Path;

use atelier_lang::graph::{ImageRef, Reference, RepoSource};
use atelier_lang::source::ReadError;
use atelier_lang::span::{FileId, Span, Via};

use super::update::{Answers, Lockable, apply, changes, questions};
use super::*;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const URL: &str = "https://github.com/acme/web";
const DIGEST: &str = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";

fn parsed(text: &str) -> Result<Lock, Unusable> {
    read("prebuild.lock.kdl", Ok(text.into()))
}

/// Each finding's code, the text at its first place, and its message.
fn faults(text: &str) -> Vec<(u16, String, String)> {
    let unusable = parsed(text).expect_err("a fault");
    let fault = |diagnostic: &Diagnostic| {
        let place = unusable.sources.slice(diagnostic.labels[0].span).to_owned();
        (diagnostic.code.0, place, diagnostic.message.clone())
    };
    unusable.diagnostics.iter().map(fault).collect()
}

fn repo(url: &str, reference: &str, head: &str, is_default: bool) -> (RepoKey, LockedRepo) {
    let key = RepoKey {
        url: url.to_owned(),
        reference: reference.to_owned(),
    };
    let head = head.parse().unwrap();
    (key, LockedRepo { head, is_default })
}

fn image(name: &str, platform: &str, reference: Option<&str>) -> (ImageKey, LockedImage) {
    let key = ImageKey {
        name: name.to_owned(),
        platform: platform.to_owned(),
    };
    let reference = reference.map(str::to_owned);
    let digest = DIGEST.parse().unwrap();
    (key, LockedImage { digest, reference })
}

fn lock(
    images: impl IntoIterator<Item = (ImageKey, LockedImage)>,
    repos: impl IntoIterator<Item = (RepoKey, LockedRepo)>,
) -> Lock {
    Lock {
        images: images.into_iter().collect(),
        repos: repos.into_iter().collect(),
    }
}

fn some() -> Lock {
    lock(
        [
            image("ghcr.io/acme/dev:3", "linux/amd64", None),
            image("dev-base", "linux/arm64", Some("ghcr.io/acme/dev:3")),
            image("dev-base", "linux/amd64", Some("ghcr.io/acme/dev:3")),
        ],
        [
            repo(URL, "refs/tags/v1", A, false),
            repo(URL, "refs/heads/main", B, true),
            repo("https://github.com/acme/api", "refs/heads/a\"b", A, false),
        ],
    )
}

#[test]
fn an_entry_is_a_line_in_order_and_is_read_again() {
    let text = some().to_text();
    let (_, text) = text.split_once('\n').unwrap();
    let lines: Vec<&str> = text.trim_end().split("\n\n").collect();
    assert_eq!(
        lines,
        [
            "lock 1",
            &format!(
                "image \"dev-base\" platform=\"linux/amd64\" digest=\"{DIGEST}\" reference=\"ghcr.io/acme/dev:3\""
            ),
            &format!(
                "image \"dev-base\" platform=\"linux/arm64\" digest=\"{DIGEST}\" reference=\"ghcr.io/acme/dev:3\""
            ),
            &format!("image \"ghcr.io/acme/dev:3\" platform=\"linux/amd64\" digest=\"{DIGEST}\""),
            &format!("repo \"https://github.com/acme/api\" ref=\"refs/heads/a\\\"b\" head=\"{A}\""),
            &format!("repo \"{URL}\" ref=\"refs/heads/main\" head=\"{B}\" default=#true"),
            &format!("repo \"{URL}\" ref=\"refs/tags/v1\" head=\"{A}\""),
        ]
    );
    assert_eq!(parsed(text).unwrap(), some());
    let empty = Lock::default();
    assert_eq!(parsed(&empty.to_text()).unwrap(), empty);
}

#[test]
fn the_order_and_the_spelling_of_a_lock_mean_nothing() {
    let text = format!(
        "lock 1\r\nrepo ref=refs/heads/main \"{URL}\" default=#true head=\"{B}\"\n/- repo x\nimage dev-base digest=\"{DIGEST}\" platform=\"linux/amd64\"\n"
    );
    // `refs/heads/main` has to be quoted.
    assert_eq!(faults(&text)[0].0, 113);
    let lock = parsed(&text.replace("refs/heads/main", "\"refs/heads/main\"")).unwrap();
    assert_eq!((lock.images.len(), lock.repos.len()), (1, 1));
}

#[test]
fn a_lock_begins_with_its_version() {
    for (text, place) in [
        ("", ""),
        ("// nothing\n", ""),
        ("repo x\nlock 1\n", "repo x"),
        ("lock one", "lock one"),
        ("lock 0", "lock 0"),
        ("lock 1 2", "lock 1 2"),
    ] {
        let found = faults(text);
        assert_eq!((found[0].0, found[0].1.as_str()), (502, place), "{text}");
    }
    // What else a newer one says is not for this program to judge.
    let newer = faults("lock 2\nvolume x\nrepo y\n");
    let message = "lock 2 is newer than what this atelier reads (1)";
    assert_eq!(newer, [(502, "lock 2".to_owned(), message.to_owned())]);
}

/// Each line's first finding: its code, and what it points at.
fn refused(lines: &[(String, u16, &str)]) {
    for (line, code, place) in lines {
        let found = faults(&format!("lock 1\n{line}\n"));
        assert_eq!(
            (found[0].0, found[0].1.as_str()),
            (*code, *place),
            "{line}: {found:?}"
        );
    }
}

#[test]
fn a_repository_that_is_not_understood_is_refused_where_it_stands() {
    let whole = format!("repo \"{URL}\" ref=\"refs/heads/main\" head=\"{A}\"");
    let (head, quoted) = (format!("head=\"{A}\""), format!("\"{URL}/x\""));
    let upper = A.to_uppercase();
    refused(&[
        (format!("{whole} branch=main"), 202, "branch"),
        (format!("{whole} {{ run x; }}"), 202, "repo"),
        (whole.replace("head=", "commit="), 202, "commit"),
        (format!("repo ref=\"refs/heads/main\" {head}"), 203, "repo"),
        (
            format!("repo \"{URL}\" {quoted} ref=\"refs/heads/main\" {head}"),
            203,
            &quoted,
        ),
        (format!("{whole} {head}"), 204, &head),
        (
            whole.replace(URL, "git@github.com:acme/web"),
            306,
            "\"git@github.com:acme/web\"",
        ),
        (whole.replace("refs/heads/main", "main"), 306, "\"main\""),
        (
            whole.replace("refs/heads/main", "refs/pull/1/head"),
            306,
            "\"refs/pull/1/head\"",
        ),
        (
            whole.replace("refs/heads/main", "refs/heads/../x"),
            306,
            "\"refs/heads/../x\"",
        ),
        (whole.replace(A, "aaaa"), 306, "\"aaaa\""),
        (whole.replace(A, &upper), 306, &format!("\"{upper}\"")),
        (format!("{whole} default=#false"), 306, "#false"),
        (format!("{whole} default=yes"), 306, "yes"),
        (
            format!("{} default=#true", whole.replace("heads/main", "tags/v1")),
            306,
            "#true",
        ),
    ]);
}

#[test]
fn an_image_that_is_not_understood_is_refused_where_it_stands() {
    let start = "image dev-base platform=\"linux/amd64\"";
    let whole = format!("{start} digest=\"{DIGEST}\"");
    let bare = &DIGEST["sha256:".len()..];
    refused(&[
        (whole.replace("dev-base", "host"), 306, "host"),
        (whole.replace("\"linux/amd64\"", "linux"), 306, "linux"),
        (whole.replace(DIGEST, bare), 306, &format!("\"{bare}\"")),
        (format!("{whole} reference=dev-base"), 306, "dev-base"),
        (start.to_owned(), 203, start),
        ("volume \"x\"".to_owned(), 201, "volume"),
        ("lock 1".to_owned(), 204, "lock 1"),
    ]);
    // All of them at once, in their order.
    let found = faults(&format!("lock 1\nvolume x\n{whole} x=1\nrepo y\n"));
    let codes: Vec<u16> = found.iter().map(|(code, _, _)| *code).collect();
    assert_eq!(codes, [201, 202, 203]);
}

#[test]
fn an_entry_that_is_there_twice_is_refused_with_the_first() {
    let line = |reference: &str, head: &str, rest: &str| {
        format!("repo \"{URL}\" ref=\"{reference}\" head=\"{head}\"{rest}\n")
    };
    let main = line("refs/heads/main", A, " default=#true");
    for other in [
        line("refs/heads/main", B, ""),
        line("refs/heads/next", B, " default=#true"),
    ] {
        let unusable = parsed(&format!("lock 1\n{main}{other}")).unwrap_err();
        assert_eq!(unusable.diagnostics[0].code.0, 204);
        let lines = unusable.diagnostics[0]
            .labels
            .iter()
            .map(|label| unusable.sources.line(label.span));
        assert_eq!(lines.collect::<Vec<_>>(), [3, 2]);
    }
    let twice = format!("image dev-base platform=\"linux/amd64\" digest=\"{DIGEST}\"\n").repeat(2);
    assert_eq!(faults(&format!("lock 1\n{twice}"))[0].0, 204);
}

#[test]
fn an_unfinished_merge_is_told_as_such() {
    let ours = format!("repo \"{URL}\" ref=\"refs/heads/main\" head=\"{A}\"");
    let theirs = ours.replace(A, B);
    let text = format!("lock 1\n<<<<<<< HEAD\n{ours}\n=======\n{theirs}\n>>>>>>> topic\n");
    let message = "a merge has left conflicts in the lock";
    assert_eq!(
        faults(&text),
        [(502, "<<<<<<<".to_owned(), message.to_owned())]
    );
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let failed = ReadError::Failed("it is a secret".to_owned());
    let unusable = read("prebuild.lock.kdl", Err(failed)).unwrap_err();
    assert_eq!(unusable.diagnostics[0].code.0, 501);
    assert_eq!(
        read("x", Ok(vec![b'a', 0xff])).unwrap_err().diagnostics[0]
            .code
            .0,
        101
    );
}

fn input(reference: Option<Reference>) -> RepoInput {
    let source = RepoSource::Url(URL.to_owned());
    RepoInput { source, reference }
}

fn branch(name: &str) -> RepoInput {
    input(Some(Reference::Branch(name.to_owned())))
}

#[test]
fn an_entry_answers_what_it_was_made_for_and_nothing_else() {
    let lock = some();
    let found = |input: RepoInput| {
        let entry = lock.repo(&input);
        entry.map(|(key, head)| format!("{} {head}", key.reference))
    };
    let main = Some(format!("refs/heads/main {B}"));
    assert_eq!(found(input(None)), main);
    assert_eq!(found(branch("main")), main);
    let tag = Some(Reference::Tag("v1".to_owned()));
    assert_eq!(found(input(tag)), Some(format!("refs/tags/v1 {A}")));
    assert_eq!(found(branch("v1")), None);
    assert_eq!(found(input(Some(Reference::Commit(A.to_owned())))), None);
    let on_disk = RepoInput {
        source: RepoSource::Disk(URL.to_owned()),
        reference: None,
    };
    assert_eq!(found(on_disk), None);
    // behaviours 2.8: an alias that means another image by now has no entry.
    let reference = "ghcr.io/acme/dev:3";
    assert!(lock.image("dev-base", "linux/amd64", reference).is_some());
    assert!(
        lock.image("dev-base", "linux/amd64", "ghcr.io/acme/dev:4")
            .is_none()
    );
    assert!(lock.image("dev-base", "linux/riscv64", reference).is_none());
    assert!(lock.image(reference, "linux/amd64", reference).is_some());
}

const NOWHERE: Span = Span {
    file: FileId(0),
    start: 0,
    end: 0,
    via: Via::NONE,
};

/// What a file names, and what that is resolved to.
fn lockable(repos: &[RepoInput]) -> Lockable {
    Lockable {
        images: BTreeMap::new(),
        repos: repos.iter().map(|repo| (repo.clone(), NOWHERE)).collect(),
    }
}

fn answers(repos: &[(RepoInput, &str, &str)]) -> Answers {
    let answer = |(input, reference, head): &(RepoInput, &str, &str)| {
        (
            input.clone(),
            (*reference).to_owned(),
            head.parse().unwrap(),
        )
    };
    Answers {
        images: Vec::new(),
        repos: repos.iter().map(answer).collect(),
    }
}

/// The entries of repositories after an update: ref, first digit of the commit, and `*` for the default branch.
fn entries(lock: &Lock) -> Vec<String> {
    let entry = |(key, entry): (&RepoKey, &LockedRepo)| {
        let star = if entry.is_default { "*" } else { "" };
        format!("{} {}{star}", key.reference, &entry.head.to_string()[..1])
    };
    lock.repos.iter().map(entry).collect()
}

#[test]
fn a_default_branch_that_changes_leaves_no_entry_behind() {
    let old = lock([], [repo(URL, "refs/heads/main", A, true)]);
    let moved = [(input(None), "refs/heads/trunk", B)];
    let named = lockable(&[input(None)]);
    for is_whole in [false, true] {
        let new = apply(&old, answers(&moved), &named, is_whole);
        assert_eq!(entries(&new), ["refs/heads/trunk b*"]);
        assert_eq!(changes(&old, &new).len(), 2);
    }
    // Unless the file names that branch too.
    let named = lockable(&[input(None), branch("main")]);
    let new = apply(&old, answers(&moved), &named, false);
    assert_eq!(entries(&new), ["refs/heads/main a", "refs/heads/trunk b*"]);
}

#[test]
fn a_branch_that_is_named_and_the_default_is_one_entry() {
    let named = lockable(&[input(None), branch("main")]);
    let both = [
        (input(None), "refs/heads/main", B),
        (branch("main"), "refs/heads/main", B),
    ];
    let new = apply(&Lock::default(), answers(&both), &named, true);
    assert_eq!(entries(&new), ["refs/heads/main b*"]);
    let one = [(branch("main"), "refs/heads/main", A)];
    assert_eq!(
        entries(&apply(&new, answers(&one), &named, false)),
        ["refs/heads/main a*"]
    );
}

#[test]
fn a_whole_update_prunes_and_a_partial_one_does_not() {
    let old = some();
    let named = lockable(&[input(None)]);
    let one = [(input(None), "refs/heads/main", A)];
    let partial = apply(&old, answers(&one), &named, false);
    assert_eq!(changes(&old, &partial).len(), 1);
    assert_eq!(partial.images, old.images);
    let whole = apply(&old, answers(&one), &named, true);
    assert_eq!(entries(&whole), ["refs/heads/main a*"]);
    assert!(whole.images.is_empty());
}

#[test]
fn the_lock_is_beside_the_file_and_named_after_it() {
    for (file, expected) in [
        ("/p/prebuild.kdl", "/p/prebuild.lock.kdl"),
        ("/p/web.kdl", "/p/web.lock.kdl"),
        ("/p/a.b.kdl", "/p/a.b.lock.kdl"),
        ("/p/Prebuild", "/p/Prebuild.lock.kdl"),
    ] {
        assert_eq!(beside(Path::new(file)), Path::new(expected));
    }
}

#[test]
fn names_select_images_and_urls() {
    let mut all = lockable(&[input(None), branch("next")]);
    let key = |platform: &str| (ImageRef::Alias("dev-base".to_owned()), platform.to_owned());
    let entry = ("ghcr.io/acme/dev:3".to_owned(), NOWHERE);
    all.images.insert(key("linux/amd64"), entry.clone());
    all.images.insert(key("linux/arm64"), entry);
    assert_eq!(all.named("dev-base").images.len(), 2);
    assert_eq!(all.named(URL).repos.len(), 2);
    assert!(all.named("ghcr.io/acme/dev:3").is_empty());
}

/// The entries that another machine needs are not left behind.
#[test]
fn an_image_moves_for_every_platform_that_is_locked() {
    let mut all = lockable(&[]);
    let dev = ImageRef::Alias("dev-base".to_owned());
    let entry = ("ghcr.io/acme/dev:4".to_owned(), NOWHERE);
    all.images.insert((dev, "linux/amd64".to_owned()), entry);
    let asked = |old: &Lock| -> Vec<String> {
        let asked = questions(&all, &all.all(), old).into_iter();
        asked
            .map(|(_, platform, reference, _)| format!("{reference} {platform}"))
            .collect()
    };
    let amd64 = "ghcr.io/acme/dev:4 linux/amd64";
    assert_eq!(asked(&some()), [amd64, "ghcr.io/acme/dev:4 linux/arm64"]);
    assert_eq!(asked(&Lock::default()), [amd64]);
}
