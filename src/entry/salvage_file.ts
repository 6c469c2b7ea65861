/**
 * What is wrong with a log file, and what can be recovered of it, for Deno and Node.
 *
 * @module
 */
import { basename, dirname, relative, resolve } from "node:path";
import { openFileStorage } from "../adapters/file/mod.ts";
import { hasCode, NotFoundError } from "../errors.ts";
import { nodeZstd } from "../frame/node_zstd.ts";
import { getBlob } from "../journal/blobs.ts";
import { generationOf, idOfFolder } from "../journal/layout.ts";
import {
  diagnoseLog,
  diagnosePlace,
  type Diagnosis,
  JOURNAL_LIMITS,
  type LogBytes,
  type LogDiagnosis,
  planSalvage,
  type Salvaged,
  salvageLog,
  type SalvageOptions,
  type SalvagePlan,
} from "../journal/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { systemRuntime } from "./system.ts";

export type {
  Diagnosis,
  DroppedPiece,
  LogBranch,
  LogDiagnosis,
  PlannedCopy,
  Salvaged,
  SalvagedSession,
  SalvagePlan,
} from "../journal/mod.ts";

/** Everything that is wrong with one log file, and with the place it lies in. */
export interface FileDiagnosis extends LogDiagnosis {
  /** What is wrong with its folder; empty when nobody asked. */
  readonly around: readonly Diagnosis[];
}

/**
 * Reads one log file whole and lists what is wrong with it, behind damage too. Nothing is written.
 *
 * @param root the store's folder, when the file is a session's log there: then its place is looked at too
 * @throws {NotFoundError}
 *
 * @example
 * ```ts
 * import { diagnoseFile } from "./salvage_file.ts";
 *
 * const path = await Deno.makeTempFile({ suffix: ".jsonl" });
 * await Deno.writeTextFile(path, "rubbish\n");
 * const { findings } = await diagnoseFile(path);
 * if (findings.map(({ kind }) => kind).join() !== "header-missing,bad-row") throw new Error("unreachable");
 * await Deno.remove(path);
 * ```
 */
export async function diagnoseFile(
  path: string,
  options: { readonly root?: string; readonly signal?: AbortSignal } = {},
): Promise<FileDiagnosis> {
  const { root, signal } = options;
  const found = await diagnoseLog(await fileBytes(path), { codec: nodeZstd(), signal });
  if (root === undefined) return { ...found, around: [] };
  const log = relative(resolve(root), resolve(path)).replaceAll("\\", "/");
  const storage = openFileStorage({ root: resolve(root) });
  const entries = await storage.list(log.slice(0, log.lastIndexOf("/") + 1));
  return { ...found, around: diagnosePlace({ log, entries, header: found.identity }) };
}

/**
 * What a salvage of one log file would keep, drop and infer. Nothing is written.
 *
 * @throws {NotFoundError}
 * @throws {CorruptLogError} when there is no event in it
 * @throws {UnsupportedFormatError} when its header names a version that this build does not read
 *
 * @example
 * ```ts
 * import { planSalvageFile } from "./salvage_file.ts";
 *
 * const path = await Deno.makeTempFile({ suffix: ".jsonl" });
 * await Deno.writeTextFile(path, '{"type":"turn/start","seq":3,"time":1,"data":{"turn":1}}\n');
 * if ((await planSalvageFile(path)).copies[0]?.events !== 1) throw new Error("unreachable");
 * await Deno.remove(path);
 * ```
 */
export async function planSalvageFile(
  path: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<SalvagePlan> {
  return await planSalvage(await fileBytes(path), { codec: nodeZstd(), sessionId: sessionIdOf(path), ...options });
}

/** Where the sessions go that a salvage makes. */
export interface SalvageFileOptions
  extends Pick<SalvageOptions, "keep" | "newId" | "plan" | "signal" | "compression" | "limits"> {
  /** A folder, made at the first write. */
  readonly root: string;
  /** Default: the system's. */
  readonly runtime?: Runtime;
}

/**
 * Writes what can be recovered of one log file as new sessions below a root, with those blobs that lie beside the file. The file
 * is only read.
 *
 * @throws as `planSalvageFile()`, and {@link SourceDriftError} when the file changes meanwhile
 *
 * @example
 * ```ts
 * import { salvageFile } from "./salvage_file.ts";
 *
 * const root = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${root}/bad.jsonl`, '{"type":"turn/start","seq":3,"time":1,"data":{"turn":1}}\n');
 * const { sessions } = await salvageFile(`${root}/bad.jsonl`, { root: `${root}/out`, newId: () => "b" });
 * if (sessions[0]?.log !== "_no-cwd/b/session.v3.jsonl.zstd") throw new Error("unreachable");
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export async function salvageFile(path: string, options: SalvageFileOptions): Promise<Salvaged> {
  const { root, runtime = systemRuntime } = options;
  const codec = nodeZstd();
  const source = openFileStorage({ root: dirname(resolve(path)) });
  const blobs = { storage: source, codec, limits: { ...JOURNAL_LIMITS, ...options.limits }, folder: "" };
  const blob = (digest: string) =>
    getBlob(blobs, digest).catch((error) => {
      if (hasCode(error, "NOT_FOUND") || hasCode(error, "CORRUPT_FRAME")) return null;
      throw error;
    });
  const storage = openFileStorage({ root });
  try {
    return await salvageLog(await fileBytes(path), { ...options, ...runtime, storage, codec, blob });
  } finally {
    await storage.close();
    await source.close();
  }
}

/** What the folder of a log calls its session; `undefined` when the file has no name that a session's log has. */
function sessionIdOf(path: string): string | undefined {
  const absolute = resolve(path);
  if (generationOf(basename(absolute)) === null) return undefined;
  return idOfFolder(basename(dirname(absolute))) ?? undefined;
}

/** A file as bytes that are read as they are asked for. */
async function fileBytes(path: string): Promise<LogBytes> {
  const absolute = resolve(path);
  const storage = openFileStorage({ root: dirname(absolute) });
  const name = basename(absolute);
  const stat = await storage.stat(name);
  if (stat === null) throw new NotFoundError(`Cannot read "${path}": there is no such file`);
  const read = (startBytes: number, endBytes: number) => storage.read(name, { startBytes, endBytes });
  return { name, sizeBytes: stat.sizeBytes, read };
}
