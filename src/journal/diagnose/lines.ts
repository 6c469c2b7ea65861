/**
 * The lines of a log, whatever its encoding and its state: in a file of frames those of their content, else those of the file.
 *
 * @module
 */
import { readChunks } from "../byte_source.ts";
import type { LogEncoding } from "../layout.ts";
import { type Diagnosis, diagnosis } from "./kinds.ts";
import { zstdRegions } from "./regions.ts";
import { areZeros, type BytePlace, type LogBytes, type LookOptions } from "./source.ts";

/** One line, without its `\n`. */
export interface FoundLine {
  readonly text: string;
  /** The bytes of the file that hold it: itself, or the frame or frames that it lies in. */
  readonly place: BytePlace;
  /** Whether it stands in a frame that is damaged: nobody has verified its text. */
  readonly isUnverified: boolean;
  /** Whether a `\n` ends it. */
  readonly isEnded: boolean;
  /** Whether bytes in it are no UTF-8. */
  readonly isGarbled: boolean;
  /** Whether it goes over several frames. */
  readonly isSplit: boolean;
}

/** A line, or bytes that hold none. */
export type LineEvidence =
  | { readonly kind: "line"; readonly line: FoundLine }
  /** `isLost`: the bytes at `place` give no line at all, or not all their lines. */
  | { readonly kind: "damage"; readonly finding: Diagnosis; readonly place: BytePlace; readonly isLost: boolean };

/** The lines from `startBytes`, where a frame or a line begins. */
export function readLines(
  source: LogBytes,
  encoding: LogEncoding,
  startBytes: number,
  options: LookOptions,
): AsyncGenerator<LineEvidence, void, undefined> {
  return encoding === "zstd" ? linesOfFrames(source, startBytes, options) : linesOfFile(source, startBytes, options);
}

async function* linesOfFrames(
  source: LogBytes,
  startBytes: number,
  options: LookOptions,
): AsyncGenerator<LineEvidence, void, undefined> {
  const splitter = new Splitter(options.limits.contentSizeBytesMax);
  for await (const region of zstdRegions(source, startBytes, options)) {
    const { offsetBytes, sizeBytes, content, damage } = region;
    const place = { offsetBytes, sizeBytes };
    if (damage !== null) {
      yield* unfinished(splitter);
      yield { kind: "damage", finding: diagnosis(damage.kind, place, null, damage.message), place, isLost: true };
    }
    for (const { bytes, startedAt } of splitter.feed(content, offsetBytes, offsetBytes + sizeBytes)) {
      const from = startedAt ?? offsetBytes;
      const around = { offsetBytes: from, sizeBytes: offsetBytes + sizeBytes - from };
      yield lineOf(bytes, around, { isUnverified: damage !== null, isEnded: true, isSplit: startedAt !== null });
    }
    if (splitter.isTooLong) yield tooLong(place, options);
    // What a damaged frame begins, no other frame ends.
    if (damage !== null) splitter.drop();
  }
  yield* unfinished(splitter);
}

function* unfinished(splitter: Splitter): Generator<LineEvidence, void, undefined> {
  const rest = splitter.drop();
  if (rest === null) return;
  const place = { offsetBytes: rest.startedAt, sizeBytes: rest.endedAt - rest.startedAt };
  const message = "the last row of a whole frame has no end";
  const finding = diagnosis("unfinished-row", place, null, message);
  yield { kind: "line", line: { ...decoded(rest.bytes), place, ...ALONE, isEnded: false } };
  yield { kind: "damage", finding, place, isLost: false };
}

async function* linesOfFile(
  source: LogBytes,
  startBytes: number,
  options: LookOptions,
): AsyncGenerator<LineEvidence, void, undefined> {
  const splitter = new Splitter(options.limits.contentSizeBytesMax);
  let at = startBytes;
  let lineAt = startBytes;
  for await (const chunk of readChunks(source, startBytes, source.sizeBytes, options.signal)) {
    for (const { bytes, sizeBytes } of splitter.feed(chunk, at)) {
      const place = { offsetBytes: lineAt, sizeBytes: sizeBytes + 1 };
      lineAt += sizeBytes + 1;
      yield bytes === null ? tooLong(place, options) : lineOf(bytes, place, ALONE);
    }
    at += chunk.length;
  }
  const sizeBytes = at - lineAt;
  if (sizeBytes === 0) return;
  const place = { offsetBytes: lineAt, sizeBytes };
  const rest = splitter.drop();
  if (rest === null) {
    yield tooLong(place, options);
    return;
  }
  if (areZeros(rest.bytes)) {
    const finding = diagnosis("zero-filled-tail", place, null, `${sizeBytes} zeros behind the last line`);
    yield { kind: "damage", finding, place, isLost: true };
    return;
  }
  yield lineOf(rest.bytes, place, { ...ALONE, isEnded: false });
}

