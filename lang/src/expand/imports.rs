//! The file that is evaluated, those that it imports, and those of `std` that they use: read, each once, within limits.

use std::collections::{BTreeMap, BTreeSet};

use super::Found;
use super::define::Module;
use super::modules::Modules;
use crate::code;
use crate::cycle;
use crate::diag::Diagnostic;
use crate::files::Files;
use crate::limits;
use crate::load;
use crate::source::{LIBRARY, ReadError, Sources, VirtualPath, World};
use crate::span::{FileId, Spanned};
use crate::spelling::visible;
use crate::tree::Node;
use crate::{Inputs, Limits};

struct Loading<'a, 'f> {
    world: &'a dyn World,
    inputs: &'a Inputs,
    sources: &'a mut Sources,
    files: &'a mut Files,
    found: &'a mut Found<'f>,
    modules: Modules,
    trees: Vec<Vec<Node>>,
    /// Files of the project that were read, also in vain.
    known: BTreeMap<VirtualPath, Option<usize>>,
    /// How many bytes may still be read.
    left: u64,
}

/// How much of the library is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    /// What the files use.
    Used,
    Whole,
}

/// Reads what an evaluation needs, and the statements that are left of each file; the file itself comes first, then the
/// others, nearest ones first. `None` if the file cannot be read, or files import each other.
pub(super) fn load(
    world: &dyn World,
    inputs: &Inputs,
    library: Library,
    sources: &mut Sources,
    files: &mut Files,
    found: &mut Found<'_>,
) -> Option<(Modules, Vec<Vec<Node>>)> {
    let mut loading = Loading {
        world,
        inputs,
        sources,
        files,
        found,
        modules: Modules::default(),
        trees: Vec::new(),
        known: BTreeMap::new(),
        left: inputs.limits.total,
    };
    loading.root()?;
    let mut at = 0;
    while at < loading.modules.list.len() {
        loading.imports(at);
        at += 1;
    }
    loading.std(library);
    let (modules, trees) = (loading.modules, loading.trees);
    let cycles = cycles(&modules);
    let is_sound = cycles.is_empty();
    found.later.extend(cycles);
    is_sound.then_some((modules, trees))
}

impl Loading<'_, '_> {
    fn root(&mut self) -> Option<()> {
        let path = self.inputs.file.clone();
        let limit = self.inputs.limits.file;
        let read = self.world.read(&path, limit);
        let bytes = read.as_ref().map_or(0, |bytes| bytes.len() as u64);
        self.left = self.left.saturating_sub(bytes);
        let name = path.as_str().to_owned();
        let index = self.module(&name, Some(path.clone()), String::new(), read);
        self.known.insert(path, index);
        index.map(drop)
    }

    /// Parses a file and takes its definitions in.
    fn module(
        &mut self,
        name: &str,
        path: Option<VirtualPath>,
        prefix: String,
        read: Result<Vec<u8>, ReadError>,
    ) -> Option<usize> {
        let limit = self.inputs.limits.file;
        let mut loaded = load::load(name, read, limit, self.sources, self.found.early);
        let file = loaded.file;
        let tree = loaded.tree.take();
        self.files.add(path.clone(), loaded);
        let later = &mut *self.found.later;
        let (module, left) = Module::read(file, path, prefix, tree?, self.files, later);
        self.modules.list.push(module);
        self.trees.push(left);
        Some(self.modules.list.len() - 1)
    }

    /// Reads what a file imports, by alias, so that the order of its statements does not count.
    fn imports(&mut self, at: usize) {
        let importer = &self.modules.list[at];
        let prefix = importer.prefix.clone();
        let wanted = importer.imports.iter();
        let wanted: Vec<_> = wanted
            .map(|(alias, i)| (alias.clone(), i.path.clone()))
            .collect();
        for (alias, written) in wanted {
            let module = self.import(at, &written, format!("{prefix}{alias}."));
            if let Some(import) = self.modules.list[at].imports.get_mut(&alias) {
                import.module = module;
            }
        }
    }

    fn import(&mut self, at: usize, written: &Spanned<String>, prefix: String) -> Option<usize> {
        let path = match inside(self.modules.list[at].path.as_ref(), written) {
            Ok(path) => path,
            Err(diagnostic) => {
                self.found.later.push(diagnostic);
                return None;
            }
        };
        if let Some(known) = self.known.get(&path) {
            return *known;
        }
        let limits = self.inputs.limits;
        if self.known.len() >= limits.files {
            let message = format!("more than {} files are imported", limits.files);
            let label = "one too many";
            self.found.later.push(
                Diagnostic::error(code::EXPANDS_TOO_FAR, written.span, message, label)
                    .help("merge some of them"),
            );
            return None;
        }
        let limit = limits.file.min(self.left);
        let module = match self.world.read(&path, limit) {
            Ok(bytes) if bytes.len() as u64 <= limit => {
                self.left -= bytes.len() as u64;
                self.module(path.as_str(), Some(path.clone()), prefix, Ok(bytes))
            }
            Ok(bytes) => {
                let size = bytes.len() as u64;
                self.found.later.push(too_large(size, limits, written));
                None
            }
            Err(error) => {
                self.found.later.push(unreadable(error, limits, written));
                None
            }
        };
        self.known.insert(path, module);
        module
    }

