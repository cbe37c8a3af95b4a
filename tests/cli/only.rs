//! The dependency layer: some files of a repository first, the rest in a child that completes the checkout in place.

use crate::git_server::GitServer;
use crate::project::{Project, pairs};
use crate::repo::Repo;

struct Served {
    project: Project,
    server: GitServer,
    clone: Repo,
}

/// A repository of a package and its sources, and a file about it with URL in the place of its address.
fn served(file: &str) -> Served {
    let project = Project::empty();
    let folder = project.root.parent().unwrap().to_owned();
    let clone = Repo::init(&folder.join("clone"), &[]);
    clone.commit("package.json", "{}");
    clone.commit("patches/deep/one", "a patch");
    clone.commit("src/main.txt", "the program");
    let bare = folder.join("served/web.git");
    std::fs::create_dir(folder.join("served")).unwrap();
    clone.git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    clone.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    let server = GitServer::start(&folder.join("served"));
    server
        .bare("web")
        .git(&["config", "uploadpack.allowFilter", "true"]);
    project.write("prebuild.kdl", &file.replace("URL", &server.url("web")));
    Served {
        project,
        server,
        clone,
    }
}

impl Served {
    fn push(&self) {
        self.clone
            .git(&["push", "--quiet", "--force", "origin", "main"]);
    }

    /// Runs a script in the repository of a sandbox of that target.
    fn sh(&self, target: &str, script: &str) -> String {
        let script = format!("cd web; {script}");
        let ran = self.project.run(&["up", target, "--", "sh", "-c", &script]);
        ran.expect(0).stdout
    }
}

/// What [`LAYERED`] is short for.
const BY_HAND: &str = r#"
prebuild default-deps {
    from dev-base
    repo "URL" {
        only package.json "patches/**"
        run "mkdir node_modules; cp package.json node_modules/installed; date +%N > node_modules/when"
    }
}
prebuild default {
    from prebuild=default-deps
    repo "URL" { run "cp src/main.txt built"; }
}
"#;

const LAYERED: &str = r#"
from dev-base
repo "URL" {
    layer {
        only package.json "patches/**"
        run "mkdir node_modules; cp package.json node_modules/installed; date +%N > node_modules/when"
    }
    run "cp src/main.txt built"
}
"#;

/// behaviours 1.23
#[test]
fn a_commit_to_the_code_reinstalls_nothing() {
    let served = served(LAYERED);
    let all = pairs(&[("default-deps", "baked"), ("default", "baked")]);
    assert_eq!(served.project.build(&[]), all);
    let when = served.sh("default", "cat node_modules/when");
    served.clone.commit("src/main.txt", "another program");
    served.push();
    let code = pairs(&[("default-deps", "reused"), ("default", "baked")]);
    assert_eq!(served.project.build(&[]), code);
    assert_eq!(served.sh("default", "cat node_modules/when"), when);
    assert_eq!(served.sh("default", "cat built"), "another program");
    served.clone.commit("package.json", "{\"a\": 1}");
    served.push();
    assert_eq!(served.project.build(&[]), all);
    assert_eq!(
        served.sh("default", "cat node_modules/installed"),
        "{\"a\": 1}"
    );
}

/// What was baked by one is found by the other, and a commit and a lockfile mean the same to both.
#[test]
fn both_spellings_of_a_layer_are_the_same_snapshots() {
    let served = served(LAYERED);
    let url = served.server.url("web");
    let keys = |text: &str| {
        served
            .project
            .write("prebuild.kdl", &text.replace("URL", &url));
        let ran = served.project.run(&["plan", "--json"]).expect(0);
        (ran.column("key"), ran.column("action"))
    };
    for (file, content) in [
        ("src/main.txt", "another program"),
        ("package.json", "{\"a\": 1}"),
    ] {
        let by_hand = keys(BY_HAND);
        assert_eq!(keys(LAYERED), by_hand);
        served.project.run(&["build"]).expect(0);
        let reused = pairs(&[("default-deps", "reuse"), ("default", "reuse")]);
        assert_eq!(keys(BY_HAND), (by_hand.0, reused));
        served.clone.commit(file, content);
        served.push();
    }
    assert_eq!(keys(LAYERED), keys(BY_HAND));
}

#[test]
fn a_layer_has_the_named_files_and_nothing_else() {
    let served = served(LAYERED);
    assert_eq!(
        served.sh(
            "default-deps",
            "find . -type f | sort | grep -v node_modules"
        ),
        "./package.json\n./patches/deep/one\n"
    );
    assert_eq!(
        served.sh("default-deps", "stat -c '%U %a' . package.json"),
        "dev 755\ndev 644\n"
    );
    // The child is a clone like any other, and what it keeps is not in the way.
    assert_eq!(
        served.sh(
            "default",
            "git status --porcelain; git rev-parse HEAD; git log --oneline | wc -l"
        ),
        format!(
            "?? built\n?? node_modules/\n{}\n1\n",
            served.clone.git(&["rev-parse", "HEAD"])
        )
    );
}

