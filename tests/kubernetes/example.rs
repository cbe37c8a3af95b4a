//! The example with three nodes, npm and a repository: baked by both backends from the very same image, it is the same.

use std::process::Command;

use crate::cluster::{Machine, pods_ever, published, whole};

const FILE: &str = "examples/chain/prebuild.kdl";

/// All that two bakes of one key have in common: not when files were written, what git and npm note of that, and how git packed
/// what it fetched.
const LISTING: &str = r"
    find . -mindepth 1 \( -path '*/.git/objects/pack' -o -path '*/.git/index' -o -path '*/.npm/*' \) -prune -o -printf '%P %y %m %U %G %l\n' | sort
    find . \( -path '*/.git/objects/pack' -o -path '*/.git/index' -o -path '*/.npm/*' \) -prune -o -type f -print0 | sort -z | xargs -0 sha256sum
    cd src; git rev-parse HEAD; git status --porcelain; git fsck --no-progress; git log --oneline | wc -l";

/// A new machine with the project, committed.
fn project() -> Machine {
    let machine = Machine::with("");
    let from = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/chain");
    let script = "
        mkdir examples
        cp -R \"$1\" examples/chain
        rm prebuild.kdl
        printf 'store/\\n' > .gitignore
        git init -q
        git add .
        git -c user.name=a -c user.email=a@b commit -qm one";
    let made = Command::new("sh")
        .args(["-euc", script, "sh", from])
        .current_dir(machine.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    machine
}

#[test]
fn the_example_chain_is_the_same_by_both_backends() {
    let _cluster = whole();
    let machine = project();
    let good = |backend: &str, arguments: &[&str]| {
        let mut call = machine.command_on(backend, arguments[0], &arguments[1..]);
        let output = call.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{backend}: {told}");
        (String::from_utf8(output.stdout).unwrap(), told)
    };
    // Forced, since an earlier run may have baked it in this cluster.
    let force = ["--force", "tools", "--force", "deps", "--force", "app"];
    let (_, told) = good("kubernetes", &[&["build", FILE][..], &force].concat());
    assert_eq!(told.matches("baked").count(), 3, "{told}");
    let keys = |backend: &str| {
        let (plan, _) = good(backend, &["plan", "--json", FILE]);
        let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        let nodes = plan["nodes"].as_array().unwrap().iter();
        let keys = nodes.map(|node| node["key"].as_str().unwrap().to_owned());
        keys.collect::<Vec<String>>()
    };
    assert_eq!(keys("kubernetes"), keys("local"));
    let before = pods_ever(&keys("kubernetes"));
    assert!(before >= 3);
    let (_, told) = good("kubernetes", &["build", FILE]);
    assert_eq!(told.matches("reused").count(), 3, "{told}");
    assert_eq!(pods_ever(&keys("kubernetes")), before);
    for key in keys("kubernetes") {
        assert_eq!(published(&key).len(), 1);
    }
    let up = ["up", FILE, "app", "--", "bash", "-euc", LISTING];
    let (here, _) = good("local", &up);
    let (there, _) = good("kubernetes", &up);
    assert!(here.lines().count() > 100, "{here}");
    let differ: Vec<(&str, &str)> = here
        .lines()
        .zip(there.lines())
        .filter(|(here, there)| here != there)
        .take(20)
        .collect();
    assert_eq!(differ, []);
    assert_eq!(here.lines().count(), there.lines().count());
}
