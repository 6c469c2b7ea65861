/**
 * What a salvage would do, found out by doing everything but writing.
 *
 * @module
 */
import { CorruptLogError, UnsupportedFormatError } from "../../errors.ts";
import { isCount, isNonEmptyString } from "../../event/checks.ts";
import { checkNewHeader, FORMAT_VERSION, type SessionHeader } from "../../event/mod.ts";
import type { ZstdCodec } from "../../frame/mod.ts";
import { readChunks } from "../byte_source.ts";
import type { Branch } from "../diagnose/branches.ts";
import { diagnosisOf, type LogDiagnosis } from "../diagnose/diagnose.ts";
import type { LogBytes, LookOptions } from "../diagnose/source.ts";
import { type LostPiece, type Survey, survey } from "../diagnose/survey.ts";
import { JOURNAL_LIMITS, type JournalLimits } from "../limits.ts";
import { type BranchCopied, copyBranch, type CopyRules, MIGRATION_TRIES_MAX } from "./copy_branch.ts";
import { RowRefused } from "./legacy_rows.ts";
import type { SeqRange } from "./ranges.ts";
import { RunningDigest } from "./running_digest.ts";

/** Bytes that are not in the copy. */
export interface DroppedPiece {
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  /** Of these bytes: 64 lower-case hex digits. */
  readonly sha256: string;
  readonly reason: string;
}

/** One session that comes of a salvage. */
export interface PlannedCopy {
  /** Which branch of the log it is. */
  readonly branch: string;
  /** How many events it has, without `log/salvaged`. */
  readonly events: number;
  /** Seqs of the source. */
  readonly kept: readonly SeqRange[];
  /** In the order of the file; pieces may overlap, because several rows of one frame can have several reasons. */
  readonly dropped: readonly DroppedPiece[];
  /** What was changed, added, or believed without proof: one sentence each. */
  readonly inferred: readonly string[];
}

/** A salvage that was thought through. */
export interface SalvagePlan {
  readonly source: { readonly name: string; readonly sizeBytes: number; readonly sha256: string };
  readonly diagnosis: LogDiagnosis;
  /** One for each branch. */
  readonly copies: readonly PlannedCopy[];
}

/** How a salvage reads. */
export interface SalvageReadOptions {
  readonly codec: ZstdCodec;
  readonly limits?: Partial<JournalLimits>;
  /** What the folder of the file calls the session; told where the header does not. */
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
}

/** What is known of a branch beside what is shown. */
export interface PlannedBranch {
  readonly branch: Branch;
  readonly rules: CopyRules;
  readonly header: Omit<SessionHeader, "id">;
  readonly copied: BranchCopied;
}

/** Plans of {@linkcode planSalvage} with what they came from. A plan that was made by hand is in here for nobody. */
const FOUND = new WeakMap<SalvagePlan, { readonly found: Survey; readonly branches: readonly PlannedBranch[] }>();

/** What a plan was made from. */
export function foundOf(plan: SalvagePlan): { readonly found: Survey; readonly branches: readonly PlannedBranch[] } {
  const found = FOUND.get(plan);
  if (found === undefined) throw new TypeError("Cannot salvage: this plan was not made by planSalvage()");
  return found;
}

/**
 * Reads a damaged or forked log, of any version this build reads, and says exactly what a salvage of it would keep. Writes nothing.
 *
 * Memory holds one frame, one row, and a few numbers for each row and each piece of damage, whatever the size of the log.
 *
 * @throws {CorruptLogError} when there is no event in it
 * @throws {UnsupportedFormatError} when its header names a version that this build does not read
 * @throws {SourceDriftError} when the file changes meanwhile
 *
 * @example
 * ```ts
 * import { portableZstd } from "../../frame/portable_zstd.ts";
 * import { logBytes } from "../diagnose/mod.ts";
 * import { planSalvage } from "./plan.ts";
 *
 * const text = '{"type":"session","version":3,"id":"a","createdAt":0,"isSeeded":false,"delegationDepth":0}\nrubbish\n' +
 *   '{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}\n';
 * const source = logBytes("a.jsonl", new TextEncoder().encode(text));
 * const { copies: [copy] } = await planSalvage(source, { codec: portableZstd() });
 * if (copy?.events !== 1 || copy.dropped[0]?.sizeBytes !== 8) throw new Error(JSON.stringify(copy));
 * ```
 */
