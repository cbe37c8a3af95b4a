//! From a reference to the digest of one platform's manifest.

use serde_json::json;

use crate::oci_layout::{digest, on};
use crate::registry::Registry;
use crate::{Bench, resolve};
use atelier::registry::Fault;

#[test]
fn a_tag_is_the_digest_of_its_manifest() {
    let (registry, bench) = (Registry::open(), Bench::new());
    let image = bench.image(&[]);
    registry.push(&bench.layout, &image, "acme/dev", "1");
    registry.push(&bench.layout, &image, "acme/dev", "latest");
    let platform = atelier::resolve::host::platform();
    for name in ["acme/dev:1", "acme/dev"] {
        let found = resolve(&bench.registries(), &registry.image(name), &platform).unwrap();
        assert_eq!(found, digest(&image), "{name}");
    }
}

#[test]
fn an_index_has_an_image_for_each_platform() {
    let (registry, bench) = (Registry::open(), Bench::new());
    let layout = &bench.layout;
    let amd = layout.image("linux/amd64", &[b"amd"]);
    let arm = layout.image("linux/arm64/v8", &[b"arm"]);
    // What is no image is in many an index.
    let attestation = on("unknown/unknown", layout.image("linux/amd64", &[b"a"]));
    let inner = layout.index(&[on("linux/arm64/v8", arm.clone())]);
    let index = layout.index(&[on("linux/amd64", amd.clone()), attestation, inner]);
    registry.push(layout, &index, "dev", "1");
    let image = registry.image("dev:1");
    let of = |platform: &str| resolve(&bench.registries(), &image, platform);
    assert_eq!(of("linux/amd64").unwrap(), digest(&amd));
    assert_eq!(of("linux/arm64").unwrap(), digest(&arm));
    assert_eq!(of("linux/arm64/v8").unwrap(), digest(&arm));
    let error = of("linux/s390x").unwrap_err();
    let registry = &image[..image.find('/').unwrap()];
    assert_eq!(
        error.to_string(),
        format!(
            "{registry} has an image that cannot be used: it has no image for linux/s390x, only for linux/amd64, linux/arm64/v8"
        )
    );
    assert_eq!(
        error.fault.help(),
        "name an image for that platform, or say `platform=`"
    );
}

#[test]
fn an_index_need_not_say_what_its_images_are_for() {
    let (registry, bench) = (Registry::open(), Bench::new());
    let amd = bench.layout.image("linux/amd64", &[b"amd"]);
    let arm = bench.layout.image("linux/arm64", &[b"arm"]);
    let index = bench.layout.index(&[amd, arm.clone()]);
    registry.push(&bench.layout, &index, "dev", "1");
    let found = resolve(&bench.registries(), &registry.image("dev:1"), "linux/arm64");
    assert_eq!(found.unwrap(), digest(&arm));
}

#[test]
fn an_image_for_another_platform_is_refused_also_without_an_index() {
    let (registry, bench) = (Registry::open(), Bench::new());
    let arm = bench.layout.image("linux/arm64", &[b"arm"]);
    registry.push(&bench.layout, &arm, "dev", "1");
    let error = resolve(&bench.registries(), &registry.image("dev:1"), "linux/amd64").unwrap_err();
    let text = error.to_string();
    assert!(
        text.ends_with("it has no image for linux/amd64, only for linux/arm64"),
        "{text}"
    );
}

/// behaviours 1.7
#[test]
fn a_tag_that_moves_is_another_digest_and_the_old_one_stays() {
    let (registry, bench) = (Registry::open(), Bench::new());
    let platform = atelier::resolve::host::platform();
    let (old, new) = (bench.image(&[b"old"]), bench.image(&[b"new"]));
    registry.push(&bench.layout, &old, "dev", "1");
    let registries = bench.registries();
    let of = |name: &str| resolve(&registries, &registry.image(name), &platform).unwrap();
    assert_eq!(of("dev:1"), digest(&old));
    registry.push(&bench.layout, &new, "dev", "1");
    assert_eq!(of("dev:1"), digest(&new));
    let pinned = format!("dev@{}", digest(&old));
    assert_eq!(of(&pinned), digest(&old));
    // The tag before a digest is for people.
    assert_eq!(of(&format!("dev:1@{}", digest(&old))), digest(&old));
}

/// behaviours 2.18
#[test]
fn a_digest_is_asked_for_once_and_then_never_again() {
    let (registry, bench) = (Registry::open(), Bench::new());
    let layout = &bench.layout;
    let amd = layout.image("linux/amd64", &[b"amd"]);
    let arm = layout.image("linux/arm64", &[b"arm"]);
    let index = layout.index(&[
        on("linux/amd64", amd.clone()),
        on("linux/arm64", arm.clone()),
    ]);
    registry.push(layout, &index, "dev", "1");
    let of_index = registry.image(&format!("dev@{}", digest(&index)));
    let of_manifest = registry.image(&format!("dev@{}", digest(&arm)));
    let look = |platform: &str, text: &str| resolve(&bench.registries(), text, platform);
    assert_eq!(look("linux/amd64", &of_index).unwrap(), digest(&amd));
    assert_eq!(look("linux/arm64", &of_manifest).unwrap(), digest(&arm));
    drop(registry);
    // Nobody answers any more.
    assert_eq!(look("linux/amd64", &of_index).unwrap(), digest(&amd));
    assert_eq!(look("linux/arm64", &of_manifest).unwrap(), digest(&arm));
    assert_eq!(look("linux/arm64", &of_index).unwrap(), digest(&arm));
    let error = look("linux/s390x", &of_index).unwrap_err();
    assert!(matches!(error.fault, Fault::Image(_)), "{error}");
}

#[test]
fn what_is_not_there_is_told_with_its_registry() {
    let (registry, bench) = (Registry::open(), Bench::new());
    let image = registry.image("none:1");
    let error = resolve(&bench.registries(), &image, "linux/amd64").unwrap_err();
    let expected = format!("localhost:{} has no such image or tag", registry.port);
    assert_eq!(error.to_string(), expected);
    drop(registry);
    let error = resolve(&bench.registries(), &image, "linux/amd64").unwrap_err();
    assert!(matches!(error.fault, Fault::Unreachable(_)), "{error}");
    assert!(error.to_string().contains("cannot be reached: "), "{error}");
}

#[test]
fn what_is_no_image_is_refused() {
    let (registry, bench) = (Registry::open(), Bench::new());
    let config = bench.layout.json("application/vnd.acme.thing", &json!({}));
    let thing = bench.layout.json(
        crate::oci_layout::MANIFEST,
        &json!({ "schemaVersion": 2, "config": config, "layers": [],
                 "mediaType": crate::oci_layout::MANIFEST }),
    );
    registry.push(&bench.layout, &thing, "thing", "1");
    let error = resolve(
        &bench.registries(),
        &registry.image("thing:1"),
        "linux/amd64",
    );
    let text = error.unwrap_err().to_string();
    assert!(text.contains("application/vnd.acme.thing"), "{text}");
}
