//! The node table: every statement with its places, arguments and properties.
//!
//! One table drives the checks, the suggestions and the tables of the book. It knows no meaning: that is `decl.rs`.

/// Where a statement may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The top level of a file. A file without `prebuild` is one prebuild, so its statements may stand there too.
    File,
    /// A prebuild's block.
    Prebuild,
    /// A repository's block.
    Repo,
    /// The block of a layer of a repository.
    Layer,
    /// A template's block: parameters, and whatever can stand where the template is used.
    Template,
    /// A matrix's block: its axes have names of the user's own.
    Matrix,
}

/// How many arguments a statement takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    pub least: usize,
    /// `None`: any number.
    pub most: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Properties {
    Known(&'static [&'static str]),
    /// The names are the user's own; at least one is needed.
    Open,
    /// The names are a template's parameters.
    Parameters,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    pub name: &'static str,
    pub places: &'static [Place],
    /// How it is written, with defaults.
    pub form: &'static str,
    /// A line that is right as it stands.
    pub example: &'static str,
    pub arity: Arity,
    pub properties: Properties,
    /// What may stand in its block, if it has one.
    pub block: Option<Place>,
    /// Whether its effect is in the key.
    pub key: &'static str,
}

const NONE: Arity = Arity {
    least: 0,
    most: Some(0),
};
const ONE: Arity = Arity {
    least: 1,
    most: Some(1),
};
const SOME: Arity = Arity {
    least: 1,
    most: None,
};

const fn between(least: usize, most: usize) -> Arity {
    Arity {
        least,
        most: Some(most),
    }
}

use Place::{File, Layer, Matrix, Prebuild, Repo, Template};
use Properties::{Known, Open, Parameters};

