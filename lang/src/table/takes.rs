//! What a value can be, in words: the parsers of `value.rs` and others decide, and a test compares the two.

/// What an argument or a property takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Anything.
    Text,
    /// `#true` or `#false`.
    Truth,
    /// A whole number from this up.
    Count(u32),
    /// One of these.
    Choice(&'static [&'static str]),
    /// The name of something that is defined here.
    Name,
    /// What something is called elsewhere, with its namespace if it is another file's.
    Target,
    Template,
    /// The name of a secret.
    Secret,
    Lint,
    /// The name of a parameter, with its type before it.
    Parameter,
    /// A path in the workspace.
    Path,
    /// A folder of the workspace, or an absolute one.
    Folder,
    /// A file of the project, beside this one or elsewhere in it.
    Local,
    /// A pattern for paths in a repository.
    Glob,
    Image,
    Platform,
    Url,
    /// The name of a branch or a tag.
    Reference,
    /// The whole id of a commit.
    Commit,
    Mode,
    Duration,
    Size,
    Edition,
}

impl Takes {
    /// The rule, for people; choices are told by [`Takes::choices`].
    pub fn rule(self) -> String {
        let rule = match self {
            Self::Text => "text",
            Self::Truth => "`#true` or `#false`",
            Self::Count(least) => return format!("a whole number from {least}"),
            Self::Choice(choices) => {
                let choices: Vec<String> = choices.iter().map(|c| format!("`{c}`")).collect();
                return choices.join(" or ");
            }
            Self::Name => "a name: a lower-case letter, then up to 39 of `a-z`, `0-9` and `-`",
            Self::Target => "a name of a prebuild or a group; `ALIAS.NAME` of another file's",
            Self::Template => "a name of a template; `ALIAS.NAME` of another file's",
            Self::Secret => "a name: `A-Z` or `_`, then up to 63 of `A-Z`, `0-9` and `_`",
            Self::Lint => "a lint's name",
            Self::Parameter => "a name, with its type before it: `(int)days`",
            Self::Path => "a path in the workspace, without `..`",
            Self::Folder => "a path in the workspace, or an absolute one, without `..`",
            Self::Local => "a file of the project, relative to this one",
            Self::Glob => "a pattern",
            Self::Image => "an image, or an alias of one",
            Self::Platform => "such as `\"linux/arm64\"`",
            Self::Url => "a URL, `\".\"`, or a relative path",
            Self::Reference => "a name that git allows",
            Self::Commit => "40 or 64 hex digits, the whole id",
            Self::Mode => "four octal digits in quotes",
            Self::Duration => "such as `\"90s\"`, `\"10m\"` or `\"2h\"`",
            Self::Size => "such as `\"512MiB\"` or `\"4GiB\"`",
            Self::Edition => "`1`",
        };
        rule.to_owned()
    }

    /// All values, if they can be counted.
    pub fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Truth => &["#true", "#false"],
            Self::Choice(choices) => choices,
            Self::Lint => super::LINTS,
            Self::Edition => &["1"],
            _ => &[],
        }
    }
}
