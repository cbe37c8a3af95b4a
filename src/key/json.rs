//! A resolved node as JSON, so that others can check keys. Unknown fields are refused: a typing error must not
//! silently give another key.

use std::collections::{BTreeMap, BTreeSet};

use atelier_lang::url;
use serde::Deserialize;

use crate::node::{
    Kind, NotADigest, ObjectFormat, ObjectId, ResolvedFile, ResolvedNode, ResolvedRepo,
    ResolvedStep, Shell, Source, TreeEntry, User,
};

#[derive(Debug, thiserror::Error)]
pub enum NodeJsonError {
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Digest(#[from] NotADigest),
    #[error("unusable URL `{0}`")]
    Url(String),
    #[error("`{0}` is given twice")]
    Twice(String),
    #[error("file `{0}` needs either `text` or `blake3`")]
    Content(String),
    #[error("a node needs `from` with either `digest` and `platform` or `parent`")]
    Source,
    #[error("repository `{0}` needs either `ref` and `commit` or `only`")]
    Repo(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonNode {
    #[serde(default)]
    kind: JsonKind,
    from: JsonSource,
    #[serde(default)]
    repos: Vec<JsonRepo>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    path: Vec<String>,
    #[serde(default)]
    files: Vec<JsonFile>,
    #[serde(default)]
    steps: Vec<JsonStep>,
    #[serde(default)]
    needs: Vec<(String, String)>,
    #[serde(default)]
    provides: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum JsonKind {
    #[default]
    Prebuild,
    Toolchain,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonSource {
    digest: Option<String>,
    platform: Option<String>,
    parent: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonRepo {
    url: String,
    path: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    commit: Option<String>,
    only: Option<Vec<(String, String, String)>>,
    depth: Option<u32>,
    #[serde(default)]
    submodules: bool,
    #[serde(default)]
    lfs: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonFile {
    path: String,
    mode: Option<String>,
    text: Option<String>,
    blake3: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonStep {
    run: String,
    #[serde(default, rename = "in")]
    folder: String,
    #[serde(default, rename = "as")]
    user: JsonUser,
    #[serde(default)]
    shell: JsonShell,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum JsonUser {
    #[default]
    Dev,
    Root,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum JsonShell {
    #[default]
    Bash,
    Sh,
}

/// Reads a resolved node.
pub fn read(text: &str) -> Result<ResolvedNode, NodeJsonError> {
    let node: JsonNode = serde_json::from_str(text)?;
    Ok(ResolvedNode {
        kind: match node.kind {
            JsonKind::Prebuild => Kind::Prebuild,
            JsonKind::Toolchain => Kind::Toolchain,
        },
        source: read_source(node.from)?,
        repos: unique(node.repos.into_iter().map(read_repo))?,
        files: unique(node.files.into_iter().map(read_file))?,
        env: node.env,
        path: node.path,
        steps: node.steps.into_iter().map(read_step).collect(),
        needs: unique(
            node.needs
                .into_iter()
                .map(|(mount, key)| Ok((mount, key.parse()?))),
        )?,
        provides: node.provides,
    })
}

fn unique<T>(
    pairs: impl Iterator<Item = Result<(String, T), NodeJsonError>>,
) -> Result<BTreeMap<String, T>, NodeJsonError> {
    let mut map = BTreeMap::new();
    for pair in pairs {
        let (name, value) = pair?;
        if map.insert(name.clone(), value).is_some() {
            return Err(NodeJsonError::Twice(name));
        }
    }
    Ok(map)
}

fn read_source(source: JsonSource) -> Result<Source, NodeJsonError> {
    match source {
        JsonSource {
            digest: Some(digest),
            platform: Some(platform),
            parent: None,
        } => Ok(Source::Image {
            digest: digest.parse()?,
            platform,
        }),
        JsonSource {
            digest: None,
            platform: None,
            parent: Some(parent),
        } => Ok(Source::Parent(parent.parse()?)),
        _ => Err(NodeJsonError::Source),
    }
}

fn read_repo(repo: JsonRepo) -> Result<(String, ResolvedRepo), NodeJsonError> {
    let JsonRepo {
        url,
        path,
        reference,
        commit,
        only,
        depth,
        submodules,
        lfs,
    } = repo;
    let normal = match url.as_str() {
        "" => String::new(),
        written => {
            url::normal_form(written).ok_or_else(|| NodeJsonError::Url(written.to_owned()))?
        }
    };
    let path = path.filter(|path| !path.is_empty());
    let last = || normal.rsplit_once('/').map(|(_, last)| last.to_owned());
    let path = path
        .or_else(last)
        .ok_or_else(|| NodeJsonError::Url(url.clone()))?;
    let resolved = match (reference, commit, only) {
        (Some(reference), Some(commit), None) => ResolvedRepo::Commit {
            url: normal,
            reference,
            commit: commit.parse()?,
            depth: depth.unwrap_or(1),
            submodules,
            lfs,
        },
        (_, _, Some(only)) => {
            let entries = only
                .into_iter()
                .map(read_entry)
                .collect::<Result<BTreeSet<_>, _>>()?;
            let sha256 = |entry: &TreeEntry| matches!(entry.object, Some(ObjectId::Sha256(_)));
            let long = entries.iter().any(sha256);
            let format = if long {
                ObjectFormat::Sha256
            } else {
                ObjectFormat::Sha1
            };
            ResolvedRepo::Only {
                format,
                entries,
                submodules,
                lfs,
            }
        }
        _ => return Err(NodeJsonError::Repo(url)),
    };
    Ok((path, resolved))
}

fn read_entry((path, mode, object): (String, String, String)) -> Result<TreeEntry, NotADigest> {
    let object = if object.is_empty() {
        None
    } else {
        Some(object.parse()?)
    };
    Ok(TreeEntry { path, mode, object })
}

fn read_file(file: JsonFile) -> Result<(String, ResolvedFile), NodeJsonError> {
    let JsonFile {
        path,
        mode,
        text,
        blake3: hash,
    } = file;
    let content = match (text, hash) {
        (Some(text), None) => *blake3::hash(text.as_bytes()).as_bytes(),
        (None, Some(hash)) => blake3::Hash::from_hex(&hash)
            .map(|hash| *hash.as_bytes())
            .map_err(|_| NodeJsonError::Content(path.clone()))?,
        _ => return Err(NodeJsonError::Content(path)),
    };
    let mode = mode.unwrap_or_else(|| "0644".to_owned());
    Ok((path, ResolvedFile { mode, content }))
}

fn read_step(step: JsonStep) -> ResolvedStep {
    ResolvedStep {
        user: match step.user {
            JsonUser::Dev => User::Dev,
            JsonUser::Root => User::Root,
        },
        folder: step.folder,
        shell: match step.shell {
            JsonShell::Bash => Shell::Bash,
            JsonShell::Sh => Shell::Sh,
        },
        command: step.run,
    }
}
