//! Registries and networks that fail: what is repeated, what is gone on with, what is refused.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::front::{Front, Manner};
use crate::processes::wait_until;
use crate::project::{Project, pairs};
use crate::registry::{Registry, stored};
use crate::{Bench, oci_layout, resolve, rootfs};
use atelier::registry::Fault;
use atelier::resolve::host::platform;

/// A registry with an image of a large layer, a server in front of it, and a project on the image.
struct Scene {
    registry: Registry,
    front: Front,
    project: Project,
    image: Value,
    /// The path of the layer in requests.
    blob: String,
    layer: String,
    /// The layer itself.
    content: Vec<u8>,
}

const LAYER: u32 = 8 << 20;

impl Scene {
    fn new() -> Self {
        let (registry, bench) = (Registry::open(), Bench::new());
        // Of no use to who compresses.
        let noise: Vec<u8> = (0..LAYER)
            .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[3])
            .collect();
        let large = rootfs::file("large", &noise);
        let image = bench.image(&[&large]);
        registry.push(&bench.layout, &image, "dev", "1");
        let front = Front::of(registry.port);
        let project = Project::empty();
        let text = format!(
            "from \"{}\"\nrun \"cat /large > copy\" shell=sh\n",
            front.image("dev:1")
        );
        project.write("prebuild.kdl", &text);
        let layer = oci_layout::digest(&bench.layout.blob(oci_layout::LAYER, &large));
        Self {
            registry,
            front,
            project,
            image,
            blob: format!("/blobs/{layer}"),
            layer,
            content: large,
        }
    }

    /// Where in the layer each request for it began.
    fn starts(&self) -> Vec<String> {
        let requests = self.front.requests();
        let of_layer = requests
            .iter()
            .filter(|one| one.target().ends_with(&self.blob));
        of_layer
            .map(|one| one.header("range").unwrap_or("whole").to_owned())
            .collect()
    }

    fn is_stored(&self) -> bool {
        stored(&self.project.store, &self.layer).exists()
    }
}

#[test]
fn a_transfer_that_is_cut_goes_on_where_it_was() {
    let scene = Scene::new();
    scene
        .front
        .meet(&scene.blob, 1, Manner::Cut { after: 3 << 20 });
    scene
        .front
        .meet(&scene.blob, 1, Manner::Cut { after: 2 << 20 });
    assert_eq!(scene.project.build(&[]), pairs(&[("default", "baked")]));
    let expected = [
        "whole".to_owned(),
        format!("bytes={}-", 3 << 20),
        format!("bytes={}-", 5 << 20),
    ];
    assert_eq!(scene.starts(), expected);
}

#[test]
fn a_server_without_ranges_is_asked_for_all_of_it_again() {
    let scene = Scene::new();
    scene
        .front
        .meet(&scene.blob, 1, Manner::Cut { after: 3 << 20 });
    scene.front.meet(&scene.blob, 1, Manner::Whole);
    assert_eq!(scene.project.build(&[]), pairs(&[("default", "baked")]));
    assert_eq!(
        scene.starts(),
        ["whole".to_owned(), format!("bytes={}-", 3 << 20)]
    );
}

#[test]
fn a_later_build_goes_on_where_one_has_failed() {
    let scene = Scene::new();
    // Each time one megabyte, until it is given up.
    scene
        .front
        .meet(&scene.blob, 1, Manner::Cut { after: 1 << 20 });
    scene.front.meet(&scene.blob, 100, Manner::Cut { after: 0 });
    let failed = scene.project.run(&["build"]).expect(5);
    assert!(
        failed.stderr.contains("lost the connection: "),
        "{}",
        failed.stderr
    );
    assert!(
        failed.stderr.contains("try again later"),
        "{}",
        failed.stderr
    );
    assert!(!scene.is_stored());
    assert!(scene.starts().len() > 3);
    scene.front.serve_again();
    scene.front.forget();
    assert_eq!(scene.project.build(&[]), pairs(&[("default", "baked")]));
    assert_eq!(scene.starts(), [format!("bytes={}-", 1 << 20)]);
}

/// behaviours 1.11
#[test]
fn what_a_killed_build_leaves_is_not_taken_as_whole() {
    let scene = Scene::new();
    scene
        .front
        .meet(&scene.blob, 1, Manner::Cut { after: 1 << 20 });
    scene
        .front
        .meet(&scene.blob, 1, Manner::Wait(Duration::from_mins(1)));
    let mut building = scene
        .project
        .start_command(scene.project.atelier(&["build"]));
    wait_until("it goes on", || scene.starts().len() == 2);
    building.child.kill().unwrap();
    building.wait();
    assert!(!scene.is_stored());
    scene.front.serve_again();
    scene.front.forget();
    assert_eq!(scene.project.build(&[]), pairs(&[("default", "baked")]));
    assert_eq!(scene.starts(), [format!("bytes={}-", 1 << 20)]);
}

#[test]
fn a_layer_that_is_not_what_the_manifest_says_is_refused() {
    let scene = Scene::new();
    scene.front.meet(&scene.blob, 100, Manner::Spoil);
    let failed = scene.project.run(&["build"]).expect(5);
    let expected = format!("sent something else than {}", scene.layer);
    assert!(failed.stderr.contains(&expected), "{}", failed.stderr);
    assert!(!scene.is_stored());
    scene.front.serve_again();
    assert_eq!(scene.project.build(&[]), pairs(&[("default", "baked")]));
}

