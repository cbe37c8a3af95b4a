//! Root file systems with next to nothing in them, as layers of images.

use std::fs::File;
use std::process::Command;

/// This machine's shell and what it needs.
pub(crate) fn add_shell(tar: &mut tar::Builder<Vec<u8>>) {
    let output = Command::new("ldd").arg("/bin/sh").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let libraries = text.split_whitespace().filter(|word| word.starts_with('/'));
    for path in libraries.chain(["/bin/sh", "/bin/cat"]) {
        let mut file = File::open(path).unwrap();
        tar.append_file(path.trim_start_matches('/'), &mut file)
            .unwrap();
    }
}

/// A layer with the shell.
pub(crate) fn shell() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    add_shell(&mut tar);
    tar.into_inner().unwrap()
}

/// A layer with one file.
pub(crate) fn file(name: &str, content: &[u8]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    tar.append_data(&mut header, name, content).unwrap();
    tar.into_inner().unwrap()
}

pub(crate) fn gzip(data: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}