    /// Reads the files of `std` that define what is used and not defined beside its use, or all.
    fn std(&mut self, library: Library) {
        let table = self.inputs.std;
        let mut defined: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, (_, text)) in table.iter().enumerate() {
            defined.extend(defined_in(text).map(|name| (name, index)));
        }
        let mut read = BTreeSet::new();
        let mut at = 0;
        while at < self.modules.list.len() {
            let mut wanted = BTreeSet::new();
            if library == Library::Whole {
                wanted.extend(0..table.len());
            }
            let new = self.modules.list.iter().zip(&self.trees).skip(at);
            for (module, tree) in new {
                let mut used = Vec::new();
                uses(tree, &mut used);
                let bodies = module.templates.values().map(|template| &template.body);
                bodies.for_each(|body| uses(body, &mut used));
                let is_elsewhere = |name: &&str| !module.templates.contains_key(*name);
                let names = used.into_iter().filter(is_elsewhere);
                wanted.extend(names.filter_map(|name| {
                    defined
                        .get(name.strip_prefix("std.").unwrap_or(name))
                        .copied()
                }));
            }
            at = self.modules.list.len();
            for index in wanted {
                if read.insert(index) {
                    let (name, text) = table[index];
                    let name = format!("{LIBRARY}{name}.kdl");
                    self.module(&name, None, String::new(), Ok(text.as_bytes().to_vec()));
                }
            }
        }
        for (index, module) in self.modules.list.iter().enumerate() {
            if module.path.is_none() {
                let names = module.templates.keys().map(|name| (name.clone(), index));
                self.modules.std.extend(names);
            }
        }
        self.modules.std_names = defined.into_keys().collect();
    }
}

/// The templates of a file of `std`, where each stands at the start of a line: nothing needs to be parsed to find one.
fn defined_in(text: &str) -> impl Iterator<Item = &str> {
    let heads = text
        .lines()
        .filter_map(|line| line.strip_prefix("template "));
    heads.filter_map(|head| head.split([' ', '{']).next())
}

/// The names of the templates that the statements use.
fn uses<'a>(nodes: &'a [Node], used: &mut Vec<&'a str>) {
    for node in nodes {
        if node.name.value == "use"
            && let Some(crate::tree::Data::Text(name)) = node.arguments.first().map(|a| &a.data)
        {
            used.push(name);
        }
        uses(node.children.as_deref().unwrap_or_default(), used);
    }
}

/// The file that an import names.
fn inside(
    importer: Option<&VirtualPath>,
    written: &Spanned<String>,
) -> Result<VirtualPath, Diagnostic> {
    let is_odd = |c: char| c.is_control() || c == '\\';
    let is_relative = !written.starts_with(['/', '~']) && !written.contains(is_odd);
    let path = importer.and_then(|importer| importer.sibling(written));
    let path = path.filter(|path| is_relative && !path.as_str().is_empty());
    path.ok_or_else(|| {
        let message = "`import` must name a file inside the project";
        let label = "not inside the project";
        Diagnostic::error(code::PATH_ESCAPES, written.span, message, label)
            .help("a path relative to this file, such as: import \"./org.kdl\"")
    })
}

fn too_large(size: u64, limits: Limits, written: &Spanned<String>) -> Diagnostic {
    if size > limits.file {
        let told = limits::too_large(size, limits.file, FileId(0));
        let message = format!("`{}`: {}", visible(written), told.message);
        let diagnostic = Diagnostic::error(code::TOO_LARGE, written.span, message, "this file");
        return Diagnostic {
            help: told.help,
            ..diagnostic
        };
    }
    let total = limits.total >> 10;
    let message = format!("the imported files have more than {total} KiB in all");
    Diagnostic::error(code::EXPANDS_TOO_FAR, written.span, message, "one too many")
        .help("move data beside them and use from=")
}

fn unreadable(error: ReadError, limits: Limits, written: &Spanned<String>) -> Diagnostic {
    match error {
        ReadError::TooLarge { size } => too_large(size, limits, written),
        ReadError::Refused(why) => {
            let message = format!("`{}` cannot be imported: {why}", visible(written));
            Diagnostic::error(code::PATH_ESCAPES, written.span, message, "this file")
                .help("a regular file inside the project")
        }
        ReadError::Failed(why) => {
            let message = format!("`{}` cannot be imported: {why}", visible(written));
            Diagnostic::error(code::UNREADABLE, written.span, message, "this file")
                .help("a path is relative to the file that imports it")
        }
    }
}

/// Files that import each other.
fn cycles(modules: &Modules) -> Vec<Diagnostic> {
    let list = &modules.list;
    let edges = |module: &Module| module.imports.values().filter_map(|i| i.module).collect();
    let edges: Vec<Vec<usize>> = list.iter().map(edges).collect();
    let name = |index: usize| list[index].path.as_ref().map_or("", VirtualPath::as_str);
    let told = |cycle: Vec<usize>| {
        let next = cycle.iter().cycle().skip(1);
        let labels = cycle.iter().zip(next).filter_map(|(from, to)| {
            let imports = list[*from].imports.values();
            let import = imports
                .into_iter()
                .find(|import| import.module == Some(*to))?;
            Some(import.path.clone())
        });
        cycle::diagnostic(cycle.iter().map(|index| name(*index)), labels, "imports")
    };
    cycle::find(&edges).into_iter().map(told).collect()
}
