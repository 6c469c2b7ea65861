/**
 * What a file is that somebody brings, and what can be made of it: for whoever shows that before anything is kept.
 *
 * Everything happens in memory. What comes out is bytes of a log of the current version, which `RawLogs.take` keeps.
 *
 * @module
 */
import { MemoryStorage } from "../adapters/memory/mod.ts";
import { HoldfastError, UnsupportedFormatError } from "../errors.ts";
import { recogniseForeign } from "../foreign/mod.ts";
import { portableZstd } from "../frame/portable_zstd.ts";
import { bytesStorage } from "../journal/bytes_storage.ts";
import {
  DAMAGE_KINDS,
  type Diagnosis,
  isZip,
  type LogBranch,
  logBytes,
  openLogFile,
  planSalvage,
  salvageLog,
  type SalvagePlan,
} from "../journal/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { LogReader } from "../store/session_store.ts";
import { convertForeign, type ForeignConversion, type ForeignReport } from "./foreign.ts";
import { logInMemory } from "./log_in_memory.ts";
import { systemRuntime } from "./system.ts";

/** One thing that is wrong with a file, in words. */
export interface FileFinding extends Diagnosis {
  /** What such a damage is, for somebody who never met one. */
  readonly meaning: string;
}

/** What a salvage would make of one branch of a log. */
export interface FileCopy {
  /** "A", "B": which writer's events. */
  readonly branch: string;
  readonly events: number;
  /** How many pieces of the file would be left out, and how many bytes they have. */
  readonly pieces: number;
  readonly pieceBytes: number;
  /** What would be changed, added, or believed without proof. */
  readonly inferred: readonly string[];
}

/** How a file can be taken in. */
export type FileImport =
  /** Byte for byte: it is a log of the current version, or an archive of one. */
  | { readonly how: "as it is" }
  /** Byte for byte and for reading alone: behind the damage it says nothing. */
  | { readonly how: "up to the damage"; readonly events: number }
  /** A copy in the current version: it is an older log. */
  | { readonly how: "migrated"; readonly events: number }
  /** A new session: it is the log of another program. */
  | { readonly how: "converted"; readonly report: ForeignReport }
  /** Not at all. */
  | { readonly how: "refused"; readonly reason: string };

/** What a file is. */
export interface FileReport {
  readonly name: string;
  readonly sizeBytes: number;
  readonly kind: "log" | "archive" | "foreign" | "unknown";
  /** Of a log, as far as its header says it. */
  readonly version: number | null;
  readonly encoding: "zstd" | "none" | null;
  readonly sessionId: string | null;
  /** How many events can be read before any damage. */
  readonly events: number | null;
  /** In the order of the file. */
  readonly findings: readonly FileFinding[];
  /** How many more there are. */
  readonly omitted: number;
  /** More than one when two writers went on from the same event. */
  readonly branches: readonly LogBranch[];
  readonly take: FileImport;
  /** Per branch; `null` when there is nothing to salvage, or no need to. */
  readonly salvage: readonly FileCopy[] | null;
}

