//! Image layouts: what is found in them, and what is refused.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should say where"
)]

use std::io::Read;
use std::path::PathBuf;

use atelier::oci::{Digest, Image, Layout, OciError};
use serde_json::json;

#[path = "support/oci_layout.rs"]
mod oci_layout;

use oci_layout::{CONFIG, INDEX, LAYER, MANIFEST, OciLayout, digest, named, on};

fn layout() -> (tempfile::TempDir, OciLayout) {
    let folder = tempfile::tempdir().unwrap();
    let layout = OciLayout::create(&folder.path().join("image"));
    (folder, layout)
}

fn find(layout: &OciLayout, platform: &str) -> Result<String, OciError> {
    Layout::open_folder(&layout.0)?
        .find(platform)
        .map(|digest| digest.to_string())
}

fn load(layout: &OciLayout, digest: &str) -> Result<Image, OciError> {
    Layout::open_folder(&layout.0)?.load(&digest.parse().unwrap())
}

fn refusal<T>(result: Result<T, OciError>) -> OciError {
    let Err(error) = result else {
        panic!("it should have been refused")
    };
    assert!(!error.help().is_empty());
    error
}

#[test]
fn the_digest_is_that_of_the_platforms_manifest() {
    let (_folder, layout) = layout();
    let amd = layout.image("linux/amd64", &[b"layer one", b"layer two"]);
    let arm = layout.image("linux/arm64/v8", &[b"other"]);
    let inner = layout.index(&[
        on("linux/amd64", amd.clone()),
        on("linux/arm64/v8", arm.clone()),
    ]);
    layout.set_top(&[named("latest", inner)]);
    assert_eq!(find(&layout, "linux/amd64").unwrap(), digest(&amd));
    for platform in ["linux/arm64", "linux/arm64/v8"] {
        assert_eq!(find(&layout, platform).unwrap(), digest(&arm));
    }
    let image = load(&layout, &digest(&amd)).unwrap();
    assert_eq!(image.env, ["PATH=/bin", "LANG=C"]);
    assert_eq!(image.platform, "linux/amd64");
    assert_eq!(image.layers[0].digest, Digest::of(b"layer one"));
    assert_eq!(image.layers[1].size, 9);
    match refusal(find(&layout, "linux/riscv64")) {
        OciError::Platform { found, .. } => assert_eq!(found, ["linux/amd64", "linux/arm64/v8"]),
        other => panic!("{other}"),
    }
}

#[test]
fn a_manifest_without_a_platform_is_asked_itself() {
    let (_folder, layout) = layout();
    let image = layout.image("linux/amd64", &[]);
    layout.set_top(std::slice::from_ref(&image));
    assert_eq!(find(&layout, "linux/amd64").unwrap(), digest(&image));
    assert!(matches!(
        refusal(find(&layout, "linux/arm64")),
        OciError::Platform { .. }
    ));
}

#[test]
fn what_is_no_image_is_passed_over() {
    let (_folder, layout) = layout();
    let image = layout.image("linux/amd64", &[]);
    let attestation = on("unknown/unknown", layout.image("unknown/unknown", &[]));
    let empty = layout.blob("application/vnd.oci.empty.v1+json", b"{}");
    let signature = layout.json(MANIFEST, &json!({ "config": empty, "layers": [] }));
    let note = layout.blob("text/plain", b"hello");
    layout.set_top(&[
        attestation,
        signature,
        note,
        on("linux/amd64", image.clone()),
    ]);
    assert_eq!(find(&layout, "linux/amd64").unwrap(), digest(&image));
    layout.set_top(&[]);
    assert!(matches!(
        refusal(find(&layout, "linux/amd64")),
        OciError::Empty
    ));
}

