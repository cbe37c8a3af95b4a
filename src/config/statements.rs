//! The statements of a configuration file, checked and typed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use atelier_lang::code as lang;
use atelier_lang::diag::Diagnostic;
use atelier_lang::document;
use atelier_lang::graph::ImageRef;
use atelier_lang::source::VirtualPath;
use atelier_lang::span::{Span, Spanned};
use atelier_lang::spelling::visible;
use atelier_lang::tree::{Node, Value};

use super::faults::{form, misplaced, twice, unknown, wrong_arguments};
use super::{Backend, PROJECT_FILE};

/// Whose file it is: that decides what may stand in it, and what its paths are relative to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner<'a> {
    User {
        home: Option<&'a Path>,
        /// Of the file.
        folder: &'a Path,
    },
    Project {
        root: &'a Path,
    },
}

/// What a file says. Each value has the span of its statement.
#[derive(Debug, Default)]
pub(super) struct Statements {
    pub(super) store: Option<Spanned<PathBuf>>,
    pub(super) backend: Option<Spanned<Backend>>,
    pub(super) aliases: BTreeMap<String, Spanned<ImageRef>>,
    /// As written: what they lead to is looked at when image `host` is wanted.
    pub(super) host: Vec<Spanned<String>>,
    /// By their names.
    pub(super) registries: BTreeMap<String, Registry>,
    /// By their names.
    pub(super) servers: BTreeMap<String, Server>,
    pub(super) kubernetes: super::kubernetes::Said,
}

/// What is said of a registry.
#[derive(Debug, Default)]
pub(super) struct Registry {
    pub(super) mirror: Option<Spanned<String>>,
    pub(super) ca: Option<Spanned<PathBuf>>,
    pub(super) http: Option<Spanned<bool>>,
}

/// What is said of a server of repositories.
#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) user: Option<Spanned<String>>,
    pub(super) ca: Option<Spanned<PathBuf>>,
}

impl Statements {
    /// What is right is read, whatever else is found.
    pub(super) fn read(nodes: &[Node], owner: Owner<'_>, found: &mut Vec<Diagnostic>) -> Self {
        let mut reader = Reader {
            owner,
            said: Self::default(),
            found,
        };
        for node in nodes {
            reader.statement(node);
        }
        reader.said
    }
}

pub(super) struct Reader<'a> {
    pub(super) owner: Owner<'a>,
    pub(super) said: Statements,
    pub(super) found: &'a mut Vec<Diagnostic>,
}

