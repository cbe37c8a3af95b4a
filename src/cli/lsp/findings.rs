//! Findings as the protocol has them, and what mends them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use atelier_lang::code;
use atelier_lang::diag::{self, Severity};
use tower_lsp_server::ls_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, Diagnostic, DiagnosticRelatedInformation,
    DiagnosticSeverity, DiagnosticTag, NumberOrString, Range, TextEdit, Uri, WorkspaceEdit,
};

use super::analysis::Analysis;
use super::documents::{Documents, ITSELF};

/// So many findings of an evaluation are told: nobody reads more.
const MOST: usize = 500;

/// The findings of an evaluation, each in a file of the project.
pub(super) fn told(documents: &Documents, analysis: &Analysis) -> Vec<(PathBuf, Diagnostic)> {
    let found = analysis.found.iter().take(MOST);
    let told = found.filter_map(|found| {
        let span = analysis.sources.in_project(found.labels.first()?.span);
        let path = analysis.path(span.file)?;
        let range = documents.range(analysis, &path, span);
        Some((path, finding(documents, analysis, found, range)))
    });
    told.collect()
}

fn finding(
    documents: &Documents,
    analysis: &Analysis,
    found: &diag::Diagnostic,
    range: Range,
) -> Diagnostic {
    let mut message = found.message.clone();
    let label = found.labels.first().map(|label| &label.text);
    for more in label.into_iter().chain(&found.help) {
        if !more.is_empty() {
            message.push('\n');
            message.push_str(more);
        }
    }
    let labels = found.labels.iter().skip(1);
    let labels = labels.map(|label| (label.span, label.text.clone()));
    let trace = found.trace.iter();
    let trace = trace.map(|expansion| {
        (
            expansion.span,
            format!("while expanding `{}`", expansion.what),
        )
    });
    let related = labels.chain(trace).filter_map(|(span, message)| {
        Some(DiagnosticRelatedInformation {
            location: documents.location(analysis, span)?,
            message,
        })
    });
    Diagnostic {
        range,
        severity: Some(match found.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(found.code.to_string())),
        source: Some("atelier".to_owned()),
        message,
        related_information: Some(related.collect()),
        tags: (found.code == code::UNUSED).then(|| vec![DiagnosticTag::UNNECESSARY]),
        ..Diagnostic::default()
    }
}

/// What mends the findings in a part of a document.
pub(super) fn actions(
    documents: &Documents,
    path: &Path,
    range: Range,
) -> Option<Vec<CodeActionOrCommand>> {
    let analysis = documents.analysis(path)?;
    let uri = Uri::from_file_path(path)?;
    let actions = analysis.found.iter().filter_map(|found| {
        let fix = found.fix.as_ref().filter(|fix| fix.span.file == ITSELF)?;
        let label = found.labels.first()?;
        let place = documents.range(analysis, path, label.span);
        let is_there =
            label.span.file == ITSELF && place.start <= range.end && range.start <= place.end;
        if !is_there {
            return None;
        }
        let edit = TextEdit {
            range: documents.range(analysis, path, fix.span),
            new_text: fix.replacement.clone(),
        };
        let help = found.help.as_deref().unwrap_or(&found.message);
        Some(CodeActionOrCommand::CodeAction(CodeAction {
            title: help.lines().next().unwrap_or_default().to_owned(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![finding(documents, analysis, found, place)]),
            edit: Some(WorkspaceEdit {
                changes: Some(HashMap::from([(uri.clone(), vec![edit])])),
                ..WorkspaceEdit::default()
            }),
            is_preferred: Some(true),
            ..CodeAction::default()
        }))
    });
    Some(actions.collect())
}
