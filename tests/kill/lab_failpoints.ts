/**
 * Failpoints: named places in a process at one of which it dies. Knows no runtime: how to die is handed in.
 *
 * A point is named `phase.what/verb/side`, such as `turn.marker/sync/before` or `open.verdict/append/inside`. The phase is `open`
 * until a session is taken up, then `turn`.
 *
 * @module
 */
import type { StorageFile, StoragePort } from "../../src/storage/storage_port.ts";
import type { TraceLine } from "./stretched_disk.ts";
import { firstPart } from "./torn_part.ts";
import { wrapStorage } from "./wrapped_storage.ts";

/** Where a process shall die. */
export type Aim =
  /** At the n-th point that it comes to, from 1 on. */
  | { readonly kind: "nth"; readonly nth: number }
  /** When it comes to the named point for the n-th time. */
  | { readonly kind: "named"; readonly point: string; readonly nth: number };

/** How a process of this runtime ends at a point. */
export interface Death {
  /** Says where, before it dies. */
  readonly announce: (point: string, passed: number) => void;
  /** Dies, or stands still until it is killed. While the promise is pending, other work of the process may go on. */
  readonly die: () => Promise<never>;
  /** The same where nothing can be awaited. Nothing goes on. */
  readonly dieNow: () => never;
}

/** Where trace lines go, each at once. */
export interface TraceSink {
  add(line: TraceLine): void;
}

/** The failpoints of one process. */
export class Failpoints {
  /** `open` until the session is taken up, then `turn`. */
  phase: "open" | "turn" = "open";
  readonly #aim: Aim;
  readonly #death: Death;
  #passed = 0;
  #matches = 0;

  constructor(aim: Aim, death: Death) {
    this.#aim = aim;
    this.#death = death;
  }

  /** Those of a process that nobody kills. */
  static none(): Failpoints {
    const never = () => {
      throw new Error("unreachable");
    };
    return new Failpoints({ kind: "nth", nth: 0 }, { announce: never, die: never, dieNow: never });
  }

  /** Comes to a point. When it is the one, the promise never settles. */
  async pass(name: string): Promise<void> {
    if (this.isHere(name)) await this.dieHere(name);
  }

  /** Comes to a point where nothing can be awaited. */
  passNow(name: string): void {
    if (!this.isHere(name)) return;
    this.#death.announce(this.#full(name), this.#passed);
    this.#death.dieNow();
  }

  /** Comes to a point. @returns whether it is the one; then the caller dies, by {@linkcode dieHere} */
  isHere(name: string): boolean {
    this.#passed += 1;
    if (this.#aim.kind === "nth") return this.#passed === this.#aim.nth;
    return this.#full(name) === this.#aim.point && ++this.#matches === this.#aim.nth;
  }

  async dieHere(name: string): Promise<never> {
    this.#death.announce(this.#full(name), this.#passed);
    return await this.#death.die();
  }

  #full(name: string): string {
    return `${this.phase}.${name}`;
  }
}

/** What a batch is for, by the events in it: the first that is there. */
const BATCHES: readonly (readonly [type: string, name: string])[] = [
  ["effect/reconciled", "verdict"],
  ["tool/result", "result"],
  ["effect/dispatched", "marker"],
  ["approval/decided", "decision"],
  ["approval/asked", "question"],
  ["turn/end", "end"],
  ["assistant/message", "message"],
  ["turn/start", "input"],
];

/** What of a row is looked at. */
interface Row {
  readonly type: string;
  readonly seq?: number;
  readonly data?: { readonly reason?: { readonly kind?: string } };
}

/** How a storage is watched. */
export interface FailingStorageOptions {
  readonly points: Failpoints;
  readonly trace: TraceSink;
  /** The rows in bytes that are written to a log. */
  readonly textOf: (bytes: Uint8Array) => string;
  /** How much of a write is taken when the process dies inside of it: see `ProcessPlan`. */
  readonly tornPart: number;
}

