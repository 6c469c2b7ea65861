/**
 * What the agent of `holdfast run` works with: a folder, the network, secrets from the environment.
 *
 * @module
 */
import { mkdirSync, type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import { type SessionRow, StorageLostError, type Tool } from "../../mod.ts";
import { httpRequestTool, workspaceTools } from "../tools/mod.ts";
import type { CommandContext } from "./command.ts";
import { UsageError } from "./usage.ts";

/**
 * The folder the tools see: that of the flag, else that of the session that is gone on with, else the current one. Makes
 * nothing.
 *
 * @throws {UsageError} when it is not there and not to be made, or no folder
 */
export function workspaceOf({ args, cwd }: CommandContext, row: SessionRow | null): string {
  const given = args.text("workspace");
  const workspace = given === undefined ? row?.header?.cwd ?? cwd : resolve(cwd, given);
  const stat = look(workspace);
  if (stat?.isDirectory() === true || (stat === null && args.has("create-workspace"))) return workspace;
  const found = stat === null ? "there is no such folder" : "it is no folder";
  const advice = given === undefined ? "; name another with --workspace" : "";
  throw new UsageError(`Cannot use workspace "${workspace}": ${found}${advice}`);
}

/** Makes the workspace when it is not there. Returns whether it was made. */
export function makeWorkspace(workspace: string): boolean {
  try {
    return mkdirSync(workspace, { recursive: true }) !== undefined;
  } catch (cause) {
    throw new StorageLostError(`Cannot make workspace "${workspace}": ${(cause as Error).message}`, { cause });
  }
}

/**
 * The tools of an agent: files in the workspace, and HTTP.
 *
 * @throws {UsageError} when a flag names no origin
 */
export function agentTools({ args, env, root, storeFile }: CommandContext, workspace: string): Tool[] {
  const keyedOrigins = args.texts("keyed-origin");
  const secret = (name: string) => env[`HOLDFAST_SECRET_${name}`];
  try {
    const http = httpRequestTool({ fetch: (input, init) => fetch(input, init), secret, keyedOrigins });
    // The logs are evidence: no tool reads or writes them, also when they lie inside the workspace.
    return [...workspaceTools({ root: workspace, closed: [root, ...databaseFiles(storeFile)] }), http];
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith("Cannot use keyed origin")) {
      throw new UsageError(error.message);
    }
    throw error;
  }
}

/** A database and what is kept beside it: no tool and no command may touch it. */
export function databaseFiles(database: string | null): string[] {
  return database === null ? [] : ["", "-wal", "-shm", ".locks"].map((suffix) => database + suffix);
}

function look(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw new UsageError(`Cannot use workspace "${path}": ${(error as Error).message}`);
  }
}
