/**
 * Tails: everybody who follows a session. One reader of its log for all of them, opened with the first and closed with the last.
 *
 * Nothing here is waited for by whoever writes: the log is read behind it, and live frames are handed over and forgotten.
 *
 * @module
 */
import { type Clock, hasCode, type LiveEvent, type LogReader, type SessionStore } from "../../mod.ts";
import { HEARTBEAT_MS } from "./limits.ts";
import { problemOf, Refusal } from "./problem.ts";
import { type Closing, liveFrame } from "./sse.ts";
import { TailClient } from "./tail_client.ts";
import { TailLog } from "./tail_log.ts";

interface Hub {
  readonly reader: LogReader;
  readonly log: TailLog;
  readonly clients: Set<TailClient>;
  readonly stop: AbortController;
  stopBeating: () => void;
}

/** Where a tail begins, and what it wants. */
export interface TailOptions {
  /** The first seq. */
  readonly from: number;
  /** Whether frames come that are not durable. */
  readonly wantsLive: boolean;
  /** Called once, when the stream is over. */
  readonly onEnd: () => void;
}

/**
 * The tails of one token.
 *
 * @example
 * ```ts
 * import type { Tails } from "./tails.ts";
 *
 * async function follow(tails: Tails, id: string): Promise<Response> {
 *   return new Response(await tails.open(id, { from: 0, wantsLive: true, onEnd() {} }));
 * }
 * ```
 */
export class Tails {
  readonly #store: SessionStore;
  readonly #clock: Clock;
  readonly #hubs = new Map<string, Promise<Hub>>();
  /** Those that are open; each is in `#hubs` too. */
  readonly #open = new Map<string, Hub>();
  #closing: Closing | null = null;

  constructor({ store, clock }: { readonly store: SessionStore; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** How many clients follow. */
  get count(): number {
    let count = 0;
    for (const { clients } of this.#open.values()) count += clients.size;
    return count;
  }

  /**
   * Follows a session from a seq on.
   *
   * @throws {NotFoundError}
   * @throws {Refusal} when the log does not reach `from`
   */
  async open(id: string, { from, wantsLive, onEnd }: TailOptions): Promise<ReadableStream<Uint8Array>> {
    let hub = await this.#hub(id);
    // The last one may have left it meanwhile.
    while (hub.stop.signal.aborted) hub = await this.#hub(id);
    if (from > hub.log.head) {
      this.#leave(id, hub);
      throw new Refusal(
        409,
        "SEQUENCE_GAP",
        `Cannot tail session "${id}" from ${from}: its next seq is ${hub.log.head}`,
        {
          nextSeq: hub.log.head,
        },
      );
    }
    const client: TailClient = new TailClient({
      log: hub.log,
      from,
      wantsLive,
      onEnd: () => {
        hub.clients.delete(client);
        this.#leave(id, hub);
        onEnd();
      },
    });
    hub.clients.add(client);
    if (this.#closing !== null) client.close(this.#closing);
    return client.stream;
  }

  /** Hands everybody who follows a session what happens there. Encoded once. */
  hear(id: string, live: LiveEvent): void {
    const hub = this.#open.get(id);
    if (hub === undefined || hub.clients.size === 0) return;
    const frame = liveFrame(live);
    const seq = live.kind === "event" ? live.event.seq : null;
    for (const client of hub.clients) client.tell(frame, seq);
  }

  /** Ends the tails of a session. */
  closeSession(id: string, closing: Closing): void {
    for (const client of [...this.#open.get(id)?.clients ?? []]) client.close(closing);
  }

  /** Ends all tails, also those that come later. */
  close(closing: Closing): void {
    this.#closing = closing;
    for (const id of this.#open.keys()) this.closeSession(id, closing);
  }

  #hub(id: string): Promise<Hub> {
    const known = this.#hubs.get(id);
    if (known !== undefined) return known;
    const opening = this.#openHub(id).catch((error) => {
      this.#hubs.delete(id);
      throw error;
    });
    this.#hubs.set(id, opening);
    return opening;
  }

  async #openHub(id: string): Promise<Hub> {
    const reader = await this.#store.open(id, "read");
    const log = new TailLog(reader);
    const hub: Hub = { reader, log, clients: new Set(), stop: new AbortController(), stopBeating() {} };
    this.#open.set(id, hub);
    const wake = () => {
      for (const client of hub.clients) client.wake();
    };
    const end = (closing: Closing) => {
      // Whoever comes from now on gets another reader.
      this.#forget(id, hub);
      for (const client of [...hub.clients]) client.close(closing);
    };
    log.follow(hub.stop.signal, wake).then(
      () => hub.stop.signal.aborted || end({ code: "SESSION_CLOSED", detail: "the store was closed" }),
      (error) => {
        // Removed while it was followed, damaged, or gone with its medium.
        if (hasCode(error, "NOT_FOUND")) end({ code: "deleted", detail: "the session is not there any more" });
        else end({ code: problemOf(error).code, detail: "the log cannot be read any further" });
      },
    );
    const beat = () => {
      for (const client of [...hub.clients]) client.beat();
      if (!hub.stop.signal.aborted) hub.stopBeating = this.#clock.schedule(HEARTBEAT_MS, beat);
    };
    hub.stopBeating = this.#clock.schedule(HEARTBEAT_MS, beat);
    return hub;
  }

  /** The last one takes the reader along. */
  #leave(id: string, hub: Hub): void {
    if (hub.clients.size > 0 || hub.stop.signal.aborted) return;
    hub.stop.abort();
    hub.stopBeating();
    this.#forget(id, hub);
    hub.reader.close().catch(() => {});
  }

  #forget(id: string, hub: Hub): void {
    if (this.#open.get(id) !== hub) return;
    this.#open.delete(id);
    this.#hubs.delete(id);
  }
}
