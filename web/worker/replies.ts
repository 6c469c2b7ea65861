/**
 * What an owner answers other tabs: once for each request, however often it comes.
 *
 * @module
 */
import type { RoomMessage } from "./tab_messages.ts";
import { wireError } from "./wire.ts";

/** How many answers are remembered, for requests that come again. */
const REPLIES_REMEMBERED = 256;

/** The answers of one room. */
export class Replies {
  /** By nonce, oldest first. */
  readonly #replies = new Map<string, Promise<RoomMessage>>();

  /** Answers a request of the tab `to` with what `run` gives. */
  async answer(
    to: string,
    nonce: string,
    run: () => Promise<unknown>,
    say: (message: RoomMessage) => void,
  ): Promise<void> {
    let reply = this.#replies.get(nonce);
    if (reply === undefined) {
      reply = run().then(
        (answer) => ({ kind: "answer", to, nonce, answer }),
        (error) => ({ kind: "refusal", to, nonce, error: wireError(error) }),
      );
      this.#replies.set(nonce, reply);
      if (this.#replies.size > REPLIES_REMEMBERED) this.#replies.delete(this.#replies.keys().next().value!);
    }
    const message = await reply;
    // The log was let go in the middle of it: the next owner is asked again.
    if (message.kind === "refusal" && message.error.code === "SESSION_CLOSED") this.#replies.delete(nonce);
    else say(message);
  }
}
