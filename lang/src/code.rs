//! Every code with its title. A code is published here once and keeps its meaning for ever.

use crate::diag::Code;

macro_rules! codes {
    ($($name:ident = $number:literal, $title:literal;)*) => {
        $(pub const $name: Code = Code($number);)*

        /// All codes that this version can report, in order, each with its title.
        pub const ALL: &[(Code, &str)] = &[$((Code($number), $title)),*];
    };
}

codes! {
    NOT_UTF8 = 101, "the file is not UTF-8";
    FORBIDDEN_CHARACTER = 102, "a character that cannot appear in a file";
    TOO_LARGE = 103, "the file is larger than the limit";
    TOO_DEEP = 104, "blocks, comments or `/-` nest too deep";
    NOT_KDL = 105, "the file is not KDL 2";
    KDL_1 = 106, "a keyword of KDL 1";
    KDL_1_RAW_STRING = 107, "a raw string of KDL 1";
    URL_COMMENT = 108, "an unquoted URL, half of which is a comment";
    BRACE_BLOCK = 109, "an unquoted brace, which opens a block";
    FOREIGN_SYNTAX = 110, "a habit from YAML, TOML or a shell";
    INDENTATION = 111, "a line of a multi-line string that does not share its indentation";
    UNUSABLE_NUMBER = 112, "a number that cannot be used as written";
    UNQUOTED = 113, "a value that must be quoted";
    BAD_ESCAPE = 114, "an escape that KDL does not have";
    COMMENT_CLOSED_EARLY = 115, "a block comment that ended early";
    UNKNOWN_STATEMENT = 201, "an unknown statement";
    UNKNOWN_PROPERTY = 202, "an unknown property, annotation or block";
    WRONG_ARGUMENTS = 203, "the wrong number of arguments";
    DUPLICATE_PROPERTY = 204, "something that is given twice";
    MIXED_FORMS = 205, "statements outside a prebuild, in a file with prebuilds";
    BAD_EDITION = 206, "an edition that cannot be used";
    NOT_YET = 207, "a part of the language that is not in this version";
    UNKNOWN_NAME = 301, "an unknown name";
    DUPLICATE_NAME = 302, "a name that is defined twice";
    SHADOWING = 303, "a name that already means something here";
    BAD_NAME = 304, "not a name";
    MISSING_PARAMETER = 305, "a parameter without a value";
    BAD_VALUE = 306, "a value of the wrong kind";
    BAD_INTERPOLATION = 307, "a brace in `(f)` text that means nothing";
    UNSAFE_IN_SHELL = 308, "a value that would be shell syntax";
    UNUSED = 309, "a definition that is never used";
    NOT_INTERPOLATED = 310, "a name in braces in a plain text";
    BAD_MATRIX = 311, "a matrix without cells, or with two that are one";
    EXPANDS_TOO_FAR = 312, "more than a limit allows";
    CACHE_AT_RUN_TIME = 313, "a cache of what the tool needs at run time";
    NO_BASE = 401, "a prebuild that starts from nothing";
    TWO_BASES = 402, "a prebuild that starts from two things";
    CYCLE = 403, "a cycle";
    PATH_ESCAPES = 404, "a path that cannot be used";
    PATHS_CLASH = 405, "two things at one path";
    BAD_MODE = 406, "a mode that is not octal text";
    BAD_URL = 407, "a URL that cannot be used";
    ONLY = 408, "an `only`, `stub` or `layer` that names no files";
    UNREADABLE = 501, "an input that cannot be read";
    SECRET = 601, "a secret in the file, or one that is not declared";
}

/// What `code` stands for, in a few words.
pub fn title(code: Code) -> Option<&'static str> {
    ALL.iter()
        .find(|(known, _)| *known == code)
        .map(|(_, title)| *title)
}
