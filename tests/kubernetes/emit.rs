//! What `up --emit` prints, as a real API server takes it.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cluster::{Machine, Said, kubectl, wait, whole};

const FILE: &str =
    "prebuild one { from dev-base; env COLOUR=blue; run \"echo KEY > f; echo made >> f\"; }";

/// Runs kubectl with an object on its standard input.
fn with(object: &Value, arguments: &[&str]) -> Said {
    let mut call = Command::new("kubectl");
    call.args(["-n", "atelier"])
        .args(arguments)
        .args(["-f", "-"]);
    call.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = call.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(object.to_string().as_bytes()).unwrap();
    drop(input);
    child.wait_with_output().unwrap().into()
}

/// The API server takes it, checks every field, and creates nothing. Its warnings are failures: such as those of `PodSecurity`.
fn accepted(object: &Value) -> String {
    let dry = ["create", "--dry-run=server", "--validate=strict"];
    let said = with(object, &dry);
    assert_eq!(said.code, Some(0), "{object:#}: {}", said.err);
    assert_eq!(said.err, "", "{object:#}");
    said.out
}

fn emitted(machine: &Machine, form: &str) -> Value {
    let printed = machine.good("up", &["--emit", form]);
    serde_json::from_str(&printed).unwrap()
}

fn sandboxes() -> String {
    let of = ["-l", "atelier.dev/role=sandbox", "-o", "name"];
    kubectl(&[&["get", "pods,pvc"], &of[..]].concat())
}

/// Takes away what was applied, whatever comes.
struct Applied(Value);

impl Drop for Applied {
    fn drop(&mut self) {
        with(&self.0, &["delete", "--now", "--ignore-not-found"]);
    }
}

#[test]
fn a_manifest_is_a_sandbox_for_who_applies_it() {
    let _cluster = whole();
    let machine = Machine::with(FILE);
    machine.good("build", &[]);
    let list = emitted(&machine, "manifest");
    let told = accepted(&list);
    assert_eq!(told.lines().count(), 2, "{told}");
    let name = format!("sb-{}", &machine.key("one")[..12]);
    assert!(!sandboxes().contains(&name), "it was created");

    let applied = Applied(list);
    let said = with(&applied.0, &["apply"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let ready = ["wait", "--for=condition=Ready", "--timeout=60s"];
    kubectl(&[&ready[..], &[&format!("pod/{name}")]].concat());
    let command = "cat /home/dev/f; echo $COLOUR; pwd; id -u";
    let said = kubectl(&["exec", &name, "--", "sh", "-c", command]);
    let lines: Vec<&str> = said.lines().skip(1).collect();
    assert_eq!(lines, ["made", "blue", "/home/dev", "1000"]);
    // It is nobody's sandbox of atelier, and no sweep takes it.
    machine.good("sweep", &[]);
    assert!(sandboxes().contains(&name));
    drop(applied);
    wait("the sandbox to be gone", Duration::from_mins(1), || {
        !sandboxes().contains(&name)
    });
}

/// Its controller makes a pod and a claim of a template: what a server takes as such, it takes of the controller.
#[test]
fn a_template_of_agent_sandbox_has_a_pod_and_a_claim_that_are_taken() {
    let _cluster = whole();
    let machine = Machine::with(FILE);
    machine.good("build", &[]);
    let list = emitted(&machine, "agent-sandbox");
    let template = &list["items"][0];
    let mut spec = template["spec"]["podTemplate"]["spec"].clone();
    let claim = &template["spec"]["volumeClaimTemplates"][0];
    // As the controller does it: a volume of the template's name, of a claim of its own.
    let volume = json!({ "name": claim["metadata"]["name"], "persistentVolumeClaim": { "claimName": "of-its-own" } });
    spec["volumes"].as_array_mut().unwrap().push(volume);
    accepted(&json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "emitted" }, "spec": spec,
    }));
    accepted(&json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "emitted" }, "spec": claim["spec"],
    }));
    let pool = &list["items"][1]["spec"];
    let name = &pool["sandboxTemplateRef"]["name"];
    assert_eq!(name, &template["metadata"]["name"]);
}

/// The name of a snapshot is known before it is there; nothing is baked for the sake of it, and no secret is printed.
#[test]
fn a_manifest_can_be_had_before_its_snapshot() {
    let _cluster = whole();
    let machine = Machine::with(
        "prebuild one { from dev-base; secret TOKEN; run \"echo KEY ${#TOKEN} > f\"; }",
    );
    let output = machine
        .command("up", &["--emit", "manifest", "--secret", "TOKEN=env:VALUE"])
        .env("VALUE", "canary-of-manifests")
        .output();
    let said = Said::from(output.unwrap());
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.contains("not there yet"), "{}", said.err);
    assert!(said.err.contains("TOKEN"), "{}", said.err);
    assert!(!said.out.contains("canary-of-manifests"));
    let list: Value = serde_json::from_str(&said.out).unwrap();
    let source = &list["items"][0]["spec"]["dataSource"]["name"];
    let wanted = format!("snap-{}", &machine.key("one")[..12]);
    assert_eq!(source, &json!(wanted));
    accepted(&list);
}
