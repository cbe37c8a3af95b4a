//! `prebuild`: its block, and the small statements in it.

use super::document::hidden_base;
use super::{Fields, Prebuild, Reader, Resources, Variable};
use crate::check;
use crate::code;
use crate::diag::{Code, Diagnostic};
use crate::expand::Cell;
use crate::graph::Cache;
use crate::span::{Span, Spanned};
use crate::table::Place;
use crate::tree::Node;
use crate::value;

/// Folders that tools read when they run, and what they find there.
const RUN_TIME: &[(&str, &str)] = &[
    ("go/pkg/mod", "Go's modules"),
    (".cargo/registry", "Cargo's crates"),
    (".cargo/git", "Cargo's crates"),
    (".m2", "Maven's artefacts"),
    (".gradle", "Gradle's artefacts"),
    (".ivy2", "Ivy's artefacts"),
    (".nuget/packages", "NuGet's packages"),
];

impl Prebuild {
    pub(super) fn new(name: Spanned<String>, span: Span) -> Self {
        Self {
            name,
            base: None,
            repos: Vec::new(),
            files: Vec::new(),
            steps: Vec::new(),
            env: Vec::new(),
            path: Vec::new(),
            secrets: Vec::new(),
            caches: Vec::new(),
            resources: Resources::default(),
            about: None,
            layers: Vec::new(),
            is_layer: false,
            is_imported: false,
            cell: None,
            span,
        }
    }
}

