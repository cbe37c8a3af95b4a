//! The way back from a preimage to its node, which proves that the encoding loses nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::node::{
    ContentKey, ImageDigest, Kind, ObjectFormat, ObjectId, ResolvedFile, ResolvedNode,
    ResolvedRepo, ResolvedStep, Shell, Source, TreeEntry, User,
};

/// Bytes that [`super::preimage`] never writes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a preimage: {0}")]
pub struct NotAPreimage(&'static str);

type Decoded<T> = Result<T, NotAPreimage>;

/// Decodes what [`super::preimage`] wrote, and only that: every other spelling is refused.
pub fn decode(preimage: &[u8]) -> Decoded<ResolvedNode> {
    let [
        tag,
        kind,
        source,
        repos,
        files,
        env,
        path,
        steps,
        needs,
        provides,
    ] = pieces(preimage)?;
    if text(tag)? != super::TAG {
        return Err(NotAPreimage("unknown scheme"));
    }
    let node = ResolvedNode {
        kind: decode_kind(kind)?,
        source: decode_source(source)?,
        repos: list(repos)?
            .into_iter()
            .map(decode_repo)
            .collect::<Decoded<_>>()?,
        files: list(files)?
            .into_iter()
            .map(decode_file)
            .collect::<Decoded<_>>()?,
        env: decode_env(env)?,
        path: list(path)?
            .into_iter()
            .map(|folder| text(folder).map(str::to_owned))
            .collect::<Decoded<_>>()?,
        steps: list(steps)?
            .into_iter()
            .map(decode_step)
            .collect::<Decoded<_>>()?,
        needs: decode_needs(needs)?,
        provides: text(provides)?.to_owned(),
    };
    // Catches wrong order and duplicates, whatever they are in.
    if super::preimage(&node) == preimage {
        Ok(node)
    } else {
        Err(NotAPreimage("not canonical"))
    }
}

/// Splits an encoding into its pieces.
fn list(mut rest: &[u8]) -> Decoded<Vec<&[u8]>> {
    let count = number(&mut rest)?;
    let mut pieces = Vec::new();
    for _ in 0..count {
        let length = usize::try_from(number(&mut rest)?).map_err(|_| NotAPreimage("cut short"))?;
        let (piece, after) = rest
            .split_at_checked(length)
            .ok_or(NotAPreimage("cut short"))?;
        pieces.push(piece);
        rest = after;
    }
    if rest.is_empty() {
        Ok(pieces)
    } else {
        Err(NotAPreimage("too long"))
    }
}

fn number(rest: &mut &[u8]) -> Decoded<u64> {
    let (bytes, after) = rest.split_first_chunk().ok_or(NotAPreimage("cut short"))?;
    *rest = after;
    Ok(u64::from_le_bytes(*bytes))
}

fn pieces<const N: usize>(bytes: &[u8]) -> Decoded<[&[u8]; N]> {
    list(bytes)?
        .try_into()
        .map_err(|_| NotAPreimage("wrong number of pieces"))
}

fn text(bytes: &[u8]) -> Decoded<&str> {
    std::str::from_utf8(bytes).map_err(|_| NotAPreimage("not UTF-8"))
}

fn decode_kind(kind: &[u8]) -> Decoded<Kind> {
    match kind {
        b"prebuild" => Ok(Kind::Prebuild),
        b"toolchain" => Ok(Kind::Toolchain),
        _ => Err(NotAPreimage("unknown kind")),
    }
}

fn decode_source(source: &[u8]) -> Decoded<Source> {
    match list(source)?.as_slice() {
        [b"image", digest, platform] => Ok(Source::Image {
            digest: parse::<ImageDigest>(digest)?,
            platform: text(platform)?.to_owned(),
        }),
        [b"prebuild", key] => Ok(Source::Parent(decode_key(key)?)),
        _ => Err(NotAPreimage("unknown source")),
    }
}

fn parse<T: std::str::FromStr>(bytes: &[u8]) -> Decoded<T> {
    text(bytes)?
        .parse()
        .map_err(|_| NotAPreimage("not a digest"))
}

fn decode_key(key: &[u8]) -> Decoded<ContentKey> {
    key.try_into()
        .map(ContentKey)
        .map_err(|_| NotAPreimage("not a key"))
}

fn decode_repo(repo: &[u8]) -> Decoded<(String, ResolvedRepo)> {
    match list(repo)?.as_slice() {
        [b"commit", path, url, reference, format, commit, options] => {
            let [depth, submodules, lfs] = pieces(options)?;
            let commit = ObjectId::from_bytes(commit).ok_or(NotAPreimage("not an object id"))?;
            if commit.format() != decode_format(format)? {
                return Err(NotAPreimage("object id of another hash"));
            }
            let repo = ResolvedRepo::Commit {
                url: text(url)?.to_owned(),
                reference: text(reference)?.to_owned(),
                commit,
                depth: text(depth)?
                    .parse()
                    .map_err(|_| NotAPreimage("not a depth"))?,
                submodules: flag(submodules, b"submodules")?,
                lfs: flag(lfs, b"lfs")?,
            };
            Ok((text(path)?.to_owned(), repo))
        }
        [b"only", path, format, entries, options] => {
            let [submodules, lfs] = pieces(options)?;
            let repo = ResolvedRepo::Only {
                format: decode_format(format)?,
                entries: list(entries)?
                    .into_iter()
                    .map(decode_entry)
                    .collect::<Decoded<BTreeSet<_>>>()?,
                submodules: flag(submodules, b"submodules")?,
                lfs: flag(lfs, b"lfs")?,
            };
            Ok((text(path)?.to_owned(), repo))
        }
        _ => Err(NotAPreimage("unknown repository")),
    }
}

fn decode_format(format: &[u8]) -> Decoded<ObjectFormat> {
    match format {
        b"sha1" => Ok(ObjectFormat::Sha1),
        b"sha256" => Ok(ObjectFormat::Sha256),
        _ => Err(NotAPreimage("unknown hash")),
    }
}

fn flag(bytes: &[u8], name: &[u8]) -> Decoded<bool> {
    match bytes {
        b"" => Ok(false),
        set if set == name => Ok(true),
        _ => Err(NotAPreimage("unknown option")),
    }
}

fn decode_entry(entry: &[u8]) -> Decoded<TreeEntry> {
    let [path, mode, object] = pieces(entry)?;
    let object = match object {
        [] => None,
        id => Some(ObjectId::from_bytes(id).ok_or(NotAPreimage("not an object id"))?),
    };
    Ok(TreeEntry {
        path: text(path)?.to_owned(),
        mode: text(mode)?.to_owned(),
        object,
    })
}

fn decode_file(file: &[u8]) -> Decoded<(String, ResolvedFile)> {
    let [path, mode, hash, content] = pieces(file)?;
    if hash != b"blake3" {
        return Err(NotAPreimage("unknown hash"));
    }
    let content = content.try_into().map_err(|_| NotAPreimage("not a hash"))?;
    Ok((
        text(path)?.to_owned(),
        ResolvedFile {
            mode: text(mode)?.to_owned(),
            content,
        },
    ))
}

fn decode_env(env: &[u8]) -> Decoded<BTreeMap<String, String>> {
    let pair = |pair| {
        let [name, value] = pieces(pair)?;
        Ok((text(name)?.to_owned(), text(value)?.to_owned()))
    };
    list(env)?.into_iter().map(pair).collect()
}

fn decode_step(step: &[u8]) -> Decoded<ResolvedStep> {
    let [user, folder, shell, command] = pieces(step)?;
    Ok(ResolvedStep {
        user: match user {
            b"dev" => User::Dev,
            b"root" => User::Root,
            _ => return Err(NotAPreimage("unknown user")),
        },
        folder: text(folder)?.to_owned(),
        shell: match shell {
            b"bash" => Shell::Bash,
            b"sh" => Shell::Sh,
            _ => return Err(NotAPreimage("unknown shell")),
        },
        command: text(command)?.to_owned(),
    })
}

fn decode_needs(needs: &[u8]) -> Decoded<BTreeMap<String, ContentKey>> {
    let pair = |need| {
        let [mount, key] = pieces(need)?;
        Ok((text(mount)?.to_owned(), decode_key(key)?))
    };
    list(needs)?.into_iter().map(pair).collect()
}
