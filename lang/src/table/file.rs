//! Statements of a file's top level.

use super::Place::{File, Prebuild, Template};
use super::Properties::{Known, Open};
use super::Times::{AnyNumber, Once, OnceOrMore};
use super::{Argument, Property, Statement, Takes};

pub(super) const ATELIER: Statement = Statement {
    name: "atelier",
    places: &[File],
    form: "atelier 1",
    about: "The edition of the language that the file is written in. It comes first; without it, the edition is 1.",
    example: "atelier 1",
    arguments: &[Argument {
        name: "EDITION",
        times: Once,
        takes: Takes::Edition,
        about: "There is one so far.",
    }],
    properties: Known(&[]),
    block: None,
    key: "no",
};

pub(super) const IMPORT: Statement = Statement {
    name: "import",
    places: &[File],
    form: "import PATH [as=NAME]",
    about: "Makes the prebuilds, groups, templates and `let` of another file known here, as `NAME.x`. What that file imports \
            itself is not.",
    example: "import \"./org.kdl\"",
    arguments: &[Argument {
        name: "PATH",
        times: Once,
        takes: Takes::Local,
        about: "The other file. Symbolic links may not lead out of the project.",
    }],
    properties: Known(&[Property {
        name: "as",
        takes: Takes::Name,
        default: None,
        is_in_key: false,
        about: "What to call it here; the file's name without its ending, if left out.",
    }]),
    block: None,
    key: "no",
};

pub(super) const LET: Statement = Statement {
    name: "let",
    places: &[File],
    form: "let NAME=V…",
    about: "Names values of this file, for `(f)\"{NAME}\"`.",
    example: "let node=22",
    arguments: &[],
    properties: Open,
    block: None,
    key: "where used",
};

pub(super) const PARAM: Statement = Statement {
    name: "param",
    places: &[File, Template],
    form: "param [(type)]NAME [CHOICE…] [default=V]",
    about: "Names a value that is given from outside: of a file with `--param NAME=V`, of a template by `use`.",
    example: "param channel stable nightly default=stable",
    arguments: &[
        Argument {
            name: "NAME",
            times: Once,
            takes: Takes::Parameter,
            about: "Its type checks what is given; without one, anything is right.",
        },
        Argument {
            name: "CHOICE",
            times: AnyNumber,
            takes: Takes::Text,
            about: "If there are any, nothing else is right.",
        },
    ],
    properties: Known(&[Property {
        name: "default",
        takes: Takes::Text,
        default: None,
        is_in_key: true,
        about: "The value if none is given; without it, one has to be.",
    }]),
    block: None,
    key: "where used",
};

pub(super) const TEMPLATE: Statement = Statement {
    name: "template",
    places: &[File],
    form: "template NAME { param…; STATEMENTS }",
    about: "Statements that `use` puts where it stands. They see the template's parameters and this file's `let` and `param`.",
    example: "template tools { path \".local/bin\"; }",
    arguments: &[Argument {
        name: "NAME",
        times: Once,
        takes: Takes::Name,
        about: "What `use` calls it.",
    }],
    properties: Known(&[]),
    block: Some(Template),
    key: "where used",
};

pub(super) const PREBUILD: Statement = Statement {
    name: "prebuild",
    places: &[File],
    form: "prebuild NAME { STATEMENTS }",
    about: "A target: a workspace to bake. A file without any is one, called `default`.",
    example: "prebuild wallet { from dev-base; }",
    arguments: &[Argument {
        name: "NAME",
        times: Once,
        takes: Takes::Name,
        about: "What commands and other prebuilds call it.",
    }],
    properties: Known(&[]),
    block: Some(Prebuild),
    key: "all but the name",
};

pub(super) const GROUP: Statement = Statement {
    name: "group",
    places: &[File],
    form: "group NAME TARGET…",
    about: "Several targets under one name. `group default` is what is built if no target is named; without it, that is all \
            that nothing else starts from.",
    example: "group default wallet api",
    arguments: &[
        Argument {
            name: "NAME",
            times: Once,
            takes: Takes::Name,
            about: "It shares its namespace with prebuilds.",
        },
        Argument {
            name: "TARGET",
            times: OnceOrMore,
            takes: Takes::Target,
            about: "A member may be a group.",
        },
    ],
    properties: Known(&[]),
    block: None,
    key: "no",
};

pub(super) const ALLOW: Statement = Statement {
    name: "allow",
    places: &[File],
    form: "allow LINT…",
    about: "Silences findings in this file: `secret-literal` is A0601 of what only looks like a secret, `unused` A0309, \
            `not-interpolated` A0310, `cache-at-run-time` A0313.",
    example: "allow secret-literal",
    arguments: &[Argument {
        name: "LINT",
        times: OnceOrMore,
        takes: Takes::Lint,
        about: "What to silence.",
    }],
    properties: Known(&[]),
    block: None,
    key: "no",
};
