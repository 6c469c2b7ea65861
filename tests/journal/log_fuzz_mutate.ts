/**
 * Damage: what can happen to the bytes of a log, drawn from one seed.
 *
 * An input is made by its number alone, so that each can be made again.
 *
 * @module
 */
import { encodeLines } from "../../src/frame/mod.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { type SeededRandom, seededRandom } from "../support/seeded_random.ts";
import type { Seed, SeedPart } from "./log_fuzz_seeds.ts";

/** A damaged log. */
export interface FuzzInput {
  readonly number: number;
  readonly seed: Seed;
  /** What was done, in order. */
  readonly damages: readonly string[];
  readonly bytes: Uint8Array<ArrayBuffer>;
  /**
   * The rows of events that are there byte for byte, in a frame or line of their own that nothing touched. `null` when several
   * things were done, or the log is not one of ours.
   */
  readonly undamaged: readonly string[] | null;
}

/** A log as a list of parts. What was touched is bytes alone, and yields no undamaged row. */
type Parts = SeedPart[];

const codec = portableZstd();

/** How many logs of several damages there are to one of a single one. */
const DAMAGES_MAX = 4;

/** Values that a member of a row may suddenly have. */
const STRANGE: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e308, 9007199254740993, "", "a", "\ud800", "__proto__", [], [[]], {}, [null], [
    -1,
  ]],
  ...[[0, 1, 2], [[0, 9007199254740991]], [[0, 4_000_000]], { op: "replace", startSeq: 0, endSeq: 1 }, "append"],
  ...["session/end-seed", "user/message", "compaction/start", "future/event", "log/salvaged", 2, 3, 4, 99],
];

/** Makes input `number` of the fuzz that `start` names. */
export function fuzzInput(start: number, number: number, seeds: readonly Seed[]): FuzzInput {
  const random = seededRandom((Math.imul(start, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b)) >>> 0);
  // Half of the inputs are logs of ours, however many fixtures there are.
  const own = seeds.filter(({ isOurs }) => isOurs);
  const seed = random.pick(random.below(2) === 0 ? own : seeds);
  const damages: string[] = [];
  let parts: Parts = [...seed.parts];
  const count = random.below(2) === 0 ? 1 : 1 + random.below(DAMAGES_MAX);
  for (let done = 0; done < count; done++) {
    const [name, damage] = random.pick(DAMAGES);
    damages.push(name);
    parts = damage(parts, random, seed, seeds);
  }
  const undamaged = seed.isOurs && count === 1
    ? parts.flatMap((part) => isEventPart(part, seed) ? part.rows : [])
    : null;
  return { number, seed, damages, bytes: joined(parts), undamaged };
}

/** The header is no event. */
function isEventPart(part: SeedPart, seed: Seed): boolean {
  return part.rows !== seed.parts[0]!.rows && part.rows.length > 0 && !part.rows[0]!.startsWith('{"type":"session",');
}

type Damage = (parts: Parts, random: SeededRandom, seed: Seed, seeds: readonly Seed[]) => Parts;

