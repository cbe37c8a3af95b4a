//! `lsp`: the language for editors, over standard input and output.
//!
//! Each open file is evaluated as if it had been named on the command line, with the texts that editors hold in the place
//! of those on the disk. Nothing is resolved and nothing is baked.

mod analysis;
mod convert;
mod documents;
mod findings;
mod frames;
mod hover;
mod names;
mod symbols;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;
use tower_lsp_server::jsonrpc::{Error, Result};
use tower_lsp_server::ls_types::{
    CodeActionParams, CodeActionProviderCapability, CodeActionResponse, CompletionItem,
    CompletionItemKind, CompletionOptions, CompletionParams, CompletionResponse,
    CompletionTextEdit, DidChangeTextDocumentParams, DidChangeWatchedFilesParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    DocumentFormattingParams, DocumentSymbolParams, DocumentSymbolResponse, Documentation,
    GotoDefinitionParams, GotoDefinitionResponse, Hover, HoverParams, HoverProviderCapability,
    InitializeParams, InitializeResult, Location, OneOf, PrepareRenameResponse, ReferenceParams,
    RenameOptions, RenameParams, ServerCapabilities, ServerInfo, TextDocumentPositionParams,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextEdit, Uri, WorkDoneProgressOptions,
    WorkspaceEdit,
};
use tower_lsp_server::{Client, LanguageServer, LspService, Server};

use atelier_lang::complete::What;
use documents::Documents;

/// Serves until the editor goes away. The code says whether it said good-bye before.
pub(super) async fn lsp() -> u8 {
    let is_over = Arc::new(AtomicBool::new(false));
    let (service, socket) = LspService::new(|client| Language {
        client,
        documents: Mutex::default(),
        is_over: Arc::clone(&is_over),
    });
    let (feed, fed) = tokio::io::duplex(64 << 10);
    let server = Server::new(fed, tokio::io::stdout(), socket);
    let mut serve = pin!(server.serve(service));
    tokio::select! {
        () = &mut serve => {}
        // When the editor has nothing more to say, what it has said is still answered.
        _ = frames::admit(tokio::io::stdin(), feed) => serve.await,
    }
    u8::from(!is_over.load(Ordering::Relaxed))
}

struct Language {
    client: Client,
    documents: Mutex<Documents>,
    /// The editor has asked for the end.
    is_over: Arc<AtomicBool>,
}

/// The path of a document; `None` for what is no file.
fn path(uri: &Uri) -> Option<PathBuf> {
    let path = uri.to_file_path()?;
    path.is_absolute().then(|| path.into_owned())
}

impl Language {
    /// Takes note of what has become of a document, and tells what is wrong with all that are open.
    async fn note(&self, uri: &Uri, become_: impl FnOnce(&mut Documents, PathBuf)) {
        let Some(path) = path(uri) else {
            return;
        };
        let mut documents = self.documents.lock().await;
        become_(&mut documents, path);
        // Nobody tells anything newer meanwhile.
        for (path, found) in documents.tell() {
            if let Some(uri) = Uri::from_file_path(&path) {
                self.client.publish_diagnostics(uri, found, None).await;
            }
        }
    }

    /// What is found out about an open document; nothing for others.
    async fn look<T>(
        &self,
        uri: &Uri,
        look: impl FnOnce(&Documents, &Path) -> Option<T>,
    ) -> Result<Option<T>> {
        let documents = self.documents.lock().await;
        let path = path(uri).filter(|path| documents.is_ours(path));
        Ok(path.and_then(|path| look(&documents, &path)))
    }
}

fn capabilities() -> ServerCapabilities {
    let triggers = [" ", "=", "{", "(", "."];
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(triggers.map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        ..ServerCapabilities::default()
    }
}

impl LanguageServer for Language {
    async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
        Ok(InitializeResult {
            capabilities: capabilities(),
            server_info: Some(ServerInfo {
                name: "atelier".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            offset_encoding: None,
        })
    }

    async fn shutdown(&self) -> Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        let is_ours = document.language_id == "atelier";
        let open = |documents: &mut Documents, path| documents.open(path, document.text, is_ours);
        self.note(&document.uri, open).await;
    }

