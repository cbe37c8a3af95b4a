//! `atelier.doc/1`: the parameters of a file, and the templates that it can use. Fields are in alphabetical order.

use serde::Serialize;

use crate::Inputs;
use crate::diag::{self, Diagnostic, Outcome};
use crate::expand::describe;
use crate::source::{Sources, World};

#[derive(Debug, Serialize)]
pub struct DocData {
    /// What the command line can give.
    pub params: Vec<ParamData>,
    pub schema: &'static str,
    /// The file's own, those of its imports, and those of the library; each by name.
    pub templates: Vec<TemplateData>,
}

#[derive(Debug, Serialize)]
pub struct TemplateData {
    /// The comment above it.
    pub doc: String,
    pub file: String,
    pub line: usize,
    /// As `use` names it.
    pub name: String,
    pub params: Vec<ParamData>,
}

#[derive(Debug, Serialize)]
pub struct ParamData {
    /// If there are any, no other value is right.
    pub choices: Vec<ValueData>,
    /// Without one it has to be given.
    pub default: Option<ValueData>,
    pub doc: String,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: &'static str,
}

#[derive(Debug, Serialize)]
pub struct ValueData {
    /// Whether names in braces stand for their values.
    pub interpolated: bool,
    pub text: String,
}

/// Describes a file, whatever is wrong with its targets.
pub fn doc(world: &dyn World, inputs: &Inputs) -> (Sources, Outcome<DocData>) {
    let mut sources = Sources::default();
    let mut found = Vec::new();
    let doc = describe::describe(world, inputs, &mut sources, &mut found);
    let value = doc.filter(|_| !found.iter().any(Diagnostic::is_error));
    let diagnostics = diag::distinct(diag::presentable(found, &sources));
    (sources, Outcome { value, diagnostics })
}

/// What the `//` lines right above the line of a byte say.
pub fn comment(text: &str, offset: u32) -> String {
    let before = text.get(..offset as usize).unwrap_or("");
    let above = before.rsplit_once('\n').map_or("", |(above, _)| above);
    let lines = above.rsplit('\n').map(str::trim);
    let comments = lines.map_while(|line| line.strip_prefix("//"));
    let mut lines: Vec<&str> = comments
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    lines.reverse();
    lines.join("\n")
}
