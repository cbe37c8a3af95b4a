//! The lock: what it pins, what moves it, and what `--locked` and `--fresh` make of it.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::json;

use crate::git_server::Manner;
use crate::project::pairs;
use crate::repositories::{Served, served};

const LOCK: &str = "prebuild.lock.kdl";

impl Served {
    /// A commit on the server that was not there before; returns its id.
    fn push(&self, content: &str) -> String {
        let commit = self.clone.commit("pushed", content);
        self.clone.git(&["push", "--quiet", "origin", "HEAD"]);
        commit
    }

    /// Another repository on the same server, with one commit; returns its URL and that commit.
    fn another(&self, name: &str) -> (String, String) {
        let folder = self.project.root.parent().unwrap();
        let clone = crate::repo::Repo::init(&folder.join(name), &[]);
        let commit = clone.commit("a", name);
        let bare = folder.join(format!("served/{name}.git"));
        clone.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        (self.server.url(name), commit)
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.project.root.join(LOCK)).unwrap()
    }

    fn entries(&self) -> Vec<String> {
        let lock = self.lock();
        let is_entry = |line: &&str| !line.is_empty();
        lock.lines()
            .skip(2)
            .filter(is_entry)
            .map(str::to_owned)
            .collect()
    }

    fn entry(&self, commit: &str) -> String {
        let url = self.server.url("web");
        format!("repo \"{url}\" ref=\"refs/heads/main\" head=\"{commit}\" default=#true")
    }

    /// How often the server was asked for anything.
    fn asked(&self) -> usize {
        self.server.requests().len()
    }
}

/// behaviours 1.7, 2.10
#[test]
fn a_ref_that_moves_leaves_what_is_locked_as_it_is() {
    let served = served("");
    let url = served.server.url("web");
    let old = served.head();
    let ran = served.project.run(&["update"]).expect(0);
    let short = |commit: &str| format!("{}…", &commit[..12]);
    let line = format!("repo {url} refs/heads/main: nothing → {}\n", short(&old));
    assert_eq!(ran.stdout, line);
    assert_eq!(served.entries(), [served.entry(&old)]);
    served.project.run(&["build"]).expect(0);
    let new = served.push("new");
    // The lock is found without being asked for, and holds.
    assert_eq!(served.project.plan(&[]), pairs(&[("default", "reuse")]));
    assert_eq!(served.sh("git rev-parse HEAD"), format!("{old}\n"));
    let fresh = served.project.run(&["plan", "--fresh"]).expect(0).stdout;
    let reason = format!(
        "changed: repo / web / commit {} → {}",
        short(&old),
        short(&new)
    );
    assert!(fresh.contains(&reason), "{fresh}");
    let line = format!(
        "repo {url} refs/heads/main: {} → {}\n",
        short(&old),
        short(&new)
    );
    let check = served.project.run(&["update", "--check"]).expect(4);
    assert_eq!(check.stdout, line);
    assert_eq!(served.entries(), [served.entry(&old)]);
    assert_eq!(served.project.run(&["update"]).expect(0).stdout, line);
    assert_eq!(served.entries(), [served.entry(&new)]);
    let plan = served.project.run(&["plan"]).expect(0).stdout;
    assert!(plan.contains(&reason), "{plan}");
    assert_eq!(served.sh("git rev-parse HEAD"), format!("{new}\n"));
}

/// behaviours 2.18, and 2, next in line: a lock that is there is found and applied.
#[test]
fn nobody_is_asked_for_what_is_locked() {
    let served = served("");
    served.project.run(&["update"]).expect(0);
    served.project.run(&["build"]).expect(0);
    let asked = served.asked();
    served.server.behave(Manner::Hang);
    for words in [
        &["plan", "--exit-code"][..],
        &["build"],
        &["build", "--locked"],
        &["up", "--", "true"],
    ] {
        served.project.run(words).expect(0);
    }
    assert_eq!(served.asked(), asked);
}

/// A private repository is planned without its token, and baked with it.
#[test]
fn a_locked_private_repository_needs_its_token_for_the_bake_alone() {
    let served = served("auth=TOKEN");
    served.project.edit("from", "secret TOKEN\nfrom");
    let (user, password) = ("x-access-token".to_owned(), "s3cr3t".to_owned());
    served.server.behave(Manner::Login { user, password });
    served.project.write("token", "s3cr3t\n");
    let token = ["--secret", "TOKEN=file:token"];
    served.project.run(&["update"]).expect(5);
    served
        .project
        .run(&[&["update"][..], &token].concat())
        .expect(0);
    served.project.run(&["plan"]).expect(0);
    served
        .project
        .run(&[&["build"][..], &token].concat())
        .expect(0);
    served
        .project
        .run(&["plan", "--exit-code", "--locked"])
        .expect(0);
    assert!(!served.lock().contains("s3cr3t"));
}

