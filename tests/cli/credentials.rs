//! Private repositories: the credential opens them, and is then nowhere.

use crate::git_server::Manner;
use crate::project::Ran;
use crate::repositories::{Served, served};
use crate::secrets::found_in;

const TOKEN: &str = "s3cret-canary";

/// A repository that asks for a login, in a file that knows one.
fn private() -> Served {
    let served = served("auth=TOKEN");
    let (user, password) = ("x-access-token".to_owned(), TOKEN.to_owned());
    served.server.behave(Manner::Login { user, password });
    let url = served.server.url("web");
    let file = format!(
        "secret TOKEN\nprebuild app {{ from dev-base; repo \"{url}\" auth=TOKEN; run \"echo ${{TOKEN-unset}} > token\"; }}"
    );
    served.project.write("prebuild.kdl", &file);
    served
}

fn build(served: &Served, token: &str) -> Ran {
    let words = ["build", "--json", "--secret", "TOKEN=env:CANARY"];
    let mut command = served.project.atelier(&words);
    command.env("CANARY", token);
    served.project.run_command(command)
}

/// behaviours 1.9
#[test]
fn a_token_opens_the_repository_and_is_nowhere_afterwards() {
    let served = private();
    build(&served, TOKEN).expect(0);
    assert!(!served.server.logins().is_empty());
    assert_eq!(found_in(&served.project.store, TOKEN), Vec::<String>::new());
    served.server.behave(Manner::Serve);
    let url = served.server.url("web");
    let look =
        "git config --local --list | grep -v ^core; cat ../token; grep -r canary .git | wc -l";
    let config = format!("remote.origin.url={url}\n");
    let found = served.sh(look);
    assert!(found.contains(&config), "{found}");
    assert!(found.ends_with("unset\n0\n"), "{found}");
    assert!(!found.contains("credential"), "{found}");
}

#[test]
fn a_user_may_be_named_before_the_token() {
    let served = private();
    let (user, password) = ("ann".to_owned(), TOKEN.to_owned());
    served.server.behave(Manner::Login { user, password });
    build(&served, TOKEN).expect(5);
    build(&served, &format!("ann:{TOKEN}")).expect(0);
}

#[test]
fn a_token_that_is_refused_or_not_given_is_an_unresolved_input() {
    let served = private();
    let ran = build(&served, "wrong-canary").expect(5);
    assert!(
        ran.stderr.contains("the server refused the login"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("wrong-canary"), "{}", ran.stderr);
    let ran = served.project.run(&["build"]).expect(5);
    assert!(ran.stderr.contains("--secret"), "{}", ran.stderr);
    assert_eq!(served.project.snapshots(), [] as [serde_json::Value; 0]);
    served.project.assert_nothing_left();
}

#[test]
fn a_rotated_token_bakes_nothing() {
    let served = private();
    build(&served, TOKEN).expect(0);
    let (user, password) = ("x-access-token".to_owned(), "rotated".to_owned());
    served.server.behave(Manner::Login { user, password });
    assert_eq!(
        build(&served, "rotated").expect(0).column("result")[0].1,
        "reused"
    );
    // Nor does a repository that has become public.
    served.server.behave(Manner::Serve);
    served.project.edit(" auth=TOKEN", "");
    assert_eq!(
        build(&served, "rotated").expect(0).column("result")[0].1,
        "reused"
    );
}