#[test]
fn what_was_begun_wrongly_is_got_anew() {
    let scene = Scene::new();
    let part = scene.project.store.join("b/part");
    // The store has to be there first.
    scene.project.run(&["plan"]).expect(0);
    fs::create_dir_all(&part).unwrap();
    let hex = scene.layer.strip_prefix("sha256:").unwrap();
    fs::write(part.join(hex), b"rubbish").unwrap();
    assert_eq!(scene.project.build(&[]), pairs(&[("default", "baked")]));
    assert_eq!(scene.starts(), ["bytes=7-", "whole"]);
}

#[test]
fn a_manifest_that_is_not_what_was_asked_for_is_refused() {
    let scene = Scene::new();
    let bench = Bench::new();
    let body = b"{\"schemaVersion\":2}".to_vec();
    scene.front.meet("/manifests/", 2, Manner::Replace { body });
    let pinned = scene
        .front
        .image(&format!("dev@{}", oci_layout::digest(&scene.image)));
    for text in [scene.front.image("dev:1"), pinned] {
        let error = resolve(&bench.registries(), &text, &platform()).unwrap_err();
        assert!(matches!(error.fault, Fault::Digest { .. }), "{error}");
    }
}

/// behaviours 1.3
#[test]
fn what_passes_is_asked_again() {
    let scene = Scene::new();
    let bench = Bench::new();
    let fail = |status, retry_after| Manner::Fail {
        status,
        retry_after,
    };
    let text = scene.front.image("dev:1");
    for (status, retry_after, least) in [
        (500, None, 0),
        (503, Some("1"), 1),
        (429, None, 0),
        (429, Some("2"), 2),
    ] {
        scene.front.forget();
        scene
            .front
            .meet("/manifests/1", 2, fail(status, retry_after));
        let began = Instant::now();
        resolve(&bench.registries(), &text, &platform()).unwrap();
        assert_eq!(scene.front.targets("/manifests/1").len(), 3, "{status}");
        assert!(
            began.elapsed() >= Duration::from_secs(2 * least),
            "{status}"
        );
    }
}

#[test]
fn who_asks_for_more_time_than_there_is_gets_none() {
    let scene = Scene::new();
    let bench = Bench::new();
    let retry_after = Some("3600");
    scene.front.meet(
        "/manifests/1",
        9,
        Manner::Fail {
            status: 429,
            retry_after,
        },
    );
    let text = scene.front.image("dev:1");
    let began = Instant::now();
    let error = resolve(&bench.registries(), &text, &platform()).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(
        error
            .to_string()
            .ends_with("asks to slow down (HTTP 429) for 3600 s"),
        "{error}"
    );
    assert_eq!(scene.front.targets("/manifests/1").len(), 1);
}

#[test]
fn what_stays_is_told() {
    let scene = Scene::new();
    let bench = Bench::new();
    for (status, expected) in [
        (400, "refused the request (HTTP 400)"),
        (403, "denies access (HTTP 403)"),
        (404, "has no such image or tag"),
        (502, "failed (HTTP 502)"),
    ] {
        scene.front.serve_again();
        scene.front.meet(
            "/manifests/1",
            9,
            Manner::Fail {
                status,
                retry_after: None,
            },
        );
        let text = scene.front.image("dev:1");
        let error = resolve(&bench.registries(), &text, &platform()).unwrap_err();
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

/// behaviours 2.15
#[test]
fn two_builds_at_once_get_a_layer_once() {
    let scene = Scene::new();
    // Two images that have it on different layers: what is unpacked is not shared, and what is pulled is.
    let bench = Bench::new();
    let (first, shell) = (rootfs::file("other", b"x"), rootfs::shell());
    let layers: [&[u8]; 3] = [&first, &shell, &scene.content];
    let other = bench.layout.image(&platform(), &layers);
    scene.registry.push(&bench.layout, &other, "dev", "2");
    let second = Project::empty().with_store(&scene.project.store);
    let text = format!(
        "from \"{}\"\nrun \"cat /large > copy\" shell=sh\n",
        scene.front.image("dev:2")
    );
    second.write("prebuild.kdl", &text);
    scene
        .front
        .meet(&scene.blob, 9, Manner::Wait(Duration::from_secs(1)));
    let first = scene
        .project
        .start_command(scene.project.atelier(&["build"]));
    let second_run = second.start_command(second.atelier(&["build"]));
    first.wait().expect(0);
    second_run.wait().expect(0);
    assert_eq!(scene.starts(), ["whole"]);
    // Nobody needs it any more.
    assert!(!scene.is_stored());
}

/// behaviours 2.15
#[test]
fn two_builds_of_one_image_at_once_get_it_once() {
    let scene = Scene::new();
    let second = Project::empty().with_store(&scene.project.store);
    let text = fs::read_to_string(scene.project.root.join("prebuild.kdl")).unwrap();
    second.write("prebuild.kdl", &text.replace("copy", "another"));
    let slow = Manner::Wait(Duration::from_secs(1));
    scene.front.meet("/blobs/", 99, slow);
    let first = scene
        .project
        .start_command(scene.project.atelier(&["build"]));
    let second = second.start_command(second.atelier(&["build"]));
    first.wait().expect(0);
    second.wait().expect(0);
    assert_eq!(scene.starts(), ["whole"]);
}
