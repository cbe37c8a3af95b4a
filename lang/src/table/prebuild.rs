//! Statements of a prebuild, but for `repo`.

use super::Place::{File, Layer, Matrix, Prebuild, Repo};
use super::Properties::{Known, Open, Parameters};
use super::Times::{AnyNumber, AtMostOnce, Once, OnceOrMore};
use super::{Argument, Property, Statement, Takes};

pub(super) const USE: Statement = Statement {
    name: "use",
    places: &[Prebuild, Repo, Layer],
    form: "use TEMPLATE [WORD…] [param=V…]",
    about: "Puts a template's statements here. Its properties are the template's parameters.",
    example: "use tools",
    arguments: &[
        Argument {
            name: "TEMPLATE",
            times: Once,
            takes: Takes::Template,
            about: "This file's, else the library's; `std.NAME` is always the library's.",
        },
        Argument {
            name: "WORD",
            times: AnyNumber,
            takes: Takes::Text,
            about: "They go to the template's parameter of the type `words`, with spaces between.",
        },
    ],
    properties: Parameters,
    block: None,
    key: "its expansion",
};

pub(super) const MATRIX: Statement = Statement {
    name: "matrix",
    places: &[Prebuild],
    form: "matrix { AXIS V…; skip AXIS=V…; }, or matrix { cell AXIS=V…; … }",
    about: "Makes a prebuild for each combination of values. Each is called by the prebuild's name and its values, such as \
            `web-22`; the prebuild's own name is a group of all. `(f)\"{AXIS}\"` is the value.",
    example: "matrix { node 22 24; }",
    arguments: &[],
    properties: Known(&[]),
    block: Some(Matrix),
    key: "where used",
};

pub(super) const SKIP: Statement = Statement {
    name: "skip",
    places: &[Matrix],
    form: "skip AXIS=V…",
    about: "Leaves the combinations out that have these values.",
    example: "skip node=22 os=alpine",
    arguments: &[],
    properties: Open,
    block: None,
    key: "no",
};

pub(super) const CELL: Statement = Statement {
    name: "cell",
    places: &[Matrix],
    form: "cell AXIS=V…",
    about: "One combination, where they are listed instead of multiplied. All have the axes of the first.",
    example: "cell node=22 os=debian",
    arguments: &[],
    properties: Open,
    block: None,
    key: "no",
};

pub(super) const FROM: Statement = Statement {
    name: "from",
    places: &[Prebuild],
    form: "from IMAGE [platform=P], or from prebuild=NAME",
    about: "What the prebuild starts from: an image, or the snapshot of another prebuild. There is exactly one.",
    example: "from dev-base",
    arguments: &[Argument {
        name: "IMAGE",
        times: AtMostOnce,
        takes: Takes::Image,
        about: "`host`, an image of a registry, `oci:DIR` or `oci-archive:FILE`, or an alias from the configuration.",
    }],
    properties: Known(&[
        Property {
            name: "platform",
            takes: Takes::Platform,
            default: None,
            is_in_key: true,
            about: "The platform of the image; this machine's, if left out.",
        },
        Property {
            name: "prebuild",
            takes: Takes::Target,
            default: None,
            is_in_key: true,
            about: "The prebuild to start from, instead of an image. Its workspace, `env`, `path` and `resources` are inherited.",
        },
    ]),
    block: None,
    key: "image digest and platform, or the parent's key",
};

pub(super) const FILE: Statement = Statement {
    name: "file",
    places: &[Prebuild],
    form: "file DEST TEXT, or file DEST from=LOCAL; [mode=\"0644\"]",
    about: "Writes a file into the workspace, after repositories were cloned and before steps run.",
    example: "file .npmrc \"save-exact=true\"",
    arguments: &[
        Argument {
            name: "DEST",
            times: Once,
            takes: Takes::Path,
            about: "Where it lands.",
        },
        Argument {
            name: "TEXT",
            times: AtMostOnce,
            takes: Takes::Text,
            about: "All of its content.",
        },
    ],
    properties: Known(&[
        Property {
            name: "from",
            takes: Takes::Local,
            default: None,
            is_in_key: true,
            about: "The file whose content it gets, instead of a text.",
        },
        Property {
            name: "mode",
            takes: Takes::Mode,
            default: Some("\"0644\""),
            is_in_key: true,
            about: "Who may do what with it.",
        },
    ]),
    block: None,
    key: "all",
};

pub(super) const RUN: Statement = Statement {
    name: "run",
    places: &[Prebuild, Repo, Layer],
    form: "run CMD [in=DIR] [as=dev│root] [shell=bash│sh] [timeout=\"10m\"] [retry=0]",
    about: "A step: a script that is run in the sandbox. Steps run in the order of the file, and if one fails, so does the bake.",
    example: "run \"bun install\"",
    arguments: &[Argument {
        name: "CMD",
        times: Once,
        takes: Takes::Text,
        about: "The whole script, as one text.",
    }],
    properties: Known(STEP),
    block: None,
    key: "CMD, in, as, shell",
};