export async function planSalvage(source: LogBytes, options: SalvageReadOptions): Promise<SalvagePlan> {
  const look: LookOptions = { ...options, limits: { ...JOURNAL_LIMITS, ...options.limits } };
  const found = await survey(source, look);
  const { name, sizeBytes } = source;
  if (found.version === null) {
    const { version } = found.headerRecord ?? {};
    const message = `Cannot salvage "${name}": its header names version ${
      JSON.stringify(version)
    }, which this build does not read`;
    throw new UnsupportedFormatError(message, typeof version === "number" ? { version } : {});
  }
  const planned: PlannedBranch[] = [];
  const copies: PlannedCopy[] = [];
  for (const branch of found.branches) {
    const plan = await planBranch(source, found, branch, look, options.sessionId);
    const { kept, events } = plan.copied;
    planned.push(plan);
    const dropped = await withDigests(source, droppedOf(found, plan), look);
    copies.push({ branch: branch.name, events, kept, dropped, inferred: [...plan.remarks, ...plan.copied.inferred] });
  }
  if (copies.every(({ events }) => events === 0)) {
    throw new CorruptLogError(`Cannot salvage "${name}": there is no event in it that can be read`);
  }
  const sha256 = await digestOf(source, 0, sizeBytes, look.signal);
  const plan: SalvagePlan = { source: { name, sizeBytes, sha256 }, diagnosis: diagnosisOf(found), copies };
  FOUND.set(plan, { found, branches: planned });
  return plan;
}

/** Copies a branch for nobody until the rules are such that it goes through. */
async function planBranch(
  source: LogBytes,
  found: Survey,
  branch: Branch,
  look: LookOptions,
  sessionId: string | undefined,
): Promise<PlannedBranch & { readonly remarks: readonly string[] }> {
  const { header, remarks } = headerOf(found, sessionId);
  const refused = new Map<number, { reason: string; count: number }>();
  const isKnown = found.header !== null || found.legacyHeader !== null;
  // Without a header the events say whether they were inherited.
  const checked = { ...header, id: "?", isSeeded: isKnown ? header.isSeeded : true };
  const rules: CopyRules = { header: checked, legacyHeader: legacyOf(found), refused };
  for (let tries = 0;;) {
    try {
      const copied = await copyBranch(source, found, branch, rules, look);
      const isSeeded = copied.hasInheritedSeed;
      const more = header.isSeeded && !isSeeded
        ? ["the header says that events were inherited, and the end of the seed is lost: the copy says that none were"]
        : [];
      return { branch, rules, header: { ...header, isSeeded }, copied, remarks: [...remarks, ...more] };
    } catch (error) {
      if (!(error instanceof RowRefused)) throw error;
      const reason = `version ${FORMAT_VERSION} has no place for it: ${error.reason}`;
      if (++tries > MIGRATION_TRIES_MAX || refused.has(error.seq)) {
        const what =
          `Cannot salvage "${source.name}": more of its events than can be left out have no place in version`;
        throw new UnsupportedFormatError(`${what} ${FORMAT_VERSION}: seq ${error.seq}: ${error.reason}`);
      }
      refused.set(error.seq, { reason, count: error.count });
    }
  }
}

/** The header of the copies, as far as the source says it. */
function headerOf(
  { header, legacyHeader, headerRecord, version, firstTime }: Survey,
  sessionId: string | undefined,
): {
  readonly header: Omit<SessionHeader, "id">;
  readonly remarks: readonly string[];
} {
  const from = version === FORMAT_VERSION ? [] : [`its events were migrated from version ${version}`];
  if (header !== null) return { header, remarks: from };
  if (legacyHeader !== null) {
    const { createdAt, cwd, parentSession, isSeeded, origin, delegationDepth, agentPreset } = legacyHeader;
    const preset = agentPreset === "code" ? "ptc" : agentPreset;
    const known = { type: "session" as const, version: FORMAT_VERSION, createdAt, isSeeded, delegationDepth };
    const isAbsolute = cwd !== undefined && isFine({ cwd });
    return {
      header: {
        ...known,
        ...(isAbsolute ? { cwd } : {}),
        ...(parentSession === undefined ? {} : { parentSession }),
        ...(origin === undefined ? {} : { origin }),
        ...(preset === undefined ? {} : { agentPreset: preset }),
      },
      remarks: from,
    };
  }
  const record = headerRecord ?? {};
  const guessed: Record<string, unknown> = {
    ...{
      type: "session",
      version: FORMAT_VERSION,
      createdAt: isCount(record.createdAt) ? record.createdAt : nearestCount(firstTime ?? 0),
    },
    ...{ isSeeded: record.isSeeded === true, delegationDepth: 0 },
  };
  for (const key of ["cwd", "parentSession", "origin", "delegationDepth", "agentPreset"]) {
    if (isFine({ [key]: record[key] })) guessed[key] = record[key];
  }
  const what = headerRecord === null ? "there is no header" : "the header is damaged";
  const members = Object.keys(guessed).filter((key) =>
    record[key] !== undefined && key !== "type" && key !== "version"
  );
  const kept = members.length === 0 ? "nothing of it is known" : `kept of it: ${members.join(", ")}`;
  const time = isCount(record.createdAt) ? "" : "; it is as old as its first event";
  const id = isNonEmptyString(record.id) ? record.id : sessionId;
  const named = time + (id === undefined ? "" : `; the session was called ${JSON.stringify(id)}`);
  return { header: guessed as unknown as SessionHeader, remarks: [...from, `${what}, ${kept}${named}`] };
}

