//! `atelier.graph/1`: a graph as data that others rely on. Fields are in alphabetical order; nothing in it is the machine's.

mod read;

use std::collections::BTreeMap;

use serde::Serialize;

pub use read::data;

/// File, first byte, and how many bytes: the file is an index into [`GraphData::files`].
pub type Place = (u32, u32, u32);

#[derive(Debug, Serialize)]
pub struct GraphData {
    /// What a bare `build` builds.
    pub default: Vec<String>,
    /// Every file that was read; the one that was evaluated comes first.
    pub files: Vec<String>,
    pub groups: BTreeMap<String, Vec<String>>,
    /// The targets' names, parents first.
    pub order: Vec<String>,
    pub schema: &'static str,
    /// In the same order.
    pub targets: Vec<TargetData>,
}

#[derive(Debug, Serialize)]
pub struct TargetData {
    pub about: Option<String>,
    pub caches: Vec<CacheData>,
    /// The effective variables.
    pub env: BTreeMap<String, String>,
    pub files: Vec<FileData>,
    pub from: BaseData,
    pub kind: &'static str,
    pub name: String,
    /// Toolchains; there are none in this version.
    pub needs: Vec<String>,
    /// The effective folders before PATH.
    pub path: Vec<String>,
    /// Left out unless the inputs were pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pins: Option<PinsData>,
    pub repos: Vec<RepoData>,
    pub resources: ResourcesData,
    pub secrets: Vec<String>,
    pub span: Place,
    pub steps: Vec<StepData>,
    pub via: Vec<ViaData>,
}

/// What a target's inputs are pinned to, and the key that comes of it.
#[derive(Debug, Serialize)]
pub struct PinsData {
    /// BLAKE3 of each file, by path.
    pub files: BTreeMap<String, String>,
    /// The digest; `null` for a child.
    pub image: Option<String>,
    /// 64 hex digits.
    pub key: String,
    /// The parent's key; `null` for what starts from an image.
    pub parent: Option<String>,
    pub platform: String,
    /// By path.
    pub repos: BTreeMap<String, PinnedRepoData>,
    pub snapshot: String,
}

#[derive(Debug, Serialize)]
pub struct PinnedRepoData {
    /// `null` where only some files count.
    pub commit: Option<String>,
    /// The files that count, with their modes and object ids; `null` for all, and for a stub's id.
    pub only: Option<BTreeMap<String, (String, Option<String>)>>,
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    pub url: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BaseData {
    Image {
        name: String,
        /// `null`: the machine's.
        platform: Option<String>,
    },
    Prebuild(String),
}

#[derive(Debug, Serialize)]
pub struct RepoData {
    pub auth: Option<String>,
    pub branch: Option<String>,
    pub commit: Option<String>,
    pub depth: u32,
    pub lfs: bool,
    /// `null`: all files.
    pub only: Option<OnlyData>,
    /// `null`: its origin decides.
    pub path: Option<String>,
    pub span: Place,
    pub submodules: bool,
    pub tag: Option<String>,
    pub url: String,
    pub via: Vec<ViaData>,
}

#[derive(Debug, Serialize)]
pub struct OnlyData {
    pub files: Vec<String>,
    pub stubs: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct FileData {
    /// A file of the project, from its root; `null` if the text is in the file.
    pub from: Option<String>,
    pub mode: String,
    pub path: String,
    pub span: Place,
    pub text: Option<String>,
    pub via: Vec<ViaData>,
}

#[derive(Debug, Serialize)]
pub struct StepData {
    #[serde(rename = "as")]
    pub user: &'static str,
    /// `null`: where the repository lands that `repo` counts.
    #[serde(rename = "in")]
    pub folder: Option<String>,
    pub repo: Option<usize>,
    pub retry: u32,
    pub run: String,
    pub shell: &'static str,
    pub span: Place,
    /// In seconds.
    pub timeout: u64,
    pub via: Vec<ViaData>,
}

#[derive(Debug, Serialize)]
pub struct CacheData {
    pub name: String,
    pub path: String,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ResourcesData {
    pub cpu: u32,
    /// In bytes.
    pub disk: u64,
    /// In bytes.
    pub memory: u64,
    /// In seconds.
    pub timeout: u64,
}

/// An expansion that brought something; the innermost comes first.
#[derive(Debug, Serialize)]
pub struct ViaData {
    pub span: Place,
    /// Such as `use node`.
    pub what: String,
}