    async fn did_change(&self, mut params: DidChangeTextDocumentParams) {
        // Each is the whole text: the last one counts.
        if let Some(change) = params.content_changes.pop() {
            let uri = params.text_document.uri;
            let put = |documents: &mut Documents, path: PathBuf| documents.put(&path, change.text);
            self.note(&uri, put).await;
        }
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        let uri = params.text_document.uri;
        self.note(&uri, |documents, _| documents.look_again()).await;
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        if let Some(change) = params.changes.first() {
            let look = |documents: &mut Documents, _| documents.look_again();
            self.note(&change.uri, look).await;
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        let uri = params.text_document.uri;
        let close = |documents: &mut Documents, path: PathBuf| documents.close(&path);
        self.note(&uri, close).await;
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        let at = params.text_document_position_params;
        let uri = at.text_document.uri;
        self.look(&uri, |documents, path| {
            hover::hover(documents, path, at.position)
        })
        .await
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        let at = params.text_document_position;
        let uri = at.text_document.uri;
        let items = self.look(&uri, |documents, path| {
            let (range, items) = documents.complete(path, at.position)?;
            let item = |item: atelier_lang::complete::Item| CompletionItem {
                kind: Some(kind(item.what)),
                detail: Some(item.detail).filter(|detail| !detail.is_empty()),
                documentation: Some(Documentation::String(item.doc)),
                filter_text: Some(item.label.clone()),
                text_edit: Some(CompletionTextEdit::Edit(TextEdit {
                    range,
                    new_text: item.text,
                })),
                label: item.label,
                ..CompletionItem::default()
            };
            Some(items.into_iter().map(item).collect())
        });
        Ok(items.await?.map(CompletionResponse::Array))
    }

    async fn goto_definition(
        &self,
        params: GotoDefinitionParams,
    ) -> Result<Option<GotoDefinitionResponse>> {
        let at = params.text_document_position_params;
        let uri = at.text_document.uri;
        let place = self.look(&uri, |documents, path| {
            names::definition(documents, path, at.position)
        });
        Ok(place.await?.map(GotoDefinitionResponse::Scalar))
    }

    async fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
        let at = params.text_document_position;
        let uri = at.text_document.uri;
        let with_definition = params.context.include_declaration;
        self.look(&uri, |documents, path| {
            names::references(documents, path, at.position, with_definition)
        })
        .await
    }

    async fn prepare_rename(
        &self,
        params: TextDocumentPositionParams,
    ) -> Result<Option<PrepareRenameResponse>> {
        let uri = params.text_document.uri;
        let range = self.look(&uri, |documents, path| {
            names::renamable(documents, path, params.position)
        });
        Ok(range.await?.map(PrepareRenameResponse::Range))
    }

    async fn rename(&self, params: RenameParams) -> Result<Option<WorkspaceEdit>> {
        let at = params.text_document_position;
        let uri = at.text_document.uri;
        let renamed = self.look(&uri, |documents, path| {
            Some(names::rename(
                documents,
                path,
                at.position,
                &params.new_name,
            ))
        });
        match renamed.await? {
            Some(Ok(edit)) => Ok(edit),
            Some(Err(why)) => Err(Error::invalid_params(why)),
            None => Ok(None),
        }
    }

    async fn document_symbol(
        &self,
        params: DocumentSymbolParams,
    ) -> Result<Option<DocumentSymbolResponse>> {
        let uri = params.text_document.uri;
        let symbols = self.look(&uri, symbols::symbols);
        Ok(symbols.await?.map(DocumentSymbolResponse::Nested))
    }

    async fn formatting(&self, params: DocumentFormattingParams) -> Result<Option<Vec<TextEdit>>> {
        let uri = params.text_document.uri;
        self.look(&uri, Documents::format).await
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        let uri = params.text_document.uri;
        self.look(&uri, |documents, path| {
            findings::actions(documents, path, params.range)
        })
        .await
    }
}

fn kind(what: What) -> CompletionItemKind {
    match what {
        What::Statement => CompletionItemKind::KEYWORD,
        What::Property => CompletionItemKind::PROPERTY,
        What::Template => CompletionItemKind::FUNCTION,
        What::Value => CompletionItemKind::CONSTANT,
        What::Target => CompletionItemKind::MODULE,
        What::Word => CompletionItemKind::ENUM_MEMBER,
    }
}
