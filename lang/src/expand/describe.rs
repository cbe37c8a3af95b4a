//! What a file's users can give and use: its parameters, and the templates that it sees, with the comments above them.

use super::Found;
use super::define::{Definition, Module, Template};
use super::imports::{self, Library};
use super::param::Param;
use crate::Inputs;
use crate::diag::Diagnostic;
use crate::doc::{self, DocData, ParamData, TemplateData, ValueData};
use crate::files::Files;
use crate::source::{Sources, World};
use crate::span::Span;
use crate::tree::Value;

/// `None` if the file cannot be read, or files import each other.
pub(crate) fn describe(
    world: &dyn World,
    inputs: &Inputs,
    sources: &mut Sources,
    found: &mut Vec<Diagnostic>,
) -> Option<DocData> {
    let mut files = Files::default();
    let mut later = Vec::new();
    let both = &mut Found {
        early: found,
        later: &mut later,
    };
    let loaded = imports::load(world, inputs, Library::Whole, sources, &mut files, both);
    found.extend(files.placed(later));
    let (modules, _) = loaded?;
    let reader = Reader {
        files: &files,
        sources,
    };
    let mut templates = Vec::new();
    let root = modules.list.first()?;
    templates.extend(reader.templates(root, ""));
    for (alias, import) in &root.imports {
        let module = import.module.and_then(|index| modules.list.get(index));
        templates.extend(
            module
                .map(|module| reader.templates(module, &format!("{alias}.")))
                .into_iter()
                .flatten(),
        );
    }
    let library = modules.list.iter().filter(|module| module.path.is_none());
    templates.extend(library.flat_map(|module| reader.templates(module, "std.")));
    let params = root
        .values
        .values()
        .filter_map(|definition| match definition {
            Definition::Param(param) => Some(reader.param(param)),
            Definition::Let { .. } => None,
        });
    Some(DocData {
        params: params.collect(),
        schema: "atelier.doc/1",
        templates,
    })
}

struct Reader<'a> {
    files: &'a Files,
    sources: &'a Sources,
}

impl Reader<'_> {
    fn templates(&self, module: &Module, prefix: &str) -> Vec<TemplateData> {
        let template = |template: &Template| TemplateData {
            doc: self.comment(template.name.span),
            file: self.sources.name(module.file).to_owned(),
            line: self.sources.line(self.files.before(template.name.span)),
            name: format!("{prefix}{}", template.name.value),
            params: template.params.iter().map(|p| self.param(p)).collect(),
        };
        module.templates.values().map(template).collect()
    }

    fn param(&self, param: &Param) -> ParamData {
        ParamData {
            choices: param.choices.iter().filter_map(value).collect(),
            default: param.default.as_ref().and_then(value),
            doc: self.comment(param.name.span),
            name: param.name.value.clone(),
            kind: param.kind.name(),
        }
    }

    fn comment(&self, span: Span) -> String {
        let place = self.files.before(span);
        doc::comment(self.sources.text(place.file), place.start)
    }
}

fn value(value: &Value) -> Option<ValueData> {
    Some(ValueData {
        interpolated: value.is_interpolated(),
        text: value.text()?,
    })
}
