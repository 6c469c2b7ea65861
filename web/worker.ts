/**
 * The worker of our page: sessions in the origin's private file system, a workspace beside them, and a pretend bank to pay at.
 *
 * @module
 */
import { MemoryStorage, openMemoryStore } from "../src/entry/memory.ts";
import { openOpfsStorage, openOpfsStore } from "../src/entry/opfs.ts";
import { openRawLogs } from "../src/entry/raw_logs.ts";
import { bankPath, localBank, payTool, remoteBank } from "./worker/bank.ts";
import { browserPlatform } from "./worker/browser.ts";
import { type OpenedStore, serveWorker } from "./worker/serve.ts";
import { fileChangeIn, opfsWorkspace, workspaceTools } from "./worker/workspace.ts";

const SYSTEM_PROMPT =
  "You are an agent in a web page. You can list, read, write and delete text files of a small workspace, and pay at a pretend bank.";

const platform = browserPlatform();
const path = bankPath(location.href);
const bank = path === null
  ? localBank(platform.values, platform.runtime.clock.now)
  : remoteBank(path, (input, init) => fetch(input, init));
const workspace = opfsWorkspace("workspace");

serveWorker({
  platform,
  openStore,
  tools: [...workspaceTools(workspace), payTool(bank)],
  systemPrompt: SYSTEM_PROMPT,
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