/// behaviours 1.24
#[test]
fn a_child_touches_no_file_that_is_right() {
    let served = served(LAYERED);
    let stat = "stat -c '%y %i' package.json patches/deep/one";
    assert_eq!(served.sh("default-deps", stat), served.sh("default", stat));
}

#[test]
fn a_child_puts_right_what_a_step_did() {
    let file = r#"
prebuild deps {
    from dev-base
    repo "URL" {
        only package.json "patches/**"
        run "echo changed > package.json; chmod +x patches/deep/one; rm -r patches/deep; ln -s /tmp patches/deep"
        run "mkdir -p src/main.txt; echo in-the-way > src/main.txt/x; echo mine > mine; echo later > gone"
    }
}
prebuild whole {
    from prebuild=deps
    repo "URL"
}
"#;
    let served = served(file);
    served.project.run(&["build"]).expect(0);
    assert_eq!(
        served.sh("whole", "git status --porcelain; cat package.json patches/deep/one src/main.txt mine; stat -c %a patches/deep/one"),
        "?? gone\n?? mine\n{}a patchthe programmine\n644\n"
    );
}

#[test]
fn what_another_branch_has_not_got_goes() {
    let file = r#"
prebuild deps {
    from dev-base
    repo "URL" { only package.json "patches/**"; run "echo mine > patches/mine"; }
}
prebuild whole {
    from prebuild=deps
    repo "URL" branch=next
}
"#;
    let served = served(file);
    served.clone.git(&["checkout", "--quiet", "-b", "next"]);
    served
        .clone
        .git(&["mv", "patches/deep/one", "patches/deep/two"]);
    served.clone.commit("c", "renamed");
    served.clone.git(&["push", "--quiet", "origin", "next"]);
    served.project.run(&["build"]).expect(0);
    assert_eq!(
        served.sh(
            "whole",
            "find patches -type f | sort; git status --porcelain"
        ),
        "patches/deep/two\npatches/mine\n?? patches/mine\n"
    );
}

#[test]
fn sets_add_up() {
    let file = r#"
prebuild one { from dev-base; repo "URL" { only package.json; }; }
prebuild two { from prebuild=one; repo "URL" { only "patches/**"; }; }
prebuild all { from prebuild=two; repo "URL"; }
"#;
    let served = served(file);
    served.project.run(&["build"]).expect(0);
    assert_eq!(
        served.sh("two", "find . -type f | sort"),
        "./package.json\n./patches/deep/one\n"
    );
    assert_eq!(
        served.sh("all", "git status --porcelain; cat src/main.txt"),
        "the program"
    );
}

#[test]
fn stubs_are_empty_until_the_child_has_them() {
    let file = r#"
prebuild deps { from dev-base; repo "URL" { only package.json; stub "src/**"; }; }
prebuild whole { from prebuild=deps; repo "URL"; }
"#;
    let served = served(file);
    served.clone.commit("src/run.sh", "echo run");
    served
        .clone
        .git(&["update-index", "--chmod=+x", "src/run.sh"]);
    served
        .clone
        .git(&["commit", "--quiet", "--amend", "-m", "executable"]);
    served.push();
    assert_eq!(
        served.sh("deps", "stat -c '%n %s %a' src/*"),
        "src/main.txt 0 644\nsrc/run.sh 0 755\n"
    );
    assert_eq!(
        served.sh("whole", "cat src/main.txt; git status --porcelain"),
        "the program"
    );
}

#[test]
fn links_stay_links_and_odd_names_are_found() {
    let file = r#"from dev-base; repo "URL" { only "**"; }"#;
    let served = served(file);
    std::os::unix::fs::symlink("package.json", served.clone.0.join("link")).unwrap();
    served.clone.commit("a {b} [c]\n'd' \"e\"", "odd");
    served.push();
    assert_eq!(
        served.sh("default", "readlink link; cat 'a {b} [c]\n'\"'d' \"'\"e\"'"),
        "package.json\nodd"
    );
}

