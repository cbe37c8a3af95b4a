//! Registries that ask for a login, and where logins come from. The password is searched for wherever it must not be.

use std::fs;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::project::{Project, Ran};
use crate::registry::Registry;
use crate::tokens::IDENTITY;
use crate::{Bench, rootfs};

pub(crate) const USER: &str = "me";
pub(crate) const PASSWORD: &str = "canary-7f3a-password";
/// The same, by bcrypt.
const HASHED: &str = "$2b$04$AkHCNWFupHmz4CTT3GgLRukA6DqSDIjsTtZlXsIz3C19gcBfnU6zC";

pub(crate) fn pair(password: &str) -> String {
    STANDARD.encode(format!("{USER}:{password}"))
}

/// A registry that wants a password, with one image, and a project on that.
pub(crate) struct Guarded {
    registry: Registry,
    pub(crate) project: Project,
    _folder: tempfile::TempDir,
}

impl Guarded {
    pub(crate) fn new() -> Self {
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

    pub(crate) fn host(&self) -> String {
        format!("localhost:{}", self.registry.port)
    }

    /// docker's file, with an entry for the registry.
    pub(crate) fn log_in(&self, entry: &Value) {
        let file = json!({ "auths": { self.host(): entry } });
        self.project
            .write_at_home(".docker/config.json", &file.to_string());
    }
}

/// Pushes an image, and returns a project on it as the server at `port` has it.
pub(crate) fn pushed(registry: &Registry, port: u16, repository: &str) -> Project {
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
pub(crate) fn build(project: &Project, change: impl FnOnce(&mut Command)) -> Ran {
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
pub(crate) fn plain(text: &str) -> String {
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
