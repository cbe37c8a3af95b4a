//! Images: what of them a sandbox sees, which of them are refused, and that their layers are unpacked once.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use atelier::backend::{BakeError, BakeRequest, Class};
use atelier::oci::Digest;
use atelier::resolve::{ImageLocation, PinnedImage, host};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::house::{House, OnDisk, bake, content, publish};
use crate::oci_layout::{CONFIG, LAYER, MANIFEST, OciLayout, digest};
use crate::requests::request;
use crate::rootfs;

/// A shell and what it needs, and a file to be hidden.
fn shell() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    rootfs::add_shell(&mut tar);
    folder_and_file(&mut tar, "gone");
    tar.into_inner().unwrap()
}

fn folder_and_file(tar: &mut tar::Builder<Vec<u8>>, name: &str) {
    let mut header = tar::Header::new_gnu();
    header.set_size(5);
    header.set_mode(0o4755);
    header.set_uid(7);
    header.set_gid(7);
    header.set_mtime(0);
    tar.append_data(&mut header, format!("d/{name}"), &b"text\n"[..])
        .unwrap();
}

/// Hides the file, and has another name for the shell of the layer below.
fn change() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    folder_and_file(&mut tar, ".wh.gone");
    folder_and_file(&mut tar, "new");
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Link);
    header.set_mode(0o755);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(0);
    tar.append_link(&mut header, "linked", "bin/sh").unwrap();
    tar.into_inner().unwrap()
}

/// Two layers, each compressed in its own way, for `platform`; its location, and the digests of the layers.
fn image(house: &OnDisk, platform: &str) -> (PinnedImage, Vec<Digest>) {
    let path = house.root().with_file_name("image");
    let layout = OciLayout::create(&path);
    let (system, architecture) = platform.split_once('/').unwrap();
    let config = json!({ "os": system, "architecture": architecture });
    let config = layout.json(CONFIG, &config);
    let layers = [
        layout.blob(&format!("{LAYER}+gzip"), &rootfs::gzip(&shell())),
        layout.blob(
            &format!("{LAYER}+zstd"),
            &zstd::encode_all(change().as_slice(), 1).unwrap(),
        ),
    ];
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": layers });
    let manifest = layout.json(MANIFEST, &manifest);
    let image = PinnedImage {
        digest: digest(&manifest).parse().unwrap(),
        location: ImageLocation::Layout(path),
    };
    (
        image,
        layers
            .iter()
            .map(|layer| digest(layer).parse().unwrap())
            .collect(),
    )
}

fn on(image: &PinnedImage, name: &str, command: &str) -> BakeRequest {
    let mut request = request(name, None, &[command]);
    request.image = image.clone();
    request.steps[0].shell = atelier::node::Shell::Sh;
    request
}

pub(crate) async fn an_image_s_layers_are_one_root(house: &OnDisk) {
    let (image, _) = image(house, &host::platform());
    let look = "[ ! -e /d/gone ] && [ /linked -ef /bin/sh ] && cat /d/new > f";
    let request = on(&image, "a", look);
    publish(house.backend(), &request).await;
    assert_eq!(content(house.backend(), &request, "f").await, ["text"]);
}

pub(crate) async fn an_image_for_another_machine_is_refused(house: &OnDisk) {
    let (image, _) = image(house, "linux/vax");
    let error = bake(house.backend(), &on(&image, "a", "true")).await;
    let BakeError::Backend(error) = error.unwrap_err() else {
        panic!("it is the machine that cannot")
    };
    assert_eq!(error.class, Class::Denied);
    let own = host::platform();
    assert_eq!(
        error.message,
        format!("the image is for linux/vax, and this machine runs {own}")
    );
}

/// Where a layer on others is in the store, and its lock.
fn places(store: &Path, layers: &[Digest]) -> [std::path::PathBuf; 2] {
    let mut chain = Sha256::new();
    for layer in layers {
        chain.update(layer.0);
    }
    let name = hex::encode(&chain.finalize()[..12]);
    [
        store.join(format!("i/{name}")),
        store.join(format!("locks/i-{name}")),
    ]
}

/// Who comes second waits, and takes what the first one has unpacked.
pub(crate) async fn a_layer_is_unpacked_once(house: &OnDisk) {
    let (image, layers) = image(house, &host::platform());
    let request = on(&image, "a", "cat /d/new > f");
    let [_, lock] = places(&house.root(), &layers[..1]);
    let lock = File::create(lock).unwrap();
    lock.lock().unwrap();
    let mut waits = Box::pin(bake(house.backend(), &request));
    let waited = tokio::time::timeout(Duration::from_millis(500), &mut waits).await;
    assert!(waited.is_err());
    let [top, _] = places(&house.root(), &layers);
    let [bottom, _] = places(&house.root(), &layers[..1]);
    assert!(!bottom.exists() && !top.exists());
    // As another process would do it, but for a word.
    let other = OnDisk::new();
    publish(other.backend(), &request).await;
    let copy = |from: &Path, to: &Path| {
        let copied = Command::new("cp").arg("-a").args([from, to]).status();
        assert!(copied.unwrap().success());
    };
    for (layers, name) in [(&layers[..1], &bottom), (&layers[..], &top)] {
        copy(&places(&other.root(), layers)[0], name);
    }
    fs::write(top.join("d/d/new"), "mine\n").unwrap();
    drop(lock);
    waits.await.unwrap();
    assert_eq!(content(house.backend(), &request, "f").await, ["mine"]);
}