/** A log that was made. */
export interface MadeLog {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A file that was looked at. */
export interface InspectedFile {
  readonly report: FileReport;
  /**
   * The logs to keep: one for an import, one for each branch that a salvage keeps.
   *
   * @throws {UnsupportedFormatError} when the report says that it cannot be done
   */
  make(how: "import" | "salvage", options: { readonly keep?: readonly string[]; newId(): string }): Promise<MadeLog[]>;
}

const codec = portableZstd();

/**
 * Looks at a file: what it is, what is wrong with it, and what could be made of it. Never throws because of what its bytes are.
 *
 * @example
 * ```ts
 * import { inspectFile } from "./inspect.ts";
 *
 * const text = '{"type":"session","version":3,"id":"a","createdAt":0,"isSeeded":false,"delegationDepth":0}\nrubbish\n' +
 *   '{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}\n';
 * const { report } = await inspectFile("a.jsonl", new TextEncoder().encode(text));
 * if (report.findings[0]?.kind !== "bad-row" || report.salvage?.[0]?.events !== 1) throw new Error(JSON.stringify(report));
 * ```
 */
export async function inspectFile(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  runtime: Runtime = systemRuntime,
): Promise<InspectedFile> {
  const file = { name, bytes, runtime };
  if (isZip(bytes)) return plain(file, "archive", { how: "as it is" });
  if (recogniseForeign(bytes) !== null) return await inspectForeign(file);
  return await inspectLog(file);
}

interface GivenFile {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly runtime: Runtime;
}

const NOTHING_KNOWN = {
  version: null,
  encoding: null,
  sessionId: null,
  events: null,
  findings: [],
  omitted: 0,
  branches: [],
};

function plain({ name, bytes }: GivenFile, kind: FileReport["kind"], take: FileImport): InspectedFile {
  const report: FileReport = { name, sizeBytes: bytes.length, kind, ...NOTHING_KNOWN, take, salvage: null };
  return {
    report,
    make: (how) => how === "import" && take.how === "as it is" ? Promise.resolve([{ name, bytes }]) : refuse(name),
  };
}

/** Converts it once to see what would be left out, and again under an id when it is wanted. */
async function inspectForeign(file: GivenFile): Promise<InspectedFile> {
  const { name, bytes } = file;
  const convert = (id: string) => convertForeign({ newId: () => id, name, bytes, runtime: file.runtime });
  let take: FileImport;
  try {
    const made = await convert("preview");
    take = made === null
      ? { how: "refused", reason: "it cannot be read" }
      : { how: "converted", report: reportOf(made) };
  } catch (error) {
    take = { how: "refused", reason: reasonOf(error) };
  }
  const { report } = plain(file, "foreign", take);
  return {
    report: { ...report, events: take.how === "converted" ? take.report.events : null },
    async make(how, { newId }) {
      if (how !== "import" || take.how === "refused") return await refuse(name);
      const id = newId();
      const made = await convert(id);
      return made === null ? await refuse(name) : [{ name: `${id}.jsonl.zstd`, bytes: made.log }];
    },
  };
}

function reportOf({ id: _, log: __, ...report }: ForeignConversion): ForeignReport {
  return report;
}

async function inspectLog(file: GivenFile): Promise<InspectedFile> {
  const { name, bytes, runtime } = file;
  const open = () => openLogFile({ storage: bytesStorage(name, bytes), codec, ...runtime }, name);
  const source = logBytes(name, bytes);
  let plan: SalvagePlan | null = null;
  try {
    plan = await planSalvage(source, { codec });
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
  }
  const reader = await open().catch((error) => {
    if (error instanceof HoldfastError) return error;
    throw error;
  });
  const isRead = !(reader instanceof HoldfastError);
  const take = isRead ? takeOf(reader) : { how: "refused", reason: reasonOf(reader) } as const;
  const known = isRead ? factsOf(reader) : { ...NOTHING_KNOWN, version: versionIn(reader) };
  if (isRead) await reader.close();
  const diagnosis = plan?.diagnosis;
  const { findings = [], omitted = 0, branches = [] } = diagnosis ?? {};
  const canBeTaken = take.how === "as it is" || take.how === "migrated";
  // Behind a torn tail there may be events that the next writer would leave out, and a salvage would not.
  const isAllRead = (plan?.copies ?? []).every((copy) => copy.events <= (known.events ?? 0));
  const isWhole = canBeTaken && isAllRead && findings.every(({ severity }) => severity !== "damage");
  const copies = plan === null || isWhole ? [] : plan.copies.filter(({ events }) => events > 0);
  const report: FileReport = {
    ...{ name, sizeBytes: bytes.length, kind: isRead || plan !== null ? "log" : "unknown" },
    ...known,
    ...{
      version: known.version ?? diagnosis?.version ?? null,
      encoding: known.encoding ?? diagnosis?.encoding ?? null,
    },
    findings: findings.map((finding) => ({ ...finding, meaning: DAMAGE_KINDS[finding.kind] })),
    ...{ omitted, branches, take },
    salvage: copies.length === 0 ? null : copies.map(({ branch, events, dropped, inferred }) => ({
      ...{ branch, events, inferred, pieces: dropped.length },
      pieceBytes: dropped.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    })),
  };
  return {
    report,
    async make(how, { keep, newId }) {
      if (how === "import") {
        if (take.how === "refused") return await refuse(name);
        return [take.how === "migrated" ? await migrated(file, open) : { name, bytes }];
      }
      if (plan === null || report.salvage === null) return await refuse(name);
      const storage = new MemoryStorage();
      const wanted = keep ?? report.salvage.map(({ branch }) => branch);
      const { sessions } = await salvageLog(source, { storage, codec, ...runtime, keep: wanted, newId, plan });
      const logs = sessions.map(async ({ id, log }) => ({ name: `${id}.jsonl.zstd`, bytes: await storage.read(log) }));
      return await Promise.all(logs);
    },
  };
}

function factsOf(reader: LogReader) {
  const { header, encoding, storedVersion } = reader;
  return {
    version: storedVersion ?? header.version,
    encoding,
    sessionId: header.id,
    events: reader.state().nextSeq,
    ...{ findings: [], omitted: 0, branches: [] },
  };
}

function takeOf(reader: LogReader): FileImport {
  const { nextSeq: events, fault } = reader.state();
  if (reader.storedVersion !== undefined) {
    return fault === null ? { how: "migrated", events } : { how: "refused", reason: fault.message };
  }
  if (reader.header.version !== CURRENT_VERSION) {
    return { how: "refused", reason: fault?.message ?? `it is of version ${reader.header.version}` };
  }
  return fault === null ? { how: "as it is" } : { how: "up to the damage", events };
}

/** The version that is written. Kept here because an entry imports no events; a test holds it to the format's. */
export const CURRENT_VERSION = 3;

/** A copy of an older log in the current version, under the same id. */
async function migrated({ name, runtime }: GivenFile, open: () => Promise<LogReader>): Promise<MadeLog> {
  const reader = await open();
  try {
    const { log } = await logInMemory(runtime, async (store) => {
      const copy = await store.create(reader.header);
      await copy.materialize();
      for (let from: number | null = 0; from !== null;) {
        const page: Awaited<ReturnType<LogReader["read"]>> = await reader.read({ from });
        if (page.events.length > 0) await copy.append(page.events);
        from = page.nextFrom;
      }
      await copy.close();
      return { id: reader.header.id };
    });
    return { name, bytes: log };
  } finally {
    await reader.close();
  }
}

function versionIn(error: HoldfastError): number | null {
  return error instanceof UnsupportedFormatError ? error.version ?? null : null;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return /^Cannot [^"]*"(?:[^"\\]|\\.)*"[^:]*: ([^]+)$/.exec(error.message)?.[1] ?? error.message;
}

function refuse(name: string): Promise<never> {
  return Promise.reject(new UnsupportedFormatError(`Cannot make a log of "${name}": nothing in it can be kept`));
}
