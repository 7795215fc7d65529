// Starts `tilt lsp` for queries, and restarts it when its command changes.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const [command, ...args] = vscode.workspace.getConfiguration("tilt").get("command");
  client = new LanguageClient(
    "tilt",
    "tilt",
    { command, args },
    { documentSelector: [{ language: "tilt" }] },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    vscode.window.showErrorMessage(
      `\`${[command, ...args].join(" ")}\` does not start: ${error.message}. ` +
        "Run pip install 'tiltpy[lsp]', and set tilt.command to where tilt is.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("tilt.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("tilt.command")) {
        await restart();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