/** The count nearest to the time of an event, which may be any number: a header takes counts only. */
function nearestCount(value: number): number {
  return Math.min(Math.max(0, Math.trunc(value)), Number.MAX_SAFE_INTEGER);
}

/** Whether a header could have these members. */
function isFine(members: Record<string, unknown>): boolean {
  if (Object.values(members).includes(undefined)) return false;
  const header = {
    type: "session",
    version: FORMAT_VERSION,
    id: "?",
    createdAt: 0,
    isSeeded: false,
    delegationDepth: 0,
  };
  try {
    checkNewHeader({ ...header, ...members } as unknown as SessionHeader);
    return true;
  } catch {
    return false;
  }
}

/** The header an old log is migrated under. Without one the rows are taken as of a session that was inherited from none. */
function legacyOf({ version, legacyHeader, header }: Survey): CopyRules["legacyHeader"] {
  if (version === FORMAT_VERSION || version === null || header !== null) return null;
  // What only its own version tolerates stands in the way of nothing here: the copy has a header of its own.
  const { createdAt = 0, cwd, parentSession, isSeeded = false, seedLength = null } = legacyHeader ?? {};
  return {
    ...{ version, id: legacyHeader?.id ?? "?", createdAt, isSeeded, seedLength, delegationDepth: 0, strangers: [] },
    ...(cwd !== undefined && isFine({ cwd }) ? { cwd } : {}),
    ...(parentSession === undefined ? {} : { parentSession }),
  };
}

/** Everything of the file that is not in the copy: what nobody could read, other branches, rows without a place. */
function droppedOf({ branches, lost }: Survey, { branch, copied }: PlannedBranch): LostPiece[] {
  const own = new Set<Branch>();
  const limits = new Map<Branch, number>();
  let limit = Infinity;
  for (let at: Branch | null = branch; at !== null; at = at.parent) {
    own.add(at);
    limits.set(at, limit);
    limit = Math.min(limit, at.forkSeq);
  }
  const others = branches.flatMap((other) =>
    other.runs
      .filter(({ firstSeq }) => !own.has(other) || firstSeq >= limits.get(other)!)
      .map(({ firstSeq, endSeq, place, endBytes }): LostPiece => ({
        offsetBytes: place.offsetBytes,
        sizeBytes: endBytes - place.offsetBytes,
        reason: `seq ${firstSeq} to ${endSeq - 1} of branch ${other.name}`,
      }))
  );
  return [...lost, ...others, ...copied.dropped].sort((left, right) => left.offsetBytes - right.offsetBytes);
}

async function withDigests(
  source: LogBytes,
  pieces: readonly LostPiece[],
  { signal }: LookOptions,
): Promise<DroppedPiece[]> {
  const dropped: DroppedPiece[] = [];
  for (const { offsetBytes, sizeBytes, reason } of pieces) {
    const sha256 = await digestOf(source, offsetBytes, offsetBytes + sizeBytes, signal);
    dropped.push({ offsetBytes, sizeBytes, sha256, reason });
  }
  return dropped;
}

/** SHA-256 of a stretch of a file. */
export async function digestOf(
  source: LogBytes,
  startBytes: number,
  endBytes: number,
  signal?: AbortSignal,
): Promise<string> {
  const digest = new RunningDigest();
  for await (const chunk of readChunks(source, startBytes, endBytes, signal)) digest.update(chunk);
  return digest.hex();
}
