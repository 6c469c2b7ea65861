/**
 * The worker of our page: sessions in the origin's private file system, a workspace beside them, a pretend bank to pay at, and,
 * when a server gave the page, a shell there.
 *
 * @module
 */
import { MemoryStorage, openMemoryStore } from "../src/entry/memory.ts";
import { openOpfsStorage, openOpfsStore } from "../src/entry/opfs.ts";
import { openRawLogs } from "../src/entry/raw_logs.ts";
import { bankPath, localBank, payTool, remoteBank } from "./worker/bank.ts";
import { browserPlatform } from "./worker/browser.ts";
import { type OpenedStore, serveWorker } from "./worker/serve.ts";
import { serverShell } from "./worker/server_shell.ts";
import { fileChangeIn, opfsWorkspace, workspaceTools } from "./worker/workspace.ts";

const SYSTEM_PROMPT =
  "You are an agent in a web page. You can list, read, write and delete text files of a small workspace, and pay at a pretend bank.";

const SHELL_PROMPT =
  "You can also run commands, in the sandbox of the server that the page comes from: they see a folder there, and none of the files here.";

const platform = browserPlatform();
const path = bankPath(location.href);
const bank = path === null
  ? localBank(platform.values, platform.runtime.clock.now)
  : remoteBank(path, (input, init) => fetch(input, init));
const workspace = opfsWorkspace("workspace");
const shell = serverShell(location.href, globalThis, (input, init) => fetch(input, init));

serveWorker({
  platform,
  openStore,
  tools: [...workspaceTools(workspace), payTool(bank), ...shell],
  systemPrompt: shell.length === 0 ? SYSTEM_PROMPT : `${SYSTEM_PROMPT} ${SHELL_PROMPT}`,
  fileChangeOf: (toolName, argumentsText) => fileChangeIn(workspace, toolName, argumentsText),
  bank,
});

/** Where the browser has no file system for us, memory is used only by a page that has accepted it. */
async function openStore({ volatile }: { readonly volatile: boolean }): Promise<OpenedStore> {
  try {
    return { store: await openOpfsStore(), logs: openRawLogs(await openOpfsStorage()) };
  } catch (error) {
    if (!volatile) throw error;
    const storage = new MemoryStorage();
    return { store: openMemoryStore({ storage }), logs: openRawLogs(storage) };
  }
}
