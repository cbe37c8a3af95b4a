//! Registries that ask for a login, and where logins come from. The password is searched for wherever it must not be.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::front::{Front, Manner};
use crate::project::{Project, Ran};
use crate::registry::Registry;
use crate::tokens::{IDENTITY, Tokens};
use crate::{Bench, rootfs};

pub(crate) const USER: &str = "me";
pub(crate) const PASSWORD: &str = "canary-7f3a-password";
/// The same, by bcrypt.
const HASHED: &str = "$2b$04$AkHCNWFupHmz4CTT3GgLRukA6DqSDIjsTtZlXsIz3C19gcBfnU6zC";

fn pair(password: &str) -> String {
    STANDARD.encode(format!("{USER}:{password}"))
}

/// A registry that wants a password, with one image, and a project on that.
struct Guarded {
    registry: Registry,
    project: Project,
    _folder: tempfile::TempDir,
}

impl Guarded {
    fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let users = folder.path().join("users");
        fs::write(&users, format!("{USER}:{HASHED}\n")).unwrap();
        let more = format!(
            "auth: {{ htpasswd: {{ realm: a, path: {} }} }}",
            users.display()
        );
        let registry = Registry::start(&more, Some(&format!("Basic {}", pair(PASSWORD))));
        let project = pushed(&registry, registry.port, "acme/dev");
        Self {
            registry,
            project,
            _folder: folder,
        }
    }

    fn host(&self) -> String {
        format!("localhost:{}", self.registry.port)
    }

    /// docker's file, with an entry for the registry.
    fn log_in(&self, entry: &Value) {
        let file = json!({ "auths": { self.host(): entry } });
        self.project
            .write_at_home(".docker/config.json", &file.to_string());
    }
}

/// Pushes an image, and returns a project on it as the server at `port` has it.
fn pushed(registry: &Registry, port: u16, repository: &str) -> Project {
    let bench = Bench::new();
    let image = bench.image(&[&rootfs::file("hello", b"hello\n")]);
    registry.push(&bench.layout, &image, repository, "1");
    let project = Project::empty();
    let text =
        format!("from \"localhost:{port}/{repository}:1\"\nrun \"cat /hello > f\" shell=sh\n");
    project.write("prebuild.kdl", &text);
    project
}

/// Runs `build`, and fails if any secret shows.
fn build(project: &Project, change: impl FnOnce(&mut Command)) -> Ran {
    let mut command = project.atelier(&["build"]);
    change(&mut command);
    let ran = project.run_command(command);
    for secret in [PASSWORD, IDENTITY, &pair(PASSWORD), &pair("wrong")] {
        for text in [&ran.stdout, &ran.stderr] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert_eq!(
            holders(&project.store, secret.as_bytes()),
            Vec::<String>::new()
        );
    }
    ran
}

/// The files below a folder that hold a text.
fn holders(folder: &Path, text: &[u8]) -> Vec<String> {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    let holds = |path: &Path| {
        let content = fs::read(path).unwrap_or_default();
        content.windows(text.len()).any(|window| window == text)
    };
    files
        .filter(|entry| holds(entry.path()))
        .map(|entry| entry.path().display().to_string())
        .collect()
}

#[test]
fn a_password_opens_a_registry_and_a_wrong_one_is_told_with_its_file() {
    let guarded = Guarded::new();
    let host = guarded.host();
    let file = guarded.project.home.join(".docker/config.json");
    let ran = build(&guarded.project, |_| {}).expect(5);
    for expected in [
        format!("{host} asks for a login, or has no such image"),
        format!("`docker login {host}` logs in"),
        format!(
            "looked in {}",
            guarded
                .project
                .home
                .join(".config/containers/auth.json")
                .display()
        ),
        file.display().to_string(),
    ] {
        assert!(
            plain(&ran.stderr).contains(&expected),
            "{expected}: {}",
            ran.stderr
        );
    }
    guarded.log_in(&json!({ "auth": pair("wrong") }));
    let ran = build(&guarded.project, |_| {}).expect(5);
    let expected = format!("{host} refuses the login of {}", file.display());
    assert!(plain(&ran.stderr).contains(&expected), "{}", ran.stderr);
    assert!(plain(&ran.stderr).contains("the login is wrong or has expired"));
    guarded.log_in(&json!({ "auth": pair(PASSWORD) }));
    build(&guarded.project, |_| {}).expect(0);
}

