/**
 * The blobs a log names, for whoever copies the log: without them the copy would name what it does not have.
 *
 * @module
 */
import { isEvent, type SessionEvent } from "../event/mod.ts";
import { findBlob, type LostText } from "../store/check_spilled.ts";
import type { LogReader, LogWriter } from "../store/session_store.ts";

/**
 * The blobs that events name, each once.
 *
 * @example
 * ```ts
 * import { namedBlobs } from "./copy_blobs.ts";
 *
 * if (namedBlobs([{ type: "turn/start", seq: 0, time: 1, data: { turn: 1 } }]).length !== 0) throw new Error("unreachable");
 * ```
 */
export function namedBlobs(events: Iterable<SessionEvent>): readonly string[] {
  const digests = new Set<string>();
  for (const event of events) if (isEvent(event, "result/spilled")) digests.add(event.data.digest);
  return [...digests];
}

/** A blob that could not be copied, because its source has it no more. */
export type LostBlob = Pick<LostText, "digest" | "code" | "message">;

/**
 * Copies blobs from one session into another. They are durable when it resolves.
 *
 * @returns those that the source has not, or whose bytes are damaged: the copy is as incomplete as its source
 * @throws whatever else refused a blob
 *
 * @example
 * ```ts
 * import type { LogReader, LogWriter } from "../store/session_store.ts";
 * import { copyBlobs, namedBlobs } from "./copy_blobs.ts";
 *
 * async function copyFirstPage(source: LogReader, target: LogWriter): Promise<number> {
 *   const { events } = await source.read();
 *   return (await copyBlobs(source, target, namedBlobs(events))).length;
 * }
 * ```
 */
export async function copyBlobs(
  source: Pick<LogReader, "getBlob">,
  target: Pick<LogWriter, "putBlob">,
  digests: readonly string[],
): Promise<readonly LostBlob[]> {
  const lost: LostBlob[] = [];
  for (const digest of digests) {
    const found = await findBlob(source, digest);
    if (found.bytes === null) lost.push({ digest, code: found.code, message: found.message });
    else await target.putBlob(found.bytes);
  }
  return lost;
}
