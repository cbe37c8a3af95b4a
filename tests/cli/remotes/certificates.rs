//! A server whose certificate is by a private authority, and a proxy on the way to it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::lfs::Kept;
use super::site::publish;
use super::web_server::{PASSWORD, WebServer};
use crate::project::Ran;

/// A project of a repository with files in LFS on a server that only those trust who know its authority.
fn trusted_by_few() -> Kept {
    let kept = Kept::at("web");
    kept.file(&kept.server.tls_url("web"), "");
    kept
}

pub(crate) fn build(kept: &Kept, variables: &[(&str, &str)]) -> Ran {
    let mut command: Command = kept.project.atelier(&["build", "--force", "default"]);
    command.envs(variables.iter().copied());
    kept.project.run_command(command)
}

/// The caller's own configuration.
pub(crate) fn configure(kept: &Kept, text: &str) {
    let folder = kept.project.home.join(".config/atelier");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.kdl"), text).unwrap();
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const UNTRUSTED: &str = "the server's certificate is not trusted";

#[test]
fn nobody_is_trusted_without_a_reason() {
    let kept = trusted_by_few();
    let ran = build(&kept, &[]).expect(5);
    for text in [UNTRUSTED, "git HOST ca=", "GIT_SSL_CAINFO"] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
}

#[test]
fn the_usual_variables_name_an_authority() {
    for variable in ["GIT_SSL_CAINFO", "SSL_CERT_FILE"] {
        let kept = trusted_by_few();
        build(&kept, &[(variable, text(&kept.server.authority()))]).expect(0);
        let asked = kept.server.requests();
        let batch = " POST /web.git/info/lfs/objects/batch 200 -";
        assert!(
            asked.iter().any(|request| request.ends_with(batch)),
            "{asked:?}"
        );
    }
}

/// The user and the authority of a server, for git and for git-lfs.
#[test]
fn the_configuration_says_how_a_server_is_reached() {
    let kept = Kept::at("private/web");
    let url = kept.server.tls_url("private/web");
    let file =
        format!("secret TOKEN\nprebuild default {{ from dev-base; repo \"{url}\" auth=TOKEN; }}");
    kept.project.write("prebuild.kdl", &file);
    let (host, ca) = (kept.server.tls_host(), kept.server.authority());
    fs::copy(ca, kept.project.home.join("acme.pem")).unwrap();
    let build = || {
        let words = [
            "build",
            "--force",
            "default",
            "--secret",
            "TOKEN=env:CANARY",
        ];
        let mut command = kept.project.atelier(&words);
        command.env("CANARY", PASSWORD);
        kept.project.run_command(command)
    };
    configure(&kept, &format!("git \"{host}\" ca=\"~/acme.pem\""));
    let ran = build().expect(5);
    assert!(
        ran.stderr.contains("the server refused the login"),
        "{}",
        ran.stderr
    );
    configure(&kept, &format!("git \"{host}\" user=me ca=\"~/acme.pem\""));
    build().expect(0);
    let asked = kept.server.requests();
    let batch = " POST /private/web.git/info/lfs/objects/batch 200 me";
    assert!(
        asked.iter().any(|request| request.ends_with(batch)),
        "{asked:?}"
    );
    // What the project says goes first, and may lie in it.
    configure(&kept, &format!("git \"{host}\" user=you ca=\"~/none.pem\""));
    let ran = build().expect(5);
    for text in [
        "none.pem",
        "which the configuration names, cannot be read",
        "config.kdl",
    ] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
    kept.project.write(
        ".atelier/config.kdl",
        &format!("git \"{host}\" user=me ca=acme.pem"),
    );
    fs::copy(
        kept.project.home.join("acme.pem"),
        kept.project.root.join(".atelier/acme.pem"),
    )
    .unwrap();
    build().expect(0);
    kept.project.write(".atelier/acme.pem", "no certificate\n");
    let ran = build().expect(5);
    assert!(ran.stderr.contains(UNTRUSTED), "{}", ran.stderr);
}

/// Others are trusted for the reasons that they had.
#[test]
fn an_authority_is_for_its_server_alone() {
    let kept = trusted_by_few();
    let other = WebServer::start();
    kept.web
        .git(&["push", "--quiet", text(&other.new_bare("lib").0), "main"]);
    let lib = kept.web.git(&["rev-parse", "HEAD"]);
    kept.web.git(&["rm", "--quiet", "--cached", "big.bin"]);
    kept.web
        .git(&["rm", "--quiet", "--cached", "sub folder/-x.bin"]);
    kept.web.link("lib", "lib", &other.tls_url("lib"), &lib);
    publish(&kept.web, "a submodule elsewhere");
    kept.file(&kept.server.tls_url("web"), "lfs=#false");
    let (host, ca) = (kept.server.tls_host(), kept.server.authority());
    configure(&kept, &format!("git \"{host}\" ca=\"{}\"", text(&ca)));
    let ran = build(&kept, &[]).expect(5);
    for text in ["submodule lib", UNTRUSTED] {
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
    build(&kept, &[("GIT_SSL_CAINFO", text(&other.authority()))]).expect(0);
    // And the other way round.
    let ran = build(&kept, &[("GIT_SSL_CAINFO", text(&ca))]).expect(5);
    assert!(ran.stderr.contains("submodule lib"), "{}", ran.stderr);
}

#[test]
fn a_proxy_is_used_unless_the_server_is_an_exception() {
    let kept = trusted_by_few();
    // For git alone: git-lfs takes no proxy to a server on loopback.
    kept.file(&kept.server.tls_url("web"), "lfs=#false");
    let (proxy, ca) = (kept.server.proxy(), kept.server.authority());
    let through = |exceptions: &str| {
        let variables = [
            ("HTTPS_PROXY", proxy.as_str()),
            ("https_proxy", proxy.as_str()),
            ("NO_PROXY", exceptions),
            ("no_proxy", exceptions),
            ("GIT_SSL_CAINFO", text(&ca)),
        ];
        build(&kept, &variables).expect(0);
        let asked = kept.server.requests();
        asked
            .iter()
            .filter(|request| request.contains(" CONNECT "))
            .count()
    };
    assert_eq!(through("127.0.0.1"), 0);
    assert!(through("") > 0);
    // One that is not there is told of.
    let nobody = [
        ("HTTPS_PROXY", "http://me:s3cret@127.0.0.1:1"),
        ("NO_PROXY", ""),
        ("no_proxy", ""),
        ("https_proxy", "http://me:s3cret@127.0.0.1:1"),
    ];
    let ran = build(&kept, &nobody).expect(5);
    assert!(
        ran.stderr.contains("the server cannot be reached"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
}
