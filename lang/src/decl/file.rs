//! `file`: a text, or a file of the project, that lands in the workspace.

use super::{Fields, Reader};
use crate::code;
use crate::diag::Diagnostic;
use crate::graph::{Content, File};
use crate::source::VirtualPath;
use crate::span::Spanned;
use crate::tree::{Data, Node};
use crate::value;

const MODE: &str = "0644";

impl Reader<'_> {
    pub(super) fn file(&mut self, node: &Node) -> Option<File> {
        let fields = Fields(node);
        let mode = self.mode(node);
        let destination = fields.argument(0);
        let destination = destination.filter(|d| self.take(d, value::relative_path).is_some());
        let content = self.content(node);
        Some(File {
            destination: destination?,
            mode: mode?,
            content: content?,
            span: node.span,
        })
    }

    fn mode(&mut self, node: &Node) -> Option<String> {
        let Some(value) = Fields(node).value("mode") else {
            return Some(MODE.to_owned());
        };
        let text = Fields(node).property("mode")?;
        if value.data != Data::Text(text.value.clone()) {
            // KDL has already read it: 0755 is seven hundred and fifty-five.
            let message = format!("the number {} is decimal, not a mode", text.value);
            let spelled = self.files.slice(value.span);
            let digits = spelled.trim_start_matches("0o").trim_start_matches('0');
            let diagnostic = Diagnostic::error(
                code::BAD_MODE,
                value.span,
                message,
                "four octal digits in quotes",
            );
            let octal = format!("0{digits}");
            self.found.push(if value::mode(&octal).is_ok() {
                diagnostic
                    .help(format!("write mode=\"{octal}\""))
                    .fix(value.span, format!("\"{octal}\""))
            } else {
                diagnostic
            });
            return None;
        }
        self.take(&text, value::mode)?;
        Some(text.value)
    }

    fn content(&mut self, node: &Node) -> Option<Content> {
        let fields = Fields(node);
        match (node.arguments.get(1), fields.value("from")) {
            (Some(text), Some(from)) => {
                let message = "`file` takes a text or from=, not both";
                self.found.push(
                    Diagnostic::error(code::WRONG_ARGUMENTS, from.span, message, "a local file")
                        .and(text.span, "a text")
                        .help("delete one"),
                );
                None
            }
            (None, None) => {
                let message = "`file` needs its text, or from=LOCAL";
                let label = "only a destination";
                self.found.push(
                    Diagnostic::error(code::WRONG_ARGUMENTS, node.head(), message, label)
                        .help("such as: file .npmrc \"save-exact=true\""),
                );
                None
            }
            (Some(_), None) => {
                let text = fields.argument(1)?;
                self.no_secret(&text);
                Some(Content::Text(text.value))
            }
            (None, Some(_)) => self.local(&fields.property("from")?).map(Content::Local),
        }
    }

    fn local(&mut self, from: &Spanned<String>) -> Option<VirtualPath> {
        let is_odd = |c: char| c.is_control() || c == '\\';
        let is_relative = !from.starts_with('/') && !from.is_empty() && !from.contains(is_odd);
        let path = self.files.path(from.span.file);
        let local = path.and_then(|path| path.sibling(from));
        let local = local.filter(|path| is_relative && !path.as_str().is_empty());
        if local.is_none() {
            let message = "from= must name a file inside the project";
            self.found.push(
                Diagnostic::error(
                    code::PATH_ESCAPES,
                    from.span,
                    message,
                    "not inside the project",
                )
                .help("a path relative to this file, with `/` between its parts"),
            );
        }
        local
    }
}
