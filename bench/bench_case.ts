/**
 * What a benchmark case is: data and functions that name no runtime, so that the same case runs in all of them.
 *
 * @module
 */
import type { SessionStore } from "../mod.ts";

/** Something that makes bytes durable without us. What we measure is compared with it. */
export interface RawWriter {
  /** How the table calls it: `append + fdatasync`. */
  readonly name: string;
  open(): Promise<OpenRawWriter>;
}

/** A raw writer that was opened. */
export interface OpenRawWriter {
  /** Writes the bytes. They are durable, as far as the medium says, when it returns or resolves. */
  write(bytes: Uint8Array<ArrayBuffer>): void | Promise<void>;
  close(): void | Promise<void>;
}

/** A store that is no journal. */
export interface NamedStore {
  /** How the table calls it: `sqlite`. */
  readonly name: string;
  open(): SessionStore | Promise<SessionStore>;
}

/** Something that reads a log without us: it knows no events and checks nothing. */
export interface LogParser {
  /** How the table calls it: `read + zstd + JSON.parse`. */
  readonly name: string;
  /**
   * Puts the rows where they are read from.
   *
   * @param parts rows with their line ends, about a mebibyte each
   */
  prepare(parts: AsyncIterable<string>): Promise<PreparedParser>;
}

/** A parser and its rows. */
export interface PreparedParser {
  /** Reads and parses every row. @returns how many there were */
  parse(): number | Promise<number>;
  close(): void | Promise<void>;
}

/** A program of its own that makes the same bytes durable, and takes the time itself. */
export interface NativeWriter {
  /** How the table calls it: `C write + fdatasync`. */
  readonly name: string;
  open(bytes: Uint8Array<ArrayBuffer>): Promise<OpenNativeWriter>;
}

/** A native writer that was started. */
export interface OpenNativeWriter {
  /** Appends the bytes once more. @returns how long that took it, in milliseconds, the way to it not counted */
  append(): Promise<number>;
  close(): Promise<void>;
}

/** Something that makes bytes appear whole under a new name, without us. */
export interface Publisher {
  readonly name: string;
  /** @returns when the name is durable, too */
  publish(bytes: Uint8Array<ArrayBuffer>): void | Promise<void>;
}

/** Many sessions that were put on the medium without a sync each. */
export interface PlantedSessions {
  readonly store: SessionStore;
  /** Finds every log and reads as much of it as listing may. @returns how many bytes that were */
  readAll(): number | Promise<number>;
  close(): Promise<void>;
}

/** Compresses and decompresses one frame. */
export interface BenchCodec {
  readonly name: string;
  compress(plain: Uint8Array): Uint8Array;
  decompress(frame: Uint8Array): Uint8Array;
}

/** How a store is wanted. */
export interface StoreWish {
  /** Default: the medium's, which is zstd. */
  readonly compression?: "zstd" | "none";
}

/** What a runtime lends to the cases. What is optional and absent leaves out the contestants, or the cases, that need it. */
export interface Place {
  /** `Deno 2.9.6`. */
  readonly runtime: string;
  /** What the bytes end up on: `files`, `OPFS`. */
  readonly medium: string;
  /** A store of ours on this medium. */
  openStore(wish?: StoreWish): SessionStore | Promise<SessionStore>;
  /** Whether a store can be wanted without compression. */
  readonly hasUncompressed?: boolean;
  readonly nativeWriter?: NativeWriter;
  /** A raw writer whose writes to several files overlap, as well as this runtime can. */
  readonly parallelWriter?: RawWriter;
  readonly publisher?: Publisher;
  plantSessions?(count: number, like: { readonly store: SessionStore; readonly id: string }): Promise<PlantedSessions>;
  readonly codecs?: readonly BenchCodec[];
  /** How many bytes the process has read by system calls so far; `null` where nobody counts them. */
  bytesRead?(): number | null;
  /** How much memory the process holds now. */
  residentBytes?(): number;
  /** Other stores of ours, on the same medium or on a server. */
  readonly otherStores?: readonly NamedStore[];
  /** The first one is what ratios are taken against. */
  readonly rawWriters: readonly [RawWriter, ...RawWriter[]];
  /** What opening a log is compared with. */
  readonly logParser: LogParser;
  /** Baselines that this runtime does not have, with the reason. */
  readonly absent: readonly Absent[];
  /** Time that never goes back, in milliseconds with fractions. */
  nowMs(): number;
  sleep(delayMs: number): Promise<void>;
}

/** What could not be measured. */
export interface Absent {
  readonly name: string;
  readonly reason: string;
}

