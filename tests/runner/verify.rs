//! Workspaces compared with their manifests.

use std::fs;

use atelier::runner::protocol::{Failure, Outcome};

use super::house::{House, step, steps};

#[test]
fn a_workspace_is_what_it_was_until_it_is_changed() {
    let house = House::with_workspace();
    let make = "mkdir -p a/b; echo one >a/b/file; ln -s a link; mkfifo pipe; git init -q r; touch -d @5 old";
    let mut request = steps(vec![step(make)]);
    request.checkouts = vec!["r".to_owned()];
    let manifest = house.steps(&request).baked().manifest.clone();
    let again = house.steps(&steps(vec![step("true")]));
    assert_eq!(again.baked().manifest, manifest);

    let answer = house.verify(&manifest, &["r"]);
    let verified = ["manifest", "git fsck"].map(str::to_owned).to_vec();
    assert_eq!(answer.outcome(), &Outcome::Verified(verified));
    assert_eq!(answer.code, 0);

    for (change, told) in [
        ("echo two >a/b/file", "a/b/file has another content"),
        ("chmod 600 a/b/file", "had the mode 0644, and has 0600"),
        ("rm link", "link is missing"),
        ("touch new", "new was added"),
    ] {
        let other = House::with_workspace();
        let manifest = other.steps(&request).baked().manifest.clone();
        let script = format!("cd '{}'; {change}", other.workspace().display());
        let changed = std::process::Command::new("sh")
            .args(["-c", &script])
            .status();
        assert!(changed.unwrap().success());
        let text = format!("{:?}", other.verify(&manifest, &[]).failure());
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn another_manifest_is_none() {
    let house = House::with_workspace();
    let manifest = house
        .steps(&steps(vec![step("true")]))
        .baked()
        .manifest
        .clone();
    let other = manifest.chars().rev().collect::<String>();
    let Failure::Damaged { count: 1, first } = house.verify(&other, &[]).failure().clone() else {
        panic!("another failure");
    };
    assert_eq!(first, ["its manifest is another one"]);
    fs::remove_file(house.volume().join("manifest")).unwrap();
    let text = format!("{:?}", house.verify(&manifest, &[]).failure());
    assert!(text.contains("its manifest cannot be read"), "{text}");
}
