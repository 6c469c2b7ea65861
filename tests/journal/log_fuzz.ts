/**
 * The fuzz of logs: damaged logs through read, verify and salvage. Only typed errors, no hang, bounded memory.
 *
 * @module
 */
import process from "node:process";
import {
  closers,
  type EventPage,
  FORMAT_VERSION,
  HoldfastError,
  logFold,
  type LogReader,
  openTurn,
  type SessionEvent,
} from "../../mod.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { MemoryStorage } from "../../src/entry/memory.ts";
import { bytesStorage } from "../../src/journal/bytes_storage.ts";
import {
  diagnoseLog,
  logBytes,
  type LogDiagnosis,
  openLogFile,
  planSalvage,
  salvageLog,
} from "../../src/journal/mod.ts";
import { type FuzzInput, fuzzInput } from "./log_fuzz_mutate.ts";
import type { Seed } from "./log_fuzz_seeds.ts";

/** Nothing may take longer than this, in milliseconds of processor time: what others do on the machine counts for nothing. */
export const INPUT_MS_MAX = 1000;

/** How often such an input is measured: one time may pay for a collection or a compilation. */
const TRIES_MAX = 3;

/** What a run came to. */
export interface FuzzReport {
  readonly inputs: number;
  /** How the reads ended, by code: "ok" is a log without fault. */
  readonly ends: ReadonlyMap<string, number>;
  /** How often each damage was done. */
  readonly damages: ReadonlyMap<string, number>;
  /** What is wrong, each with the number that makes it again. */
  readonly failures: readonly string[];
  /** The slowest input, in milliseconds. */
  readonly slowest: { readonly number: number; readonly ms: number };
  /** Of logs of ours with a single damage. */
  readonly undamaged: number;
  readonly salvaged: number;
  /** What the process held before, and the most it held at any time, in bytes. Tests that ran before it hold some, too. */
  readonly startBytes: number;
  readonly peakBytes: number;
}

/** Which inputs are run. */
export interface FuzzOptions {
  /** The seed of the run. */
  readonly start: number;
  /** The first number. */
  readonly from: number;
  readonly count: number;
  readonly seeds: readonly Seed[];
  /** How many failures end the run. Default 10. */
  readonly failuresMax?: number;
  /** Told every now and then how many are done. */
  readonly report?: (done: number) => void;
}

/** How many failures are told; one is enough to look. */
const FAILURES_MAX_DEFAULT = 10;

/** Runs inputs. */
export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { start, from, count, seeds, failuresMax = FAILURES_MAX_DEFAULT, report } = options;
  const ends = new Map<string, number>();
  const damages = new Map<string, number>();
  const failures: string[] = [];
  let slowest = { number: -1, ms: 0 };
  const startBytes = Deno.memoryUsage().rss;
  let [undamaged, salvaged, peakBytes] = [0, 0, startBytes];
  let done = 0;
  for (; done < count && failures.length < failuresMax; done++) {
    const number = from + done;
    const input = fuzzInput(start, number, seeds);
    for (const name of input.damages) damages.set(name, (damages.get(name) ?? 0) + 1);
    try {
      const before = performance.now();
      const ran = await runInput(input);
      let ms = performance.now() - before;
      // On a busy machine the clock counts what others do: what seems to hang is measured again, by its own work.
      for (let tries = 0; tries < TRIES_MAX && ms > INPUT_MS_MAX; tries++) ms = Math.min(ms, await processorMs(input));
      if (ms > slowest.ms) slowest = { number, ms };
      if (ms > INPUT_MS_MAX) failures.push(`${described(start, input)}: took ${Math.round(ms)} ms`);
      for (const end of ran.ends) ends.set(end, (ends.get(end) ?? 0) + 1);
      undamaged += ran.undamaged;
      salvaged += ran.salvaged;
    } catch (error) {
      failures.push(`${described(start, input)}: ${(error as Error).stack ?? error}`);
    }
    if (done % 256 === 0) peakBytes = Math.max(peakBytes, Deno.memoryUsage().rss);
    if (done % 1000 === 999) report?.(done + 1);
  }
  peakBytes = Math.max(peakBytes, Deno.memoryUsage().rss);
  return { inputs: done, ends, damages, failures, slowest, undamaged, salvaged, startBytes, peakBytes };
}

