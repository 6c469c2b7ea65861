/**
 * Everything that is wrong with a log, byte for byte, behind damage too.
 *
 * @module
 */
import { isNonEmptyString, type JsonRecord } from "../../event/checks.ts";
import type { SessionHeader } from "../../event/mod.ts";
import type { JournalOptions } from "../journal.ts";
import type { LogEncoding } from "../layout.ts";
import { JOURNAL_LIMITS } from "../limits.ts";
import type { Branch } from "./branches.ts";
import type { Diagnosis } from "./kinds.ts";
import type { LogBytes } from "./source.ts";
import { type Survey, survey } from "./survey.ts";

/** What one writer of a forked log wrote. */
export interface LogBranch {
  /** "A", "B": in the order in which they began. */
  readonly name: string;
  /** The branch it left; `null` for the first. */
  readonly parent: string | null;
  /** The first seq that is its own, and where it stands; 0 for the first branch. */
  readonly forkSeq: number;
  readonly forkOffsetBytes: number | null;
  readonly lastSeq: number | null;
  /** How many events are its own. */
  readonly events: number;
}

/** What a log is and suffers from. */
export interface LogDiagnosis {
  readonly encoding: LogEncoding;
  /** `null` when this build does not read it. */
  readonly version: number | null;
  /** The header of a version-3 log, when nothing is wrong with it. */
  readonly header: SessionHeader | null;
  /** Whose log it says it is, whatever else is wrong with its header; `null` when it does not say. */
  readonly identity: { readonly id: string; readonly cwd?: string } | null;
  /** In the order of the file, at most FINDINGS_MAX (100). */
  readonly findings: readonly Diagnosis[];
  /** How many more there are. */
  readonly omitted: number;
  /** More than one when writers went on from the same event. */
  readonly branches: readonly LogBranch[];
}

/**
 * Reads a log whole and lists what is wrong with it. Behind damage it goes on at the next frame or line that can be read.
 *
 * Never throws because of what the bytes are, and writes nothing.
 *
 * @example
 * ```ts
 * import { portableZstd } from "../../frame/portable_zstd.ts";
 * import { diagnoseLog } from "./diagnose.ts";
 * import { logBytes } from "./source.ts";
 *
 * const text = '{"type":"session","version":3,"id":"a","createdAt":0,"isSeeded":false,"delegationDepth":0}\n{"type":\n' +
 *   '{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}\n';
 * const source = logBytes("a.jsonl", new TextEncoder().encode(text));
 * const { findings: [first] } = await diagnoseLog(source, { codec: portableZstd() });
 * if (first?.kind !== "duplicate-prefix" || first.offsetBytes !== 91) throw new Error(JSON.stringify(first));
 * ```
 */
export async function diagnoseLog(
  source: LogBytes,
  options: Pick<JournalOptions, "codec" | "limits"> & { readonly signal?: AbortSignal },
): Promise<LogDiagnosis> {
  const limits = { ...JOURNAL_LIMITS, ...options.limits };
  const found = await survey(source, { codec: options.codec, limits, signal: options.signal });
  return diagnosisOf(found);
}

/** What a survey says, as it is shown. */
export function diagnosisOf(found: Survey): LogDiagnosis {
  const { encoding, version, header, headerRecord, findings, omitted } = found;
  const identity = identityIn(headerRecord ?? {});
  return { encoding, version, header, identity, findings, omitted, branches: branchesOf(found.branches) };
}

function identityIn({ id, cwd }: JsonRecord): LogDiagnosis["identity"] {
  if (!isNonEmptyString(id)) return null;
  return isNonEmptyString(cwd) ? { id, cwd } : { id };
}

/** The branches of a log as they are shown. */
export function branchesOf(branches: readonly Branch[]): LogBranch[] {
  return branches.map((branch) => {
    const { name, parent, forkSeq, runs, nextSeq } = branch;
    const events = runs.reduce((sum, { firstSeq, endSeq }) => sum + endSeq - firstSeq, 0);
    return {
      ...{ name, parent: parent?.name ?? null, forkSeq, events },
      forkOffsetBytes: parent === null ? null : runs[0]?.place.offsetBytes ?? null,
      lastSeq: events === 0 ? null : nextSeq - 1,
    };
  });
}
