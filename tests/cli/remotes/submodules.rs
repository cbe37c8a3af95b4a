//! Submodules in a workspace: what `git clone --recurse-submodules` gives, and nothing else.

use super::site::{Site, publish};
use crate::git_server::{GitServer, Manner};
use crate::repo::Repo;

/// `web` has `lib` at `vendor/lib`, which has `inner` at `deep/inner`.
struct Nested {
    site: Site,
    web: Repo,
    lib: Repo,
    inner: Repo,
}

fn nested() -> Nested {
    let site = Site::new();
    let [web, lib, inner] = ["web", "lib", "inner"].map(|name| site.repository(name));
    lib.link("inner", "deep/inner", "../inner", &head(&inner));
    publish(&lib, "inner");
    web.link("lib", "vendor/lib", "../lib.git", &head(&lib));
    publish(&web, "lib");
    site.file("web", "");
    Nested {
        site,
        web,
        lib,
        inner,
    }
}

fn head(repo: &Repo) -> String {
    repo.git(&["rev-parse", "HEAD"])
}

/// behaviours 1.22, 1.20
#[test]
fn they_are_there_at_the_commits_that_the_tree_names() {
    let Nested {
        site,
        web,
        lib,
        inner,
    } = nested();
    let look = "cd web; git status --porcelain; git submodule status --recursive; \
        cat vendor/lib/lib vendor/lib/deep/inner/inner; echo; git fsck 2>&1; \
        git submodule foreach --recursive --quiet 'git status --porcelain; git fsck 2>&1; id -un'";
    let status = format!(
        " {} vendor/lib\n {} vendor/lib/deep/inner\noneone\ndev\ndev\n",
        head(&lib),
        head(&inner)
    );
    let found = site.sh(look);
    let plain = |line: &str| line.split(" (").next().unwrap_or_default().to_owned() + "\n";
    assert_eq!(found.lines().map(plain).collect::<String>(), status);
    // All is dev's own, and of the machine there is nothing.
    let machine = site.path("");
    let look = format!(
        "find web ! -user dev; grep -rl '{}' web || echo nothing; cat web/vendor/lib/.git; \
         git -C web config submodule.lib.url; git -C web/vendor/lib rev-list --count HEAD",
        machine.display()
    );
    let expected = format!(
        "nothing\ngitdir: ../../.git/modules/lib\n{}\n1\n",
        site.server.url("lib")
    );
    assert_eq!(site.sh(&look), expected);
    // What was pushed later is one command away.
    let later = publish(&lib, "later");
    let fetch = "cd web/vendor/lib; git fetch --quiet origin main; git checkout --quiet FETCH_HEAD; git rev-parse HEAD; git -C ../.. status --porcelain";
    assert_eq!(site.sh(fetch), format!("{later}\n M vendor/lib\n"));
    drop(web);
}

/// behaviours 1.22: their commits are in the key, since they are in the tree.
#[test]
fn a_change_of_the_innermost_is_another_key() {
    let nested = nested();
    nested.site.project.run(&["build"]).expect(0);
    nested.inner.commit("inner", "two");
    nested
        .lib
        .gitlink("deep/inner", &publish(&nested.inner, "changed"));
    // Nobody names it yet.
    nested.site.project.run(&["plan", "--exit-code"]).expect(0);
    nested
        .web
        .gitlink("vendor/lib", &publish(&nested.lib, "changed"));
    publish(&nested.web, "changed");
    nested.site.project.run(&["plan", "--exit-code"]).expect(10);
    assert_eq!(nested.site.sh("cat web/vendor/lib/deep/inner/inner"), "two");
    assert_eq!(nested.site.project.snapshots().len(), 2);
}

#[test]
fn without_them_their_folders_are_empty() {
    let nested = nested();
    nested.site.file("web", "submodules=#false");
    let look = "cd web; git status --porcelain; git submodule status; ls -A vendor/lib; ls .git";
    let found = nested.site.sh(look);
    let status = format!("-{} vendor/lib\n", head(&nested.lib));
    assert!(found.starts_with(&status), "{found}");
    assert!(!found.contains("modules\n"), "{found}");
}

