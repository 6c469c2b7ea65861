/**
 * A browser of the mind: tabs with workers, locks among them, a channel, and one medium below.
 *
 * A tab can be closed, killed and frozen as a browser does it. Nothing here waits for real time.
 *
 * @module
 */
import { MemoryStorage, openMemoryStore } from "../../src/entry/memory.ts";
import { openRawLogs } from "../../src/entry/raw_logs.ts";
import { connectWorker, type HoldfastClient } from "../../web/client.ts";
import type { SessionEvent } from "../../mod.ts";
import type { PageState, Role, SessionView, WorkerNews } from "../../web/protocol.ts";
import type { HeldTabLock, KeyValues, PagePort, Platform, TabChannel, TabLocks } from "../../web/worker/platform.ts";
import { type ServeOptions, serveWorker } from "../../web/worker/serve.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { type SeededRandom, seededRandom } from "../support/seeded_random.ts";

/** One request for a lock. */
interface Waiting {
  readonly tab: FakeTab;
  readonly grant: (lock: HeldTabLock) => void;
}

/** The origin: what all tabs share. */
export class FakeBrowser {
  readonly clock = new FakeClock();
  readonly storage = new MemoryStorage({ simulate: "disk" });
  readonly tabs: FakeTab[] = [];
  readonly values = new Map<string, unknown>();
  readonly #held = new Map<string, { readonly tab: FakeTab; readonly release: () => void }>();
  readonly #lines = new Map<string, Waiting[]>();
  readonly #options: Partial<ServeOptions>;
  readonly #random: SeededRandom;

  constructor(options: Partial<ServeOptions> = {}, seed = 1) {
    this.#options = options;
    this.#random = seededRandom(seed);
  }