impl Reader<'_> {
    pub(super) fn prebuild(&mut self, node: &Node, cell: Option<&Cell>) -> Option<Prebuild> {
        let name = Fields(node).argument(0)?;
        let mut prebuild = Prebuild::new(name, node.span);
        prebuild.cell = cell.cloned();
        prebuild.base = node.children.as_deref().and_then(hidden_base);
        for child in node.children.iter().flatten() {
            if check::statement(child, Place::Prebuild, self.files, self.found).is_some() {
                self.fill(&mut prebuild, child);
            }
        }
        Some(prebuild)
    }

    /// Reads one statement of a prebuild; `check.rs` has passed it.
    pub(super) fn fill(&mut self, prebuild: &mut Prebuild, node: &Node) {
        match node.name.as_str() {
            "from" => self.from(prebuild, node),
            "repo" => self.repo(prebuild, node),
            "file" => prebuild.files.extend(self.file(node)),
            "run" => prebuild.steps.extend(self.step(node, None)),
            "env" => self.env(prebuild, node),
            "path" => self.path(prebuild, node),
            "secret" => {
                let names = self.secrets(node, &prebuild.secrets);
                prebuild.secrets.extend(names);
            }
            "cache" => self.cache(prebuild, node),
            "resources" => self.resources(prebuild, node),
            "about" => self.about(prebuild, node),
            // What could not be expanded has been reported.
            "use" => {}
            "matrix" => {}
            other => debug_assert!(false, "`{other}` is in the table, and nobody reads it"),
        }
    }

    fn env(&mut self, prebuild: &mut Prebuild, node: &Node) {
        for property in &node.properties {
            let Some(value) = Fields(node).property(&property.key) else {
                continue;
            };
            let (name, at) = (property.key.clone(), property.span());
            self.no_secret(&value);
            if self.take(&name, value::env_key).is_none() {
                continue;
            }
            let earlier = prebuild
                .env
                .iter()
                .find(|variable| variable.name.value == name.value);
            match earlier.map(|variable| variable.name.span) {
                // Twice in one statement is a property twice: reported.
                Some(first) if first.is_within(node.span) => {}
                Some(first) => self.twice(code::DUPLICATE_PROPERTY, &name, first),
                None => prebuild.env.push(Variable { name, value, at }),
            }
        }
    }

    fn path(&mut self, prebuild: &mut Prebuild, node: &Node) {
        for folder in Fields(node).arguments(0) {
            if self.take(&folder, value::search_folder).is_none() {
                continue;
            }
            let earlier = prebuild
                .path
                .iter()
                .find(|earlier| earlier.value == folder.value);
            match earlier.map(|earlier| earlier.span) {
                Some(first) => self.twice(code::DUPLICATE_PROPERTY, &folder, first),
                None => prebuild.path.push(folder),
            }
        }
    }

    /// The names of a `secret`; `earlier` are those of the same scope.
    pub(super) fn secrets(
        &mut self,
        node: &Node,
        earlier: &[Spanned<String>],
    ) -> Vec<Spanned<String>> {
        let mut names: Vec<Spanned<String>> = Vec::new();
        for name in Fields(node).arguments(0) {
            if self.take(&name, value::secret_name).is_none() {
                continue;
            }
            let first = earlier
                .iter()
                .chain(&names)
                .find(|earlier| earlier.value == name.value);
            match first.map(|first| first.span) {
                Some(first) => self.twice(code::DUPLICATE_NAME, &name, first),
                None => names.push(name),
            }
        }
        names
    }

    fn cache(&mut self, prebuild: &mut Prebuild, node: &Node) {
        let Some(name) = Fields(node).argument(0) else {
            return;
        };
        if self.take(&name, value::name).is_none() {
            return;
        }
        if Fields(node).value("path").is_none() {
            let message = "`cache` needs path=DIR";
            self.found.push(
                Diagnostic::error(code::WRONG_ARGUMENTS, node.head(), message, "kept where?")
                    .help("such as: cache bun path=\".bun/install/cache\""),
            );
        }
        let Some(path) = Fields(node).property("path") else {
            return;
        };
        if self.take(&path, value::cache_folder).is_none() {
            return;
        }
        let same_name = prebuild
            .caches
            .iter()
            .find(|cache| cache.name == name.value);
        if let Some(first) = same_name.map(|cache| cache.span) {
            self.twice(code::DUPLICATE_NAME, &name, first);
            return;
        }
        let same_path = prebuild
            .caches
            .iter()
            .find(|cache| cache.path == path.value);
        if let Some(first) = same_path.map(|cache| cache.span) {
            self.twice(code::PATHS_CLASH, &path, first);
            return;
        }
        self.needed_at_run_time(&path, node);
        let cache = Cache {
            name: name.value,
            path: path.value,
        };
        prebuild.caches.push(Spanned::new(cache, node.span));
    }

    /// What a cache keeps is not in the snapshot.
    fn needed_at_run_time(&mut self, path: &str, node: &Node) {
        let is_within = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let held = RUN_TIME.iter().find(|(folder, _)| {
            is_within(path, folder)
                || is_within(folder, path)
                || path.ends_with(&format!("/{folder}"))
        });
        let Some((folder, whose)) = held else { return };
        let message = format!("{whose} would be absent when the sandbox boots");
        let label = format!("`{folder}` is kept out of the snapshot");
        let warning = Diagnostic::error(code::CACHE_AT_RUN_TIME, node.span, message, label);
        let help =
            "leave it in the workspace; if they are not needed there: allow cache-at-run-time";
        self.lints
            .push(("cache-at-run-time", warning.help(help).warning()));
    }

    fn resources(&mut self, prebuild: &mut Prebuild, node: &Node) {
        if node.properties.is_empty() {
            let message = "`resources` needs at least one property";
            self.found.push(
                Diagnostic::error(
                    code::WRONG_ARGUMENTS,
                    node.name.span,
                    message,
                    "nothing follows",
                )
                .help("such as: resources cpu=4 memory=\"8GiB\""),
            );
        }
        let stated = &mut prebuild.resources;
        let cpu = self.measured(node, "cpu", |text| value::count(text, 1));
        self.once(&mut stated.cpu, cpu, "cpu");
        let memory = self.measured(node, "memory", value::size);
        self.once(&mut stated.memory, memory, "memory");
        let disk = self.measured(node, "disk", value::size);
        self.once(&mut stated.disk, disk, "disk");
        let timeout = self.measured(node, "timeout", value::duration);
        self.once(&mut stated.timeout, timeout, "timeout");
    }

    fn about(&mut self, prebuild: &mut Prebuild, node: &Node) {
        let text = Fields(node).argument(0);
        self.once(&mut prebuild.about, text, "about");
    }

    /// Keeps the first; a second cites it.
    fn once<T>(&mut self, slot: &mut Option<Spanned<T>>, new: Option<Spanned<T>>, what: &str) {
        let Some(new) = new else { return };
        match slot {
            Some(first) => {
                let (name, first) = (Spanned::new(what.to_owned(), new.span), first.span);
                self.twice(code::DUPLICATE_PROPERTY, &name, first);
            }
            None => *slot = Some(new),
        }
    }

    fn twice(&mut self, code: Code, name: &Spanned<String>, first: Span) {
        let message = format!("`{}` is given twice", name.value);
        self.found.push(
            Diagnostic::error(code, name.span, message, "again")
                .and(first, "first here")
                .help("delete one"),
        );
    }

    /// A property, parsed; a problem is reported where the value stands.
    pub(super) fn parsed<T>(
        &mut self,
        node: &Node,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, value::Problem>,
    ) -> Option<T> {
        self.measured(node, key, parse).map(|value| value.value)
    }

    fn measured<T>(
        &mut self,
        node: &Node,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, value::Problem>,
    ) -> Option<Spanned<T>> {
        let text = Fields(node).property(key)?;
        let value = self.take(&text, parse)?;
        Some(Spanned::new(value, text.span))
    }
}

#[cfg(test)]
mod tests {
    use crate::table::{Place, STATEMENTS};

    #[test]
    fn every_statement_of_a_prebuild_is_read() {
        let source = include_str!("target.rs");
        for statement in STATEMENTS
            .iter()
            .filter(|statement| statement.stands_in(Place::Prebuild))
        {
            assert!(
                source.contains(&format!("\"{}\" =>", statement.name)),
                "{}",
                statement.name
            );
        }
    }
}
