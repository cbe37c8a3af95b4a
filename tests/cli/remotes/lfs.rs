//! Files that are kept in LFS, from a real server by the real git-lfs: contents in the workspace, and no pointer.

use std::fs;

use super::web_server::{PASSWORD, WebServer, pointer};
use crate::project::{Project, Ran};
use crate::repo::Repo;

/// A repository on a web server, with files in LFS.
pub(crate) struct Kept {
    pub(crate) project: Project,
    pub(crate) server: WebServer,
    pub(crate) web: Repo,
}

const ATTRIBUTES: &str = "*.bin filter=lfs diff=lfs merge=lfs -text\n";

impl Kept {
    /// Below `private` it wants a login.
    pub(crate) fn at(name: &str) -> Self {
        let project = Project::empty();
        let server = WebServer::start();
        let web = Repo::init(&project.root.parent().unwrap().join("web"), &[]);
        Repo::init(&server.bare(name), &["--bare"]);
        web.git(&[
            "remote",
            "add",
            "origin",
            server.bare(name).to_str().unwrap(),
        ]);
        web.commit(".gitattributes", ATTRIBUTES);
        web.commit(
            "big.bin",
            &server.keep(&[b"big\0".as_slice(), &vec![7; 100_000]].concat()),
        );
        web.commit("sub folder/-x.bin", &server.keep(b"small"));
        fs::write(web.0.join("empty.bin"), "").unwrap();
        // What looks like a pointer, and is not said to be one.
        web.commit("fixture", &pointer(&"1".repeat(64), 5));
        let kept = Self {
            project,
            server,
            web,
        };
        kept.push();
        kept
    }

    fn push(&self) {
        self.web
            .git(&["push", "--quiet", "--force", "origin", "main"]);
    }

    pub(crate) fn file(&self, url: &str, options: &str) {
        let text = format!("from dev-base\nrepo \"{url}\" {options}");
        self.project.write("prebuild.kdl", &text);
    }

    fn sh(&self, script: &str) -> String {
        let words = ["up", "--", "sh", "-ec", script];
        self.project.run(&words).expect(0).stdout
    }

    fn failed(&self) -> Ran {
        let ran = self.project.run(&["build"]).expect(5);
        assert!(ran.stderr.contains("lfs=#false"), "{}", ran.stderr);
        assert!(self.project.snapshots().is_empty());
        ran
    }
}

fn kept() -> Kept {
    let kept = Kept::at("web");
    kept.file(&kept.server.url("web"), "");
    kept
}

/// behaviours 1.22
#[test]
fn contents_are_there_and_no_pointer_is() {
    let kept = kept();
    let look = "cd web; head -c 3 big.bin; echo; cat 'sub folder/-x.bin'; echo; wc -c <big.bin; wc -c <empty.bin; \
        grep -rlE '^oid sha256:' --exclude-dir=.git .";
    assert_eq!(kept.sh(look), "big\nsmall\n100004\n0\n./fixture\n");
    // The objects are there once, nothing says how the server was reached, and all is dev's own.
    let look = "cd web/.git; find lfs -type f | wc -l; ls lfs; git config --local --list | grep -i lfs || echo none; \
        find .. ! -user dev; ls ../.git";
    let expected =
        "2\nobjects\nnone\nHEAD\nORIG_HEAD\nconfig\nindex\nlfs\nlogs\nobjects\nrefs\nshallow\n";
    assert_eq!(kept.sh(look), expected);
}

/// A sandbox may have no git-lfs, and git no reason to miss it.
#[test]
fn git_status_needs_no_git_lfs() {
    let kept = kept();
    let git = "cd web; export GIT_CONFIG_NOSYSTEM=1 GIT_TRACE=1; git";
    for command in [
        "status --porcelain",
        "diff --exit-code",
        "diff --exit-code --cached",
    ] {
        let found = kept.sh(&format!("{git} {command} 2>&1"));
        let plain: Vec<_> = found
            .lines()
            .filter(|line| !line.contains("trace: "))
            .collect();
        assert_eq!(plain, Vec::<&str>::new(), "{command}");
        assert!(!found.contains("lfs"), "{found}");
    }
    let found = kept.sh("cd web; export GIT_CONFIG_NOSYSTEM=1; sleep 3; git status --porcelain; git fsck 2>&1; touch plain; git add plain; git status --porcelain");
    assert_eq!(found, "A  plain\n");
    // With it, what was changed is seen, and is kept in LFS.
    let change = "cd web; echo more >>big.bin; git add big.bin; git status --porcelain; git show :big.bin | head -n 1; git lfs fsck --pointers >/dev/null && echo whole";
    let expected = "M  big.bin\nversion https://git-lfs.github.com/spec/v1\nwhole\n";
    assert_eq!(kept.sh(change), expected);
}

