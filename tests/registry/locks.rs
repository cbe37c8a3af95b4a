//! Images in the lock: a tag that moves, an alias that means another image, and a machine without a network.

use std::fs;

use atelier::resolve::host::platform;
use serde_json::json;

use crate::front::Front;
use crate::oci_layout::{digest, on};
use crate::project::{Project, pairs};
use crate::registry::Registry;
use crate::wrapped::started_by;
use crate::{Bench, rootfs};

const LOCK: &str = "prebuild.lock.kdl";

/// A registry whose image `dev:1` holds a file, and a project whose one step reads it.
struct Locked {
    registry: Registry,
    bench: Bench,
    project: Project,
}

impl Locked {
    fn new() -> (Self, String) {
        let locked = Self {
            registry: Registry::open(),
            bench: Bench::new(),
            project: Project::empty(),
        };
        let first = locked.tag("1", "first");
        locked.from(&locked.registry.image("dev:1"));
        (locked, first)
    }

    fn from(&self, image: &str) {
        let text = format!("from \"{image}\"\nrun \"cat /hello > hello\" shell=sh\n");
        self.project.write("prebuild.kdl", &text);
    }

    /// Gives a tag to an image with this content; returns its digest.
    fn tag(&self, tag: &str, content: &str) -> String {
        let layer = rootfs::file("hello", content.as_bytes());
        let image = self.bench.image(&[&layer]);
        self.registry.push(&self.bench.layout, &image, "dev", tag);
        digest(&image)
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.project.root.join(LOCK)).unwrap()
    }

    fn hello(&self) -> String {
        let ran = self.project.run(&["up", "--", "cat", "hello", "/hello"]);
        ran.expect(0).stdout
    }
}

fn short(digest: &str) -> String {
    format!("{}…", &digest[.."sha256:".len() + 12])
}

/// behaviours 1.7: a retagged image.
#[test]
fn a_tag_that_moves_leaves_what_is_locked_as_it_is() {
    let (locked, first) = Locked::new();
    let project = &locked.project;
    let (image, platform) = (locked.registry.image("dev:1"), platform());
    let line = |old: &str, new: &str| format!("image {image} {platform}: {old} → {new}\n");
    let ran = project.run(&["update"]).expect(0);
    assert_eq!(ran.stdout, line("nothing", &short(&first)));
    let entry = format!("\nimage \"{image}\" platform=\"{platform}\" digest=\"{first}\"\n");
    assert!(locked.lock().ends_with(&entry), "{}", locked.lock());
    project.run(&["build", "--locked"]).expect(0);
    let second = locked.tag("1", "second");
    assert_eq!(project.plan(&[]), pairs(&[("default", "reuse")]));
    assert_eq!(locked.hello(), "firstfirst");
    // What is baked again takes what is locked, and not what the tag says.
    project.run(&["build", "--force", "default"]).expect(0);
    assert_eq!(locked.hello(), "firstfirst");
    let fresh = project.run(&["plan", "--fresh", "--json"]).expect(0).json();
    let detail = json!([{"field": "from / image digest", "old": first, "new": second}]);
    let reason = json!({"kind": "changed", "detail": detail});
    assert_eq!(fresh["nodes"][0]["reason"], reason);
    let moved = line(&short(&first), &short(&second));
    assert_eq!(project.run(&["update", "--check"]).expect(4).stdout, moved);
    assert_eq!(project.run(&["update", "--repos"]).expect(0).stdout, "");
    let ran = project.run(&["update", "--images", &image]).expect(0);
    assert_eq!(ran.stdout, moved);
    let plan = project.run(&["plan", "--json"]).expect(0).json();
    assert_eq!(plan["nodes"][0]["reason"], reason);
    project.run(&["build"]).expect(0);
    assert_eq!(locked.hello(), "secondsecond");
}

/// behaviours 2.18: with a lock and all hits there is no network call, and no name is looked up.
#[test]
fn a_locked_image_needs_no_network() {
    let (locked, _) = Locked::new();
    let project = &locked.project;
    project.run(&["update"]).expect(0);
    project.run(&["build"]).expect(0);
    let trace = project.home.join("trace");
    let offline = |words: &[&str]| {
        let starter = [
            "unshare",
            "--net",
            "strace",
            "-f",
            "-qq",
            "-e",
            "trace=socket,connect",
            "-o",
        ];
        let starter = [&starter[..], &[trace.to_str().unwrap()]].concat();
        let ran = project.run_command(started_by(&starter, &project.atelier(words)));
        (ran, fs::read_to_string(&trace).unwrap())
    };
    for words in [
        &["check", "--locked"][..],
        &["build", "--cached-only"],
        &["build"],
    ] {
        let (ran, sockets) = offline(words);
        ran.expect(0);
        for family in ["AF_INET", "AF_NETLINK", "nscd", "resolve"] {
            assert!(!sockets.contains(family), "{words:?}: {sockets}");
        }
    }
    let (ran, sockets) = offline(&["check", "--fresh"]);
    ran.expect(5);
    assert!(sockets.contains("AF_INET"), "{sockets}");
}

