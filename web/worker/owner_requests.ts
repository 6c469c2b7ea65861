/**
 * Requests between tabs about one session: those of this tab to whoever writes it, and those of others when this tab does.
 *
 * @module
 */
import { hasCode, type Random } from "../../mod.ts";
import type { PageCalls } from "../protocol.ts";
import { Forwards } from "./forwards.ts";
import type { OwnedLog } from "./owned_log.ts";
import type { Platform } from "./platform.ts";
import { Replies } from "./replies.ts";
import type { KnownOwner } from "./role.ts";
import type { Forwarded, RoomMessage } from "./tab_messages.ts";
import { Refusal, unwired } from "./wire.ts";

/** What it works with. */
export interface RequestParts {
  readonly id: string;
  readonly tab: string;
  readonly platform: Pick<Platform, "runtime">;
  readonly say: (message: RoomMessage) => void;
}

/** The requests of one room. */
export class OwnerRequests {
  readonly #parts: RequestParts;
  readonly #onSatisfied: () => void;
  readonly #forwards = new Forwards();
  readonly #replies = new Replies();
  #hasEnded = false;

  /** @param onSatisfied called when nothing waits any more */
  constructor(parts: RequestParts, onSatisfied: () => void) {
    this.#parts = parts;
    this.#onSatisfied = onSatisfied;
  }

  /**
   * Adds a request of this tab. It waits for an owner, here or elsewhere.
   *
   * @throws {BufferFullError} when too many wait
   */
  async add(forwarded: Forwarded): Promise<PageCalls[Forwarded["verb"]]["answer"]> {
    const { clock, random } = this.#parts.platform.runtime;
    const answer = await this.#forwards.add(nonceOf(random), forwarded, clock.now());
    return answer as PageCalls[Forwarded["verb"]]["answer"];
  }

  /** Sends what waits to the owner, if one is known, and it does not have it already. */
  sendTo(owner: KnownOwner | null): void {
    if (owner === null || owner.tab === "") return;
    for (const { nonce, forwarded } of this.#forwards.due(owner.tab, this.#parts.platform.runtime.clock.now())) {
      this.#parts.say({ kind: "ask", to: owner.tab, nonce, forwarded });
    }
  }

  /** Takes an owner's answer, when it is for this tab. */
  settle(message: Extract<RoomMessage, { readonly kind: "answer" | "refusal" }>): void {
    if (message.to !== this.#parts.tab) return;
    if (message.kind === "answer") this.#forwards.resolve(message.nonce, message.answer);
    else this.#forwards.reject(message.nonce, unwired(message.error));
    this.#satisfy();
  }

  /** This tab became the owner: what it wanted from one, it does itself. */
  runAll(owned: OwnedLog): void {
    for (const { nonce, forwarded } of this.#forwards.all) void this.#run(owned, nonce, forwarded);
  }

  /** Does what another tab asks for, once for each nonce. Does nothing when it is not asked of this tab. */
  serve(from: string, asked: Extract<RoomMessage, { readonly kind: "ask" }>, owned: OwnedLog): void {
    if (asked.to !== this.#parts.tab) return;
    void this.#replies.answer(from, asked.nonce, () => owned.run(asked.forwarded), this.#parts.say);
  }

  /** Gives up on what waited too long. */
  expire(): void {
    this.#forwards.expire(this.#parts.platform.runtime.clock.now());
  }

  /** Nothing is answered any more. */
  end(): void {
    this.#hasEnded = true;
    const message = `Cannot go on with session "${this.#parts.id}": the page left it`;
    this.#forwards.rejectAll(new Refusal("SESSION_CLOSED", message));
  }

  async #run(owned: OwnedLog, nonce: string, forwarded: Forwarded): Promise<void> {
    try {
      this.#forwards.resolve(nonce, await owned.run(forwarded));
    } catch (error) {
      if (hasCode(error, "SESSION_CLOSED") && !this.#hasEnded) return; // It waits for the next owner.
      this.#forwards.reject(nonce, error);
    }
    this.#satisfy();
  }

  #satisfy(): void {
    if (this.#forwards.isEmpty) this.#onSatisfied();
  }
}

function nonceOf(random: Random): string {
  return Array.from(random.bytes(12), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
