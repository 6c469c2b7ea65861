/**
 * What a listing gathers of the events of one log.
 *
 * @module
 */
import type { SessionEvent } from "../event/mod.ts";
import { lastFrames, LineScanner, type ZstdCodec } from "../frame/mod.ts";
import type { SessionRow } from "../store/session_store.ts";
import type { Finding } from "./finding.ts";
import type { LogEncoding } from "./layout.ts";

/** The part of a row that depends on the content. */
export type Content = Pick<SessionRow, "header" | "state" | "reason" | "lastEventTime">;

/** Events that stand nowhere but inside a turn, and name it. */
const INSIDE_TURN: ReadonlySet<string> = new Set([
  ...["turn/start", "step/start", "step/end", "assistant/message", "tool/call"],
]);

/** The same of the last events only: the start of the turn may lie before them. An event may stand for a run of `count`. */
export class SeenTail {
  lastEventTime: number | null = null;
  turn: number | null = null;
  /** The seq that must come next; `undefined` before the first event. */
  nextSeq: number | undefined;

  add(event: SessionEvent, count = 1): void {
    this.nextSeq = event.seq + count;
    this.lastEventTime = event.time;
    if (event.type === "turn/end") this.turn = null;
    else if (INSIDE_TURN.has(event.type)) this.turn = (event.data as { readonly turn: number }).turn;
  }
}

/** The state that a finding makes. */
export function judged({ code, message }: Finding): Pick<SessionRow, "state" | "reason"> {
  return { state: code === "UNSUPPORTED_FORMAT" ? "unsupported" : "damaged", reason: message };
}

/** The last lines of a log, as far as they are certain, and whether the last of them ends where the log ends. */
export function lastLines(
  tail: Uint8Array<ArrayBuffer>,
  startBytes: number,
  { codec }: { readonly codec: ZstdCodec },
  { encoding }: { readonly encoding: LogEncoding },
): { readonly lines: readonly string[]; readonly isWhole: boolean } {
  const pieces = encoding === "zstd"
    ? lastFrames(tail, startBytes, codec).map(({ content }) => content)
    : [tail.subarray(tail.indexOf(0x0a) + 1)];
  const scanner = new LineScanner();
  const lines = pieces.flatMap((piece) => [...scanner.feed(piece)].map(({ text }) => text));
  // Without frames, what follows the last line is the beginning of a record and no record yet.
  return { lines, isWhole: encoding === "none" || scanner.restBytes === 0 };
}