/** A storage with failpoints around everything that changes it, which tells the trace what happens to the log. */
export function failingStorage(storage: StoragePort, options: FailingStorageOptions): StoragePort {
  const { points, trace, textOf, tornPart } = options;
  /** What was written to the log last: a sync is about that. */
  let batch: Batch = NO_BATCH;

  async function append(name: string, bytes: Uint8Array, act: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    const isLog = kindOf(name) === "log";
    if (isLog) batch = batchIn(textOf(bytes), points.phase);
    const what = isLog ? batch.name : kindOf(name);
    await points.pass(`${what}/append/before`);
    if (isLog) trace.add(["write", Date.now(), batch.first, batch.last]);
    if (points.isHere(`${what}/append/inside`)) {
      await act(bytes.subarray(0, firstPart(bytes.length, tornPart)));
      await points.dieHere(`${what}/append/inside`);
    }
    await act(bytes);
    if (isLog) trace.add(["wrote", Date.now(), batch.first, batch.last]);
    await points.pass(`${what}/append/after`);
  }

  async function synced<Result>(name: string, verb: "sync" | "publish", act: () => Promise<Result>): Promise<Result> {
    const isLog = kindOf(name) === "log";
    const what = isLog ? batch.name : kindOf(name);
    await points.pass(`${what}/${verb}/before`);
    if (isLog) trace.add(["sync", Date.now(), batch.first, batch.last]);
    const result = await act();
    if (isLog) trace.add(["synced", Date.now(), batch.first, batch.last]);
    await points.pass(`${what}/${verb}/after`);
    return result;
  }

  async function around<Result>(what: string, act: () => Promise<Result>): Promise<Result> {
    await points.pass(`${what}/before`);
    const result = await act();
    await points.pass(`${what}/after`);
    return result;
  }

  return wrapStorage(storage, {
    file: (file: StorageFile) => ({
      append: (bytes) => append(file.name, bytes, (bytes) => file.append(bytes)),
      sync: () => synced(file.name, "sync", () => file.sync()),
      truncate: (sizeBytes) => around("tail/truncate", () => file.truncate(sizeBytes)),
    }),
    stage: (staged, name) => ({
      append: (bytes) => append(name, bytes, (bytes) => staged.append(bytes)),
      publish: () => synced(name, "publish", () => staged.publish()),
    }),
    port: {
      lock: (name) => around("lock/take", () => storage.lock(name)),
      remove: (name, lock) => around(`${kindOf(name)}/remove`, () => storage.remove(name, lock)),
    },
  });
}

interface Batch {
  readonly name: string;
  /** Of its events; −1 for none. */
  readonly first: number;
  readonly last: number;
}

const NO_BATCH: Batch = { name: "nothing", first: -1, last: -1 };

function batchIn(text: string, phase: Failpoints["phase"]): Batch {
  const rows = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Row);
  const seqs = rows.flatMap(({ type, seq }) => type === "session" || seq === undefined ? [] : [seq]);
  return { name: nameOf(rows, phase), first: seqs[0] ?? -1, last: seqs.at(-1) ?? -1 };
}

function nameOf(rows: readonly Row[], phase: Failpoints["phase"]): string {
  const has = (type: string) => rows.some((row) => row.type === type);
  if (phase === "open") {
    // Before a session is taken up, everything but verdicts and closers is what a torn tail still yielded.
    const isRepair = rows.some(({ type, data }) => type === "turn/end" && data?.reason?.kind === "interrupted");
    return has("effect/reconciled") ? "verdict" : isRepair ? "closers" : "salvaged";
  }
  return BATCHES.find(([type]) => has(type))?.[1] ?? "other";
}

/** What a file is, by its name. */
function kindOf(name: string): string {
  if (/session\.v3\.jsonl(\.zstd)?$/.test(name)) return "log";
  return name.includes(".torn-") ? "torn" : "file";
}

/** The calls of a file system with a point before and behind each that changes something. Nothing can be awaited there. */
export function failingFs<Fs extends object>(fs: Fs, points: Failpoints, prefix: string): Fs {
  const changes = ["writeSync", "fsyncSync", "linkSync", "renameSync", "unlinkSync", "mkdirSync"] as const;
  const replaced = changes.flatMap((verb) => {
    const act = Reflect.get(fs, verb);
    if (typeof act !== "function") return [];
    const name = `${prefix}/${verb.replace("Sync", "")}`;
    const replacement = (...args: unknown[]) => {
      points.passNow(`${name}/before`);
      const result = Reflect.apply(act, fs, args);
      points.passNow(`${name}/after`);
      return result;
    };
    return [[verb, replacement] as const];
  });
  return { ...fs, ...Object.fromEntries(replaced) };
}

/** Requests with points before, while and after each is under way. */
export function failingFetch(fetch: typeof globalThis.fetch, points: Failpoints): typeof globalThis.fetch {
  return async (input, init) => {
    const what = points.phase === "open" ? "lookup" : "request";
    await points.pass(`${what}/send/before`);
    const answer = fetch(input, init);
    if (points.isHere(`${what}/send/inside`)) {
      answer.catch(() => {});
      // So that it has left this process, mostly.
      await new Promise((over) => setTimeout(over, 0));
      await points.dieHere(`${what}/send/inside`);
    }
    const response = await answer;
    await points.pass(`${what}/send/after`);
    return response;
  };
}
