//! `repo`, and the statements of its block.

use super::Place::{Layer, Prebuild, Repo};
use super::Properties::Known;
use super::Times::{AtMostOnce, Once, OnceOrMore};
use super::{Argument, Property, Statement, Takes};

const PATTERNS: &[Argument] = &[Argument {
    name: "GLOB",
    times: OnceOrMore,
    takes: Takes::Glob,
    about: "`*`, `?` and `[…]` stay within a name, `**` is any number of folders; `\"!GLOB\"` takes away from those before it.",
}];

pub(super) const REPO: Statement = Statement {
    name: "repo",
    places: &[Prebuild],
    form: "repo URL [branch=│tag=│commit=] [path=last-segment] [auth=SECRET] [depth=1] \
           [submodules=#true] [lfs=#true] [{ run…; only…; stub…; layer… }]",
    about: "A git repository, cloned into the workspace at one exact commit. Steps in its block run in its folder.",
    example: "repo \"github.com/frak-id/wallet\"",
    arguments: &[Argument {
        name: "URL",
        times: Once,
        takes: Takes::Url,
        about: "`https://…`, `ssh://…`, `git@host:path` or `host/path`; `\".\"` is the repository that holds this file.",
    }],
    properties: Known(PROPERTIES),
    block: Some(Repo),
    key: "all but auth; with `only`, the files' paths, modes and object ids instead",
};

const PROPERTIES: &[Property] = &[
    Property {
        name: "branch",
        takes: Takes::Reference,
        default: None,
        is_in_key: true,
        about: "The branch to check out; without `tag` and `commit`, the default one.",
    },
    Property {
        name: "tag",
        takes: Takes::Reference,
        default: None,
        is_in_key: true,
        about: "The tag to check out, instead of a branch.",
    },
    Property {
        name: "commit",
        takes: Takes::Commit,
        default: None,
        is_in_key: true,
        about: "The commit to check out, whatever branches and the lock say.",
    },
    Property {
        name: "path",
        takes: Takes::Path,
        default: None,
        is_in_key: true,
        about: "Where it lands; the last part of the URL, if left out.",
    },
    Property {
        name: "auth",
        takes: Takes::Secret,
        default: None,
        is_in_key: false,
        about: "The secret that holds a token, or `user:token`, for a private repository.",
    },
    Property {
        name: "depth",
        takes: Takes::Count(0),
        default: Some("1"),
        is_in_key: true,
        about: "Commits of history; 0 is all of it, with tags.",
    },
    Property {
        name: "submodules",
        takes: Takes::Truth,
        default: Some("#true"),
        is_in_key: true,
        about: "Whether submodules are checked out, and theirs.",
    },
    Property {
        name: "lfs",
        takes: Takes::Truth,
        default: Some("#true"),
        is_in_key: true,
        about: "Whether files that LFS keeps are there with their contents.",
    },
];

pub(super) const ONLY: Statement = Statement {
    name: "only",
    places: &[Repo, Layer],
    form: "only GLOB…",
    about: "Takes of the repository the files that match and no others, without a `.git`: commits that touch none of them \
            change nothing. It may be repeated.",
    example: "only package.json bun.lock \"patches/**\"",
    arguments: PATTERNS,
    properties: Known(&[]),
    block: None,
    key: "the matched paths' modes and object ids",
};

pub(super) const STUB: Statement = Statement {
    name: "stub",
    places: &[Repo, Layer],
    form: "stub GLOB…",
    about: "Beside `only`: files that match are there, and empty, for tools that want them to exist. A child's checkout \
            replaces them.",
    example: "stub \"**/src/main.rs\" \"**/src/lib.rs\"",
    arguments: PATTERNS,
    properties: Known(&[]),
    block: None,
    key: "the matched paths' modes",
};

pub(super) const LAYER: Statement = Statement {
    name: "layer",
    places: &[Repo],
    form: "layer [NAME=deps] { only…; stub…; run…; cache…; secret… }",
    about: "A snapshot of its own before this one, such as for dependencies: it has the files of its `only`, and is baked \
            again when those change. It stands for a prebuild called `TARGET-NAME` that the target starts from.",
    example: "layer { only package.json bun.lock; run \"bun install --frozen-lockfile\"; }",
    arguments: &[Argument {
        name: "NAME",
        times: AtMostOnce,
        takes: Takes::Name,
        about: "`deps`, if left out.",
    }],
    properties: Known(&[]),
    block: Some(Layer),
    key: "as the prebuild that it stands for",
};