const DAMAGES: readonly (readonly [string, Damage])[] = [
  ["bit flip", (parts, random) =>
    onBytes(parts, (bytes) => {
      if (bytes.length === 0) return [0, 0, bytes];
      const at = random.below(bytes.length);
      return [at, at + 1, Uint8Array.of(bytes[at]! ^ (1 << random.below(8)))];
    })],
  ["bytes overwritten", (parts, random) =>
    onBytes(parts, (bytes) => {
      const [start, end] = span(bytes.length, 32, random);
      return [start, end, random.bytes(end - start)];
    })],
  ["zeros", (parts, random) =>
    onBytes(parts, (bytes) => {
      const [start, end] = span(bytes.length, 600, random);
      return [start, random.below(2) === 0 ? bytes.length : end, new Uint8Array(end - start)];
    })],
  ["cut off", (parts, random) => onBytes(parts, (bytes) => [random.below(bytes.length + 1), bytes.length, NOTHING])],
  [
    "piece missing",
    (parts, random) => onBytes(parts, (bytes) => [...span(bytes.length, 400, random), NOTHING] as const),
  ],
  ["piece twice", (parts, random) =>
    onBytes(parts, (bytes) => {
      const [start, end] = span(bytes.length, 400, random);
      const at = random.below(bytes.length + 1);
      return [at, at, bytes.slice(start, end)];
    })],
  ["garbage", (parts, random) =>
    onBytes(parts, (bytes) => {
      const at = random.below(3) === 0 ? bytes.length : random.below(bytes.length + 1);
      return [at, at, random.bytes(1 + random.below(64))];
    })],
  ["piece of another log", (parts, random, _seed, seeds) =>
    onBytes(parts, (bytes) => {
      const other = joined(random.pick(seeds).parts);
      const [start, end] = span(other.length, 1500, random);
      const [from, to] = span(bytes.length, 200, random);
      return [from, to, other.slice(start, end)];
    })],
  ["part missing", (parts, random) => parts.length === 0 ? parts : parts.toSpliced(random.below(parts.length), 1)],
  ["part twice", (parts, random) => {
    if (parts.length === 0) return parts;
    return parts.toSpliced(random.below(parts.length + 1), 0, random.pick(parts));
  }],
  ["parts swapped", (parts, random) => {
    if (parts.length < 2) return parts;
    const [a, b] = [random.below(parts.length), random.below(parts.length)];
    const swapped = [...parts];
    [swapped[a], swapped[b]] = [parts[b]!, parts[a]!];
    return swapped;
  }],
  ["part of another log", (parts, random, _seed, seeds) => {
    const other = random.pick(seeds).parts;
    return other.length === 0
      ? parts
      : parts.toSpliced(random.below(parts.length + 1), 0, touched(random.pick(other).bytes));
  }],
  ["size field", (parts, random, seed) => onPart(parts, random, (part) => sizeField(part, random, seed))],
  ["member of a row", (parts, random, seed) => onPart(parts, random, (part) => rowMember(part, random, seed))],
  ["rows swapped", (parts, random, seed) =>
    onPart(parts, random, ({ rows, bytes }) => {
      if (rows.length < 2) return touched(bytes);
      const [a, b] = [random.below(rows.length), random.below(rows.length)];
      const swapped = [...rows];
      [swapped[a], swapped[b]] = [rows[b]!, rows[a]!];
      return part(swapped, seed);
    })],
  ["row missing", (parts, random, seed) =>
    onPart(parts, random, ({ rows, bytes }) => {
      return rows.length < 2 ? touched(bytes) : part(rows.toSpliced(random.below(rows.length), 1), seed);
    })],
  ["member of the header", (parts, random, seed) => {
    if (parts.length === 0) return parts;
    return parts.with(0, rowMember(parts[0]!, random, seed));
  }],
  ["line ends", (parts, random, seed) =>
    onPart(parts, random, ({ rows, bytes }) => {
      if (rows.length === 0) return touched(bytes);
      const text = rows.join(random.pick(["", "\r\n", "\n\n", "\n\0\0\n", "\r"])) +
        random.pick(["\n", "", "\r\n", "\ufeff\n"]);
      const plain = new TextEncoder().encode(random.below(4) === 0 ? `\ufeff${text}` : text);
      return touched(seed.encoding === "zstd" ? codec.compress(plain) : plain);
    })],
];

const NOTHING = new Uint8Array(0);

/** A part of which nothing is undamaged. */
function touched(bytes: Uint8Array<ArrayBuffer>): SeedPart {
  return { bytes, rows: [] };
}

/** Whole rows as one part. */
function part(rows: readonly string[], { encoding }: Seed): SeedPart {
  const plain = encodeLines(rows);
  return { rows, bytes: encoding === "zstd" ? codec.compress(plain) : plain };
}

function onPart(parts: Parts, random: SeededRandom, change: (part: SeedPart) => SeedPart): Parts {
  if (parts.length === 0) return parts;
  const index = random.below(parts.length);
  return parts.with(index, change(parts[index]!));
}