async function processorMs(input: FuzzInput): Promise<number> {
  const before = process.cpuUsage();
  await runInput(input);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function described(start: number, { number, seed, damages, bytes }: FuzzInput): string {
  return `seed ${start}, input ${number} (${seed.name}; ${damages.join(", ")}; ${bytes.length} bytes)`;
}

interface Ran {
  readonly ends: readonly string[];
  readonly undamaged: number;
  readonly salvaged: number;
}

const codec = portableZstd();
const clock = { now: () => 1, schedule: () => () => {} };
const random = { bytes: (sizeBytes: number) => new Uint8Array(sizeBytes) };

/** Takes one input through everything. Throws what is no typed error, and when what is said contradicts itself. */
export async function runInput(input: FuzzInput): Promise<Ran> {
  const read = await readInput(input);
  const salvaged = await salvageInput(input);
  const diagnosis = salvaged.diagnosis ?? await diagnoseLog(logBytes("log", input.bytes), { codec });
  const verified = checkDiagnosis(input, diagnosis, read.isFaultless);
  const ends = [`read ${read.end}`, `verify ${verified}`, `salvage ${salvaged.end}`];
  if (input.undamaged === null) return { ends, undamaged: 0, salvaged: 0 };
  // Each event of our seeds has a time of its own, and a copy changes its seq and never its time.
  const wanted = new Set(input.undamaged.map((row) => (JSON.parse(row) as SessionEvent).time));
  const kept = [...wanted].filter((time) => salvaged.times.has(time)).length;
  return { ends, undamaged: wanted.size, salvaged: kept };
}

/** Opens a log for reading, folds it, and reads it again by pages: both must give the same events. */
async function readInput(
  { bytes, number }: FuzzInput,
): Promise<{ readonly end: string; readonly isFaultless: boolean }> {
  const events: SessionEvent[] = [];
  let folds = logFold.initial();
  const visit = (event: SessionEvent) => {
    events.push(event);
    folds = logFold.apply(folds, event);
  };
  const storage = bytesStorage("log", bytes);
  const opened = await openLogFile({ storage, codec, clock, random }, "log", { visit }).catch(typed);
  if (opened instanceof HoldfastError) return { end: opened.code, isFaultless: false };
  try {
    const { nextSeq, fault } = opened.state();
    // Of a log that has no place in version 3 only what folds understand is visited, in a spelling that they do.
    const isOld = opened.header.version !== FORMAT_VERSION;
    if (isOld ? events.length > nextSeq : events.length !== nextSeq) {
      throw new Error(`visited ${events.length} events, and the state says ${nextSeq}`);
    }
    if (number % PAGED_EVERY === 0) {
      const code = await readPages(opened, isOld ? null : events);
      if (code !== null) return { end: code, isFaultless: false };
    }
    openTurn(folds.pendingCalls);
    if (fault === null && folds.surface.fault === null) closers(folds);
    return { end: fault?.code ?? "ok", isFaultless: fault === null };
  } finally {
    await opened.close();
  }
}

/** Every how many inputs a log is read by pages too: each page is read from its frame on, so that costs most. */
const PAGED_EVERY = 8;

/** Reads a log by small pages, which must hold the very events that were visited. Returns the code of a refusal. */
async function readPages(log: LogReader, visited: readonly SessionEvent[] | null): Promise<string | null> {
  const { nextSeq } = log.state();
  const paged: SessionEvent[] = [];
  for (let from: number | null = 0; from !== null && from < nextSeq;) {
    const page: EventPage | HoldfastError = await log.read({ from, limit: 5 }).catch(typed);
    if (page instanceof HoldfastError) return page.code;
    paged.push(...page.events);
    from = page.nextFrom;
  }
  if (paged.length !== nextSeq || paged.some(({ seq }, index) => seq !== index)) {
    throw new Error(`the pages hold ${paged.length} events, and the state says ${nextSeq}`);
  }
  const strange = visited?.find(({ seq, type }) => paged[seq]!.type !== type);
  if (strange !== undefined) throw new Error(`event ${strange.seq} is another one when it is read by pages`);
  return null;
}

/** What is said to be wrong: a log that a reader takes without a fault must have no damage, and the other way round. */
function checkDiagnosis({ bytes }: FuzzInput, found: LogDiagnosis, isFaultless: boolean): string {
  const damages = found.findings.filter(({ severity }) => severity === "damage");
  for (const { offsetBytes, sizeBytes, message } of found.findings) {
    const end = (offsetBytes ?? 0) + sizeBytes;
    if (!(end >= 0 && end <= bytes.length)) {
      throw new Error(`a finding of ${bytes.length} bytes ends at ${end}: ${message}`);
    }
  }
  // What older versions mean by damage is their own decoder's matter: what is intact may still have no place in version 3.
  if (found.version !== FORMAT_VERSION) return `${found.version ?? "another version"}`;
  if (isFaultless && damages.length > 0) {
    throw new Error(`a log that can be written is said to be damaged: ${JSON.stringify(damages[0])}`);
  }
  if (!isFaultless && damages.length === 0) {
    throw new Error("a log that cannot be written is said to be without damage");
  }
  return found.findings[0]?.kind ?? "ok";
}

interface SalvagedInput {
  readonly end: string;
  /** `null` when nothing was salvaged. */
  readonly diagnosis: LogDiagnosis | null;
  /** Of every event of every copy. */
  readonly times: ReadonlySet<number>;
}

/** Every how many inputs of several damages a salvage is written too; planning one does all but that. */
const WRITTEN_EVERY = 4;

/** Salvages into new sessions. Each must open without a fault, hold what the plan says, and end with where it comes from. */
async function salvageInput({ bytes, number, undamaged }: FuzzInput): Promise<SalvagedInput> {
  const times = new Set<number>();
  if (undamaged === null && number % WRITTEN_EVERY !== 0) {
    const plan = await planSalvage(logBytes("log", bytes), { codec }).catch(typed);
    if (plan instanceof HoldfastError) return { end: plan.code, diagnosis: null, times };
    return { end: "planned", diagnosis: plan.diagnosis, times };
  }
  const storage = new MemoryStorage();
  let ids = 0;
  const options = {
    storage,
    codec,
    clock,
    random,
    keep: "all",
    newId: () => `copy${ids++}`,
    compression: "none",
  } as const;
  const made = await salvageLog(logBytes("log", bytes), options).catch(typed);
  if (made instanceof HoldfastError) {
    // Bytes in memory never change, and what was made must open.
    const isOwnFault = made.code === "SOURCE_DRIFT" || /does not open again/.test(made.message);
    if (isOwnFault) throw new Error(`salvage blames others: ${made.message}`);
    return { end: made.code, diagnosis: null, times };
  }
  for (const { id, log, events } of made.sessions) {
    let last: SessionEvent | null = null;
    const visit = (event: SessionEvent) => {
      last = event;
      times.add(event.time);
    };
    const copy = await openLogFile({ storage, codec, clock, random }, log, { visit });
    const { nextSeq, fault, torn } = copy.state();
    await copy.close();
    if (fault !== null || torn !== null) {
      throw new Error(`the copy "${id}" is damaged: ${JSON.stringify(fault ?? torn)}`);
    }
    if (nextSeq !== events + 1) {
      throw new Error(`the copy "${id}" has ${nextSeq} events, and ${events + 1} were planned`);
    }
    if (last!.type !== "log/salvaged") throw new Error(`the copy "${id}" does not say where it comes from`);
  }
  await storage.close();
  const end = made.sessions.length === 1 ? "ok" : `${made.sessions.length} copies`;
  return { end, diagnosis: made.plan.diagnosis, times };
}

/** Lets typed errors through as values. */
function typed(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  throw error;
}
