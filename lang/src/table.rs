//! The node table: every statement with its places, arguments and properties, and what is said of them.
//!
//! One table drives the checks, the suggestions, the reference in the book and what editors show. It knows no meaning: that
//! is `decl.rs`.

mod file;
mod prebuild;
mod repo;
mod takes;

pub use takes::Takes;

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

/// How often an argument is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Once,
    AtMostOnce,
    OnceOrMore,
    AnyNumber,
}

/// One argument, or several of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// What the form calls it.
    pub name: &'static str,
    pub times: Times,
    pub takes: Takes,
    pub about: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Property {
    pub name: &'static str,
    pub takes: Takes,
    /// What leaving it out means, as it would be written; `None` if that cannot be written.
    pub default: Option<&'static str>,
    pub is_in_key: bool,
    pub about: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub enum Properties {
    Known(&'static [Property]),
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
    /// What it is for.
    pub about: &'static str,
    /// A line that is right as it stands.
    pub example: &'static str,
    pub arguments: &'static [Argument],
    pub properties: Properties,
    /// What may stand in its block, if it has one.
    pub block: Option<Place>,
    /// Whether its effect is in the key.
    pub key: &'static str,
}

/// All statements of this version.
pub const STATEMENTS: &[Statement] = &[
    file::ATELIER,
    file::IMPORT,
    file::LET,
    file::PARAM,
    file::TEMPLATE,
    file::PREBUILD,
    file::GROUP,
    file::ALLOW,
    prebuild::USE,
    prebuild::MATRIX,
    prebuild::SKIP,
    prebuild::CELL,
    prebuild::FROM,
    repo::REPO,
    repo::ONLY,
    repo::STUB,
    repo::LAYER,
    prebuild::FILE,
    prebuild::RUN,
    prebuild::ENV,
    prebuild::PATH,
    prebuild::SECRET,
    prebuild::CACHE,
    prebuild::RESOURCES,
    prebuild::ABOUT,
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

use Place::{File, Layer, Matrix, Prebuild, Repo, Template};

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

    /// How many arguments it takes.
    pub fn arity(&self) -> Arity {
        let times = |wanted: &[Times]| {
            let arguments = self.arguments.iter();
            arguments.filter(|a| wanted.contains(&a.times)).count()
        };
        let is_open = times(&[Times::OnceOrMore, Times::AnyNumber]) > 0;
        Arity {
            least: times(&[Times::Once, Times::OnceOrMore]),
            most: (!is_open).then_some(self.arguments.len()),
        }
    }

    /// The property of that name, if the statement has properties of its own.
    pub fn property(&self, name: &str) -> Option<&'static Property> {
        self.properties.known().iter().find(|p| p.name == name)
    }
}

impl Properties {
    /// Those that the table knows.
    pub fn known(self) -> &'static [Property] {
        match self {
            Self::Known(known) => known,
            Self::Open | Self::Parameters => &[],
        }
    }
}
