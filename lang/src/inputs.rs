//! What an evaluation starts from, and how much it may take in.

use std::collections::BTreeMap;

use crate::source::VirtualPath;

/// What an evaluation starts from.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The file to evaluate, from the project's root.
    pub file: VirtualPath,
    /// The platform of images that name none, such as `linux/amd64`.
    pub platform: String,
    /// Values for the file's parameters, by name.
    pub params: BTreeMap<String, String>,
    pub missing: Missing,
    pub limits: Limits,
    /// The library of templates: the names of its files, without their ending, and their texts.
    pub std: &'static [(&'static str, &'static str)],
}

/// What a parameter of the file is that is given no value and has no default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// An error.
    Faulty,
    /// Left open, with what it is put into: for those who look at a file and build nothing.
    Open,
}

impl Inputs {
    /// Nothing given, no library.
    pub fn new(file: VirtualPath, platform: impl Into<String>) -> Self {
        Self {
            file,
            platform: platform.into(),
            params: BTreeMap::new(),
            missing: Missing::Faulty,
            limits: Limits::NORMAL,
            std: &[],
        }
    }
}

/// How much an evaluation may take in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files.
    pub total: u64,
    pub files: usize,
    /// Prebuilds and groups.
    pub targets: usize,
    /// Variables and folders of all targets together, with those that parents hand down.
    pub inherited: usize,
}

impl Limits {
    /// For what people write.
    pub const NORMAL: Self = Self {
        file: 64 << 10,
        total: 1 << 20,
        files: 64,
        targets: 4096,
        inherited: 1 << 20,
    };

    /// For what machines write.
    pub const LARGE: Self = Self {
        file: 64 << 20,
        total: 256 << 20,
        files: 4096,
        targets: 1 << 20,
        inherited: 1 << 24,
    };
}