impl Reader<'_> {
    fn statement(&mut self, node: &Node) {
        match node.name.as_str() {
            "store" => self.store(node),
            "backend" => self.backend(node),
            "alias" => self.alias(node),
            "host" => self.host(node),
            "git" => self.git(node),
            "kubernetes" => self.kubernetes(node),
            "registry" => self.registry(node),
            _ => self.found.push(unknown(&node.name)),
        }
    }

    fn store(&mut self, node: &Node) {
        let Owner::User { home, .. } = self.owner else {
            let help = "move it to the caller's own config.kdl; for one run, there is --store DIR";
            return self.found.push(misplaced(node, help));
        };
        let Some([path]) = self.arguments(node) else {
            return;
        };
        match absolute(&path, home) {
            Ok(path) => {
                let said = Spanned::new(path, node.head());
                let first = self.said.store.replace(said).map(|first| first.span);
                self.once(node, "store", first);
            }
            Err(fault) => self.found.push(fault),
        }
    }

    fn backend(&mut self, node: &Node) {
        let Some([name]) = self.arguments(node) else {
            return;
        };
        match name.as_str() {
            "local" => self.choose(node, Backend::Local),
            "kubernetes" => self.choose(node, Backend::Kubernetes),
            other => {
                let message = format!("no backend `{}`", visible(other));
                let fault = Diagnostic::error(lang::BAD_VALUE, name.span, message, "unknown");
                self.found.push(fault.help("there are: local, kubernetes"));
            }
        }
    }

    fn choose(&mut self, node: &Node, backend: Backend) {
        let said = Spanned::new(backend, node.head());
        let first = self.said.backend.replace(said).map(|first| first.span);
        self.once(node, "backend", first);
    }

    fn alias(&mut self, node: &Node) {
        let Some([name, image]) = self.arguments(node) else {
            return;
        };
        let is_name = matches!(document::image(&name), Ok(ImageRef::Alias(_)));
        if !is_name {
            let message = format!("`{}` cannot be an alias", visible(&name));
            let (label, help) = match name.as_str() {
                "host" => ("the machine itself", "name it otherwise, such as dev-base"),
                _ => (
                    "not a name",
                    "lower-case letters, digits and `-`, a letter first",
                ),
            };
            let fault = Diagnostic::error(lang::BAD_NAME, name.span, message, label);
            return self.found.push(fault.help(help));
        }
        match self.image(&image) {
            Ok(image) => {
                let said = Spanned::new(image, node.head());
                let what = format!("alias {}", name.value);
                let first = self.said.aliases.insert(name.value, said);
                self.once(node, &what, first.map(|first| first.span));
            }
            Err(fault) => self.found.push(fault),
        }
    }

    fn host(&mut self, node: &Node) {
        if let Owner::Project { .. } = self.owner {
            let help = "move it to the caller's own config.kdl: its paths are those of one machine";
            return self.found.push(misplaced(node, help));
        }
        self.bare(node, false);
        if let Some(extra) = node.arguments.first() {
            self.found
                .push(wrong_arguments(node, extra.span, "not here"));
        }
        if node.children.is_none() {
            self.found.push(wrong_arguments(
                node,
                node.name.span,
                "something is missing",
            ));
        }
        for child in node.children.iter().flatten() {
            self.host_paths(child);
        }
    }

    fn host_paths(&mut self, node: &Node) {
        if node.name.value != "path" {
            let message = format!("`host` has no `{}`", visible(&node.name));
            let fault =
                Diagnostic::error(lang::UNKNOWN_STATEMENT, node.name.span, message, "unknown");
            return self
                .found
                .push(fault.help(format!("written: {}", form("host"))));
        }
        self.bare(node, node.children.is_some());
        if node.arguments.is_empty() {
            self.found
                .push(wrong_arguments(node, node.name.span, "nothing follows"));
        }
        for path in node.arguments.iter().filter_map(text) {
            match self
                .said
                .host
                .iter()
                .find(|earlier| earlier.value == path.value)
            {
                Some(first) => self.found.push(twice(path.span, &path.value, first.span)),
                None => self.said.host.push(path),
            }
        }
    }

    /// What an alias stands for; a path is relative to the file that names it.
    fn image(&self, text: &Spanned<String>) -> Result<ImageRef, Diagnostic> {
        let place = |path: String| self.place(&Spanned::new(path, text.span));
        match document::image(text)? {
            ImageRef::Alias(other) => {
                let message = format!("`{other}` is no image");
                let fault = Diagnostic::error(lang::BAD_VALUE, text.span, message, "another alias");
                Err(fault.help("name the image itself: host, oci:DIR, oci-archive:FILE"))
            }
            ImageRef::Layout(path) => place(path).map(ImageRef::Layout),
            ImageRef::Archive(path) => place(path).map(ImageRef::Archive),
            image @ (ImageRef::Host | ImageRef::Registry(_)) => Ok(image),
        }
    }

    pub(super) fn place(&self, path: &Spanned<String>) -> Result<String, Diagnostic> {
        let whole = match self.owner {
            Owner::User { home, .. } if path.starts_with("~/") => absolute(path, home)?,
            Owner::User { folder, .. } => folder.join(&path.value),
            Owner::Project { root } => {
                let inside = VirtualPath::new(PROJECT_FILE)
                    .filter(|_| !path.starts_with(['/', '~']))
                    .and_then(|file| file.sibling(path));
                let Some(inside) = inside else {
                    let message = format!("`{}` lies outside of the project", visible(path));
                    let label = "not in the project";
                    let fault = Diagnostic::error(lang::PATH_ESCAPES, path.span, message, label);
                    return Err(fault.help(
                        "a project's configuration names what is in the project; move it to your own config.kdl",
                    ));
                };
                root.join(inside.as_str())
            }
        };
        whole.into_os_string().into_string().map_err(|whole| {
            let message = format!("{} is not UTF-8", whole.display());
            Diagnostic::error(lang::PATH_ESCAPES, path.span, message, "this path")
                .help("place it elsewhere")
        })
    }

    /// The values of a statement that takes exactly so many, and nothing else.
    fn arguments<const N: usize>(&mut self, node: &Node) -> Option<[Spanned<String>; N]> {
        self.bare(node, node.children.is_some());
        let texts: Option<Vec<_>> = node.arguments.iter().map(text).collect();
        // What has no text has a finding already.
        match <[Spanned<String>; N]>::try_from(texts?) {
            Ok(values) => Some(values),
            Err(texts) => {
                let (span, label) = match texts.get(N) {
                    Some(extra) => (extra.span, "too many"),
                    None => (node.name.span, "something is missing"),
                };
                self.found.push(wrong_arguments(node, span, label));
                None
            }
        }
    }

    /// Notes properties, and a block where there is none.
    pub(super) fn bare(&mut self, node: &Node, has_block: bool) {
        let name = &node.name.value;
        if let Some(property) = node.properties.first() {
            let message = format!("`{name}` has no `{}`", visible(&property.key));
            let span = property.key.span;
            let fault = Diagnostic::error(lang::UNKNOWN_PROPERTY, span, message, "unknown");
            self.found
                .push(fault.help(format!("written: {}", form(name))));
        }
        if has_block {
            let message = format!("`{name}` has no block");
            let label = "a block is not for it";
            let fault = Diagnostic::error(lang::UNKNOWN_PROPERTY, node.span, message, label);
            self.found
                .push(fault.help(format!("written: {}", form(name))));
        }
    }

    /// Notes that something was said `first` elsewhere in this file.
    fn once(&mut self, node: &Node, what: &str, first: Option<Span>) {
        if let Some(first) = first {
            self.found.push(twice(node.head(), what, first));
        }
    }
}

pub(super) fn text(value: &Value) -> Option<Spanned<String>> {
    Some(Spanned::new(value.text()?, value.span))
}

/// A path of the machine: absolute, or below the caller's home.
pub(super) fn absolute(text: &Spanned<String>, home: Option<&Path>) -> Result<PathBuf, Diagnostic> {
    let below_home = match text.as_str() {
        "~" => Some(""),
        other => other.strip_prefix("~/"),
    };
    let fault = |why: &str| {
        let message = format!("`{}` cannot be used: {why}", visible(text));
        Diagnostic::error(lang::PATH_ESCAPES, text.span, message, "this path")
    };
    match (below_home, home) {
        (Some(below), Some(home)) => Ok(home.join(below)),
        (Some(_), None) => Err(fault("there is no home folder").help("write it from `/` on")),
        (None, _) if text.starts_with('/') => Ok(PathBuf::from(text.as_str())),
        (None, _) => Err(fault("it is relative").help("begin it with `/` or `~/`")),
    }
}