#[test]
fn several_images_for_one_platform_are_ambiguous() {
    let (_folder, layout) = layout();
    let one = layout.image("linux/amd64", &[b"1"]);
    let two = layout.image("linux/amd64", &[b"2"]);
    layout.set_top(&[named("old", one.clone()), named("new", two)]);
    let error = refusal(find(&layout, "linux/amd64")).to_string();
    assert!(error.contains("old") && error.contains("new"), "{error}");
    // One image under two names is one.
    layout.set_top(&[named("old", one.clone()), named("new", one.clone())]);
    assert_eq!(find(&layout, "linux/amd64").unwrap(), digest(&one));
    let arm = |variant: &str| {
        let platform = format!("linux/arm/{variant}");
        on(&platform, layout.image(&platform, &[]))
    };
    layout.set_top(&[arm("v6"), arm("v7")]);
    assert!(matches!(
        refusal(find(&layout, "linux/arm")),
        OciError::Ambiguous { .. }
    ));
    find(&layout, "linux/arm/v7").unwrap();
}

#[test]
fn damage_is_found_before_anything_is_believed() {
    let (_folder, layout) = layout();
    let image = layout.image("linux/amd64", &[b"layer"]);
    layout.set_top(std::slice::from_ref(&image));
    let path = layout.blob_path(&digest(&image));
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&whole[..], b" "].concat()).unwrap();
    assert!(matches!(
        refusal(find(&layout, "linux/amd64")),
        OciError::Damaged { .. }
    ));
    assert!(matches!(
        refusal(load(&layout, &digest(&image))),
        OciError::Damaged { .. }
    ));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(
        refusal(find(&layout, "linux/amd64")),
        OciError::Missing { .. }
    ));
    std::fs::write(&path, &whole).unwrap();
    let loaded = load(&layout, &digest(&image)).unwrap();
    let opened = Layout::open_folder(&layout.0).unwrap();
    opened.check_present(&loaded).unwrap();
    let layer = layout.blob_path(&loaded.layers[0].digest.to_string());
    std::fs::write(&layer, b"lay").unwrap();
    assert!(matches!(
        refusal(opened.check_present(&loaded)),
        OciError::Damaged { .. }
    ));
    std::fs::remove_file(&layer).unwrap();
    assert!(matches!(
        refusal(opened.check_present(&loaded)),
        OciError::Missing { .. }
    ));
    std::fs::write(layout.0.join("index.json"), "{").unwrap();
    assert!(matches!(
        refusal(find(&layout, "linux/amd64")),
        OciError::Damaged { .. }
    ));
}

#[test]
fn what_is_not_understood_is_named() {
    let (folder, layout) = layout();
    let config = layout.json(CONFIG, &json!({ "os": "linux", "architecture": "amd64" }));
    let layer = layout.blob(
        "application/vnd.oci.image.layer.v1.tar+gzip+encrypted",
        b"?",
    );
    let manifest = layout.json(MANIFEST, &json!({ "config": config, "layers": [layer] }));
    let error = refusal(load(&layout, &digest(&manifest))).to_string();
    assert!(error.contains("encrypted"), "{error}");
    layout.set_top(&[json!({ "mediaType": MANIFEST, "digest": "sha512:00", "size": 1 })]);
    assert!(matches!(
        refusal(find(&layout, "linux/amd64")),
        OciError::Unsupported { .. }
    ));
    let mut nested = layout.image("linux/amd64", &[]);
    for _ in 0..6 {
        nested = layout.index(&[nested]);
    }
    assert_eq!(nested["mediaType"], INDEX);
    layout.set_top(&[nested]);
    assert!(matches!(
        refusal(find(&layout, "linux/amd64")),
        OciError::Damaged { .. }
    ));
    std::fs::write(
        layout.0.join("oci-layout"),
        r#"{"imageLayoutVersion":"2.0.0"}"#,
    )
    .unwrap();
    assert!(matches!(
        refusal(find(&layout, "linux/amd64")),
        OciError::Unsupported { .. }
    ));
    std::fs::remove_file(layout.0.join("oci-layout")).unwrap();
    assert!(matches!(
        refusal(find(&layout, "linux/amd64")),
        OciError::NotALayout { .. }
    ));
    let none = Layout::open_folder(&folder.path().join("none"));
    assert!(matches!(refusal(none), OciError::Read { .. }));
}