/// Without the line breaks of a terminal's width.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn logins_are_found_wherever_tools_keep_them() {
    let guarded = Guarded::new();
    let home = &guarded.project.home;
    let whole = json!({ "auths": { guarded.host(): { "auth": pair(PASSWORD) } } }).to_string();
    let scheme = json!({ "auths": { format!("https://{}/v2/", guarded.host()):
        { "username": USER, "password": PASSWORD } } })
    .to_string();
    let scoped = json!({ "auths": {
        guarded.host(): { "auth": pair("wrong") },
        format!("{}/acme", guarded.host()): { "auth": pair(PASSWORD) },
    } })
    .to_string();
    let places = [
        (Some("DOCKER_CONFIG"), "a", "a/config.json", &whole),
        (Some("REGISTRY_AUTH_FILE"), "b.json", "b.json", &scheme),
        (
            Some("XDG_RUNTIME_DIR"),
            "c",
            "c/containers/auth.json",
            &scoped,
        ),
        (
            Some("XDG_CONFIG_HOME"),
            "d",
            "d/containers/auth.json",
            &whole,
        ),
        (None, "", ".config/containers/auth.json", &scoped),
        (None, "", ".docker/config.json", &whole),
    ];
    for (variable, value, path, text) in places {
        guarded.project.write_at_home(path, text);
        let ran = build(&guarded.project, |command| {
            if let Some(variable) = variable {
                command.env(variable, home.join(value));
            }
            command.arg("--force").arg("default");
        });
        assert_eq!(ran.code(), 0, "{path}: {}", ran.stderr);
        fs::remove_file(home.join(path)).unwrap();
    }
    build(&guarded.project, |command| {
        command.env("DOCKER_AUTH_CONFIG", &whole);
    })
    .expect(0);
}

#[test]
fn a_file_that_is_named_is_the_only_one() {
    let guarded = Guarded::new();
    guarded.log_in(&json!({ "auth": pair(PASSWORD) }));
    let ran = build(&guarded.project, |command| {
        command.env("REGISTRY_AUTH_FILE", "/none/such.json");
    });
    let ran = ran.expect(5);
    let told = plain(&ran.stderr);
    assert!(told.contains("`podman login localhost:"), "{told}");
    assert!(told.contains("looked in /none/such.json"), "{told}");
    assert!(!told.contains(".docker"), "{told}");
}

#[test]
fn a_file_that_cannot_be_read_is_told_without_what_is_in_it() {
    let guarded = Guarded::new();
    let text = format!(
        "{{ \"auths\": {{ \"{}\": \"{PASSWORD}\" }} }}",
        guarded.host()
    );
    guarded.project.write_at_home(".docker/config.json", &text);
    let ran = build(&guarded.project, |_| {}).expect(5);
    assert!(
        plain(&ran.stderr).contains("config.json: it is not JSON of this kind (line 1"),
        "{}",
        ran.stderr
    );
}

/// A program in the caller's PATH that keeps logins.
fn helper(project: &Project, name: &str, script: &str) -> String {
    let programs = project.home.join("programs");
    fs::create_dir_all(&programs).unwrap();
    let path = programs.join(format!("docker-credential-{name}"));
    let text = format!(
        "#!/bin/sh\necho \"$@\" >> ~/asked\nserver=$(cat)\necho \"$server\" >> ~/asked\n{script}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", programs.display())
}

