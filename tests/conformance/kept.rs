//! Sandboxes that outlive who booted them.

use std::time::Duration;

use atelier::backend::{Backend, Class, Ending, Sandbox, SandboxState, Stdio};

use crate::house::{Caller, House, boot, content, exec, keep, publish, sh};
use crate::requests::request;

async fn states(backend: &impl Backend) -> Vec<(String, SandboxState)> {
    let all = backend.sandboxes().await.unwrap();
    let state = |sandbox: Sandbox| (sandbox.id.0, sandbox.state);
    all.into_iter().map(state).collect()
}

fn pair(name: &str, state: SandboxState) -> (String, SandboxState) {
    (name.to_owned(), state)
}

pub(crate) async fn a_kept_sandbox_is_there_for_everybody(house: &impl House) {
    let (one, other) = (house.backend(), house.other());
    let request = request("a", None, &["echo x > f"]);
    publish(one, &request).await;
    let id = keep(one, &request, Some("web.1_a-B")).await.unwrap();
    let seen = other.sandboxes().await.unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].id, id);
    assert_eq!(seen[0].name.as_deref(), Some("web.1_a-B"));
    assert_eq!((seen[0].key, seen[0].node.as_str()), (request.key, "a"));
    assert_eq!(seen[0].state, SandboxState::Running);
    assert!(sh(one, &id, "echo y > g").await.0.success());
    assert_eq!(sh(other, &id, "cat f && cat g").await.1, ["x", "y"]);
    assert_eq!(sh(other, &id, "exit 7").await.0, Ending::Exited(7));
    assert!(other.destroy(&id).await.unwrap());
    assert!(!one.destroy(&id).await.unwrap());
    assert_eq!(one.sandboxes().await.unwrap(), []);
    let command = exec("true", Stdio::Events(Caller::new().sink));
    let gone = one.exec(&id, &command).await;
    assert_eq!(gone.unwrap_err().class, Class::Lost);
    assert_eq!(house.litter(), Vec::<String>::new());
}

pub(crate) async fn a_name_in_use_is_refused(house: &impl House) {
    let (one, other) = (house.backend(), house.other());
    let (a, b) = (
        request("a", None, &["echo x > f"]),
        request("b", None, &["true"]),
    );
    for request in [&a, &b] {
        publish(one, request).await;
    }
    let id = keep(one, &a, Some("web")).await.unwrap();
    for request in [&a, &b] {
        let refused = keep(other, request, Some("web")).await;
        assert_eq!(refused.unwrap_err().class, Class::InUse);
    }
    assert_eq!(sh(other, &id, "cat f").await.1, ["x"]);
    assert!(one.destroy(&id).await.unwrap());
    let id = keep(one, &b, Some("web")).await.unwrap();
    assert_eq!(sh(one, &id, "test -e f").await.0, Ending::Exited(1));
    assert!(one.destroy(&id).await.unwrap());
    assert_eq!(house.litter(), Vec::<String>::new());
}

pub(crate) async fn what_is_no_name_is_refused(house: &impl House) {
    let backend = house.backend();
    let request = request("a", None, &["true"]);
    publish(backend, &request).await;
    let long = "a".repeat(64);
    for name in ["", ".", "..", "-a", "a/b", "a b", "ä", "../a", &long] {
        let refused = keep(backend, &request, Some(name)).await;
        assert_eq!(refused.unwrap_err().class, Class::InUse, "{name}");
    }
    let id = keep(backend, &request, Some(&long[1..])).await.unwrap();
    assert!(backend.destroy(&id).await.unwrap());
    assert_eq!(house.litter(), Vec::<String>::new());
}

pub(crate) async fn names_are_made_up(house: &impl House) {
    let backend = house.backend();
    let request = request("a", None, &["true"]);
    publish(backend, &request).await;
    let one = keep(backend, &request, None).await.unwrap();
    let two = keep(backend, &request, None).await.unwrap();
    assert_ne!(one, two);
    let both = [&one, &two].map(|id| pair(&id.0, SandboxState::Running));
    assert_eq!(states(house.other()).await, both);
    for id in [&one, &two] {
        assert!(id.0.len() < 12, "{}", id.0);
        assert!(backend.destroy(id).await.unwrap());
    }
}

pub(crate) async fn commands_run_side_by_side(house: &impl House) {
    let (one, other) = (house.backend(), house.other());
    let request = request("a", None, &["true"]);
    publish(one, &request).await;
    let id = keep(one, &request, None).await.unwrap();
    // Each waits for what the other does.
    let pause = house.pause();
    let long = 2.0 * pause;
    let first = format!("echo 1 > a && sleep {long} && cat b && echo 3 > c");
    let second = format!("sleep {pause} && cat a && echo 2 > b && sleep {long} && cat c");
    let first = sh(one, &id, &first);
    let second = sh(other, &id, &second);
    let (first, second) = tokio::join!(first, second);
    assert_eq!(
        (first.0, first.1),
        (Ending::Exited(0), vec!["2".to_owned()])
    );
    let lines = ["1", "3"].map(str::to_owned).to_vec();
    assert_eq!((second.0, second.1), (Ending::Exited(0), lines));
    assert!(one.destroy(&id).await.unwrap());
}

