/**
 * Frames of an event stream.
 *
 * Only what is durable has an id, which is its seq: `Last-Event-ID` resumes behind it. The text of a durable event is the row of
 * the log, byte for byte, so it never changes. Everything else is `event: live`, without an id, and is superseded.
 *
 * @see HTML Living Standard, §9.2 Server-sent events
 * @module
 */
import { encodeRow, type LiveEvent, type SessionEvent } from "../../mod.ts";
import { problemOf } from "./problem.ts";

/** How long a client waits before it connects again, in milliseconds. */
export const RETRY_MS = 1000;

/** Why a stream is over, as the client reads it. */
export interface Closing {
  /** `slow`: it took nothing for too long. `shutdown`, `deleted`: connect later, or never. Else a code of a problem. */
  readonly code: string;
  readonly detail: string;
}

const encoder = new TextEncoder();

/** What a stream begins with. */
export const OPENING: Uint8Array = encoder.encode(`retry: ${RETRY_MS}\n\n`);

/** A comment, which says that the server is there. */
export const HEARTBEAT: Uint8Array = encoder.encode(": alive\n\n");

/** Says that live frames were left out. The durable ones come. */
export const LIVE_DROPPED: Uint8Array = encoder.encode('event: live\ndata: {"kind":"dropped"}\n\n');

/**
 * A durable event.
 *
 * @example
 * ```ts
 * import { durableFrame } from "./sse.ts";
 *
 * const frame = durableFrame({ type: "turn/start", seq: 3, time: 0, data: { turn: 1 } });
 * if (!new TextDecoder().decode(frame).startsWith("id: 3\nevent: event\ndata: {")) throw new Error("unreachable");
 * ```
 */
export function durableFrame(event: SessionEvent): Uint8Array {
  return encoder.encode(`id: ${event.seq}\nevent: event\ndata: ${encodeRow(event)}\n\n`);
}

/**
 * What is for the eyes only. Of an error only what a problem tells.
 *
 * @example
 * ```ts
 * import { liveFrame } from "./sse.ts";
 *
 * const frame = new TextDecoder().decode(liveFrame({ kind: "status", status: "idle" }));
 * if (frame !== 'event: live\ndata: {"kind":"status","status":"idle"}\n\n') throw new Error("unreachable");
 * ```
 */
export function liveFrame(live: LiveEvent): Uint8Array {
  return encoder.encode(`event: live\ndata: ${liveText(live)}\n\n`);
}

/**
 * The last frame of a stream.
 *
 * @example
 * ```ts
 * import { closedFrame } from "./sse.ts";
 *
 * const frame = new TextDecoder().decode(closedFrame({ code: "slow", detail: "nothing was taken" }));
 * if (!frame.startsWith("event: closed\n")) throw new Error("unreachable");
 * ```
 */
export function closedFrame(closing: Closing): Uint8Array {
  return encoder.encode(`event: closed\ndata: ${JSON.stringify(closing)}\n\n`);
}

function liveText(live: LiveEvent): string {
  if (live.kind === "event") return `{"kind":"event","event":${encodeRow(live.event)}}`;
  if (live.kind !== "error") return JSON.stringify(live);
  const { code, detail } = problemOf(live.error);
  return JSON.stringify({ kind: "error", code, detail });
}
