const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration("wgsl-kernels");
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  client = new LanguageClient(
    "wgsl-kernels",
    "wgsl-kernels",
    { command: settings.get("command"), args: ["lsp"], options: { cwd: folder } },
    {
      documentSelector: ["wgsl", "wesl", "python"].map((language) => ({ scheme: "file", language })),
      initializationOptions: { checkOnSave: settings.get("checkOnSave") },
    },
  );
  return client.start();
};

exports.deactivate = () => client?.stop();