pub(crate) async fn what_is_started_is_left_to_itself(house: &impl House) {
    let backend = house.backend();
    let request = request("a", None, &["true"]);
    publish(backend, &request).await;
    let id = keep(backend, &request, None).await.unwrap();
    let command = exec("sleep 0.2 && echo x > f", Stdio::Inherit);
    assert_eq!(backend.start(&id, &command).await.unwrap(), None);
    let mut tries = 0;
    while !sh(backend, &id, "test -e f").await.0.success() {
        tries += 1;
        assert!(tries < 100, "it does not run");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(backend.destroy(&id).await.unwrap());
}

pub(crate) async fn a_sandbox_that_ends_with_its_caller_starts_nothing(house: &impl House) {
    let backend = house.backend();
    let request = request("a", None, &["true"]);
    publish(backend, &request).await;
    let id = boot(backend, &request).await;
    let started = backend.start(&id, &exec("true", Stdio::Inherit)).await;
    assert_eq!(started.unwrap_err().class, Class::Lost);
    assert!(backend.destroy(&id).await.unwrap());
}

/// behaviours 2.19
pub(crate) async fn a_kept_sandbox_holds_its_snapshot(house: &impl House) {
    let (one, other) = (house.backend(), house.other());
    let request = request("a", None, &["echo x > f"]);
    publish(one, &request).await;
    let id = keep(one, &request, Some("web")).await.unwrap();
    assert!(one.remove(request.key).await.unwrap());
    other.sweep().await.unwrap();
    assert_eq!(sh(other, &id, "cat f").await.1, ["x"]);
    house.end(&id);
    other.sweep().await.unwrap();
    assert_eq!(keep(other, &request, Some("web")).await.unwrap(), id);
    assert_eq!(sh(one, &id, "cat f").await.1, ["x"]);
    assert!(one.destroy(&id).await.unwrap());
    one.sweep().await.unwrap();
    assert_eq!(house.litter(), Vec::<String>::new());
}

pub(crate) async fn a_sweep_takes_no_kept_sandbox(house: &impl House) {
    let (one, other) = (house.backend(), house.other());
    let request = request("a", None, &["true"]);
    publish(one, &request).await;
    let running = keep(one, &request, Some("running")).await.unwrap();
    let ended = keep(one, &request, Some("ended")).await.unwrap();
    house.end(&ended);
    assert_eq!(other.sweep().await.unwrap(), 0);
    let expected = [
        pair("running", SandboxState::Running),
        pair("ended", SandboxState::Ended),
    ];
    assert_eq!(states(other).await, expected);
    for id in [&running, &ended] {
        assert!(other.destroy(id).await.unwrap());
    }
    assert_eq!(house.litter(), Vec::<String>::new());
}

pub(crate) async fn an_ended_sandbox_starts_again_on_its_writes(house: &impl House) {
    let (one, other) = (house.backend(), house.other());
    let request = request("a", None, &["echo x > f && echo x > g"]);
    publish(one, &request).await;
    let id = keep(one, &request, Some("web")).await.unwrap();
    for round in 0..3 {
        let write = format!("echo {round} > f && echo {round} > h{round}");
        assert!(sh(one, &id, &write).await.0.success());
        house.end(&id);
        assert_eq!(states(one).await, [pair("web", SandboxState::Ended)]);
        let command = exec("true", Stdio::Events(Caller::new().sink));
        let ended = one.exec(&id, &command).await;
        assert_eq!(ended.unwrap_err().class, Class::Lost);
        assert_eq!(keep(other, &request, Some("web")).await.unwrap(), id);
        assert_eq!(states(one).await, [pair("web", SandboxState::Running)]);
        let (_, lines) = sh(one, &id, &format!("cat f && cat g && cat h{round}")).await;
        assert_eq!(lines, [&round.to_string(), "x", &round.to_string()]);
        assert_eq!(sh(one, &id, "cat h0").await.1, ["0"]);
    }
    assert!(sh(one, &id, "rm g").await.0.success());
    house.end(&id);
    keep(one, &request, Some("web")).await.unwrap();
    assert_eq!(sh(one, &id, "test -e g").await.0, Ending::Exited(1));
    assert!(one.destroy(&id).await.unwrap());
    assert_eq!(content(one, &request, "f").await, ["x"]);
    assert_eq!(house.litter(), Vec::<String>::new());
}

pub(crate) async fn an_ended_sandbox_keeps_its_name_from_other_snapshots(house: &impl House) {
    let backend = house.backend();
    let (a, b) = (request("a", None, &["true"]), request("b", None, &["true"]));
    for request in [&a, &b] {
        publish(backend, request).await;
    }
    let id = keep(backend, &a, Some("web")).await.unwrap();
    assert!(sh(backend, &id, "echo x > f").await.0.success());
    house.end(&id);
    let refused = keep(backend, &b, Some("web")).await;
    assert_eq!(refused.unwrap_err().class, Class::InUse);
    keep(backend, &a, Some("web")).await.unwrap();
    assert_eq!(sh(backend, &id, "cat f").await.1, ["x"]);
    assert!(backend.destroy(&id).await.unwrap());
}
