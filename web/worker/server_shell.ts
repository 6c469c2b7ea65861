/**
 * The shell of a page that a server gave: commands run there, in its sandbox.
 *
 * Which path to ask stands in the worker's address. The token never does: addresses are logged and kept.
 *
 * @module
 */
import type { Tool } from "../../mod.ts";
import { sandboxTool } from "../../src/tools/sandbox_exec.ts";
import type { ServerTokenMessage } from "../protocol.ts";
import { ownPath } from "./own_path.ts";

/** What is used of the worker's global scope. */
export interface TokenScope {
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
}

/** The shell, when the worker's address names a path for it; else nothing. Waits for the page's token with its first command. */
export function serverShell(workerUrl: string, scope: TokenScope, fetch: typeof globalThis.fetch): Tool[] {
  const path = ownPath(workerUrl, "sandbox");
  if (path === null) return [];
  const token = tokenFrom(scope);
  return [sandboxTool({ endpoint: new URL(path, workerUrl), token: () => token, fetch })];
}

/** The token that the page posts; the first one counts. */
function tokenFrom(scope: TokenScope): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  scope.addEventListener("message", ({ data }) => {
    if (isTokenMessage(data)) resolve(data.token);
  });
  return promise;
}

function isTokenMessage(data: unknown): data is ServerTokenMessage {
  return typeof data === "object" && data !== null && "kind" in data && data.kind === "server-token" &&
    "token" in data && typeof data.token === "string";
}
