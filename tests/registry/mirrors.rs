//! A mirror is asked first, and the registry itself when it cannot say.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::front::{Front, Manner};
use crate::project::{Project, Ran, pairs};
use crate::registry::Registry;
use crate::{Bench, rootfs};

/// A registry with a server in front of it.
struct Place {
    registry: Registry,
    front: Front,
}

impl Place {
    fn new() -> Self {
        let registry = Registry::open();
        let front = Front::of(registry.port);
        Self { registry, front }
    }

    fn host(&self) -> String {
        format!("localhost:{}", self.front.port)
    }

    fn is_asked(&self) -> bool {
        !self.front.requests().is_empty()
    }
}

/// A project on an image of `host`, for which `mirror` is asked first.
fn project(host: &str, mirror: &str) -> Project {
    let project = Project::empty();
    let text = format!("from \"{host}/acme/dev:1\"\nrun \"cat /which > f\" shell=sh\n");
    project.write("prebuild.kdl", &text);
    project.configure(&format!("registry \"{host}\" mirror=\"{mirror}\""));
    project
}

fn image(bench: &Bench, which: &str) -> Value {
    bench.image(&[&rootfs::file("which", which.as_bytes())])
}

/// Both have the image, under the same name.
fn two() -> (Place, Place, Project) {
    let (origin, mirror, bench) = (Place::new(), Place::new(), Bench::new());
    let image = image(&bench, "same");
    for place in [&origin, &mirror] {
        place.registry.push(&bench.layout, &image, "acme/dev", "1");
    }
    let project = project(&origin.host(), &mirror.host());
    (origin, mirror, project)
}

/// How often the run says that a mirror was passed over.
fn warnings(ran: &Ran) -> usize {
    ran.stderr.matches("itself is asked: its mirror").count()
}

#[test]
fn what_a_mirror_has_is_not_asked_of_the_registry() {
    let (origin, mirror, project) = two();
    let ran = project.run(&["build"]).expect(0);
    assert!(mirror.is_asked() && !origin.is_asked());
    assert_eq!(warnings(&ran), 0);
}

#[test]
fn what_a_mirror_has_not_comes_from_the_registry() {
    let (origin, mirror, project) = two();
    mirror.front.meet(
        "/v2/",
        99,
        Manner::Fail {
            status: 404,
            retry_after: None,
        },
    );
    let ran = project.run(&["build"]).expect(0);
    assert!(mirror.is_asked() && origin.is_asked());
    assert_eq!(warnings(&ran), 0);
}

/// behaviours 2.17
#[test]
fn a_mirror_that_is_down_costs_one_warning() {
    let (origin, mirror, project) = two();
    let host = mirror.host();
    // Nobody listens there any more.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    project.configure(&format!(
        "registry \"{}\" mirror=\"localhost:{port}\"",
        origin.host()
    ));
    let ran = project.run(&["build"]).expect(0);
    assert_eq!(warnings(&ran), 1, "{}", ran.stderr);
    let words = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = format!("its mirror localhost:{port} cannot be reached");
    assert!(words.contains(&expected), "{words}");
    assert!(!words.contains(&host));
}

/// behaviours 2.17
#[test]
fn a_mirror_that_is_silent_costs_a_moment_and_one_warning() {
    let (origin, mirror, project) = two();
    mirror
        .front
        .meet("/v2/", 99, Manner::Wait(Duration::from_mins(1)));
    let began = Instant::now();
    let ran = project.run(&["build"]).expect(0);
    // It is asked once, not for each of the four things that are wanted.
    assert_eq!(mirror.front.requests().len(), 1);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(warnings(&ran), 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("did not answer within 4 s"),
        "{}",
        ran.stderr
    );
    assert!(origin.is_asked());
}

#[test]
fn a_mirror_that_breaks_down_in_the_middle_is_gone_on_from() {
    let (origin, mirror, bench) = (Place::new(), Place::new(), Bench::new());
    let large = vec![7; 4 << 20];
    let image = bench.image(&[&rootfs::file("which", &large)]);
    for place in [&origin, &mirror] {
        place.registry.push(&bench.layout, &image, "acme/dev", "1");
    }
    let project = project(&origin.host(), &mirror.host());
    let layer = bench
        .layout
        .blob(crate::oci_layout::LAYER, &rootfs::file("which", &large));
    let blob = format!("/blobs/{}", crate::oci_layout::digest(&layer));
    mirror.front.meet(&blob, 1, Manner::Cut { after: 1 << 20 });
    let ran = project.run(&["build"]).expect(0);
    assert_eq!(warnings(&ran), 1, "{}", ran.stderr);
    let requests = origin.front.requests();
    let of_layer: Vec<_> = requests
        .iter()
        .filter(|one| one.target().ends_with(&blob))
        .collect();
    assert_eq!(of_layer.len(), 1);
    assert_eq!(of_layer[0].header("range"), Some("bytes=1048576-"));
}

#[test]
fn a_mirror_that_sends_something_else_is_passed_over() {
    let (_origin, mirror, project) = two();
    mirror.front.meet("/blobs/", 99, Manner::Spoil);
    let ran = project.run(&["build"]).expect(0);
    assert_eq!(warnings(&ran), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("sent something else"), "{}", ran.stderr);
}

#[test]
fn a_tag_is_what_the_mirror_says_and_a_digest_is_right_wherever_it_comes_from() {
    let (origin, mirror, project) = two();
    let bench = Bench::new();
    let other = image(&bench, "other");
    mirror.registry.push(&bench.layout, &other, "acme/dev", "1");
    project.run(&["build"]).expect(0);
    let up = project.run(&["up", "--", "cat", "f"]).expect(0);
    assert_eq!(up.stdout, "other");
    // The mirror answers with its own image, whatever is asked.
    let wanted = image(&bench, "same");
    let body = std::fs::read(bench.layout.blob_path(&crate::oci_layout::digest(&other))).unwrap();
    mirror
        .front
        .meet("/manifests/", 99, Manner::Replace { body });
    let digest = crate::oci_layout::digest(&wanted);
    let text = format!(
        "from \"{}/acme/dev@{digest}\"\nrun \"cat /which > f\" shell=sh\n",
        origin.host()
    );
    project.write("prebuild.kdl", &text);
    assert_eq!(project.build(&[]), pairs(&[("default", "baked")]));
    let up = project.run(&["up", "--", "cat", "f"]).expect(0);
    assert_eq!(up.stdout, "same");
}

#[test]
fn docker_hub_is_known_by_one_name_and_a_mirror_may_have_it_below_a_path() {
    let (mirror, bench) = (Place::new(), Bench::new());
    let image = image(&bench, "x");
    mirror
        .registry
        .push(&bench.layout, &image, "hub/library/debian", "12");
    let project = Project::empty();
    project.write(
        "prebuild.kdl",
        "from \"debian:12\"\nrun \"cat /which > f\" shell=sh\n",
    );
    project.configure(&format!(
        "registry \"index.docker.io\" mirror=\"{}/hub/\"",
        mirror.host()
    ));
    project.run(&["build"]).expect(0);
    let targets = mirror.front.targets("/manifests/");
    assert_eq!(targets[0], "GET /v2/hub/library/debian/manifests/12");
}
