/**
 * A snapshot as bytes: one line that says what it is and its SHA-256, then one line of JSON.
 *
 * It stands for the beginning of one log. Everything in it can be computed from the log, so whatever is wrong with a snapshot means
 * only that it is computed again.
 *
 * @module
 */
import type { LogEncoding } from "../layout.ts";
import { sha256Hex } from "../digest.ts";
import type { SeekPlaces } from "../seek_index.ts";

/** How a snapshot is written down. Raised when the same facts would be written in another way. */
const SNAPSHOT_FORM = 1;

/** What the first line begins with. */
const MARK = `holdfast-snapshot ${SNAPSHOT_FORM} `;

/** How long the first line is, in bytes: the mark, 64 hex digits, a line feed. */
const FIRST_LINE_BYTES = MARK.length + 64 + 1;

/** What a snapshot says. */
export interface Snapshot {
  /** The versions of the folds in `kept`. */
  readonly foldsVersion: string;
  readonly encoding: LogEncoding;
  /** Where the header ends, and the SHA-256 of it: another log has another header. */
  readonly headerEndBytes: number;
  readonly headerDigest: string;
  /** How much of the log it stands for: everything before it was durable when it was written. */
  readonly coveredBytes: number;
  /** Where the last frame of that begins. */
  readonly lastStartBytes: number;
  /**
   * The SHA-256 of the end of it: of the last frame, and of what is before it up to SNAPSHOT_COMPARED_BYTES. A log that was cut and
   * written anew has something else there.
   */
  readonly endDigest: string;
  /** The medium's word for the file as it was then. It means nothing when the file has grown since. */
  readonly revision: string;
  readonly frames: number;
  readonly inheritedEventCount: number;
  readonly hasInheritedSeed: boolean;
  readonly places: SeekPlaces;
  /** What `readKept` takes. */
  readonly kept: unknown;
}

/**
 * @param keptText the JSON text of `kept`, which may be large and is there already
 * @returns the bytes, and the digest that its name carries
 */
export async function encodeSnapshot(
  facts: Omit<Snapshot, "kept">,
  keptText: string,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly digest: string }> {
  const places = { ...facts.places, offsets: steps(facts.places.offsets), seqs: steps(facts.places.seqs) };
  const body = new TextEncoder().encode(`${JSON.stringify({ ...facts, places }).slice(0, -1)},"kept":${keptText}}\n`);
  const digest = await sha256Hex(body);
  const bytes = new Uint8Array(FIRST_LINE_BYTES + body.length);
  bytes.set(new TextEncoder().encode(`${MARK}${digest}\n`));
  bytes.set(body, FIRST_LINE_BYTES);
  return { bytes, digest };
}

/** What some bytes say; `null` when they are no whole snapshot of this form. */
export async function decodeSnapshot(bytes: Uint8Array<ArrayBuffer>): Promise<Snapshot | null> {
  const first = new TextDecoder().decode(bytes.subarray(0, FIRST_LINE_BYTES));
  const body = bytes.subarray(FIRST_LINE_BYTES);
  if (first !== `${MARK}${await sha256Hex(body)}\n`) return null;
  try {
    const { places, ...facts } = JSON.parse(new TextDecoder().decode(body)) as Snapshot;
    return { ...facts, places: { ...places, offsets: sums(places.offsets), seqs: sums(places.seqs) } };
  } catch {
    // Its digest is right, so it was written by a program that means something else by it.
    return null;
  }
}

/** Ascending numbers as the steps between them, which are shorter to write. */
function steps(numbers: readonly number[]): number[] {
  return numbers.map((value, index) => value - (numbers[index - 1] ?? 0));
}

function sums(steps: readonly number[]): number[] {
  let sum = 0;
  return steps.map((step) => sum += step);
}