const STEP: &[Property] = &[
    Property {
        name: "in",
        takes: Takes::Path,
        default: None,
        is_in_key: true,
        about: "The folder to run in; the workspace, or in the block of a `repo` its folder, where `in` cannot be given.",
    },
    Property {
        name: "as",
        takes: Takes::Choice(&["dev", "root"]),
        default: Some("dev"),
        is_in_key: true,
        about: "The user: `dev` is uid 1000. What `root` writes outside of the workspace is not kept.",
    },
    Property {
        name: "shell",
        takes: Takes::Choice(&["bash", "sh"]),
        default: Some("bash"),
        is_in_key: true,
        about: "`bash -euo pipefail`, or `sh -eu`.",
    },
    Property {
        name: "timeout",
        takes: Takes::Duration,
        default: Some("\"10m\""),
        is_in_key: false,
        about: "After this it is ended, and has failed.",
    },
    Property {
        name: "retry",
        takes: Takes::Count(0),
        default: Some("0"),
        is_in_key: false,
        about: "How often it is tried again after a failure, on the workspace as that left it.",
    },
];

pub(super) const ENV: Statement = Statement {
    name: "env",
    places: &[Prebuild],
    form: "env K=V…",
    about: "Variables of steps and sandboxes. Children inherit them, and may restate one.",
    example: "env CI=1",
    arguments: &[],
    properties: Open,
    block: None,
    key: "names and values, if the node has a step",
};

pub(super) const PATH: Statement = Statement {
    name: "path",
    places: &[Prebuild],
    form: "path DIR…",
    about: "Folders that go before `PATH`, in steps and sandboxes. Children inherit them.",
    example: "path \".local/bin\"",
    arguments: &[Argument {
        name: "DIR",
        times: OnceOrMore,
        takes: Takes::Folder,
        about: "The first is looked into first.",
    }],
    properties: Known(&[]),
    block: None,
    key: "all, if the node has a step",
};

pub(super) const SECRET: Statement = Statement {
    name: "secret",
    places: &[File, Prebuild, Layer],
    form: "secret NAME…",
    about: "Values that come with `--secret NAME=env:VAR` or `NAME=file:PATH`. At the top level they are declared, for `auth=`; \
            in a prebuild or a layer its steps have them as variables; in a file without `prebuild` both.",
    example: "secret GIT_TOKEN",
    arguments: &[Argument {
        name: "NAME",
        times: OnceOrMore,
        takes: Takes::Secret,
        about: "The variable's name too.",
    }],
    properties: Known(&[]),
    block: None,
    key: "no",
};

pub(super) const CACHE: Statement = Statement {
    name: "cache",
    places: &[Prebuild, Layer],
    form: "cache NAME path=DIR",
    about: "A folder that is kept between bakes, mounted while baking, and in no snapshot: for downloads that a tool does not need \
            when it runs.",
    example: "cache bun path=\".bun/install/cache\"",
    arguments: &[Argument {
        name: "NAME",
        times: Once,
        takes: Takes::Name,
        about: "All targets that use the name share the folder.",
    }],
    properties: Known(&[Property {
        name: "path",
        takes: Takes::Folder,
        default: None,
        is_in_key: false,
        about: "Where it is mounted. It has to be given.",
    }]),
    block: None,
    key: "no",
};

pub(super) const RESOURCES: Statement = Statement {
    name: "resources",
    places: &[Prebuild],
    form: "resources [cpu=2] [memory=\"4GiB\"] [disk=\"20GiB\"] [timeout=\"60m\"]",
    about: "Limits of a bake and of sandboxes. Children inherit them.",
    example: "resources cpu=4 memory=\"8GiB\"",
    arguments: &[],
    properties: Known(&[
        Property {
            name: "cpu",
            takes: Takes::Count(1),
            default: Some("2"),
            is_in_key: false,
            about: "Processors.",
        },
        Property {
            name: "memory",
            takes: Takes::Size,
            default: Some("\"4GiB\""),
            is_in_key: false,
            about: "What needs more is ended.",
        },
        Property {
            name: "disk",
            takes: Takes::Size,
            default: Some("\"20GiB\""),
            is_in_key: false,
            about: "Not enforced on this machine's own backend.",
        },
        Property {
            name: "timeout",
            takes: Takes::Duration,
            default: Some("\"60m\""),
            is_in_key: false,
            about: "Of a whole bake, and not of sandboxes.",
        },
    ]),
    block: None,
    key: "no",
};

pub(super) const ABOUT: Statement = Statement {
    name: "about",
    places: &[Prebuild],
    form: "about TEXT",
    about: "What the prebuild is, for people.",
    example: "about \"The wallet, installed\"",
    arguments: &[Argument {
        name: "TEXT",
        times: Once,
        takes: Takes::Text,
        about: "A sentence.",
    }],
    properties: Known(&[]),
    block: None,
    key: "no",
};
