//! What a cluster lacks, as the doctor tells it.

use serde_json::{Value, json};

use super::{USED, examine};
use crate::backend::kubernetes::Settings;
use crate::backend::kubernetes::tests::{Question, backend, cluster, status};
use crate::backend::local::doctor::{Check, Finding};

/// What an API server answers that is asked by a doctor.
struct Server {
    minor: &'static str,
    /// A verb and a resource that this user may not.
    forbidden: &'static [&'static str],
    /// Names of classes of snapshots of the driver, each with whether it is the default.
    classes: &'static [(&'static str, bool)],
    may_see_classes: bool,
}

const WHOLE: Server = Server {
    minor: "36",
    forbidden: &[],
    classes: &[("fast-snapshots", true)],
    may_see_classes: true,
};

fn class(name: &str, annotation: &str, is_default: bool, driver: (&str, &str)) -> Value {
    json!({
        "metadata": { "name": name, "annotations": { annotation: is_default.to_string() } },
        driver.0: driver.1,
        "deletionPolicy": "Delete",
    })
}

fn list(kind: &str, version: &str, items: &[Value]) -> (u16, Value) {
    let list = json!({ "kind": kind, "apiVersion": version, "metadata": {}, "items": items });
    (200, list)
}

impl Server {
    fn answer(&self, question: &Question) -> (u16, Value) {
        let line = &question.line;
        if line.ends_with("/version") {
            let version = format!("v1.{}.0", self.minor);
            let none = "";
            return (
                200,
                json!({
                    "major": "1", "minor": self.minor, "gitVersion": version, "gitCommit": none, "gitTreeState": none,
                    "buildDate": none, "goVersion": none, "compiler": none, "platform": none,
                }),
            );
        }
        if line.contains("selfsubjectaccessreviews") {
            let asked = &question.body["spec"]["resourceAttributes"];
            let word = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
            let resource = match word("subresource").as_str() {
                "" => word("resource"),
                below => format!("{}/{below}", word("resource")),
            };
            let wanted = format!("{} {resource}", word("verb"));
            let mut review = question.body.clone();
            let is_allowed = !self.forbidden.contains(&wanted.as_str());
            review["status"] = json!({ "allowed": is_allowed });
            return (201, review);
        }
        if !self.may_see_classes {
            return status(403, "storageclasses is forbidden");
        }
        if line.contains("volumesnapshotclasses") {
            let annotation = "snapshot.storage.kubernetes.io/is-default-class";
            let classes = self.classes.iter();
            let classes = classes.map(|(name, is_default)| {
                class(name, annotation, *is_default, ("driver", "csi.acme"))
            });
            let mut classes: Vec<Value> = classes.collect();
            classes.push(class("of another", annotation, true, ("driver", "other")));
            let version = "snapshot.storage.k8s.io/v1";
            return list("VolumeSnapshotClassList", version, &classes);
        }
        let annotation = "storageclass.kubernetes.io/is-default-class";
        let storage = [
            class("slow", annotation, false, ("provisioner", "other")),
            class("fast", annotation, true, ("provisioner", "csi.acme")),
        ];
        list("StorageClassList", "storage.k8s.io/v1", &storage)
    }
}

/// Without a runner, nothing is baked.
async fn examined(server: Server, settings: Settings) -> Vec<Check> {
    let (cluster, _) = cluster(move |question| server.answer(question));
    let (backend, _folder) = backend(cluster, settings);
    examine(&backend).await
}

fn of<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    let found = checks.iter().find(|check| check.name == name);
    found.unwrap_or_else(|| panic!("nothing of {name}"))
}

#[tokio::test]
async fn a_cluster_that_has_it_all_lacks_nothing_but_a_runner() {
    let checks = examined(WHOLE, Settings::default()).await;
    let names: Vec<&str> = checks.iter().map(|check| check.name).collect();
    assert_eq!(names, ["cluster", "permissions", "runner", "classes"]);
    for name in ["cluster", "permissions", "classes"] {
        let check = of(&checks, name);
        assert_eq!(check.finding, Finding::Good, "{name}: {}", check.detail);
    }
    assert!(of(&checks, "cluster").detail.contains("v1.36.0"));
    let detail = &of(&checks, "classes").detail;
    assert_eq!(detail, "fast and fast-snapshots of csi.acme");
    let runner = of(&checks, "runner");
    assert_eq!(runner.finding, Finding::Missing);
    assert!(runner.help.as_ref().unwrap().contains("runner"));
}

