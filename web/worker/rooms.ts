/**
 * The sessions this tab takes part in, and its place among the other tabs.
 *
 * @module
 */
import { type ApprovalOutcome, type ApprovalRequest, NotFoundError } from "../../mod.ts";
import type { PageState } from "../protocol.ts";
import type { TabChannel } from "./platform.ts";
import { type RoomParts, SessionRoom } from "./room.ts";
import { isTabMessage, type TabMessage } from "./tab_messages.ts";

/** How many sessions one tab may take part in at once. */
export const ROOMS_MAX = 8;

/** What all rooms share. */
export type SharedParts = Omit<RoomParts, "id" | "say">;

/** The rooms of one tab. */
export class Rooms {
  readonly #shared: SharedParts;
  readonly #channel: TabChannel;
  readonly #rooms = new Map<string, SessionRoom>();
  /** Entering and leaving of one session, one after the other. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(shared: SharedParts, channel: TabChannel, onOther: (message: TabMessage) => void) {
    this.#shared = shared;
    this.#channel = channel;
    channel.listen((message) => {
      if (!isTabMessage(message)) return;
      if (message.about !== "session") return onOther(message);
      this.#rooms.get(message.id)?.hear(message.from, message.message);
    });
  }

  /** Tells the other tabs something that is about no single session. */
  say(message: { readonly about: "list" } | { readonly about: "persistence"; readonly isPersisted: boolean }): void {
    this.#channel.post({ ...message, from: this.#shared.tab });
  }

  /**
   * Takes part in a session; at once when it does already.
   *
   * @param isNew whether there is no log yet
   * @throws {RangeError} when the tab takes part in ROOMS_MAX
   */
  enter(id: string, isNew: boolean): Promise<SessionRoom> {
    return this.#inTurn(id, async () => {
      const there = this.#rooms.get(id);
      if (there !== undefined) return there;
      if (this.#rooms.size >= ROOMS_MAX) {
        throw new RangeError(`Cannot attach session "${id}": ${ROOMS_MAX} are attached; detach one first`);
      }
      const { tab } = this.#shared;
      const say = (message: Parameters<RoomParts["say"]>[0]) =>
        this.#channel.post({ from: tab, about: "session", id, message } satisfies TabMessage);
      const room = new SessionRoom({ ...this.#shared, id, say }, isNew);
      this.#rooms.set(id, room);
      try {
        await room.enter();
        return room;
      } catch (error) {
        this.#rooms.delete(id);
        throw error;
      }
    });
  }

  /** Takes part no more. Harmless where it does not. */
  leave(id: string): Promise<void> {
    return this.#inTurn(id, async () => {
      const room = this.#rooms.get(id);
      this.#rooms.delete(id);
      await room?.leave();
    });
  }

  async leaveAll(): Promise<void> {
    await Promise.all([...this.#rooms.keys()].map((id) => this.leave(id)));
  }

  /**
   * The room of a session this tab takes part in.
   *
   * @throws {NotFoundError} for any other
   */
  get(id: string): SessionRoom {
    const room = this.#rooms.get(id);
    if (room === undefined) throw new NotFoundError(`Cannot use session "${id}": it is not attached`);
    return room;
  }

  find(id: string): SessionRoom | null {
    return this.#rooms.get(id) ?? null;
  }

  /** For an approver. */
  async ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalOutcome | undefined> {
    return await this.#rooms.get(request.sessionId)?.ask(request, signal);
  }

  page(state: PageState): void {
    for (const room of this.#rooms.values()) room.page(state);
  }

  /** Resolves when what was begun is done: opening, and letting go. */
  async settled(): Promise<void> {
    await Promise.all([...this.#rooms.values()].map((room) => room.settled()));
  }

  changed(): void {
    for (const room of this.#rooms.values()) room.changed();
  }

  #inTurn<Result>(id: string, act: () => Promise<Result>): Promise<Result> {
    const done = (this.#turns.get(id) ?? Promise.resolve()).then(act);
    const settled = done.catch(() => {}).then(() => {
      if (this.#turns.get(id) === settled) this.#turns.delete(id);
    });
    this.#turns.set(id, settled);
    return done;
  }
}
