//! Layers, from the registry into the store and under a sandbox.

use crate::front::{Front, Manner};
use crate::project::Project;
use crate::registry::Registry;
use crate::{Bench, oci_layout, rootfs};

/// A project that starts from an image, and whose step uses what is in it.
fn project(image: &str) -> Project {
    let project = Project::empty();
    project.write(
        "prebuild.kdl",
        &format!("from \"{image}\"\nrun \"cat /hello > hello\" shell=sh\n"),
    );
    project
}

#[test]
fn a_step_runs_in_an_image_of_a_registry_and_so_does_a_sandbox() {
    let (registry, bench) = (Registry::open(), Bench::new());
    let hello = rootfs::gzip(&rootfs::file("hello", b"from the image\n"));
    let image = bench.image(&[&hello]);
    registry.push(&bench.layout, &image, "acme/dev", "1");
    let project = project(&registry.image("acme/dev:1"));
    let built = project.run(&["build"]).expect(0);
    let pulled = format!("pull 2 layers of localhost:{}/acme/dev", registry.port);
    assert!(built.stderr.contains(&pulled), "{}", built.stderr);
    let up = project
        .run(&["up", "--", "cat", "hello", "/hello"])
        .expect(0);
    assert_eq!(up.stdout, "from the image\nfrom the image\n");
    // All is there: the layers are not wanted again, and neither is the tag if it is a digest.
    let digest = oci_layout::digest(&image);
    drop(registry);
    let text = std::fs::read_to_string(project.root.join("prebuild.kdl")).unwrap();
    project.write(
        "prebuild.kdl",
        &text.replace(":1\"", &format!("@{digest}\"")),
    );
    assert_eq!(
        project.plan(&[]),
        crate::project::pairs(&[("default", "reuse")])
    );
    project.run(&["build", "--force", "default"]).expect(0);
}

#[test]
fn a_plan_pulls_no_layer_and_a_build_pulls_each_once() {
    let (registry, bench) = (Registry::open(), Bench::new());
    let front = Front::of(registry.port);
    let layers: Vec<Vec<u8>> = (0..6)
        .map(|n| rootfs::file(&format!("f{n}"), &[n]))
        .collect();
    let slices: Vec<&[u8]> = layers.iter().map(Vec::as_slice).collect();
    let hello = rootfs::file("hello", b"hello\n");
    let image = bench.image(&[&slices[..], &[&hello, &hello]].concat());
    registry.push(&bench.layout, &image, "dev", "1");
    let project = project(&front.image("dev:1"));
    front.meet(
        "/blobs/",
        100,
        Manner::Wait(std::time::Duration::from_millis(200)),
    );
    project.run(&["plan"]).expect(0);
    // The configuration is one.
    assert_eq!(front.targets("/blobs/").len(), 1);
    project.run(&["build"]).expect(0);
    // Of the nine layers two are the same.
    assert_eq!(front.targets("/blobs/").len(), 1 + 8);
    assert_eq!(front.most_at_once(), 4);
    front.forget();
    project.run(&["build", "--force", "default"]).expect(0);
    assert_eq!(front.targets("/blobs/"), Vec::<String>::new());
}
