/**
 * What is wrong with the place a log lies in: its folder's other files, and whether its header belongs there.
 *
 * @module
 */
import type { StorageEntry } from "../../storage/storage_port.ts";
import { generationOf, LOCK_NAME, logPath } from "../layout.ts";
import { type Diagnosis, diagnosis } from "./kinds.ts";

/** Where a log lies, and what lies beside it. */
export interface LogSurroundings {
  /** The log's whole name from the root. */
  readonly log: string;
  /** The entries of its folder, with whole names. */
  readonly entries: readonly StorageEntry[];
  /** What its header says; `null` when it cannot be read. */
  readonly header: { readonly id: string; readonly cwd?: string } | null;
}

/** The names beside a log that belong to its session, torn copies and generations aside. */
const OWN_NAMES: ReadonlySet<string> = new Set([LOCK_NAME, "blobs/", "snapshots/", "imported.json"]);

/**
 * Looks at the names around a log. Reads nothing.
 *
 * @example
 * ```ts
 * import { diagnosePlace } from "./place.ts";
 *
 * const entries = [{ name: "_no-cwd/a/session.v3.jsonl", kind: "file" as const }];
 * const [first] = diagnosePlace({ log: "_no-cwd/a/session.v3.jsonl.zstd", entries, header: { id: "a" } });
 * if (first?.kind !== "opposite-encodings") throw new Error("unreachable");
 * ```
 */
export function diagnosePlace({ log, entries, header }: LogSurroundings): Diagnosis[] {
  const findings: Diagnosis[] = [];
  const nowhere = { offsetBytes: null };
  const folder = log.slice(0, log.lastIndexOf("/") + 1);
  const own = generationOf(log.slice(folder.length));
  for (const { name, kind } of entries) {
    if (name === log) continue;
    const local = name.slice(folder.length);
    const other = kind === "folder" ? null : generationOf(local);
    if (other !== null && own !== null && other.encoding !== own.encoding) {
      findings.push(diagnosis("opposite-encodings", nowhere, null, `"${name}" lies beside it in the other encoding`));
    } else if (other === null && !OWN_NAMES.has(local) && !/\.jsonl(\.zstd)?\.torn-\d+-[0-9a-f]{8}$/.test(local)) {
      const what = /\.tmp$/.test(local) ? "a file that a writer did not get to publish" : "a file of nobody's";
      findings.push(diagnosis("stray-file", nowhere, null, `"${name}" is ${what}`));
    }
  }
  if (header === null || own === null) return findings;
  const wanted = logPath(header, own.encoding).replace(/[^/]*$/, "");
  if (wanted.toLowerCase() !== folder.toLowerCase()) {
    findings.push(diagnosis("identity-mismatch", nowhere, null, `its header belongs to "${wanted}"`));
  }
  return findings;
}
