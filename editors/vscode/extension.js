// Starts `atelier lsp` for files of the language.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
    const command = workspace.getConfiguration("atelier").get("path", "atelier");
    const server = { command, args: ["lsp"] };
    // What is imported may change on the disk, or be open as what it is.
    const documentSelector = [{ language: "atelier" }, { pattern: "**/*.kdl" }];
    const synchronize = { fileEvents: workspace.createFileSystemWatcher("**/*.kdl") };
    client = new LanguageClient("atelier", server, { documentSelector, synchronize });
    return client.start();
};

exports.deactivate = () => client?.stop();
