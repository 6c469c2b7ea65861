/**
 * The desk: looks for commands that wait, and hands each session's to whoever writes that session here, or can.
 *
 * A ring only says that it is worth looking; the look itself is the truth.
 *
 * @module
 */
import type { Clock } from "../../runtime/runtime.ts";
import type { Command } from "./command.ts";
import type { CommandTable } from "./table.ts";

/** How long it waits for a ring before it looks all the same, in milliseconds. */
export const LOOK_MS = 500;

/** What a {@linkcode CommandDesk} is made from. */
export interface CommandDeskOptions {
  readonly table: Pick<CommandTable, "pending" | "isInHand">;
  readonly clock: Clock;
  /**
   * Handles the commands of one session, oldest first, or leaves them when another process writes it. Never called twice at once for
   * the same session. What it throws is reported, and the commands are looked at again.
   */
  readonly handle: (sessionId: string, commands: readonly Command[]) => Promise<void>;
  /** Rings when there is a command. Absent where nothing rings. @returns what ends it */
  readonly listen?: (ring: () => void) => () => void;
  readonly report: (error: unknown) => void;
}

/**
 * A desk. It works from `open()` to `close()`.
 *
 * @example
 * ```ts
 * import type { Command } from "./command.ts";
 * import { CommandDesk } from "./desk.ts";
 *
 * const command = { sessionId: "s", key: "k", kind: "cancel", body: {}, postedAt: 0, state: "pending" } as unknown as Command;
 * const seen = Promise.withResolvers<string>();
 * const desk = new CommandDesk({
 *   table: { pending: () => Promise.resolve([command]), isInHand: () => false },
 *   clock: { now: () => 0, schedule: () => () => {} },
 *   handle: (id) => Promise.resolve(seen.resolve(id)),
 *   report() {},
 * });
 * desk.open();
 * if (await seen.promise !== "s") throw new Error("unreachable");
 * await desk.close();
 * ```
 */
export class CommandDesk {
  readonly #options: CommandDeskOptions;
  #stopListening: () => void = () => {};
  #cancelLook: () => void = () => {};
  #isOpen = false;
  #hasRung = false;
  /** The look that runs; `null` between two. Never rejects. */
  #looking: Promise<void> | null = null;
  /** By session. Never reject. */
  readonly #handling = new Map<string, Promise<void>>();

  constructor(options: CommandDeskOptions) {
    this.#options = options;
  }

  /** Begins to look. */
  open(): void {
    this.#isOpen = true;
    this.#stopListening = this.#options.listen?.(() => this.ring()) ?? (() => {});
    this.ring();
  }

  /** Looks now, or once more when it is looking. */
  ring(): void {
    if (!this.#isOpen) return;
    this.#hasRung = true;
    this.#looking ??= this.#look();
  }

  /** Looks no more, and waits for what is being handled. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.#stopListening();
    this.#cancelLook();
    await this.#looking;
    await Promise.all(this.#handling.values());
  }

  async #look(): Promise<void> {
    this.#cancelLook();
    while (this.#hasRung && this.#isOpen) {
      this.#hasRung = false;
      try {
        const pending = await this.#options.table.pending();
        const waiting = Map.groupBy(pending.filter((command) => !this.#options.table.isInHand(command)), sessionOf);
        for (const [id, commands] of waiting) this.#handle(id, commands);
      } catch (error) {
        this.#options.report(error);
      }
    }
    this.#looking = null;
    if (this.#isOpen) this.#cancelLook = this.#options.clock.schedule(LOOK_MS, () => this.ring());
  }

  /** Beside the others: a session that takes long to open keeps no other waiting. */
  #handle(id: string, commands: readonly Command[]): void {
    if (!this.#isOpen || this.#handling.has(id)) return;
    const handling = this.#options.handle(id, commands).catch(this.#options.report).then(() => {
      this.#handling.delete(id);
    });
    this.#handling.set(id, handling);
  }
}

function sessionOf({ sessionId }: Command): string {
  return sessionId;
}
