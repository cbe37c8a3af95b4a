//! What repositories may be like and be called: object formats, tags, other spellings of a URL.

use std::fs;

use super::certificates::{build, configure, text};
use super::lfs::Kept;
use super::site::{Site, publish};
use super::tunnel::Tunnel;
use crate::repo::Repo;

/// From the refs to the workspace, with a submodule and a tag.
#[test]
fn sha256_repositories_are_like_others() {
    let site = Site::new();
    let format = ["--object-format=sha256"];
    let repository = |name: &str| {
        let repo = Repo::init(&site.path(name), &format);
        let bare = site.served(name);
        Repo::init(&bare, &[&["--bare"], format.as_slice()].concat());
        repo.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
        repo.commit(name, "one");
        repo
    };
    let (web, lib) = (repository("web"), repository("lib"));
    let id = publish(&lib, "lib");
    web.link("lib", "lib", "../lib", &id);
    web.git(&["commit", "--quiet", "-m", "lib"]);
    web.git(&["tag", "--annotate", "--message", "v1", "v1"]);
    let tagged = publish(&web, "two");
    assert_eq!(tagged.len(), 64);
    for options in ["", "depth=0", "tag=v1 depth=0"] {
        site.file("web", options);
        let look = "cd web; git rev-parse --show-object-format; git status --porcelain; git fsck 2>&1; \
            git submodule status | cut -c1-65; cat lib/lib; git rev-parse HEAD";
        let head = match options.contains("tag") {
            true => web.git(&["rev-parse", "v1^{commit}"]),
            false => tagged.clone(),
        };
        assert_eq!(site.sh(look), format!("sha256\n {id}\none{head}\n"));
    }
    assert_eq!(
        site.sh("cd web; git describe; git merge-base HEAD v1"),
        format!("v1\n{}\n", web.git(&["rev-parse", "v1^{commit}"]))
    );
    // The key follows the commit.
    let key = || {
        site.project
            .run(&["plan", "--json"])
            .expect(0)
            .column("key")
    };
    site.file("web", "");
    let before = key();
    assert_eq!(key(), before);
    publish(&web, "three");
    assert_ne!(key(), before);
    let url = site.server.url("web");
    site.project.write(
        "prebuild.kdl",
        &format!("from dev-base\nrepo \"{url}\" {{ only web; }}"),
    );
    assert_eq!(site.sh("cat web/web; ls -A web"), "oneweb\n");
}

/// Over HTTPS, through a proxy, from a server with a certificate by a private authority; submodules and LFS files too.
#[test]
fn the_spellings_of_ssh_are_cloned_over_https() {
    let kept = Kept::at("team/web");
    let lib = kept.server.new_bare("team/lib");
    kept.web
        .git(&["push", "--quiet", text(&lib.0), "HEAD~3:refs/heads/main"]);
    let id = kept.web.git(&["rev-parse", "HEAD~3"]);
    kept.web
        .link("lib", "lib", "git@git.acme.dev:team/lib.git", &id);
    publish(&kept.web, "a submodule");
    let tunnel = Tunnel::to(kept.server.tls_port);
    let address = tunnel.address();
    let variables = [
        ("HTTPS_PROXY", address.as_str()),
        ("https_proxy", &address),
        ("NO_PROXY", ""),
        ("no_proxy", ""),
    ];
    configure(
        &kept,
        &format!(
            "git \"git.acme.dev\" ca=\"{}\"",
            text(&kept.server.authority())
        ),
    );
    for url in [
        "git@git.acme.dev:team/web.git",
        "ssh://git@git.acme.dev/team/web",
        "git.acme.dev/team/web",
    ] {
        kept.file(url, "");
        build(&kept, &variables).expect(0);
        let mut command = kept.project.atelier(&[
            "up",
            "--",
            "sh",
            "-ec",
            "cd web; git remote get-url origin; git submodule status | cut -c1; head -c 3 big.bin",
        ]);
        command.envs(variables);
        let ran = kept.project.run_command(command).expect(0);
        assert_eq!(ran.stdout, "https://git.acme.dev/team/web\n \nbig", "{url}");
    }
    let targets = tunnel.targets();
    assert!(
        targets.iter().all(|target| target == "git.acme.dev:443"),
        "{targets:?}"
    );
    // All spellings are one key, so there is one bake, and the two that were forced.
    assert_eq!(kept.project.snapshots().len(), 1);
    assert!(fs::exists(kept.server.authority()).unwrap());
}