  /** Opens a tab and says hello. */
  async open(label: string, state: "visible" | "hidden" = "visible"): Promise<FakeTab> {
    const tab = new FakeTab(this, this.#options, this.#random);
    this.tabs.push(tab);
    await tab.client.call("hello", { tabLabel: label, state });
    return tab;
  }

  /**
   * Lets time pass. Digests are made by threads of the runtime, which no clock of ours moves: a digest of our own, behind
   * theirs, is waited for before and after.
   */
  async advance(ms: number): Promise<void> {
    const FENCE = new Uint8Array(1);
    await crypto.subtle.digest("SHA-256", FENCE);
    await this.clock.advance(ms);
    await crypto.subtle.digest("SHA-256", FENCE);
    await this.clock.advance(0);
  }

  /** The browser clears files behind everybody's back: all whose name holds `part`. */
  async clearFiles(part = ""): Promise<void> {
    const clear = async (folder: string): Promise<void> => {
      for (const { name, kind } of await this.storage.list(folder)) {
        if (kind === "folder") await clear(name);
        else if (name.includes(part)) this.storage.stranger.remove(name);
      }
    };
    await clear("");
  }

  /** Names of the tab locks that are held. */
  get heldLocks(): string[] {
    return [...this.#held.keys()];
  }

  locksOf(tab: FakeTab): TabLocks {
    return {
      tryTake: (name) => Promise.resolve(this.#held.has(name) ? null : this.#grant(name, tab)),
      take: (name, signal) => {
        if (!this.#held.has(name)) return Promise.resolve(this.#grant(name, tab));
        const { promise, resolve, reject } = Promise.withResolvers<HeldTabLock>();
        const line = this.#lines.get(name) ?? [];
        const waiting = { tab, grant: resolve };
        this.#lines.set(name, [...line, waiting]);
        signal.addEventListener("abort", () => {
          this.#lines.set(name, (this.#lines.get(name) ?? []).filter((other) => other !== waiting));
          reject(signal.reason);
        });
        return promise;
      },
    };
  }

  /** The browser takes back what a dead tab held. */
  releaseAll(tab: FakeTab): void {
    for (const [name, line] of this.#lines) this.#lines.set(name, line.filter((waiting) => waiting.tab !== tab));
    for (const { tab: holder, release } of [...this.#held.values()]) if (holder === tab) release();
  }

  #grant(name: string, tab: FakeTab): HeldTabLock {
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      this.#held.delete(name);
      const [next, ...rest] = this.#lines.get(name) ?? [];
      this.#lines.set(name, rest);
      if (next !== undefined) next.grant(this.#grant(name, next.tab));
    };
    this.#held.set(name, { tab, release });
    return { release };
  }
}

/** One tab with its worker. */
export class FakeTab {
  readonly client: HoldfastClient;
  readonly news: WorkerNews[] = [];
  readonly #browser: FakeBrowser;
  #storage: MemoryStorage;
  #isFrozen = false;
  #isDead = false;
  /** What a frozen tab will hear when it wakes. */
  #late: (() => void)[] = [];
  #hearChannel: (message: unknown) => void = () => {};
  #hearPage: (message: unknown) => void = () => {};

  constructor(browser: FakeBrowser, options: Partial<ServeOptions>, random: SeededRandom) {
    this.#browser = browser;
    this.#storage = browser.storage.peer();
    const listeners: ((event: Event) => void)[] = [];
    this.client = connectWorker({
      postMessage: (message) => this.#deliver(() => this.#hearPage(structuredClone(message))),
      addEventListener: (type, listener) => void (type === "message" && listeners.push(listener)),
      terminate: () => this.kill(),
    });
    const page: PagePort = {
      post: (message) => {
        if (this.#isDead) return;
        const event = { data: structuredClone(message) } as unknown as Event;
        queueMicrotask(() => !this.#isDead && listeners.forEach((listener) => listener(event)));
      },
      listen: (listener) => void (this.#hearPage = listener),
    };
    this.client.subscribe((news) => void this.news.push(news));
    const runtime = { clock: this.#clock(), random };
    const platform: Platform = {
      runtime,
      locks: browser.locksOf(this),
      openChannel: () => this.#channel(),
      values: this.#values(),
      page,
    };
    serveWorker({
      openStore: () => {
        this.#storage = browser.storage.peer();
        const logs = openRawLogs(this.#storage, runtime);
        return Promise.resolve({ store: openMemoryStore({ storage: this.#storage, runtime }), logs });
      },
      ...options,
      platform,
    });
  }

  /** The last view that the page was told. */
  view(id: string): SessionView {
    const told = this.news.findLast((news) => news.kind === "view" && news.view.id === id);
    if (told?.kind !== "view") throw new Error(`The page was told no view of "${id}"`);
    return told.view;
  }

  role(id: string): Role["kind"] {
    return this.view(id).role.kind;
  }

  /** Every event that the page was told of, as it knows them now. Throws when they are not in order, or one is missing. */
  events(id: string): SessionEvent[] {
    const known: SessionEvent[] = [];
    let start: number | null = null;
    for (const news of this.news) {
      if (news.kind === "reset" && news.id === id) {
        known.length = Math.max(0, news.from - (start ?? 0));
        if (known.length === 0) start = null;
      }
      if (news.kind !== "events" || news.id !== id) continue;
      for (const event of news.events) {
        start ??= event.seq;
        if (event.seq !== start + known.length) {
          throw new Error(`Event ${event.seq} came after ${known.length} from ${start}`);
        }
        known.push(event);
      }
    }
    return known;
  }

  /** What the page tells its worker of itself. Answered when the worker has done what follows from it. */
  state(state: PageState): Promise<null> {
    return this.client.call("state", { state });
  }

  /** The browser's process for this tab is gone: nothing runs any more, and what it held is free. */
  kill(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#late = [];
    this.#storage.kill();
    this.#browser.releaseAll(this);
    this.#browser.tabs.splice(this.#browser.tabs.indexOf(this), 1);
  }

  /** The medium refuses the next syncs of this tab. */
  failSyncs(times: number): void {
    this.#storage.failAt({ operation: "sync", kind: "sync", times });
  }

  /** Stands still, and keeps what it holds. */
  freeze(): void {
    this.#isFrozen = true;
  }

  wake(): void {
    this.#isFrozen = false;
    for (const hear of this.#late.splice(0)) queueMicrotask(() => !this.#isDead && hear());
  }

  #deliver(hear: () => void): void {
    if (this.#isDead) return;
    if (this.#isFrozen) this.#late.push(hear);
    else queueMicrotask(() => !this.#isDead && hear());
  }

  #clock() {
    const { clock } = this.#browser;
    return {
      now: () => clock.now(),
      schedule: (delayMs: number, wake: () => void) => {
        let isCancelled = false;
        const cancel = clock.schedule(delayMs, () => this.#deliver(() => !isCancelled && wake()));
        return () => {
          isCancelled = true;
          cancel();
        };
      },
    };
  }

  #channel(): TabChannel {
    return {
      post: (message) => {
        if (this.#isDead) return;
        const copy = structuredClone(message);
        for (const other of this.#browser.tabs) if (other !== this) other.#deliver(() => other.#hearChannel(copy));
      },
      listen: (listener) => void (this.#hearChannel = listener),
      close: () => {},
    };
  }

  #values(): KeyValues {
    const { values } = this.#browser;
    return {
      get: (key) => Promise.resolve(structuredClone(values.get(key))),
      update: (key, change) => Promise.resolve(void values.set(key, structuredClone(change(values.get(key))))),
    };
  }
}
