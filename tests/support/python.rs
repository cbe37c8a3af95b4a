//! The Python that runs the reference of the key encoding, and parses YAML.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// How to get what is missing; a test that needs it must not pass without it.
const HELP: &str = "the tests need a Python with blake3, for tests/reference/key.py, and PyYAML: \
    run ./check, or `python3 -m venv ~/.cache/atelier/python && ~/.cache/atelier/python/bin/pip install blake3 pyyaml`, \
    or name a Python that has them in ATELIER_TEST_PYTHON";

/// The keys (hex) of resolved nodes, one JSON text a node, as the reference computes them.
pub(crate) fn reference_keys(nodes: &[String]) -> Vec<String> {
    let script = "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1]); import key\n\
        for line in sys.stdin: print(key.key(key.from_json(line))[1])";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference");
    let mut child = Command::new(python())
        .args(["-X", "utf8", "-c", script])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = nodes.join("\n");
    // Beside the reading: neither side may wait for the other with a full pipe.
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let Output { status, stdout, .. } = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(status.success(), "the reference failed: {status}");
    let keys: Vec<String> = String::from_utf8(stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(keys.len(), nodes.len());
    keys
}

/// A Python that can do both.
pub(crate) fn python() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let made = cache
        .or_else(home)
        .map(|cache| cache.join("atelier/python/bin/python3"));
    let named = std::env::var_os("ATELIER_TEST_PYTHON").map(PathBuf::from);
    let candidates = match named {
        // Whoever names one wants no other.
        Some(named) => vec![named],
        None => made.into_iter().chain([PathBuf::from("python3")]).collect(),
    };
    candidates
        .into_iter()
        .find(|python| works(python))
        .expect(HELP)
}

fn works(python: &Path) -> bool {
    let tried = Command::new(python)
        .args(["-c", "import blake3, yaml"])
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}