/// The tag is not asked for again, whatever is missing of the layers.
#[test]
fn what_is_locked_is_pulled_by_its_digest() {
    let (locked, _) = Locked::new();
    let project = &locked.project;
    let front = Front::of(locked.registry.port);
    locked.from(&front.image("dev:1"));
    project.run(&["update"]).expect(0);
    locked.tag("1", "second");
    front.forget();
    project.run(&["build", "--locked"]).expect(0);
    assert_eq!(front.targets("/manifests/1"), Vec::<String>::new());
    assert!(!front.targets("/blobs/").is_empty());
    assert_eq!(locked.hello(), "firstfirst");
}

/// behaviours 2.8: an entry is for the image that the alias meant.
#[test]
fn an_alias_that_means_another_image_has_no_entry() {
    let (locked, first) = Locked::new();
    let project = &locked.project;
    let second = locked.tag("2", "second");
    let configure = |tag: &str| {
        let image = locked.registry.image(&format!("dev:{tag}"));
        project.write(
            ".atelier/config.kdl",
            &format!("alias dev-base \"{image}\""),
        );
    };
    configure("1");
    locked.from("dev-base");
    project.run(&["update"]).expect(0);
    let entry = |digest: &str, tag: &str| {
        let (platform, image) = (platform(), locked.registry.image(&format!("dev:{tag}")));
        format!(
            "image \"dev-base\" platform=\"{platform}\" digest=\"{digest}\" reference=\"{image}\"\n"
        )
    };
    assert!(
        locked.lock().ends_with(&entry(&first, "1")),
        "{}",
        locked.lock()
    );
    project.run(&["build", "--locked"]).expect(0);
    configure("2");
    let ran = project.run(&["build", "--json"]).expect(0);
    let had = format!("{LOCK} has it as {}", locked.registry.image("dev:1"));
    let notice = format!("note: dev-base is resolved anew, {had}\n");
    assert!(ran.stderr.starts_with(&notice), "{}", ran.stderr);
    assert_eq!(ran.column("result"), pairs(&[("default", "baked")]));
    let ran = project.run(&["plan", "--locked"]).expect(4);
    for told in ["dev-base is not locked", &had] {
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
    let ran = project.run(&["update", "dev-base"]).expect(0);
    let moved = format!(
        "image dev-base {}: {} → {}\n",
        platform(),
        short(&first),
        short(&second)
    );
    assert_eq!(ran.stdout, moved);
    assert!(
        locked.lock().ends_with(&entry(&second, "2")),
        "{}",
        locked.lock()
    );
    // Another tag with the same content is one more line, and no other key.
    locked.tag("3", "second");
    configure("3");
    let ran = project.run(&["update"]).expect(0);
    let images = ["dev:2", "dev:3"].map(|name| locked.registry.image(name));
    let moved = format!(
        "image dev-base {}: {} → {}\n",
        platform(),
        images[0],
        images[1]
    );
    assert_eq!(ran.stdout, moved);
    assert_eq!(project.plan(&["--locked"]), pairs(&[("default", "reuse")]));
}

#[test]
fn this_machine_itself_is_never_locked() {
    let (locked, _) = Locked::new();
    let project = &locked.project;
    project.write(".atelier/config.kdl", "alias dev-base \"host\"");
    locked.from("dev-base");
    project.run(&["plan", "--locked"]).expect(0);
    project.run(&["update", "dev-base"]).expect(2);
}

/// A colleague's machine has another processor: their entry moves with ours.
#[test]
fn an_image_moves_for_every_platform_that_is_locked() {
    let (locked, _) = Locked::new();
    let layout = &locked.bench.layout;
    let push = |content: &[u8]| {
        let images =
            ["linux/amd64", "linux/arm64"].map(|name| (name, layout.image(name, &[content])));
        let index = layout.index(&images.clone().map(|(name, image)| on(name, image)));
        locked.registry.push(layout, &index, "dev", "1");
        images.map(|(_, image)| digest(&image))
    };
    let image = locked.registry.image("dev:1");
    let both = |[amd, arm]: &[String; 2]| {
        let line = |platform: &str, digest: &str| {
            format!("\nimage \"{image}\" platform=\"{platform}\" digest=\"{digest}\"\n")
        };
        line("linux/amd64", amd) + &line("linux/arm64", arm)
    };
    let first = push(b"first");
    locked.project.write("prebuild.kdl", &format!("prebuild a {{ from \"{image}\" platform=\"linux/amd64\"; }}\nprebuild b {{ from \"{image}\" platform=\"linux/arm64\"; }}"));
    locked.project.run(&["update"]).expect(0);
    assert!(locked.lock().ends_with(&both(&first)), "{}", locked.lock());
    locked.from(&image);
    let second = push(b"second");
    locked.project.run(&["update"]).expect(0);
    assert!(locked.lock().ends_with(&both(&second)), "{}", locked.lock());
}
