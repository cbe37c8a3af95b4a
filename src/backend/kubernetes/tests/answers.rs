//! Answers that are lost, late, or refusals.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::{cluster, page, preimage, published, status};
use crate::backend::Class;
use crate::backend::kubernetes::cluster::{BRIEF, Cluster};
use crate::backend::kubernetes::failure::Trouble;
use crate::backend::kubernetes::names;
use crate::backend::kubernetes::volume_snapshot::VolumeSnapshot;

fn object(nonce: &str) -> ConfigMap {
    serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "c", "annotations": { names::NONCE: nonce } },
    }))
    .unwrap()
}

fn as_json(object: &ConfigMap) -> Value {
    serde_json::to_value(object).unwrap()
}

/// The object was made, and nobody said so: asked again, it is there, and ours.
#[tokio::test(start_paused = true)]
async fn what_was_made_without_an_answer_is_found_to_be_ours() {
    let mut posts = 0;
    let (cluster, asked) = cluster(move |question| {
        if question.is("GET") {
            return (200, as_json(&object("mine")));
        }
        posts += 1;
        match posts {
            1 => status(504, "Timeout"),
            _ => status(409, "AlreadyExists"),
        }
    });
    cluster.create(&object("mine")).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn what_somebody_else_made_is_a_conflict() {
    let (cluster, _) = cluster(|question| match question.is("GET") {
        true => (200, as_json(&object("theirs"))),
        false => status(409, "AlreadyExists"),
    });
    let made = cluster.create(&object("mine")).await;
    assert!(matches!(made, Err(Trouble::Conflict)), "{made:?}");
}

/// It was deleted, and nobody said so: it is not that there was none.
#[tokio::test(start_paused = true)]
async fn what_was_deleted_without_an_answer_was_there() {
    let mut asked = 0;
    let (cluster, _) = cluster(move |_| {
        asked += 1;
        match asked {
            1 => status(500, "etcdserver: request timed out"),
            _ => status(404, "NotFound"),
        }
    });
    let parameters = DeleteParams::default();
    assert!(cluster.delete::<ConfigMap>("c", &parameters).await.unwrap());
    assert!(!cluster.delete::<ConfigMap>("c", &parameters).await.unwrap());
}

/// A server that has too much to do, or is being replaced, is asked again.
#[tokio::test(start_paused = true)]
async fn a_read_outlasts_a_server_that_is_busy() {
    let mut asked = 0;
    let (cluster, _) = cluster(move |_| {
        asked += 1;
        match asked {
            1 => status(429, "TooManyRequests"),
            2 => status(500, "InternalError"),
            3 => status(503, "ServiceUnavailable"),
            _ => page(&[published(&preimage(1, 4))], ""),
        }
    });
    let all = cluster.list::<VolumeSnapshot>(names::KEY, BRIEF).await;
    assert_eq!(all.unwrap().len(), 1);
}

/// Not for ever, and not a miss: law 6.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_an_error_in_the_end() {
    let (cluster, asked) = cluster(|_| status(503, "ServiceUnavailable"));
    let began = tokio::time::Instant::now();
    let all = cluster.list::<VolumeSnapshot>(names::KEY, BRIEF).await;
    assert_eq!(all.unwrap_err().class, Class::Transient);
    assert!(began.elapsed() <= BRIEF, "{:?}", began.elapsed());
    // The pauses grow.
    assert!(asked.lock().unwrap().len() < 10);
}

/// Neither does a write that nobody answers take for ever, and each try may be answered late.
#[tokio::test(start_paused = true)]
async fn a_write_that_is_never_answered_ends() {
    let (service, _handle) = tower_test::mock::pair::<
        http::Request<kube::client::Body>,
        http::Response<kube::client::Body>,
    >();
    let cluster = Cluster {
        client: kube::Client::new(service, "agents"),
        namespace: "agents".to_owned(),
    };
    let made = cluster.create(&object("mine")).await;
    match made {
        Err(Trouble::Failed(error)) => assert_eq!(error.class, Class::Transient),
        other => panic!("{other:?}"),
    }
}

/// The class of a refusal, and its advice; it is asked once.
async fn refused(code: u16, message: &'static str) -> (Class, String) {
    let (cluster, asked) = cluster(move |_| status(code, message));
    let made = cluster.create(&object("mine")).await;
    assert_eq!(asked.lock().unwrap().len(), 1);
    match made {
        Err(Trouble::Failed(error)) => {
            assert!(error.message.contains(message), "{error}");
            (error.class, error.help.unwrap_or_default())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let forbidden = "configmaps is forbidden: User \"u\" cannot create resource \"configmaps\"";
    let quota = "configmaps \"c\" is forbidden: exceeded quota: q, requested: count/configmaps=1";
    let security = "pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\"";
    let going = "unable to create new content in namespace agents because it is being terminated";
    for (code, message, class, advice) in [
        (401, "Unauthorized", Class::Denied, "log in"),
        (403, forbidden, Class::Denied, "manifests/"),
        (403, quota, Class::Full, "quota"),
        (403, security, Class::Denied, "restricted"),
        (403, going, Class::Denied, "being deleted"),
        (
            404,
            "namespaces \"agents\" not found",
            Class::Denied,
            "kubectl apply -k manifests",
        ),
        (404, "404 page not found", Class::Denied, "CRDs"),
        (
            422,
            "ConfigMap \"c\" is invalid: metadata.name",
            Class::Denied,
            "",
        ),
    ] {
        let (told, help) = refused(code, message).await;
        assert_eq!(told, class, "{message}");
        assert!(help.contains(advice), "{message}: {help}");
    }
}
