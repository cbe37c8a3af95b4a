//! The role that manifests/ has is enough, and each of its verbs is missed by name.

use std::path::PathBuf;

use crate::cluster::{Machine, Said, apply, kubectl, run_folder, whole};

/// A rule of the role: group, resource, verbs.
fn rules() -> Vec<(String, String, Vec<String>)> {
    let text = std::fs::read_to_string("manifests/role.yaml").unwrap();
    let role = text.split("---").next().unwrap();
    let list = |line: &str| -> Vec<String> {
        let inside = line.split('[').nth(1).unwrap().split(']').next().unwrap();
        inside
            .split(',')
            .map(|word| word.trim().trim_matches('"').to_owned())
            .collect()
    };
    let mut rules = Vec::new();
    let (mut group, mut resources) = (String::new(), Vec::new());
    for line in role
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
    {
        if line.contains("apiGroups:") {
            group = list(line).remove(0);
        } else if line.contains("resources:") {
            resources = list(line);
        } else if line.contains("verbs:") {
            let of = |resource: &String| (group.clone(), resource.clone(), list(line));
            rules.extend(resources.iter().map(of));
        }
    }
    rules
}

/// A user of the cluster with these rights; returns their kubeconfig.
fn user(name: &str, rules: &[(String, String, Vec<String>)]) -> PathBuf {
    let rules: Vec<_> = rules
        .iter()
        .filter(|(_, _, verbs)| !verbs.is_empty())
        .map(|(group, resource, verbs)| {
            serde_json::json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs })
        })
        .collect();
    let group = "rbac.authorization.k8s.io";
    let all = serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": [
        { "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name } },
        { "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": { "name": name }, "rules": rules },
        { "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": { "name": name },
          "roleRef": { "apiGroup": group, "kind": "Role", "name": name },
          "subjects": [{ "kind": "ServiceAccount", "name": name }] },
    ] });
    apply(&all.to_string());
    let token = kubectl(&["create", "token", name]);
    let admin = std::fs::read_to_string(run_folder().join("admin.kubeconfig")).unwrap();
    let own = admin
        .split("token: ")
        .nth(1)
        .unwrap()
        .split('}')
        .next()
        .unwrap();
    let path = std::env::temp_dir().join(format!("{name}.kubeconfig"));
    std::fs::write(&path, admin.replace(own, token.trim())).unwrap();
    path
}

fn run_as(machine: &Machine, user: &PathBuf, command: &str, arguments: &[&str]) -> Said {
    let output = machine
        .command(command, arguments)
        .env("KUBECONFIG", user)
        .output();
    output.unwrap().into()
}

#[test]
fn the_role_is_enough_for_a_bake_and_a_sandbox() {
    let _cluster = whole();
    let user = user("role-whole", &rules());
    let machine = Machine::with("prebuild one { from dev-base; run \"echo KEY > f\"; }");
    let built = run_as(&machine, &user, "build", &[]);
    assert_eq!(built.code, Some(0), "{}", built.err);
    let up = run_as(&machine, &user, "up", &["--", "cat", "f"]);
    assert_eq!(up.code, Some(0), "{}", up.err);
}

#[test]
fn each_verb_that_is_missing_is_named() {
    let _cluster = whole();
    let machine = Machine::with("prebuild one { from dev-base; run \"echo KEY\"; }");
    let all = rules();
    for (index, (_, resource, verbs)) in all.iter().enumerate() {
        // For those clusters alone that enforce it.
        if resource.ends_with("/finalizers") {
            continue;
        }
        for verb in verbs {
            let mut rules = all.clone();
            rules[index].2.retain(|other| other != verb);
            let user = user("role-less", &rules);
            let said = run_as(&machine, &user, "doctor", &[]);
            assert_eq!(said.code, Some(6), "{}", said.out);
            let missing = format!("{verb} {resource}");
            assert!(said.out.contains(&missing), "{missing}: {}", said.out);
        }
    }
}

#[test]
fn a_build_that_may_not_says_what_it_may_not_and_where_the_role_is() {
    let _cluster = whole();
    let machine = Machine::with("prebuild one { from dev-base; run \"echo KEY\"; }");
    let all = rules();
    for (resource, verb) in [
        ("leases", "create"),
        ("pods", "create"),
        ("pods/attach", "create"),
        ("persistentvolumeclaims", "create"),
        ("volumesnapshots", "list"),
        ("volumesnapshots", "create"),
        ("volumesnapshots", "patch"),
    ] {
        let mut rules = all.clone();
        for rule in rules.iter_mut().filter(|rule| rule.1 == resource) {
            rule.2.retain(|other| other != verb);
        }
        let user = user("role-denied", &rules);
        let said = run_as(&machine, &user, "build", &[]);
        assert_eq!(said.code, Some(6), "{verb} {resource}: {}", said.err);
        assert!(
            said.err.contains("A0702"),
            "{verb} {resource}: {}",
            said.err
        );
        assert!(
            said.err.contains("manifests/"),
            "{verb} {resource}: {}",
            said.err
        );
    }
}
