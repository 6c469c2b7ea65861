/**
 * Whether the long results that a log names are there: each lies in a blob beside the log, and a log can be whole while one of
 * them is lost.
 *
 * @module
 */
import { hasCode, type HoldfastError } from "../errors.ts";
import type { LogReader } from "./session_store.ts";

/** What a `result/spilled` says, as far as the check needs it. */
export interface SpilledName {
  /** seq of the `result/spilled`. */
  readonly seq: number;
  /** The call whose result it is. */
  readonly callId: string;
  /** seq of that call. */
  readonly callSeq: number;
  /** SHA-256 of the blob, 64 lower-case hex digits. */
  readonly digest: string;
  /** Length of the blob, in bytes. */
  readonly sizeBytes: number;
}

/** A long result that cannot be read. */
export interface LostText extends SpilledName {
  /** `NOT_FOUND`: there is no such blob. Else what is there is not what was kept. */
  readonly code: "NOT_FOUND" | "CORRUPT_FRAME" | "TOO_LARGE";
  /** What was found, in words. */
  readonly message: string;
}

/** What became of the long results of a log. */
export interface SpilledCheck {
  /** How many the log names. */
  readonly count: number;
  /** Those whose blob is not there, in order. */
  readonly missing: readonly LostText[];
  /** Those whose blob does not decode, or has another digest, in order. */
  readonly damaged: readonly LostText[];
}

/** A blob, or why there is none to be had. */
export type FoundBlob =
  | { readonly bytes: Uint8Array<ArrayBuffer>; readonly code?: undefined }
  | { readonly bytes: null; readonly code: LostText["code"]; readonly message: string };

/**
 * Reads a blob that may be lost.
 *
 * @throws whatever else refused it: that the medium cannot be reached says nothing about the blob
 *
 * @example
 * ```ts
 * import type { LogReader } from "./session_store.ts";
 * import { findBlob } from "./check_spilled.ts";
 *
 * async function isThere(log: LogReader, digest: string): Promise<boolean> {
 *   return (await findBlob(log, digest)).bytes !== null;
 * }
 * ```
 */
export async function findBlob(source: Pick<LogReader, "getBlob">, digest: string): Promise<FoundBlob> {
  try {
    return { bytes: await source.getBlob(digest) };
  } catch (error) {
    const code = CODES.find((code) => hasCode(error, code));
    if (code === undefined) throw error;
    return { bytes: null, code, message: (error as HoldfastError).message };
  }
}

const CODES = ["NOT_FOUND", "CORRUPT_FRAME", "TOO_LARGE"] as const;

/**
 * Reads every long result that a log names, one after the other, and keeps none.
 *
 * @param texts as the log names them: the events' data with their seqs
 * @param onChecked told after each how many were looked at
 * @throws whatever refused a blob for another reason than that it is lost
 *
 * @example
 * ```ts
 * import { NotFoundError } from "../errors.ts";
 * import { checkSpilled } from "./check_spilled.ts";
 *
 * const source = { getBlob: () => Promise.reject(new NotFoundError('Cannot read blob "0": there is no such blob')) };
 * const texts = [{ seq: 7, callId: "c1", callSeq: 5, digest: "0".repeat(64), sizeBytes: 9 }];
 * const { missing } = await checkSpilled(source, texts);
 * if (missing[0]?.seq !== 7) throw new Error("unreachable");
 * ```
 */
export async function checkSpilled(
  source: Pick<LogReader, "getBlob">,
  texts: Iterable<SpilledName>,
  onChecked: (count: number) => void = () => {},
): Promise<SpilledCheck> {
  // By digest, and without the bytes: the same text may have been a result many times.
  const looked = new Map<string, Pick<LostText, "code" | "message"> | null>();
  const missing: LostText[] = [];
  const damaged: LostText[] = [];
  let count = 0;
  for (const { seq, callId, callSeq, digest, sizeBytes } of texts) {
    if (!looked.has(digest)) looked.set(digest, await lossOf(source, digest));
    const loss = looked.get(digest)!;
    if (loss !== null) {
      const list = loss.code === "NOT_FOUND" ? missing : damaged;
      list.push({ seq, callId, callSeq, digest, sizeBytes, ...loss });
    }
    onChecked(++count);
  }
  return { count, missing: inOrder(missing), damaged: inOrder(damaged) };
}

async function lossOf(
  source: Pick<LogReader, "getBlob">,
  digest: string,
): Promise<Pick<LostText, "code" | "message"> | null> {
  const found = await findBlob(source, digest);
  return found.bytes === null ? { code: found.code, message: found.message } : null;
}

function inOrder(lost: readonly LostText[]): readonly LostText[] {
  return lost.toSorted((left, right) => left.seq - right.seq);
}

/**
 * Every long result that is lost, in the log's order.
 *
 * @example
 * ```ts
 * import { lostTexts } from "./check_spilled.ts";
 *
 * if (lostTexts({ count: 0, missing: [], damaged: [] }).length !== 0) throw new Error("unreachable");
 * ```
 */
export function lostTexts({ missing, damaged }: SpilledCheck): readonly LostText[] {
  return inOrder([...missing, ...damaged]);
}
