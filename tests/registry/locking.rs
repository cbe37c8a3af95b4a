//! Images under a lock: a tag that moves changes nothing until the next update.

use crate::project::{Project, pairs};
use crate::registry::Registry;
use crate::{Bench, oci_layout, rootfs};

fn project(registry: &Registry) -> Project {
    let project = Project::empty();
    let text = format!(
        "from \"{}\"\nrun \"cat /which > f\" shell=sh\n",
        registry.image("dev:1")
    );
    project.write("prebuild.kdl", &text);
    project
}

/// Pushes an image under the one tag, and returns its digest.
fn tag(registry: &Registry, which: &str) -> String {
    let bench = Bench::new();
    let image = bench.image(&[&rootfs::file("which", which.as_bytes())]);
    registry.push(&bench.layout, &image, "dev", "1");
    oci_layout::digest(&image)
}

fn key(project: &Project, options: &[&str]) -> String {
    let ran = project.run(&[&["plan", "--json"], options].concat());
    ran.expect(0).column("key").remove(0).1
}

/// behaviours 1.7
#[test]
fn a_tag_that_moves_is_a_new_key_unless_it_is_locked() {
    let registry = Registry::open();
    let project = project(&registry);
    let old = tag(&registry, "old");
    project.run(&["update"]).expect(0);
    let locked = key(&project, &[]);
    assert_eq!(project.build(&[]), pairs(&[("default", "baked")]));
    let new = tag(&registry, "new");
    assert_eq!(key(&project, &[]), locked);
    assert_eq!(project.plan(&[]), pairs(&[("default", "reuse")]));
    // Without the lock it is the new one, and says why.
    let fresh = project.run(&["plan", "--json", "--fresh"]).expect(0);
    assert_ne!(fresh.column("key")[0].1, locked);
    let reason = &fresh.json()["nodes"][0]["reason"];
    assert_eq!(reason["kind"], "changed");
    let detail = reason["detail"].as_array().unwrap();
    assert_eq!(detail.len(), 1, "{detail:?}");
    assert!(detail[0]["old"].to_string().contains(&old), "{detail:?}");
    assert!(detail[0]["new"].to_string().contains(&new), "{detail:?}");
    let updated = project.run(&["update"]).expect(0);
    for digest in [&old, &new] {
        // As long as people compare.
        assert!(updated.stdout.contains(&digest[..19]), "{updated:?}");
    }
    assert_eq!(key(&project, &[]), fresh.column("key")[0].1);
}

/// behaviours 2.18
#[test]
fn what_is_locked_and_cached_needs_no_registry() {
    let registry = Registry::open();
    let project = project(&registry);
    tag(&registry, "old");
    project.run(&["update"]).expect(0);
    project.run(&["build", "--locked"]).expect(0);
    drop(registry);
    project.run(&["check", "--locked"]).expect(0);
    assert_eq!(
        project.build(&["--locked"]),
        pairs(&[("default", "reused")])
    );
    let up = project.run(&["up", "--", "cat", "f"]).expect(0);
    assert_eq!(up.stdout, "old");
}

#[test]
fn another_machine_pulls_what_is_locked_although_the_tag_has_moved() {
    let registry = Registry::open();
    let project = project(&registry);
    tag(&registry, "old");
    project.run(&["update"]).expect(0);
    tag(&registry, "new");
    let elsewhere = project.store.with_file_name("elsewhere");
    let project = project.with_store(&elsewhere);
    project.run(&["build", "--locked"]).expect(0);
    let up = project.run(&["up", "--", "cat", "f"]).expect(0);
    assert_eq!(up.stdout, "old");
}