function tooLong(place: BytePlace, { limits }: LookOptions): LineEvidence {
  const message = `a line of more than ${limits.contentSizeBytesMax} bytes`;
  return { kind: "damage", finding: diagnosis("size-bomb", place, null, message), place, isLost: true };
}

/** What is known of a line beside its bytes. */
type LineTraits = Pick<FoundLine, "isUnverified" | "isEnded" | "isSplit">;

const ALONE: LineTraits = { isUnverified: false, isEnded: true, isSplit: false };

function lineOf(bytes: Uint8Array | null, place: BytePlace, traits: LineTraits): LineEvidence {
  return { kind: "line", line: { ...decoded(bytes ?? new Uint8Array(0)), place, ...traits } };
}

const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });
const ENCODER = new TextEncoder();

function decoded(bytes: Uint8Array): { readonly text: string; readonly isGarbled: boolean } {
  const text = DECODER.decode(bytes);
  return { text, isGarbled: text.includes("\ufffd") && !isSame(ENCODER.encode(text), bytes) };
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

/** Cuts what arrives in pieces at each `\n`. A line over the bound is counted and not kept. */
class Splitter {
  readonly #sizeBytesMax: number;
  #parts: Uint8Array[] = [];
  #sizeBytes = 0;
  #startedAt: number | null = null;
  #endedAt = 0;
  /** Whether the last `feed()` met a line over the bound. */
  isTooLong = false;

  constructor(sizeBytesMax: number) {
    this.#sizeBytesMax = sizeBytesMax;
  }

  /** The lines that end here. `bytes` is `null` for one over the bound; `startedAt` names the piece that began it, when an earlier one. */
  *feed(
    piece: Uint8Array,
    pieceAt: number,
    /** Of a frame: where it ends in the file. Blank lines that follow each other are then given as one: a few bytes can hold millions. */
    frameEnd: number | null = null,
  ): Generator<{ bytes: Uint8Array | null; sizeBytes: number; startedAt: number | null }, void, undefined> {
    this.isTooLong = false;
    let at = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, at)) {
      const part = piece.subarray(at, end);
      at = end + 1;
      const sizeBytes = this.#sizeBytes + part.length;
      const startedAt = this.#startedAt;
      const isKept = sizeBytes <= this.#sizeBytesMax;
      if (!isKept) this.isTooLong = true;
      const bytes = !isKept ? null : this.#parts.length === 0 ? part : joined([...this.#parts, part], sizeBytes);
      this.#reset();
      yield { bytes, sizeBytes, startedAt };
      if (frameEnd !== null && sizeBytes === 0) { while (piece[at] === NEWLINE) at += 1; }
    }
    if (at === piece.length) return;
    const rest = piece.subarray(at);
    this.#startedAt ??= pieceAt;
    this.#endedAt = frameEnd ?? pieceAt + rest.length;
    this.#sizeBytes += rest.length;
    if (this.#sizeBytes > this.#sizeBytesMax) this.#parts = [];
    else this.#parts.push(rest.slice());
  }

  /** Takes what no `\n` has ended; `null` when there is nothing, or it is over the bound. */
  drop(): { bytes: Uint8Array; startedAt: number; endedAt: number } | null {
    const isKept = this.#sizeBytes > 0 && this.#sizeBytes <= this.#sizeBytesMax;
    const rest = isKept
      ? { bytes: joined(this.#parts, this.#sizeBytes), startedAt: this.#startedAt!, endedAt: this.#endedAt }
      : null;
    this.#reset();
    return rest;
  }

  #reset(): void {
    this.#parts = [];
    this.#sizeBytes = 0;
    this.#startedAt = null;
  }
}

const NEWLINE = 0x0a;

function joined(parts: readonly Uint8Array[], sizeBytes: number): Uint8Array {
  const whole = new Uint8Array(sizeBytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