/// All statements of this version.
pub const STATEMENTS: &[Statement] = &[
    Statement {
        name: "atelier",
        places: &[File],
        form: "atelier 1",
        example: "atelier 1",
        arity: ONE,
        properties: Known(&[]),
        block: None,
        key: "no",
    },
    Statement {
        name: "import",
        places: &[File],
        form: "import PATH [as=NAME]",
        example: "import \"./org.kdl\"",
        arity: ONE,
        properties: Known(&["as"]),
        block: None,
        key: "no",
    },
    Statement {
        name: "let",
        places: &[File],
        form: "let NAME=V…",
        example: "let node=22",
        arity: NONE,
        properties: Open,
        block: None,
        key: "where used",
    },
    Statement {
        name: "param",
        places: &[File, Template],
        form: "param [(type)]NAME [CHOICE…] [default=V]",
        example: "param channel stable nightly default=stable",
        arity: SOME,
        properties: Known(&["default"]),
        block: None,
        key: "where used",
    },
    Statement {
        name: "template",
        places: &[File],
        form: "template NAME { param…; STATEMENTS }",
        example: "template tools { path \".local/bin\"; }",
        arity: ONE,
        properties: Known(&[]),
        block: Some(Template),
        key: "where used",
    },
    Statement {
        name: "prebuild",
        places: &[File],
        form: "prebuild NAME { STATEMENTS }",
        example: "prebuild wallet { from dev-base; }",
        arity: ONE,
        properties: Known(&[]),
        block: Some(Prebuild),
        key: "all but the name",
    },
    Statement {
        name: "group",
        places: &[File],
        form: "group NAME TARGET…",
        example: "group default wallet api",
        arity: Arity {
            least: 2,
            most: None,
        },
        properties: Known(&[]),
        block: None,
        key: "no",
    },
    Statement {
        name: "allow",
        places: &[File],
        form: "allow LINT…",
        example: "allow secret-literal",
        arity: SOME,
        properties: Known(&[]),
        block: None,
        key: "no",
    },
    Statement {
        name: "use",
        places: &[Prebuild, Repo, Layer],
        form: "use TEMPLATE [WORD…] [param=V…]",
        example: "use tools",
        arity: SOME,
        properties: Parameters,
        block: None,
        key: "its expansion",
    },
    Statement {
        name: "matrix",
        places: &[Prebuild],
        form: "matrix { AXIS V…; skip AXIS=V…; }, or matrix { cell AXIS=V…; … }",
        example: "matrix { node 22 24; }",
        arity: NONE,
        properties: Known(&[]),
        block: Some(Matrix),
        key: "where used",
    },
    Statement {
        name: "skip",
        places: &[Matrix],
        form: "skip AXIS=V…",
        example: "skip node=22 os=alpine",
        arity: NONE,
        properties: Open,
        block: None,
        key: "no",
    },
    Statement {
        name: "cell",
        places: &[Matrix],
        form: "cell AXIS=V…",
        example: "cell node=22 os=debian",
        arity: NONE,
        properties: Open,
        block: None,
        key: "no",
    },
    Statement {
        name: "from",
        places: &[Prebuild],
        form: "from IMAGE [platform=P], or from prebuild=NAME",
        example: "from dev-base",
        arity: between(0, 1),
        properties: Known(&["platform", "prebuild"]),
        block: None,
        key: "image digest and platform, or the parent's key",
    },
    Statement {
        name: "repo",
        places: &[Prebuild],
        form: "repo URL [branch=│tag=│commit=] [path=last-segment] [auth=SECRET] [depth=1] \
               [submodules=#true] [lfs=#true] [{ run…; only…; stub…; layer… }]",
        example: "repo \"github.com/frak-id/wallet\"",
        arity: ONE,
        properties: Known(&[
            "branch",
            "tag",
            "commit",
            "path",
            "auth",
            "depth",
            "submodules",
            "lfs",
        ]),
        block: Some(Repo),
        key: "all but auth; with `only`, the files' paths, modes and object ids instead",
    },
    Statement {
        name: "only",
        places: &[Repo, Layer],
        form: "only GLOB…",
        example: "only package.json bun.lock \"patches/**\"",
        arity: SOME,
        properties: Known(&[]),
        block: None,
        key: "the matched paths' modes and object ids",
    },
    Statement {
        name: "stub",
        places: &[Repo, Layer],
        form: "stub GLOB…",
        example: "stub \"**/src/main.rs\" \"**/src/lib.rs\"",
        arity: SOME,
        properties: Known(&[]),
        block: None,
        key: "the matched paths' modes",
    },
    Statement {
        name: "layer",
        places: &[Repo],
        form: "layer [NAME=deps] { only…; stub…; run…; cache…; secret… }",
        example: "layer { only package.json bun.lock; run \"bun install --frozen-lockfile\"; }",
        arity: between(0, 1),
        properties: Known(&[]),
        block: Some(Layer),
        key: "as the prebuild that it stands for",
    },
    Statement {
        name: "file",
        places: &[Prebuild],
        form: "file DEST TEXT, or file DEST from=LOCAL; [mode=\"0644\"]",
        example: "file .npmrc \"save-exact=true\"",
        arity: between(1, 2),
        properties: Known(&["from", "mode"]),
        block: None,
        key: "all",
    },
    Statement {
        name: "run",
        places: &[Prebuild, Repo, Layer],
        form: "run CMD [in=DIR] [as=dev│root] [shell=bash│sh] [timeout=\"10m\"] [retry=0]",
        example: "run \"bun install\"",
        arity: ONE,
        properties: Known(&["in", "as", "shell", "timeout", "retry"]),
        block: None,
        key: "CMD, in, as, shell",
    },
    Statement {
        name: "env",
        places: &[Prebuild],
        form: "env K=V…",
        example: "env CI=1",
        arity: NONE,
        properties: Open,
        block: None,
        key: "names and values, if the node has a step",
    },
    Statement {
        name: "path",
        places: &[Prebuild],
        form: "path DIR…",
        example: "path \".local/bin\"",
        arity: SOME,
        properties: Known(&[]),
        block: None,
        key: "all, if the node has a step",
    },
    Statement {
        name: "secret",
        places: &[File, Prebuild, Layer],
        form: "secret NAME…",
        example: "secret GIT_TOKEN",
        arity: SOME,
        properties: Known(&[]),
        block: None,
        key: "no",
    },
    Statement {
        name: "cache",
        places: &[Prebuild, Layer],
        form: "cache NAME path=DIR",
        example: "cache bun path=\".bun/install/cache\"",
        arity: ONE,
        properties: Known(&["path"]),
        block: None,
        key: "no",
    },
    Statement {
        name: "resources",
        places: &[Prebuild],
        form: "resources [cpu=2] [memory=\"4GiB\"] [disk=\"20GiB\"] [timeout=\"60m\"]",
        example: "resources cpu=4 memory=\"8GiB\"",
        arity: NONE,
        properties: Known(&["cpu", "memory", "disk", "timeout"]),
        block: None,
        key: "no",
    },
    Statement {
        name: "about",
        places: &[Prebuild],
        form: "about TEXT",
        example: "about \"The wallet, installed\"",
        arity: ONE,
        properties: Known(&[]),
        block: None,
        key: "no",
    },
];

/// Statements of the language that this version does not have.
pub const LATER: &[&str] = &["toolchain", "compose", "needs", "provides"];

/// Words that a later edition may give a meaning to.
pub const RESERVED: &[&str] = &[
    "if", "for", "fn", "extends", "override", "service", "start", "ports", "snapshot",
];

/// What `allow` can name.
pub const LINTS: &[&str] = &[
    "cache-at-run-time",
    "not-interpolated",
    "secret-literal",
    "unused",
];

/// What a parameter can be.
pub const TYPES: &[&str] = &[
    "text", "int", "bool", "version", "name", "path", "url", "image", "words",
];

/// The row of `name`, wherever it may stand.
pub fn find(name: &str) -> Option<&'static Statement> {
    STATEMENTS.iter().find(|statement| statement.name == name)
}

impl Statement {
    /// Whether it may stand at `place`.
    pub fn stands_in(&self, place: Place) -> bool {
        match place {
            // The bare form: a file's own statements are a prebuild's.
            File => self.is_in(File) || (self.is_in(Prebuild) && self.name != "matrix"),
            Prebuild | Repo | Layer | Matrix => self.is_in(place),
            // Where the template is used decides the rest.
            Template => {
                let is_statement = self.is_in(Prebuild) || self.is_in(Repo) || self.is_in(Layer);
                self.is_in(Template) || (is_statement && self.name != "matrix")
            }
        }
    }

    fn is_in(&self, place: Place) -> bool {
        self.places.contains(&place)
    }
}