/** Replaces a stretch of the whole file. The parts that lie wholly outside of it stay what they are. */
function onBytes(
  parts: Parts,
  change: (
    bytes: Uint8Array<ArrayBuffer>,
  ) => readonly [start: number, end: number, replacement: Uint8Array<ArrayBuffer>],
): Parts {
  const bytes = joined(parts);
  const [start, end, replacement] = change(bytes);
  const before: Parts = [];
  const behind: Parts = [];
  let [offset, from, to] = [0, start, end];
  for (const each of parts) {
    const endOffset = offset + each.bytes.length;
    if (endOffset <= start) before.push(each);
    else if (offset >= end) behind.push(each);
    else [from, to] = [Math.min(from, offset), Math.max(to, endOffset)];
    offset = endOffset;
  }
  const middle = joined([touched(bytes.slice(from, start)), touched(replacement), touched(bytes.slice(end, to))]);
  return [...before, touched(middle), ...behind];
}

function span(length: number, sizeMax: number, random: SeededRandom): [start: number, end: number] {
  const start = random.below(length + 1);
  return [start, Math.min(length, start + 1 + random.below(sizeMax))];
}

/** One member of one row, at any depth, gets a strange value or goes. The other rows are undamaged. */
function rowMember({ rows, bytes }: SeedPart, random: SeededRandom, seed: Seed): SeedPart {
  if (rows.length === 0) return touched(bytes);
  const index = random.below(rows.length);
  let value: unknown;
  try {
    value = JSON.parse(rows[index]!);
  } catch {
    return touched(bytes);
  }
  const row = JSON.stringify(withStrangeMember(value, random));
  return { ...part(rows.with(index, row), seed), rows: rows.toSpliced(index, 1) };
}

function withStrangeMember(value: unknown, random: SeededRandom): unknown {
  if (typeof value !== "object" || value === null) return random.pick(STRANGE);
  const record = value as Record<string, unknown>;
  const keys = Object.keys(record);
  if (keys.length === 0 || random.below(12) === 0) {
    return { ...record, [random.pick(["seq", "system", "x"])]: random.pick(STRANGE) };
  }
  const key = random.pick(keys);
  const member = record[key];
  if (typeof member === "object" && random.below(3) > 0) return { ...record, [key]: withStrangeMember(member, random) };
  if (typeof member === "number" && random.below(2) === 0) {
    return { ...record, [key]: member + random.pick([-1, 1, 2, 0.5]) };
  }
  if (random.below(5) === 0) delete record[key];
  else record[key] = random.pick(STRANGE);
  return record;
}

/** What a frame says about sizes: of its content, its window, its blocks, itself. Raw lines have none and grow instead. */
function sizeField({ bytes, rows }: SeedPart, random: SeededRandom, { encoding }: Seed): SeedPart {
  if (encoding === "none" || bytes.length < 12) {
    const copies = 1 + random.below(8);
    return touched(joined(Array.from({ length: copies }, () => touched(bytes))));
  }
  const changed = bytes.slice();
  switch (random.below(4)) {
    case 0: // the descriptor and the sizes behind it
      changed.set(random.bytes(1 + random.below(5)), 4);
      break;
    case 1: { // the content size alone, in its widest form
      const header = Uint8Array.of(
        ...bytes.subarray(0, 4),
        0xe4,
        ...random.bytes(random.below(8)),
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
      );
      return touched(joined([touched(header.slice(0, 13)), touched(bytes.slice(7))]));
    }
    case 2: { // a header of a block
      const at = 6 + random.below(4);
      if (at + 3 <= changed.length) changed.set(random.bytes(3), at);
      break;
    }
    default: { // blocks that repeat one byte: four bytes of file for up to 128 KiB of content
      const count = 2 ** random.below(random.below(8) === 0 ? 7 : 3);
      const block = (isLast: boolean) => {
        const header = (isLast ? 1 : 0) | (1 << 1) | ((1 + random.below(128 * 1024)) << 3);
        return [header & 255, (header >> 8) & 255, (header >> 16) & 255, random.pick([0, 10, 32, 0x5b, 0x7b])];
      };
      const blocks = Array.from({ length: count }, (_, index) => block(index === count - 1)).flat();
      return touched(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, ...blocks));
    }
  }
  return { bytes: changed, rows: changed.every((byte, index) => byte === bytes[index]) ? rows : [] };
}

function joined(parts: readonly SeedPart[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { bytes }) => sum + bytes.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part.bytes, offset);
    offset += part.bytes.length;
  }
  return bytes;
}