#[test]
fn an_archive_is_read_in_place() {
    let (folder, layout) = layout();
    let image = layout.image("linux/amd64", &[b"layer one", &[7; 3000]]);
    layout.set_top(std::slice::from_ref(&image));
    for prefix in ["", "./"] {
        let path = folder.path().join("image.tar");
        layout.archive(&path, prefix);
        let opened = Layout::open_archive(&path).unwrap();
        let found = opened.find("linux/amd64").unwrap();
        assert_eq!(found.to_string(), digest(&image));
        let loaded = opened.load(&found).unwrap();
        opened.check_present(&loaded).unwrap();
        // Two readers of one archive do not disturb each other.
        let blobs = loaded
            .layers
            .iter()
            .map(|layer| opened.blob(&layer.digest).unwrap());
        let mut blobs: Vec<_> = blobs.collect();
        let mut contents = [Vec::new(), Vec::new()];
        for _ in 0..2000 {
            for (blob, content) in blobs.iter_mut().zip(&mut contents) {
                blob.take(2).read_to_end(content).unwrap();
            }
        }
        assert_eq!(contents, [b"layer one".to_vec(), vec![7; 3000]]);
        assert!(matches!(
            opened.blob(&Digest([1; 32])),
            Err(OciError::Missing { .. })
        ));
    }
}

#[test]
fn archives_that_cannot_be_read_in_place_are_refused() {
    let (folder, layout) = layout();
    let image = layout.image("linux/amd64", &[&[7; 3000]]);
    layout.set_top(&[image]);
    let whole = folder.path().join("whole.tar");
    layout.archive(&whole, "");
    let content = std::fs::read(&whole).unwrap();
    let open = |content: &[u8]| {
        let path = folder.path().join("test.tar");
        std::fs::write(&path, content).unwrap();
        Layout::open_archive(&path)
    };
    let compressed = zstd::encode_all(content.as_slice(), 1).unwrap();
    assert!(matches!(
        refusal(open(&compressed)),
        OciError::Compressed { .. }
    ));
    assert!(matches!(
        refusal(open(b"\x1f\x8b\x08\x00")),
        OciError::Compressed { .. }
    ));
    assert!(matches!(
        refusal(open(&[0; 1024])),
        OciError::NotALayout { .. }
    ));
    assert!(matches!(
        refusal(open(&[1; 1024])),
        OciError::Damaged { .. }
    ));
    let data_starts = content
        .windows(64)
        .position(|window| window == [7; 64])
        .unwrap();
    assert!(matches!(
        refusal(open(&content[..data_starts + 100])),
        OciError::Damaged { .. }
    ));
    let missing = Layout::open_archive(&PathBuf::from("/none.tar"));
    assert!(matches!(refusal(missing), OciError::Read { .. }));
    let fifo = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .unwrap();
    assert!(made.success());
    assert!(matches!(
        refusal(Layout::open_archive(&fifo)),
        OciError::Read { .. }
    ));
}

#[test]
fn docker_media_types_are_images_too() {
    let (_folder, layout) = layout();
    let config = json!({ "os": "linux", "architecture": "amd64", "config": null });
    let config = layout.json("application/vnd.docker.container.image.v1+json", &config);
    let layer = layout.blob("application/vnd.docker.image.rootfs.diff.tar.gzip", b"x");
    let zstd = layout.blob(&format!("{LAYER}+zstd"), b"y");
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": [layer, zstd] });
    let manifest = layout.json(
        "application/vnd.docker.distribution.manifest.v2+json",
        &manifest,
    );
    let list = json!({ "manifests": [manifest] });
    let list = layout.json(
        "application/vnd.docker.distribution.manifest.list.v2+json",
        &list,
    );
    layout.set_top(&[list]);
    let found = find(&layout, "linux/amd64").unwrap();
    assert_eq!(found, digest(&manifest));
    let image = load(&layout, &found).unwrap();
    assert_eq!(image.layers.len(), 2);
    assert!(image.env.is_empty());
}