#[test]
fn a_pattern_for_nothing_is_a_warning_with_its_place() {
    let file = "from dev-base\nrepo \"URL\" {\n    only package.json pakage-lock.json\n}\n";
    let served = served(file);
    let ran = served.project.run(&["build"]).expect(0);
    assert!(ran.stderr.contains("A0408"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("no path matches `pakage-lock.json`"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("prebuild.kdl:3"), "{}", ran.stderr);
}

/// A repository with a submodule and a file in LFS, both on this disk.
fn with_parts(file: &str) -> Project {
    let project = Project::empty();
    let folder = project.root.parent().unwrap().to_owned();
    let library = Repo::init(&folder.join("library"), &[]);
    library.commit("lib.txt", "the library");
    project.write("package.json", "{}");
    project.write(".gitattributes", "*.bin filter=lfs -text\n");
    let object = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    project.write(
        "assets/hello.bin",
        &format!("version https://git-lfs.github.com/spec/v1\noid sha256:{object}\nsize 5\n"),
    );
    project.write(&format!(".git/lfs/objects/2c/f2/{object}"), "hello");
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../library",
        "vendor/lib",
    ];
    project.git(&add);
    project.write("prebuild.kdl", file);
    project.commit("one");
    project
}

/// behaviours 1.22
#[test]
fn what_is_kept_elsewhere_is_fetched_too() {
    let project = with_parts(
        r#"
prebuild part {
    from dev-base
    repo "." path=web { only package.json "assets/**" "vendor/**"; }
}
prebuild whole { from prebuild=part; repo "." path=web; }
"#,
    );
    let sh = |target: &str, script: &str| {
        let ran = project.run(&["up", target, "--", "sh", "-c", script]);
        ran.expect(0).stdout
    };
    assert_eq!(
        sh(
            "part",
            "cd web; find ~ ! -type d | sort; cat assets/hello.bin vendor/lib/lib.txt"
        ),
        "/home/dev/web/assets/hello.bin\n/home/dev/web/package.json\n/home/dev/web/vendor/lib/lib.txt\nhellothe library"
    );
    assert_eq!(
        sh(
            "whole",
            "cd web; git status --porcelain; git submodule status | cut -c 1; cat assets/hello.bin vendor/lib/lib.txt"
        ),
        " \nhellothe library"
    );
}

#[test]
fn pointers_and_empty_folders_are_kept_if_that_is_wanted() {
    let project = with_parts(
        r#"from dev-base; repo "." path=web lfs=#false submodules=#false { only "assets/**" "vendor/**"; }"#,
    );
    let script = "cd web; head -n 1 assets/hello.bin; find vendor";
    let ran = project.run(&["up", "--", "sh", "-c", script]).expect(0);
    assert_eq!(
        ran.stdout,
        "version https://git-lfs.github.com/spec/v1\nvendor\nvendor/lib\n"
    );
}

/// Whether a server can leave out what is not wanted, or not.
#[test]
fn files_come_from_servers_of_all_kinds() {
    for (name, value) in [("allowFilter", "false"), ("allowAnySHA1InWant", "false")] {
        let served = served(LAYERED);
        served
            .server
            .bare("web")
            .git(&["config", &format!("uploadpack.{name}"), value]);
        served.project.run(&["build"]).expect(0);
        assert_eq!(served.sh("default", "cat patches/deep/one"), "a patch");
    }
    let served = served(LAYERED);
    served.server.behave(crate::git_server::Manner::Old);
    served.project.run(&["build"]).expect(0);
    assert_eq!(served.sh("default", "cat patches/deep/one"), "a patch");
}

#[test]
fn only_what_is_named_is_transferred() {
    let served = served(r#"from dev-base; repo "URL" { only package.json "patches/**"; }"#);
    let noise: Vec<u8> = std::iter::successors(Some(1_u64), |x| {
        Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))
    })
    .take(1 << 20)
    .flat_map(u64::to_be_bytes)
    .collect();
    std::fs::write(served.clone.0.join("large"), noise).unwrap();
    served.clone.commit("src/main.txt", "large");
    served.push();
    served.project.run(&["build"]).expect(0);
    let sent = served.server.sent();
    assert!(sent > 500 && sent < 100_000, "{sent} of 8 MB");
}

/// What the patterns name at a commit is asked once.
#[test]
fn a_second_run_lists_no_tree() {
    let served = served(LAYERED);
    served.project.run(&["plan"]).expect(0);
    let before = served.server.requests().len();
    served.project.run(&["plan"]).expect(0);
    // The refs alone: one question what the server can do, and one for them.
    let asked = served.server.requests().split_off(before);
    assert_eq!(asked, ["GET /web/info/refs", "POST /web/git-upload-pack"]);
}

#[test]
fn a_repository_on_disk_gives_some_of_its_files() {
    let project = Project::empty();
    project.write("package.json", "{}");
    project.write("code", "1");
    project.write(
        "prebuild.kdl",
        "from dev-base\nrepo \".\" path=web { layer { only package.json; run \"cat package.json > installed\"; }; }",
    );
    project.commit("one");
    let all = pairs(&[("default-deps", "baked"), ("default", "baked")]);
    assert_eq!(project.build(&[]), all);
    project.write("code", "2");
    project.commit("two");
    let code = pairs(&[("default-deps", "reused"), ("default", "baked")]);
    assert_eq!(project.build(&[]), code);
    let ran = project.run(&[
        "up",
        "--",
        "sh",
        "-c",
        "cd web; cat code installed; git status --porcelain",
    ]);
    assert_eq!(ran.expect(0).stdout, "2{}?? installed\n");
}