/// behaviours 1, near misses: a frozen lock that is out of date is an error.
#[test]
fn locked_names_every_input_that_is_not_in_the_lock_and_asks_nobody() {
    let served = served("");
    let (api, _) = served.another("api");
    served.project.run(&["update"]).expect(0);
    served.project.edit(
        "repo",
        &format!("repo \"{api}\" branch=main\nrepo \"{api}\" tag=v1 path=b\nrepo"),
    );
    let asked = served.asked();
    for verb in ["plan", "build", "up"] {
        let ran = served.project.run(&[verb, "--locked"]).expect(4);
        assert!(ran.stderr.contains("A0502"), "{}", ran.stderr);
        for (input, line) in [("branch main", 2), ("tag v1", 3)] {
            let message = format!("{api} ({input}) is not locked");
            assert!(ran.stderr.contains(&message), "{}", ran.stderr);
            let place = format!("prebuild.kdl:{line}:6");
            assert!(ran.stderr.contains(&place), "{}", ran.stderr);
        }
        assert!(
            ran.stderr.contains("not in prebuild.lock.kdl"),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains("run `atelier update`"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(served.asked(), asked);
    fs::remove_file(served.project.root.join(LOCK)).unwrap();
    let ran = served.project.run(&["plan", "--locked"]).expect(4);
    assert!(
        ran.stderr.contains("there is no prebuild.lock.kdl"),
        "{}",
        ran.stderr
    );
    let both = served
        .project
        .run(&["plan", "--locked", "--fresh"])
        .expect(2);
    assert!(
        both.stderr.contains("cannot be used with"),
        "{}",
        both.stderr
    );
}

/// What is on this machine, and what the file pins, has no entry and needs none.
#[test]
fn locked_takes_what_is_on_this_machine_as_it_is() {
    let served = served("");
    let head = served.head();
    served.project.write("local", "text");
    let url = served.server.url("web");
    served.project.write(
        "prebuild.kdl",
        &format!(
            "from host\nrepo \".\" path=here\nrepo \"{url}\" commit=\"{head}\"\nfile a from=local"
        ),
    );
    served.project.commit("all");
    served.project.run(&["plan", "--locked"]).expect(0);
    let ran = served.project.run(&["update"]).expect(0);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("", "note: prebuild.lock.kdl is up to date, 0 in all\n")
    );
    assert!(!served.project.root.join(LOCK).exists());
    for name in ["host", ".", &url] {
        let ran = served.project.run(&["update", name]).expect(2);
        assert!(
            ran.stderr.contains(&format!("`{name}` is never locked")),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(served.asked(), 0);
}

/// behaviours 2.8: another URL or ref is another input, whatever the lock has for the old one.
#[test]
fn an_input_that_is_written_otherwise_is_not_in_the_lock() {
    let served = served("");
    served
        .clone
        .git(&["push", "--quiet", "origin", "main:next"]);
    served.project.run(&["update"]).expect(0);
    let new = served.push("new");
    let url = served.server.url("web");
    served
        .project
        .edit(&format!("{url}\" "), &format!("{url}\" branch=next"));
    served.project.run(&["plan", "--locked"]).expect(4);
    served
        .clone
        .git(&["push", "--quiet", "origin", "main:next"]);
    served.project.run(&["build"]).expect(0);
    assert_eq!(
        served.project.snapshots()[0]["commits"],
        json!({"web": new})
    );
    // The branch that was the default one is locked by its name too.
    served.project.edit("branch=next", "branch=main");
    served.project.run(&["plan", "--locked"]).expect(0);
}

/// behaviours 2, next in line: updating one input touches no other.
#[test]
fn an_update_by_name_moves_what_is_named_and_nothing_else() {
    let served = served("");
    let (web, api) = (served.server.url("web"), served.another("api").0);
    served.project.write(
        "prebuild.kdl",
        &format!("prebuild web {{ from dev-base; repo \"{web}\"; }}\nprebuild api {{ from dev-base; repo \"{api}\"; }}\nprebuild both {{ from prebuild=web; repo \"{api}\"; }}\n"),
    );
    served.project.run(&["update"]).expect(0);
    let first = served.entries();
    let new = served.push("new");
    let moved = |words: &[&str]| -> Vec<String> {
        let ran = served
            .project
            .run(&[&["update", "--check", "--json"], words].concat());
        let json = ran.json();
        assert_eq!(
            (&json["schema"], &json["written"]),
            (&json!("atelier.update/1"), &json!(false))
        );
        let changes = json["changes"].as_array().unwrap().clone();
        assert_eq!(ran.code(), if changes.is_empty() { 0 } else { 4 });
        changes
            .iter()
            .map(|change| change["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let none = Vec::<String>::new();
    for (words, expected) in [
        (&["web"][..], vec![web.clone()]),
        (&["both"], vec![web.clone()]),
        (&["api"], none.clone()),
        (&[&api], none.clone()),
        (&[&web], vec![web.clone()]),
        (&[&format!("{web}.git")], vec![web.clone()]),
        (&["--images"], none.clone()),
        (&["--repos"], vec![web.clone()]),
        (&["--images", "web"], none),
        (&["./prebuild.kdl", "api", "web"], vec![web.clone()]),
    ] {
        assert_eq!(moved(words), expected, "{words:?}");
    }
    assert_eq!(served.entries(), first);
    let ran = served.project.run(&["update", "--json", "web"]).expect(0);
    let change = json!({"kind": "repo", "name": web, "ref": "refs/heads/main", "old": ran.json()["changes"][0]["old"], "new": new});
    assert_eq!(ran.json()["changes"], json!([change]));
    assert_eq!(ran.json()["written"], true);
    assert_eq!(served.entries(), [first[0].clone(), served.entry(&new)]);
    let unknown = served.project.run(&["update", "nothing"]).expect(2);
    assert!(
        unknown
            .stderr
            .contains("has no target, image or repository `nothing`"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn what_nobody_names_any_more_leaves_with_a_whole_update() {
    let served = served("");
    let (api, commit) = served.another("api");
    served
        .project
        .edit("repo", &format!("repo \"{api}\"\nrepo"));
    served.project.run(&["update"]).expect(0);
    assert_eq!(served.entries().len(), 2);
    served.project.edit(&format!("repo \"{api}\"\n"), "");
    // It is no fault to a build.
    served.project.run(&["plan", "--locked"]).expect(0);
    for words in [&["update", "--repos"][..], &["update", "default"]] {
        assert_eq!(served.project.run(words).expect(0).stdout, "");
    }
    assert_eq!(served.entries().len(), 2);
    let line = format!("repo {api} refs/heads/main: {}… → nothing\n", &commit[..12]);
    assert_eq!(
        served.project.run(&["update", "--check"]).expect(4).stdout,
        line
    );
    assert_eq!(served.project.run(&["update"]).expect(0).stdout, line);
    assert_eq!(served.entries(), [served.entry(&served.head())]);
}

#[test]
fn a_lock_is_written_by_update_alone_and_only_when_something_moved() {
    let served = served("");
    served.project.run(&["build"]).expect(0);
    assert!(!served.project.root.join(LOCK).exists());
    let stale = served.project.run(&["update", "--check"]).expect(4);
    assert!(
        stale
            .stderr
            .contains("prebuild.lock.kdl is stale: 1 entry would change"),
        "{}",
        stale.stderr
    );
    assert!(!served.project.root.join(LOCK).exists());
    served.project.run(&["update"]).expect(0);
    let inode = || fs::metadata(served.project.root.join(LOCK)).unwrap().ino();
    let first = inode();
    served.push("new");
    served.project.run(&["build", "--fresh"]).expect(0);
    assert_eq!(inode(), first);
    served.project.run(&["update"]).expect(0);
    let second = inode();
    assert_ne!(second, first);
    // Written otherwise, it says the same.
    let text = served.lock().replace("ref=", "  ref=");
    served.project.write(LOCK, &text);
    let ran = served.project.run(&["update"]).expect(0);
    assert_eq!((ran.stdout.as_str(), served.lock()), ("", text));
    served.project.run(&["update", "--check"]).expect(0);
    // Nothing is left beside it.
    let names = fs::read_dir(&served.project.root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, [".git", "prebuild.kdl", LOCK]);
}

#[test]
fn an_update_that_fails_writes_nothing() {
    let served = served("");
    served.project.run(&["update"]).expect(0);
    let first = served.lock();
    let new = served.push("new");
    let gone = served.server.url("gone");
    served
        .project
        .edit("repo", &format!("repo \"{gone}\"\nrepo"));
    let ran = served.project.run(&["update"]).expect(5);
    assert!(
        ran.stderr.contains(&format!("cannot resolve {gone}")),
        "{}",
        ran.stderr
    );
    assert_eq!((ran.stdout.as_str(), served.lock()), ("", first));
    // What is whole can be moved by its name.
    served
        .project
        .run(&["update", &served.server.url("web")])
        .expect(0);
    assert_eq!(served.entries(), [served.entry(&new)]);
}

#[test]
fn a_lock_that_cannot_be_read_stops_what_would_use_it() {
    let served = served("");
    served.project.run(&["update"]).expect(0);
    let good = served.lock();
    let entry = served.entries()[0].clone();
    for (text, message, place) in [
        (
            good.replace("lock 1", "lock 2"),
            "lock 2 is newer than what this atelier reads (1)",
            "2:1",
        ),
        (
            good.replace("head=", "commit="),
            "`repo` has no `commit`",
            "4:",
        ),
        (format!("{good}{entry}\n"), "twice", "5:1"),
        (
            format!("<<<<<<< HEAD\n{good}=======\n{good}>>>>>>> topic\n"),
            "a merge has left conflicts in the lock",
            "1:1",
        ),
    ] {
        served.project.write(LOCK, &text);
        for words in [&["plan"][..], &["build", "--locked"], &["update"]] {
            let ran = served.project.run(words).expect(4);
            assert!(ran.stderr.contains(message), "{}", ran.stderr);
            assert!(
                ran.stderr.contains(&format!("prebuild.lock.kdl:{place}")),
                "{}",
                ran.stderr
            );
        }
        assert_eq!(served.lock(), text);
        served.project.run(&["plan", "--fresh"]).expect(0);
    }
}

#[test]
fn a_file_of_another_name_has_a_lock_of_its_own() {
    let served = served("");
    let text = fs::read_to_string(served.project.root.join("prebuild.kdl")).unwrap();
    served.project.write("ci/web.kdl", &text);
    served.project.run(&["update", "ci/web.kdl"]).expect(0);
    assert!(served.project.root.join("ci/web.lock.kdl").is_file());
    assert!(!served.project.root.join(LOCK).exists());
    served
        .project
        .run(&["plan", "--locked", "ci/web.kdl"])
        .expect(0);
    served.project.run(&["plan", "--locked"]).expect(4);
}

/// Two people's updates of neighbours in the lock merge by themselves.
#[test]
fn updates_of_different_inputs_merge() {
    let served = served("");
    let (api, _) = served.another("api");
    let project = &served.project;
    project.edit("repo", &format!("repo \"{api}\"\nrepo"));
    project.run(&["update"]).expect(0);
    project.commit("locked");
    let new = served.push("new");
    project.run(&["update"]).expect(0);
    project.commit("web moves");
    project.git(&["checkout", "--quiet", "-b", "other", "HEAD~1"]);
    let clone = crate::repo::Repo(project.root.parent().unwrap().join("api"));
    let newer = clone.commit("a", "newer");
    let bare = project.root.parent().unwrap().join("served/api.git");
    clone.git(&["push", "--quiet", bare.to_str().unwrap(), "main"]);
    project.run(&["update", &api]).expect(0);
    project.commit("api moves");
    project.git(&["merge", "--quiet", "main"]);
    project.run(&["update", "--check"]).expect(0);
    let (text, commits) = (served.lock(), [new, newer]);
    assert!(commits.iter().all(|commit| text.contains(commit)), "{text}");
}

/// behaviours 1.3: what was locked and is gone is an error that says so, and never another commit.
#[test]
fn a_locked_commit_that_is_gone_is_an_error() {
    let served = served("");
    served.push("to be gone");
    served.project.run(&["update"]).expect(0);
    let gone = served.head();
    served.clone.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    served
        .clone
        .git(&["push", "--quiet", "--force", "origin", "HEAD"]);
    let bare = crate::repo::Repo(served.project.root.parent().unwrap().join("served/web.git"));
    bare.git(&["reflog", "expire", "--expire=now", "--all"]);
    bare.git(&["gc", "--quiet", "--prune=now"]);
    let ran = served.project.run(&["build"]).expect(5);
    assert!(ran.stderr.contains(&gone), "{}", ran.stderr);
    assert!(ran.stderr.contains("atelier update"), "{}", ran.stderr);
    assert_eq!(served.project.snapshots(), [] as [serde_json::Value; 0]);
    served.project.run(&["update"]).expect(0);
    served.project.run(&["build"]).expect(0);
}