#[test]
fn pointers_are_kept_if_that_is_wanted() {
    let kept = kept();
    kept.file(&kept.server.url("web"), "lfs=#false");
    let look = "cd web; head -n 1 big.bin; ls -d .git/lfs 2>/dev/null || echo no store; git status --porcelain";
    let expected = "version https://git-lfs.github.com/spec/v1\nno store\n";
    assert_eq!(kept.sh(look), expected);
    let asked = kept.server.requests();
    assert!(
        !asked.iter().any(|request| request.contains("/info/lfs")),
        "{asked:?}"
    );
}

/// behaviours 1.9
#[test]
fn a_private_one_is_opened_by_the_repository_s_token() {
    let kept = Kept::at("private/web");
    let url = kept.server.url("private/web");
    let file =
        format!("secret TOKEN\nprebuild app {{ from dev-base; repo \"{url}\" auth=TOKEN; }}");
    kept.project.write("prebuild.kdl", &file);
    let look = "cd web; cat 'sub folder/-x.bin'; cat .git/config | grep -c lfs || :";
    let words = [
        "up",
        "--secret",
        "TOKEN=env:CANARY",
        "--",
        "sh",
        "-ec",
        look,
    ];
    let mut command = kept.project.atelier(&words);
    command.env("CANARY", format!("me:{PASSWORD}"));
    let ran = kept.project.run_command(command).expect(0);
    assert_eq!(ran.stdout, "small0\n");
    let asked = kept.server.requests();
    let batch = "POST /private/web.git/info/lfs/objects/batch 200 me";
    assert!(
        asked.iter().any(|request| request.ends_with(batch)),
        "{asked:?}"
    );
    let found = crate::secrets::found_in(&kept.project.store, PASSWORD);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_content_that_the_server_does_not_have_is_named() {
    let kept = kept();
    kept.web.commit("lost.bin", &pointer(&"2".repeat(64), 5));
    kept.push();
    let ran = kept.failed();
    let expected = "the content of lost.bin, which is kept in LFS: the server does not have it";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn a_content_that_is_not_what_it_says_is_not_taken() {
    let kept = kept();
    let oid = kept.server.keep(b"honest").split_once("sha256:").unwrap().1[..64].to_owned();
    kept.web.commit("forged.bin", &pointer(&oid, 6));
    fs::write(kept.server.object(&oid), "forged").unwrap();
    kept.push();
    let ran = kept.failed();
    assert!(
        ran.stderr.contains("the content of forged.bin"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_server_without_lfs_is_told() {
    let kept = kept();
    // Git alone, without LFS beside it.
    let served = kept.server.bare("web").parent().unwrap().to_owned();
    let plain = crate::git_server::GitServer::start(&served);
    kept.file(&plain.url("web"), "");
    let ran = kept.failed();
    for text in [
        "there is no LFS server to ask",
        "see that the server has LFS switched on",
    ] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
}

#[test]
fn without_git_lfs_it_says_what_to_install() {
    let kept = kept();
    let folder = kept.project.root.parent().unwrap().join("bin");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(which("git"), folder.join("git")).unwrap();
    std::os::unix::fs::symlink(which("sh"), folder.join("sh")).unwrap();
    let mut command = kept.project.atelier(&["build"]);
    command.env("PATH", &folder);
    let ran = kept.project.run_command(command).expect(5);
    for text in [
        "it keeps files in LFS, and there is no git-lfs",
        "help: install git-lfs, or keep",
    ] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
}

fn which(program: &str) -> std::path::PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| path.exists())
        .unwrap()
}

#[test]
fn another_server_is_asked_without_the_token() {
    let kept = Kept::at("private/web");
    let other = WebServer::start();
    let text = format!(
        "[lfs]\n\turl = {}\n\tfetchexclude = *\n",
        other.url("private/elsewhere/info/lfs")
    );
    kept.web.commit(".lfsconfig", &text);
    kept.push();
    let url = kept.server.url("private/web");
    let file =
        format!("secret TOKEN\nprebuild app {{ from dev-base; repo \"{url}\" auth=TOKEN; }}");
    kept.project.write("prebuild.kdl", &file);
    let build = || {
        let mut command = kept
            .project
            .atelier(&["build", "--secret", "TOKEN=env:CANARY"]);
        command.env("CANARY", format!("me:{PASSWORD}"));
        kept.project.run_command(command)
    };
    let ran = build().expect(5);
    assert!(ran.stderr.contains("asks for a login"), "{}", ran.stderr);
    let asked = other.requests();
    assert!(
        asked.iter().all(|request| request.ends_with(" 401 -")),
        "{asked:?}"
    );
    assert!(!asked.is_empty());
    // Open, it is asked for what its repository would rather leave out.
    kept.web.commit(".lfsconfig", &text.replace("private/", ""));
    kept.push();
    let ran = build().expect(5);
    assert!(
        ran.stderr.contains("the server does not have it"),
        "{}",
        ran.stderr
    );
    // A path of this machine is no server.
    kept.web
        .commit(".lfsconfig", "[lfs]\n\turl = file:///tmp\n");
    kept.push();
    let ran = build().expect(5);
    assert!(
        ran.stderr
            .contains("in its .lfsconfig its URL `file:///tmp` is none of https and ssh"),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_a_repository_on_disk_has_is_taken_from_it() {
    let kept = kept();
    let mine = Repo(kept.project.root.parent().unwrap().join("mine"));
    fs::create_dir(&mine.0).unwrap();
    mine.git(&["clone", "--quiet", &kept.server.url("web"), "."]);
    mine.try_git(&["lfs", "fetch"]);
    kept.project
        .write("prebuild.kdl", "from dev-base\nrepo \"../mine\" path=web");
    assert_eq!(
        kept.sh("cd web; cat 'sub folder/-x.bin'; git status --porcelain"),
        "small"
    );
    // Those of `mine`, one of which the server may have noted late.
    let asked = kept.server.requests();
    for (what, times) in [("/info/refs", 1), ("/objects/batch", 1)] {
        let found = asked.iter().filter(|line| line.contains(what)).count();
        assert_eq!(found, times, "{what}: {asked:?}");
    }
    // A damaged one is not believed, and there is no URL to ask instead: http is for this machine.
    let object = mine.0.join(".git/lfs/objects");
    let damage =
        "find . -type f -size -2 -exec sh -c 'chmod u+w \"$1\"; printf forge >\"$1\"' sh {} ';'";
    let damaged = std::process::Command::new("sh")
        .args(["-c", damage])
        .current_dir(object)
        .status();
    assert!(damaged.unwrap().success());
    let ran = kept.project.run(&["build", "--force", "default"]).expect(5);
    for text in [
        "the content of sub folder/-x.bin",
        "the repository has no URL",
    ] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
}

#[test]
fn submodules_have_theirs() {
    let kept = kept();
    let lib = Repo::init(&kept.project.root.parent().unwrap().join("lib"), &[]);
    Repo::init(&kept.server.bare("lib"), &["--bare"]);
    lib.git(&[
        "remote",
        "add",
        "origin",
        kept.server.bare("lib").to_str().unwrap(),
    ]);
    lib.commit(".gitattributes", ATTRIBUTES);
    lib.commit("lib.bin", &kept.server.keep(b"of lib"));
    lib.git(&["push", "--quiet", "origin", "main"]);
    kept.web.link(
        "lib",
        "vendor/lib",
        "../lib",
        &lib.git(&["rev-parse", "HEAD"]),
    );
    kept.web.git(&["commit", "--quiet", "-m", "lib"]);
    kept.push();
    let look = "cd web; export GIT_CONFIG_NOSYSTEM=1; cat vendor/lib/lib.bin; echo; git status --porcelain; cd vendor/lib; git status --porcelain; ls ../../.git/modules/lib/lfs";
    assert_eq!(kept.sh(look), "of lib\nobjects\n");
    let asked = kept.server.requests();
    assert!(
        asked
            .iter()
            .any(|request| request.contains("/lib.git/info/lfs/")),
        "{asked:?}"
    );
}

#[test]
fn a_child_leaves_right_files_alone() {
    let kept = kept();
    kept.project.run(&["build"]).expect(0);
    let url = kept.server.url("web");
    // The snapshot's own layers are other files than those that were checked out.
    let text = format!(
        "prebuild one {{ from dev-base; repo \"{url}\"; }}\n\
         prebuild default {{ from prebuild=one; run \"cp -a web copy; cd copy; GIT_CONFIG_NOSYSTEM=1 git status --porcelain >../status\"; }}"
    );
    kept.project.write("prebuild.kdl", &text);
    assert_eq!(
        kept.sh("cat status; GIT_CONFIG_NOSYSTEM=1 git -C web status --porcelain"),
        ""
    );
}