#[test]
fn a_step_that_breaks_one_is_found_before_anything_is_published() {
    const BREAK: &str = "cd web/.git/modules/lib; chmod u+w objects/pack/*.pack; truncate -s 30 objects/pack/*.pack";
    let nested = nested();
    let url = nested.site.server.url("web");
    let file = |run: &str| {
        let text = format!("from dev-base\nrepo \"{url}\"\nrun \"{run}\"");
        nested.site.project.write("prebuild.kdl", &text);
    };
    // Also one that is not listed, or not checked out, any more: git would use it again.
    for before in [
        "",
        "git -C web rm -q --cached vendor/lib; ",
        "rm -rf web/vendor/lib; ",
    ] {
        file(&format!("{before}{BREAK}"));
        let ran = nested.site.project.run(&["build"]).expect(6);
        assert!(
            ran.stderr.contains("cannot verify the repository web"),
            "{before}: {}",
            ran.stderr
        );
    }
    // One that is no repository any more is nobody's business.
    for run in [
        "rm -rf web/vendor/lib",
        "rm -rf web/vendor/lib web/.git/modules",
    ] {
        file(run);
        nested.site.project.run(&["build"]).expect(0);
    }
}

#[test]
fn what_cannot_be_had_is_an_error_that_names_it() {
    let nested = nested();
    nested.web.git(&[
        "config",
        "--file",
        ".gitmodules",
        "submodule.lib.url",
        "file:///srv/lib.git",
    ]);
    nested.web.git(&["add", ".gitmodules"]);
    publish(&nested.web, "a file");
    let ran = nested.site.project.run(&["build"]).expect(5);
    for text in [
        "A0501",
        "submodule vendor/lib: its URL `file:///srv/lib.git` is none of https and ssh",
        "help: change it in the repository, or leave submodules out with `submodules=#false`",
    ] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
    assert!(nested.site.project.snapshots().is_empty());
    nested.site.project.assert_nothing_left();
}

/// behaviours 1.9
#[test]
fn a_token_opens_submodules_of_its_own_server_alone() {
    let nested = nested();
    let token = "canary-of-web";
    let login = Manner::Login {
        user: "x-access-token".to_owned(),
        password: token.to_owned(),
    };
    nested.site.server.behave(login.clone());
    let url = nested.site.server.url("web");
    let file =
        format!("secret TOKEN\nprebuild app {{ from dev-base; repo \"{url}\" auth=TOKEN; }}");
    nested.site.project.write("prebuild.kdl", &file);
    let build = || {
        let mut command = nested
            .site
            .project
            .atelier(&["build", "--secret", "TOKEN=env:CANARY"]);
        command.env("CANARY", token);
        nested.site.project.run_command(command)
    };
    build().expect(0);
    // Now the innermost is elsewhere, where the same token would do.
    let other = GitServer::start(&nested.site.path("served"));
    other.behave(login);
    nested.lib.git(&[
        "config",
        "--file",
        ".gitmodules",
        "submodule.inner.url",
        &other.url("inner"),
    ]);
    nested.lib.git(&["add", ".gitmodules"]);
    nested
        .web
        .gitlink("vendor/lib", &publish(&nested.lib, "elsewhere"));
    publish(&nested.web, "elsewhere");
    let ran = build().expect(5);
    for text in [
        "submodule vendor/lib/deep/inner",
        "asks for a login",
        "submodules on the same server",
    ] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
    assert_eq!(other.logins(), Vec::<String>::new());
    assert!(!other.requests().is_empty());
    // It is there, and public: the token is still not sent.
    other.behave(Manner::Serve);
    build().expect(0);
    assert_eq!(other.logins(), Vec::<String>::new());
}

#[test]
fn those_of_a_repository_on_disk_are_taken_from_it() {
    let nested = nested();
    let folder = Repo(nested.site.path(""));
    folder.git(&[
        "clone",
        "--quiet",
        "--recurse-submodules",
        &nested.site.server.url("web"),
        "mine",
    ]);
    nested.site.server.behave(Manner::Hang);
    nested
        .site
        .project
        .write("prebuild.kdl", "from dev-base\nrepo \"../mine\" path=web");
    let look = "cd web; git status --porcelain; cat vendor/lib/deep/inner/inner; git submodule status | cut -c1";
    assert_eq!(nested.site.sh(look), "one \n");
}