#[test]
fn a_program_is_asked_for_the_login() {
    let guarded = Guarded::new();
    let (project, host) = (&guarded.project, guarded.host());
    let answer =
        format!("echo '{{\"ServerURL\":\"x\",\"Username\":\"{USER}\",\"Secret\":\"{PASSWORD}\"}}'");
    let path = helper(project, "right", &answer);
    helper(
        project,
        "none",
        "echo 'credentials not found in native keychain'; exit 1",
    );
    helper(project, "broken", &format!("echo {PASSWORD}; exit 3"));
    let ask = |file: &Value, force: bool| {
        project.write_at_home(".docker/config.json", &file.to_string());
        fs::remove_file(project.home.join("asked")).ok();
        let ran = build(project, |command| {
            command.env("PATH", &path);
            if force {
                command.args(["--force", "default"]);
            }
        });
        (
            ran,
            fs::read_to_string(project.home.join("asked")).unwrap_or_default(),
        )
    };
    // For this registry; for all; for all, with an entry that has nothing in it.
    for file in [
        json!({ "credHelpers": { &host: "right" }, "credsStore": "broken" }),
        json!({ "credsStore": "right" }),
        json!({ "auths": { &host: {} }, "credsStore": "right" }),
    ] {
        let (ran, asked) = ask(&file, true);
        ran.expect(0);
        // Once, although there are several requests.
        assert_eq!(asked.lines().take(2).collect::<Vec<_>>(), ["get", &host]);
    }
    // What is written goes before the program for the rest, and stands in for one that has nothing.
    for file in [
        json!({ "auths": { &host: { "auth": pair(PASSWORD) } }, "credsStore": "broken" }),
        json!({ "auths": { &host: { "auth": pair(PASSWORD) } }, "credHelpers": { &host: "none" } }),
    ] {
        ask(&file, true).0.expect(0);
    }
    for (file, expected) in [
        (json!({ "credsStore": "none" }), "asks for a login"),
        (
            json!({ "credsStore": "broken" }),
            "docker-credential-broken failed",
        ),
        (
            json!({ "credsStore": "missing" }),
            "docker-credential-missing cannot be started",
        ),
        (
            json!({ "credsStore": "../x" }),
            "cannot be a program's name",
        ),
    ] {
        let (ran, _) = ask(&file, false);
        let told = plain(&ran.expect(5).stderr);
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

#[test]
fn a_program_that_never_answers_is_not_waited_for() {
    let guarded = Guarded::new();
    let path = helper(&guarded.project, "slow", "sleep 1234");
    guarded
        .project
        .write_at_home(".docker/config.json", r#"{ "credsStore": "slow" }"#);
    let ran = build(&guarded.project, |command| {
        command.env("PATH", &path);
    });
    let told = plain(&ran.expect(5).stderr);
    assert!(
        told.contains("docker-credential-slow did not answer within 10 s"),
        "{told}"
    );
    assert!(crate::processes::find("1234").is_none());
}

/// A registry whose tokens another server hands out, and a server in front of it.
fn with_tokens(repository: &str) -> (Tokens, Registry, Front, Project) {
    let tokens = Tokens::start();
    let pushing = tokens.for_pushing(&[repository]);
    let registry = Registry::start(&tokens.configuration(), Some(&pushing));
    let front = Front::of(registry.port);
    let project = pushed(&registry, front.port, repository);
    (tokens, registry, front, project)
}

#[test]
fn a_token_is_got_for_who_has_no_login_where_that_is_allowed() {
    let (tokens, _registry, _front, project) = with_tokens("public/dev");
    build(&project, |_| {}).expect(0);
    let requests = tokens.requests();
    // One for all requests to the repository of one process.
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].header("authorization"), None);
    assert!(
        requests[0]
            .target()
            .contains("scope=repository%3Apublic%2Fdev%3Apull")
    );
}

#[test]
fn a_token_is_got_with_a_password_or_an_identity() {
    let (tokens, _registry, front, project) = with_tokens("acme/dev");
    let host = format!("localhost:{}", front.port);
    let log_in = |entry: Value| {
        let file = json!({ "auths": { &host: entry } });
        project.write_at_home(".docker/config.json", &file.to_string());
    };
    let told = plain(&build(&project, |_| {}).expect(5).stderr);
    assert!(
        told.contains(&format!("{host} asks for a login, or has no such image")),
        "{told}"
    );
    log_in(json!({ "auth": pair("wrong") }));
    let told = plain(&build(&project, |_| {}).expect(5).stderr);
    assert!(
        told.contains(&format!("{host} refuses the login of ")),
        "{told}"
    );
    log_in(json!({ "auth": pair(PASSWORD) }));
    build(&project, |_| {}).expect(0);
    let force = |command: &mut Command| {
        command.args(["--force", "default"]);
    };
    log_in(json!({ "identitytoken": IDENTITY }));
    build(&project, force).expect(0);
    assert_eq!(tokens.requests().last().unwrap().method(), "POST");
    let token = tokens.for_pushing(&["acme/dev"]);
    let asked = tokens.requests().len();
    log_in(json!({ "registrytoken": token.strip_prefix("Bearer ").unwrap() }));
    build(&project, force).expect(0);
    assert_eq!(tokens.requests().len(), asked);
}

#[test]
fn a_token_that_does_not_hold_any_more_is_got_anew() {
    let (tokens, _registry, front, project) = with_tokens("public/dev");
    // The first request is refused as always; then the token is not seen once.
    front.meet("/blobs/", 1, Manner::Anonymous);
    build(&project, |_| {}).expect(0);
    assert_eq!(tokens.requests().len(), 2);
}

#[test]
fn a_server_of_tokens_that_fails_is_asked_again() {
    let tokens = Tokens::start();
    let before = Front::of(tokens.port);
    let pushing = tokens.for_pushing(&["public/dev"]);
    let text = tokens
        .configuration()
        .replace(&format!(":{}/", tokens.port), &format!(":{}/", before.port));
    let registry = Registry::start(&text, Some(&pushing));
    let project = pushed(&registry, registry.port, "public/dev");
    let retry_after = None;
    before.meet(
        "/token",
        1,
        Manner::Fail {
            status: 503,
            retry_after,
        },
    );
    before.meet(
        "/token",
        1,
        Manner::Fail {
            status: 429,
            retry_after,
        },
    );
    build(&project, |_| {}).expect(0);
    assert_eq!(tokens.requests().len(), 1);
}