#[tokio::test]
async fn every_verb_that_is_missing_is_named() {
    let forbidden = &[
        "watch leases",
        "create pods/attach",
        "patch volumesnapshots",
    ];
    let server = Server { forbidden, ..WHOLE };
    let checks = examined(server, Settings::default()).await;
    let permissions = of(&checks, "permissions");
    assert_eq!(permissions.finding, Finding::Missing);
    assert_eq!(permissions.detail, forbidden.join(", "));
    let help = permissions.help.as_ref().unwrap();
    assert!(help.contains("manifests"), "{help}");
}

/// What the doctor asks for is what the role has.
#[test]
fn the_role_has_what_is_asked_for_and_nothing_else() {
    let role = include_str!("../../../../manifests/role.yaml");
    let role = role.split("\n---").next().unwrap();
    let inside = |line: &str| -> Vec<String> {
        let list = line.split_once('[').unwrap().1.trim_end_matches(']');
        let words = list.split(',');
        words
            .map(|word| word.trim().trim_matches('"').to_owned())
            .collect()
    };
    let mut of_role: Vec<(String, String, Vec<String>)> = Vec::new();
    let (mut group, mut resources) = (String::new(), Vec::new());
    for line in role.lines().map(str::trim) {
        if line.starts_with("- apiGroups:") {
            group = inside(line).remove(0);
        } else if line.starts_with("resources:") {
            resources = inside(line);
        } else if line.starts_with("verbs:") {
            let rule = |resource: &String| (group.clone(), resource.clone(), inside(line));
            of_role.extend(resources.iter().map(rule));
        }
    }
    // Those that only some clusters ask for.
    of_role.retain(|(_, resource, _)| !resource.ends_with("/finalizers"));
    let asked = USED.iter().map(|(group, resource, verbs)| {
        let verbs = verbs.iter().map(|&verb| verb.to_owned()).collect();
        ((*group).to_owned(), (*resource).to_owned(), verbs)
    });
    let mut asked: Vec<(String, String, Vec<String>)> = asked.collect();
    asked.sort();
    of_role.sort();
    assert_eq!(asked, of_role);
}

#[tokio::test]
async fn a_server_of_another_age_is_told() {
    for (minor, finding) in [
        ("29+", Finding::Limited),
        ("30", Finding::Good),
        ("30+", Finding::Good),
        ("100", Finding::Good),
    ] {
        let server = Server { minor, ..WHOLE };
        let checks = examined(server, Settings::default()).await;
        assert_eq!(of(&checks, "cluster").finding, finding, "{minor}");
    }
}

/// Without a name, the controller takes the one default of the driver, and no other.
#[tokio::test]
async fn a_class_that_would_not_be_taken_is_missing() {
    let named = |name: &str| Settings {
        snapshot_class: Some(name.to_owned()),
        ..Settings::default()
    };
    let stored = |name: &str| Settings {
        storage_class: Some(name.to_owned()),
        ..Settings::default()
    };
    let one: &[(&str, bool)] = &[("a", false)];
    let two: &[(&str, bool)] = &[("a", true), ("b", true)];
    for (classes, settings, told) in [
        (one, Settings::default(), "no default snapshot class"),
        (&[], Settings::default(), "no default snapshot class"),
        (two, Settings::default(), "several default snapshot classes"),
        (two, named("c"), "no snapshot class c"),
        // There, and another driver's.
        (two, named("of another"), "no snapshot class of another"),
        (two, stored("none"), "no such storage class"),
    ] {
        let server = Server { classes, ..WHOLE };
        let checks = examined(server, settings).await;
        let check = of(&checks, "classes");
        assert_eq!(check.finding, Finding::Missing, "{told}: {}", check.detail);
        assert!(check.detail.contains(told), "{told}: {}", check.detail);
        assert!(check.help.as_ref().unwrap().contains("-class NAME"));
    }
    let server = Server {
        classes: two,
        ..WHOLE
    };
    let checks = examined(server, named("b")).await;
    assert_eq!(of(&checks, "classes").finding, Finding::Good);
}

/// Who may not see them can bake all the same.
#[tokio::test]
async fn classes_that_may_not_be_seen_are_not_missing() {
    let server = Server {
        may_see_classes: false,
        ..WHOLE
    };
    let checks = examined(server, Settings::default()).await;
    let check = of(&checks, "classes");
    assert_eq!(check.finding, Finding::Limited);
    let help = check.help.as_ref().unwrap();
    assert!(help.contains("atelier-doctor"), "{help}");
}

/// Nothing else is asked of it.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_told_alone() {
    let (cluster, _) = cluster(|_| status(503, "ServiceUnavailable"));
    let (backend, _folder) = backend(cluster, Settings::default());
    let checks = examine(&backend).await;
    assert_eq!(checks.len(), 1);
    assert_eq!(checks[0].name, "cluster");
    assert_eq!(checks[0].finding, Finding::Missing);
}