/** One contestant of a latency case. */
export interface Lane {
  readonly name: string;
  prepare(place: Place): Promise<PreparedLane>;
}

/** A contestant that is ready. */
export interface PreparedLane {
  /** What is timed. A number that comes back is the time in milliseconds, for a round that takes it itself. */
  round(): void | number | Promise<void | number>;
  /** What belongs to the round and is not timed. */
  after?(): Promise<void>;
  /** What else is known at the end, such as how small the log became. */
  facts?(): Promise<Facts>;
  close(): void | Promise<void>;
}

/** Figures beside the samples, by name. */
export type Facts = Readonly<Record<string, number>>;

/** A case whose rounds are timed from outside: every lane once per round, in turn. */
export interface LatencyCase {
  readonly kind: "latency";
  readonly name: string;
  readonly unit: "ms";
  /** What ends the time. Default "until durable". */
  readonly measure?: string;
  /** At most so many warm-up rounds, and at least so many that count, whatever the budget says: for rounds that take long. */
  readonly longRounds?: { readonly warmUpMax: number; readonly min: number };
  /** Runs only when it is named whole: it takes minutes. */
  readonly isLarge?: true;
  lanes(place: Place): readonly Lane[];
  /** The name of the lane that the others are compared with. */
  baseline(place: Place): string;
}

/** One contestant of a stream case. */
export interface StreamLane {
  readonly name: string;
  /** Runs one stream and returns what was seen, series by series. */
  stream(place: Place, shape: StreamShape): Promise<StreamSeen>;
}

/** How events come. */
export interface StreamShape {
  readonly eventsPerSecond: number;
  readonly durationMs: number;
}

/** What one stream showed, one entry per acknowledged sync. */
export interface StreamSeen {
  /** How many events each sync made durable. */
  readonly eventsPerSync: readonly number[];
  /** How long the oldest event of each sync had been at risk when it was acknowledged: from the instant it was due. */
  readonly oldestAgeMs: readonly number[];
}

/** A case that has its own pace. Its streams of each lane alternate. */
export interface StreamCase {
  readonly kind: "stream";
  readonly name: string;
  readonly eventsPerSecond: number;
  lanes(place: Place): readonly StreamLane[];
  baseline(place: Place): string;
}

/** A case that arranges its contestants itself: many sessions at once, a long stream, memory. */
export interface LoadCase {
  readonly kind: "load";
  readonly name: string;
  /** Runs only when it is named whole: it takes minutes. */
  readonly isLarge?: true;
  /** `null` when this place cannot do it. */
  run(place: Place, budget: Budget, tell: (text: string) => void): Promise<CaseResult | null>;
}

/** Any case. */
export type BenchCase = LatencyCase | StreamCase | LoadCase;

/** How much is measured. */
export interface Budget {
  readonly warmUpRounds: number;
  /** Rounds that count, of a latency case. */
  readonly rounds: number;
  /** A latency case ends after this long, whatever it has. */
  readonly timeMaxMs: number;
  /** Streams per lane of a stream case. */
  readonly streams: number;
  readonly streamMs: number;
}

/** The usual budget: about two minutes per runtime. */
export const BUDGET_FULL: Budget = { warmUpRounds: 20, rounds: 400, timeMaxMs: 20_000, streams: 2, streamMs: 2000 };
/** A look at whether it works, in a few seconds. Its figures are not worth quoting. */
export const BUDGET_QUICK: Budget = { warmUpRounds: 3, rounds: 30, timeMaxMs: 4000, streams: 1, streamMs: 500 };

/** What one lane measured, one sample per round or per sync. */
export interface Series {
  readonly lane: string;
  /** What was measured: `flush`, `events per sync`, `oldest at risk`. */
  readonly measure: string;
  readonly unit: "ms" | "events" | "bytes" | "per second";
  readonly samples: readonly number[];
}

/** What one case measured. */
export interface CaseResult {
  readonly name: string;
  /** The lane that ratios are taken against. */
  readonly baseline: string;
  /** Whether samples of equal index come from the same round. */
  readonly isPaired: boolean;
  readonly series: readonly Series[];
  /** Figures beside the samples: `holdfast: log bytes per raw byte`. */
  readonly facts?: Facts;
}

/** What one runtime measured. */
export interface RuntimeResult {
  readonly runtime: string;
  readonly medium: string;
  readonly absent: readonly Absent[];
  /** What a reader of the figures must know, such as the steps of the clock. */
  readonly notes?: readonly string[];
  readonly cases: readonly CaseResult[];
}
