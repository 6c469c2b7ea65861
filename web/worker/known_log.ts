/**
 * The log of a session as one tab knows it, whether it writes the log or views it, and the page that is told of it.
 *
 * @module
 */
import {
  contextGauge,
  deriveMessages,
  type EventPage,
  logFold,
  type LogFolds,
  type Message,
  type SessionEvent,
} from "../../mod.ts";
import type { StorageTraits } from "../../mod.ts";
import type { BarrierTimes } from "./barrier_times.ts";
import type { OwnedLog } from "./owned_log.ts";
import type { PageKnowledge } from "./page_knowledge.ts";
import type { SharedView } from "./tab_messages.ts";
import { durabilityOf, titleOf, unknownsOf } from "./view_parts.ts";
import { ViewerLog } from "./viewer_log.ts";
import type { WatchedStore } from "./watched_store.ts";

/** What it works with. */
export interface LogParts {
  readonly id: string;
  readonly store: WatchedStore;
  readonly times: BarrierTimes;
  readonly traits: () => Pick<StorageTraits, "persistence" | "sync">;
  readonly modelName: () => string;
}

/** One log. */
export class KnownLog {
  readonly #parts: LogParts;
  readonly #page: PageKnowledge;
  /** A view must be told. */
  readonly #onChange: () => void;
  #owned: OwnedLog | null = null;
  #viewer: ViewerLog | null = null;

  constructor(parts: LogParts, page: PageKnowledge, onChange: () => void) {
    this.#parts = parts;
    this.#page = page;
    this.#onChange = onChange;
  }

  /** The open session; `null` while this tab does not write the log. */
  get owned(): OwnedLog | null {
    return this.#owned;
  }

  /** Whether anything can be shown. */
  get isOpen(): boolean {
    return this.#owned !== null || this.#viewer !== null;
  }

  /** What is wrong with the log, as far as a viewer has seen. */
  get fault(): ViewerLog["fault"] {
    return this.#viewer?.fault ?? null;
  }

  /** The last seq that is durable as far as this tab knows. */
  get durableSeq(): number {
    return this.#owned?.durableSeq ?? this.#viewer?.durableSeq ?? -1;
  }

  /** Durable events. */
  async history(from: number, limit: number): Promise<EventPage> {
    return await (this.#owned ?? this.#viewer)?.page(from, limit) ?? { events: [], nextFrom: null };
  }

  /** What the model sees. */
  surface(): Message[] {
    return deriveMessages(this.#folds.surface);
  }

  /** This tab writes the log from now on. What was only believed of the last owner is taken back from the page. */
  own(owned: OwnedLog): void {
    const dropped = this.#viewer?.dropOverlay() ?? null;
    if (dropped !== null) this.#page.forgetFrom(dropped);
    void this.#closeViewer();
    this.#owned = owned;
  }

  /** This tab does not write the log any more. */
  disown(): void {
    this.#owned = null;
  }

  /**
   * Reads the log anew, as a viewer. What the page knows and the log does not hold is taken back.
   *
   * @throws {NotFoundError} and whatever else opening for reading throws
   */
  async view(): Promise<void> {
    await this.#closeViewer();
    const { store, id } = this.#parts;
    const viewer = await ViewerLog.open(store, id, store.known(id));
    this.#viewer = viewer;
    store.remember(id, viewer.mark);
    if (!this.#page.isTelling) return;
    this.#page.forgetFrom(viewer.isOther ? 0 : viewer.nextSeq);
    await this.fill();
  }

  /** Reads what has become durable since. */
  catchUp(): void {
    const viewer = this.#viewer;
    if (viewer === null) return;
    const before = viewer.durableSeq;
    viewer.catchUp((events, from) => {
      if (this.#viewer !== viewer) return;
      if (from !== null) this.#page.forgetFrom(from);
      this.#page.show(events);
    }).then(() => {
      if (this.#viewer !== viewer || viewer.durableSeq === before) return;
      this.#parts.store.remember(this.#parts.id, viewer.mark);
      this.#page.durable();
      this.#onChange();
    }).catch((error) => this.#viewer === viewer && this.#page.problem(error));
  }

  /** Takes what the owner says it has committed, and how much of it is durable. */
  believe(events: readonly SessionEvent[], durableSeq: number): void {
    if (this.#viewer === null) return;
    this.#page.show(this.#viewer.believe(events));
    if (durableSeq > this.durableSeq) this.catchUp();
  }

  /** The page has the first view, and is told what came since, and what comes. */
  async begin(): Promise<void> {
    this.#page.begin();
    if (this.#viewer !== null) this.#page.show(this.#viewer.overlay);
    await this.fill();
  }

  /** Tells the page everything it does not know yet. */
  async fill(): Promise<void> {
    await this.#page.fill(() => {
      if (this.#owned !== null) return this.#owned.everything;
      const viewer = this.#viewer;
      return viewer && { nextSeq: viewer.durableSeq + 1, page: (from, limit) => viewer.page(from, limit) };
    });
    this.#onChange();
  }

  /** The view of this tab's own knowledge. */
  get shared(): SharedView {
    const { id, times, traits, modelName } = this.#parts;
    const owned = this.#owned;
    const { pendingEvents, pendingBytes } = owned ?? { pendingEvents: 0, pendingBytes: 0 };
    return {
      id,
      title: titleOf(this.#folds),
      status: owned?.agent.status ?? "idle",
      nextSeq: owned?.nextSeq ?? this.#page.nextSeq,
      durability: durabilityOf({ pendingEvents, pendingBytes, durableSeq: this.durableSeq }, times, traits()),
      questions: owned?.questions.open ?? [],
      unknowns: unknownsOf(this.#folds),
      modelName: modelName(),
      context: contextGauge(this.#folds),
    };
  }

  async close(): Promise<void> {
    await this.#closeViewer();
  }

  get #folds(): LogFolds {
    return this.#owned?.agent.session.folds ?? this.#viewer?.folds ?? logFold.initial();
  }

  async #closeViewer(): Promise<void> {
    const viewer = this.#viewer;
    this.#viewer = null;
    await viewer?.close().catch(() => {});
  }
}
