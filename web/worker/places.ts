/**
 * Where events lie in their log: evidence that a person can look up in the file itself.
 *
 * @module
 */
import type { SessionStore } from "../../mod.ts";
import type { SeqPlace } from "../protocol.ts";

/** How many events may be asked about at once. */
export const PLACES_MAX = 64;

/**
 * Reads a log as far as the last of these events. Those that lie in no frame, and those that are not there, are left out.
 *
 * @throws {RangeError} for what is no list of at most {@linkcode PLACES_MAX} seqs
 * @throws whatever refused the reading
 */
export async function placesOf(
  store: Pick<SessionStore, "open">,
  id: string,
  seqs: readonly number[],
): Promise<SeqPlace[]> {
  const isSeq = (seq: unknown) => Number.isSafeInteger(seq) && (seq as number) >= 0;
  if (!Array.isArray(seqs) || seqs.length > PLACES_MAX || !seqs.every(isSeq)) {
    throw new RangeError(`Cannot find events of session "${id}": wanted at most ${PLACES_MAX} seqs`);
  }
  const wanted = new Set<number>(seqs);
  const lastSeq = Math.max(-1, ...seqs);
  const places: SeqPlace[] = [];
  const isRead = new AbortController();
  try {
    const log = await store.open(id, "read", {
      signal: isRead.signal,
      visit: ({ seq }, place) => {
        if (place !== undefined && wanted.has(seq)) places.push({ seq, ...place });
        if (seq >= lastSeq) isRead.abort();
      },
    });
    await log.close();
  } catch (error) {
    if (!isRead.signal.aborted) throw error;
  }
  return places;
}
