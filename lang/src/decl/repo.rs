//! `repo`: what is cloned, at which reference, to where; and the steps in its block.

use std::collections::BTreeMap;

use super::{Fields, Prebuild, Reader};
use crate::check;
use crate::code;
use crate::diag::Diagnostic;
use crate::graph::{Folder, Reference, Repo, RepoSource};
use crate::span::{Span, Spanned};
use crate::table::Place;
use crate::tree::Node;
use crate::url;
use crate::value;

impl Reader<'_> {
    pub(super) fn repo(&mut self, prebuild: &mut Prebuild, node: &Node) {
        let mut block = Vec::new();
        for child in node.children.iter().flatten() {
            if check::statement(child, Place::Repo, self.files, self.found).is_some() {
                block.push(child);
            }
        }
        let only = self.only(&block);
        let repo = self.repo_alone(node).map(|repo| Repo { only, ..repo });
        let folder = match &repo {
            Some(Repo {
                path: Some(path), ..
            }) => Folder::Workspace(path.clone()),
            _ => Folder::Repo(prebuild.repos.len()),
        };
        for child in block {
            match child.name.as_str() {
                "run" => prebuild.steps.extend(self.step(child, Some(&folder))),
                "layer" => self.layer(prebuild, repo.as_ref(), child),
                _ => {}
            }
        }
        prebuild.repos.extend(repo);
    }

    fn repo_alone(&mut self, node: &Node) -> Option<Repo> {
        let fields = Fields(node);
        let reference = self.reference(node);
        let auth = fields.property("auth");
        let auth = auth.filter(|auth| self.take(auth, value::secret_name).is_some());
        let depth = self
            .parsed(node, "depth", |text| value::count(text, 0))
            .unwrap_or(1);
        let submodules = self
            .parsed(node, "submodules", value::truth)
            .unwrap_or(true);
        let lfs = self.parsed(node, "lfs", value::truth).unwrap_or(true);
        let stated = fields.property("path");
        let stated = stated.filter(|path| self.take(path, value::relative_path).is_some());
        let source = self.source(&fields.argument(0)?)?;
        let path = match (stated, &source.value) {
            (Some(path), _) => Some(path.value),
            _ if fields.value("path").is_some() => None,
            (None, RepoSource::Url(url)) => Some(self.default_path(url, &source)?),
            (None, RepoSource::Disk(_)) => None,
        };
        Some(Repo {
            source,
            reference,
            path,
            auth,
            depth,
            submodules,
            lfs,
            only: None,
            properties: stated_properties(node),
            span: node.span,
        })
    }

    fn source(&mut self, text: &Spanned<String>) -> Option<Spanned<RepoSource>> {
        let is_dots = matches!(text.as_str(), "." | "..");
        let source = if is_dots || text.starts_with("./") || text.starts_with("../") {
            let written = self.take(text, disk)?;
            RepoSource::Disk(self.on_disk(&written, text.span))
        } else {
            RepoSource::Url(self.take(text, remote)?)
        };
        Some(Spanned::new(source, text.span))
    }

    fn default_path(&mut self, url: &str, source: &Spanned<RepoSource>) -> Option<String> {
        if let Some(path) = url::default_path(url) {
            return Some(path.to_owned());
        }
        let message = "the URL's last part cannot be the clone's folder";
        self.found.push(
            Diagnostic::error(
                code::PATH_ESCAPES,
                source.span,
                message,
                "nothing to name it by",
            )
            .help("say where it lands, with path=DIR"),
        );
        None
    }

    /// At most one of `branch`, `tag` and `commit`.
    fn reference(&mut self, node: &Node) -> Option<Spanned<Reference>> {
        let is_reference = |key: &str| matches!(key, "branch" | "tag" | "commit");
        let mut stated = node.properties.iter().filter(|p| is_reference(&p.key));
        let first = stated.next()?;
        if let Some(second) = stated.find(|p| p.key.value != first.key.value) {
            let message = format!("both `{}` and `{}`", first.key.value, second.key.value);
            self.found.push(
                Diagnostic::error(
                    code::DUPLICATE_PROPERTY,
                    second.span(),
                    message,
                    "a second reference",
                )
                .and(first.span(), "the first")
                .help("a repository has one of branch, tag and commit"),
            );
        }
        let text = Fields(node).property(&first.key)?;
        let reference = match first.key.as_str() {
            "branch" => self.take(&text, |text| value::reference(text).map(Reference::Branch)),
            "tag" => self.take(&text, |text| value::reference(text).map(Reference::Tag)),
            _ => self.take(&text, value::commit),
        };
        Some(Spanned::new(reference?, text.span))
    }
}

fn stated_properties(node: &Node) -> BTreeMap<String, Span> {
    let properties = node.properties.iter();
    properties
        .map(|property| (property.key.value.clone(), property.span()))
        .collect()
}

fn remote(text: &str) -> Result<String, value::Problem> {
    if text.starts_with(['/', '~']) {
        let message = "a repository on disk is named from this file".to_owned();
        return Err(
            value::Problem::new(code::BAD_URL, message, "not a relative path")
                .help("write \".\", or a path that starts with \"./\" or \"../\""),
        );
    }
    url::normalise(text)
}

/// A repository on disk, as written.
fn disk(text: &str) -> Result<String, value::Problem> {
    if text.contains(|c: char| c.is_control() || c == '\\') {
        let message = "this path cannot be used".to_owned();
        let label = "`\\` and control characters cannot be in a path";
        return Err(value::Problem::new(code::PATH_ESCAPES, message, label));
    }
    Ok(text.to_owned())
}
