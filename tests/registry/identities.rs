//! Registries whose tokens another server hands out: for nobody, for a password, for an identity.

use std::process::Command;

use serde_json::{Value, json};

use crate::front::{Front, Manner};
use crate::logins::{PASSWORD, build, pair, plain, pushed};
use crate::project::Project;
use crate::registry::Registry;
use crate::tokens::{IDENTITY, Tokens};

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
