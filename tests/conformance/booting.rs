//! What is in a snapshot, and that nothing gets in later.

use atelier::backend::{Backend, Class, Ending, WorkspaceFile};
use atelier::node::ContentKey;

use crate::house::{House, boot, content, is_present, publish, sandbox_request, sh};
use crate::requests::request;

pub(crate) async fn files_are_there_before_the_first_step(house: &impl House) {
    let mut request = request("a", None, &["cat f", "rm g"]);
    for path in ["f", "g"] {
        let content = format!("{path}\n").into_bytes();
        request.files.push(WorkspaceFile {
            path: path.to_owned(),
            mode: 0o644,
            content,
        });
    }
    publish(house.backend(), &request).await;
    assert_eq!(content(house.backend(), &request, "f").await, ["f"]);
}

pub(crate) async fn a_child_sees_its_parent_s_files(house: &impl House) {
    let backend = house.backend();
    let parent = request("parent", None, &["echo x > f && echo y > g"]);
    let child = request("child", Some(&parent), &["cat f", "echo z > g"]);
    let grandchild = request("grandchild", Some(&child), &["echo w > h"]);
    for request in [&parent, &child, &grandchild] {
        publish(backend, request).await;
    }
    assert_eq!(content(backend, &grandchild, "f").await, ["x"]);
    assert_eq!(content(backend, &grandchild, "g").await, ["z"]);
    assert_eq!(content(backend, &grandchild, "h").await, ["w"]);
    assert_eq!(content(backend, &parent, "g").await, ["y"]);
}

pub(crate) async fn what_a_child_deletes_stays_deleted(house: &impl House) {
    let backend = house.backend();
    let parent = request("parent", None, &["echo x > f && echo y > g"]);
    let child = request("child", Some(&parent), &["rm f"]);
    let grandchild = request("grandchild", Some(&child), &["cat g"]);
    for request in [&parent, &child, &grandchild] {
        publish(backend, request).await;
    }
    for request in [&child, &grandchild] {
        let sandbox = boot(backend, request).await;
        assert_eq!(
            sh(backend, &sandbox, "test -e f").await.0,
            Ending::Exited(1),
            "{}",
            request.node
        );
        backend.destroy(&sandbox).await.unwrap();
    }
    assert_eq!(content(backend, &parent, "f").await, ["x"]);
}

/// behaviours 1.19
pub(crate) async fn two_sandboxes_do_not_see_each_other_s_writes(house: &impl House) {
    let backend = house.backend();
    let request = request("a", None, &["echo old > f && echo g > g"]);
    publish(backend, &request).await;
    let (one, two) = (boot(backend, &request).await, boot(backend, &request).await);
    assert_ne!(one, two);
    let write = sh(backend, &one, "echo one > f && rm g");
    let read = sh(
        backend,
        &two,
        "sleep 0.2 && cat f && test -e g && echo two > f",
    );
    let (write, read) = tokio::join!(write, read);
    assert_eq!(
        (write.0, read),
        (
            Ending::Exited(0),
            (Ending::Exited(0), vec!["old".to_owned()])
        )
    );
    assert_eq!(sh(backend, &one, "cat f").await.1, ["one"]);
    assert_eq!(content(backend, &request, "f").await, ["old"]);
    for sandbox in [&one, &two] {
        backend.destroy(sandbox).await.unwrap();
    }
    assert!(is_present(backend, request.key).await);
    assert_eq!(content(backend, &request, "g").await, ["g"]);
}

pub(crate) async fn a_sandbox_keeps_its_writes_until_it_is_destroyed(house: &impl House) {
    let backend = house.backend();
    let request = request("a", None, &["echo x > f"]);
    publish(backend, &request).await;
    let sandbox = boot(backend, &request).await;
    sh(backend, &sandbox, "echo y > g").await;
    assert_eq!(
        sh(backend, &sandbox, "cat g").await,
        (Ending::Exited(0), vec!["y".to_owned()])
    );
    backend.destroy(&sandbox).await.unwrap();
    let fresh = boot(backend, &request).await;
    assert_eq!(sh(backend, &fresh, "test -e g").await.0, Ending::Exited(1));
    backend.destroy(&fresh).await.unwrap();
    assert_eq!(house.litter(), Vec::<String>::new());
}

pub(crate) async fn a_command_s_status_is_told(house: &impl House) {
    let backend = house.backend();
    let request = request("a", None, &["true"]);
    publish(backend, &request).await;
    let sandbox = boot(backend, &request).await;
    for code in [0, 1, 7, 255] {
        let (ending, _) = sh(backend, &sandbox, &format!("exit {code}")).await;
        assert_eq!(ending, Ending::Exited(code));
    }
    backend.destroy(&sandbox).await.unwrap();
}

pub(crate) async fn what_is_not_there_cannot_be_booted(house: &impl House) {
    let backend = house.backend();
    let mut absent = sandbox_request(&request("a", None, &["true"]));
    absent.key = ContentKey([9; 32]);
    assert_eq!(backend.boot(&absent).await.unwrap_err().class, Class::Lost);
    assert_eq!(backend.sandboxes().await.unwrap(), []);
    assert_eq!(house.litter(), Vec::<String>::new());
}

pub(crate) async fn destroying_twice_is_destroying_once(house: &impl House) {
    let backend = house.backend();
    let request = request("a", None, &["true"]);
    publish(backend, &request).await;
    let (one, two) = (boot(backend, &request).await, boot(backend, &request).await);
    assert!(backend.destroy(&one).await.unwrap());
    assert!(!backend.destroy(&one).await.unwrap());
    let left = backend.sandboxes().await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!((&left[0].id, &left[0].name), (&two, &None));
    assert_eq!((left[0].key, left[0].node.as_str()), (request.key, "a"));
    assert!(backend.destroy(&two).await.unwrap());
    assert_eq!(backend.sandboxes().await.unwrap(), []);
}
