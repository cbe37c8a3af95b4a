//! Tree → typed declarations. Names are not resolved yet: that is `eval.rs`.
//!
//! Every fault is reported and reading goes on, so one run shows all faults of a file.

mod base;
mod document;
mod fields;
mod file;
mod only;
mod repo;
mod step;
mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::code;
use crate::diag::Diagnostic;
use crate::expand::{Cell, Expanded};
use crate::files::Files;
use crate::graph::{Cache, File, ImageRef, Repo, Step};
use crate::secret;
use crate::source::VirtualPath;
use crate::span::{FileId, Span, Spanned};
use crate::value;

pub(crate) use fields::Fields;
pub(crate) use step::TIMEOUT as STEP_TIMEOUT;

/// What a file declares.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) prebuilds: Vec<Prebuild>,
    pub(crate) groups: Vec<Group>,
    /// Declared at the top level.
    pub(crate) secrets: Vec<Spanned<String>>,
    /// Whether the file is there for others, so that it need not have targets.
    pub(crate) is_library: bool,
    /// What the names of each file's targets begin with.
    pub(crate) prefixes: BTreeMap<FileId, String>,
}

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: Spanned<String>,
    pub(crate) members: Vec<Spanned<String>>,
    /// Whether another file declares it.
    pub(crate) is_imported: bool,
}

#[derive(Debug)]
pub(crate) struct Prebuild {
    pub(crate) name: Spanned<String>,
    pub(crate) base: Option<Base>,
    pub(crate) repos: Vec<Repo>,
    pub(crate) files: Vec<File>,
    pub(crate) steps: Vec<Step>,
    pub(crate) env: Vec<Variable>,
    pub(crate) path: Vec<Spanned<String>>,
    pub(crate) secrets: Vec<Spanned<String>>,
    pub(crate) caches: Vec<Spanned<Cache>>,
    pub(crate) resources: Resources,
    pub(crate) about: Option<Spanned<String>>,
    /// The layers of its repositories, until they are prebuilds of their own.
    pub(crate) layers: Vec<Prebuild>,
    /// Whether it was written as a layer.
    pub(crate) is_layer: bool,
    /// Whether another file declares it.
    pub(crate) is_imported: bool,
    /// Which cell of a matrix it is.
    pub(crate) cell: Option<Cell>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum Base {
    Image {
        image: Spanned<ImageRef>,
        platform: Option<Spanned<String>>,
        at: Span,
    },
    Parent {
        name: Spanned<String>,
        at: Span,
    },
    /// What may have been a `from`; a real one replaces it.
    Hidden {
        at: Span,
    },
    /// A `from` is there but cannot be read; its fault has been reported.
    Faulty {
        at: Span,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: Spanned<String>,
    pub(crate) value: Spanned<String>,
    /// Both.
    pub(crate) at: Span,
}

/// What is stated here; the rest is inherited, or the default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resources {
    pub(crate) cpu: Option<Spanned<u32>>,
    pub(crate) memory: Option<Spanned<u64>>,
    pub(crate) disk: Option<Spanned<u64>>,
    pub(crate) timeout: Option<Spanned<Duration>>,
}

/// What reading needs to know besides the node at hand.
pub(crate) struct Reader<'a> {
    files: &'a Files,
    /// The folder of the file that is evaluated: what paths on disk are relative to.
    folder: String,
    found: &'a mut Vec<Diagnostic>,
    /// Findings of lints, by name; reported unless their file allows that.
    lints: Vec<(&'static str, Diagnostic)>,
    /// The lints that each file allows.
    allowed: BTreeSet<(FileId, String)>,
}

impl Base {
    pub(crate) fn at(&self) -> Span {
        match self {
            Self::Image { at, .. }
            | Self::Parent { at, .. }
            | Self::Faulty { at }
            | Self::Hidden { at } => *at,
        }
    }
}

impl Document {
    /// Reads the files of an evaluation; the first is the one that is evaluated.
    pub(crate) fn read(expanded: &[Expanded], files: &Files, found: &mut Vec<Diagnostic>) -> Self {
        let root = expanded.first().and_then(|first| files.path(first.file));
        let mut reader = Reader {
            files,
            folder: root.map_or("", VirtualPath::folder).to_owned(),
            found,
            lints: Vec::new(),
            allowed: BTreeSet::new(),
        };
        let documents = expanded.iter().map(|file| reader.document(file));
        let mut documents = documents.collect::<Vec<_>>().into_iter();
        let mut document = documents.next().unwrap_or_default();
        for mut other in documents {
            document.secrets.append(&mut other.secrets);
            let groups = other.groups.into_iter();
            document.groups.extend(groups.map(|group| Group {
                is_imported: true,
                ..group
            }));
            let prebuilds = other.prebuilds.into_iter();
            document
                .prebuilds
                .extend(prebuilds.map(|prebuild| Prebuild {
                    is_imported: true,
                    ..prebuild
                }));
        }
        let prefixes = expanded.iter().map(|file| (file.file, file.prefix.clone()));
        document.prefixes = prefixes.collect();
        let Reader { lints, allowed, .. } = reader;
        let reported = lints.into_iter().filter(|(lint, finding)| {
            let file = finding.labels.first().map(|label| label.span.file);
            file.is_none_or(|file| !allowed.contains(&(file, (*lint).to_owned())))
        });
        found.extend(reported.map(|(_, finding)| finding));
        document
    }
}

impl Reader<'_> {
    /// Notes a secret in a value that ends up in snapshots, keys or logs.
    fn no_secret(&mut self, value: &Spanned<String>) {
        let Some((range, kind)) = secret::first(value) else {
            return;
        };
        let span = self.files.within(value.span, value, range);
        let span = span.unwrap_or(value.span);
        let message = format!("this looks like {kind}");
        let label = "a secret in a file is no secret";
        let help = "declare a `secret` and use its variable; if it is none: allow secret-literal";
        let finding = Diagnostic::error(code::SECRET, span, message, label).help(help);
        self.lints.push(("secret-literal", finding));
    }

    /// A path on disk, relative to the file that is evaluated: it is written relative to the file where it stands.
    fn on_disk(&self, written: &str, at: Span) -> String {
        let folder = self.files.path(at.file).map(VirtualPath::folder);
        let Some(folder) = folder.filter(|folder| *folder != self.folder) else {
            return written.to_owned();
        };
        if written.starts_with('/') {
            return written.to_owned();
        }
        let parts = |folder: &str| {
            let parts = folder.split('/').filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect::<Vec<_>>()
        };
        let (here, there) = (parts(&self.folder), parts(folder));
        let shared = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
        let up = here[shared..].iter().map(|_| "..");
        let down = there[shared..].iter().map(String::as_str);
        up.chain(down)
            .chain([written])
            .collect::<Vec<_>>()
            .join("/")
    }

    /// Parses a text; a problem is reported where the text stands.
    fn take<T>(
        &mut self,
        text: &Spanned<String>,
        parse: impl FnOnce(&str) -> Result<T, value::Problem>,
    ) -> Option<T> {
        match parse(text) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.found.push(problem.at(text.span));
                None
            }
        }
    }
}
