/**
 * What the worker does for each thing its page asks.
 *
 * @module
 */
import { type Agent, type AgentHooks, createAgent, Hooks, newSessionId } from "../../mod.ts";
import type { PageCalls, PageRequest, PageState, PageVerb, WorkerNews } from "../protocol.ts";
import { BarrierTimes } from "./barrier_times.ts";
import { CrashPoints } from "./crash_points.ts";
import { KnownSessions } from "./known_sessions.ts";
import { type ModelMaker, SwitchedModel } from "./models.ts";
import type { Platform } from "./platform.ts";
import { placesOf } from "./places.ts";
import { Rooms } from "./rooms.ts";
import type { OpenedStore, ServeOptions } from "./serve_options.ts";
import { SessionList } from "./session_list.ts";
import { TAB_CHANNEL, type TabMessage } from "./tab_messages.ts";
import { WatchedStore } from "./watched_store.ts";
import { Refusal } from "./wire.ts";

/** How long a medium may take to open, in milliseconds. A person is told why nothing comes within two seconds. */
export const OPEN_STORE_MS = 1_800;
/** The most events one page of history may have. */
export const HISTORY_LIMIT_MAX = 1_000;

/** What a desk works with. */
export interface DeskOptions extends ServeOptions {
  readonly platform: Platform;
  readonly models: ModelMaker;
}

/** An answer on its way. */
export interface Answered {
  readonly answer: unknown;
  /** Buffers that the page gets instead of copies. */
  readonly transfer?: readonly ArrayBuffer[];
  /** Done when the page has the answer. */
  readonly afterwards?: () => void;
}

/** Everything that is there between a `hello` and the end, or a loss. */
interface Opened {
  readonly store: WatchedStore;
  readonly logs: OpenedStore["logs"] | null;
  readonly rooms: Rooms;
  readonly list: SessionList;
}

/** Answers a page. */
export class Desk {
  readonly #options: DeskOptions;
  readonly #known: KnownSessions;
  readonly #model: SwitchedModel;
  readonly #crashes: CrashPoints;
  readonly #times = new BarrierTimes();
  readonly #tab: string;
  #opened: Promise<Opened> | null = null;
  /** Of the opened store; here so that a state of the page is passed on without waiting. */
  #rooms: Rooms | null = null;
  #channel: ReturnType<Platform["openChannel"]> | null = null;
  #label = "a tab";
  #pageState: PageState = "visible";
  #isVolatile = false;

  constructor(options: DeskOptions) {
    const { platform, models } = options;
    this.#options = options;
    this.#known = new KnownSessions(platform.values);
    this.#model = new SwitchedModel(models({ kind: "demo" }));
    this.#crashes = new CrashPoints((at) => this.#tell({ kind: "crash", at }));
    this.#tab = Array.from(platform.runtime.random.bytes(8), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** Does what is asked. */
  async answer(request: PageRequest): Promise<Answered> {
    const answering = this.#verbs[request.verb] as (ask: PageRequest["ask"]) => Promise<Answered>;
    return await answering.call(this.#verbs, request.ask);
  }

  readonly #verbs: { readonly [Verb in PageVerb]: (ask: PageCalls[Verb]["ask"]) => Promise<Answered> } = {
    hello: async ({ tabLabel, state, volatile = false }) => {
      this.#label = tabLabel;
      this.#pageState = state;
      this.#isVolatile = volatile;
      const { list } = await (this.#opened ??= this.#open());
      const version = this.#options.version ?? "0";
      return { answer: { tab: this.#tab, traits: list.traits, version } satisfies PageCalls["hello"]["answer"] };
    },

    list: async () => ({ answer: await (await this.#store()).list.rows() }),

    create: async ({ volatile = false }) => {
      const { rooms } = await this.#store();
      const { clock, random } = this.#options.platform.runtime;
      if (volatile && !this.#isVolatile) {
        throw new TypeError('Cannot create a volatile session: "hello" did not opt in');
      }
      const room = await rooms.enter(newSessionId(clock, random), true);
      return { answer: room.view(), afterwards: () => room.begin() };
    },

    attach: async ({ id }) => {
      const { rooms } = await this.#store();
      const room = await rooms.enter(id, false);
      return { answer: room.view(), afterwards: () => room.begin() };
    },

    detach: async ({ id }) => {
      await (await this.#store()).rooms.leave(id);
      return { answer: null };
    },

    send: (ask) => this.#run({ verb: "send", ask }),
    cancel: (ask) => this.#run({ verb: "cancel", ask }),
    compact: (ask) => this.#run({ verb: "compact", ask }),
    answer: (ask) => this.#run({ verb: "answer", ask }),
    settle: (ask) => this.#run({ verb: "settle", ask }),

    history: async ({ id, from, limit }) => {
      if (!Number.isSafeInteger(from) || from < 0 || !(limit >= 1)) {
        throw new RangeError(`Cannot read ${limit} events from ${from} of session "${id}"`);
      }
      const { rooms, store } = await this.#store();
      const count = Math.min(Math.floor(limit), HISTORY_LIMIT_MAX);
      const room = rooms.find(id);
      if (room !== null) return { answer: await room.history(from, count) };
      const log = await store.open(id, "read");
      try {
        return { answer: await log.read({ from, limit: count }) };
      } finally {
        await log.close();
      }
    },

    places: async ({ id, seqs }) => ({ answer: await placesOf((await this.#store()).store, id, seqs) }),

    surface: async ({ id }) => ({ answer: (await this.#store()).rooms.get(id).surface() }),

    export: async ({ id }) => {
      const { rooms, logs } = await this.#store();
      if (!logs) throw new TypeError("Cannot export: this worker has no access to the logs as bytes");
      await rooms.find(id)?.flush();
      const answer = await logs.read(id);
      return { answer, transfer: [answer.bytes.buffer] };
    },

    import: async ({ name, bytes }) => {
      const { logs, list } = await this.#store();
      if (!logs) throw new TypeError("Cannot import: this worker has no access to the logs as bytes");
      if (!(bytes instanceof Uint8Array)) throw new TypeError(`Cannot import "${name}": ask.bytes is no Uint8Array`);
      const answer = await logs.take(name, bytes);
      await list.wrote(answer.id);
      return { answer };
    },

    delete: async ({ id }) => {
      const { rooms, list } = await this.#store();
      await rooms.leave(id);
      await list.delete(id);
      return { answer: null };
    },

    forgetLost: async () => {
      const before = await this.#opened?.catch(() => null) ?? null;
      await before?.rooms.leaveAll();
      await before?.store.close().catch(() => {});
      this.#opened = this.#open();
      return { answer: { sessionIds: await (await this.#opened).list.forgetLost() } };
    },

    model: async ({ choice }) => {
      const model = this.#options.models(choice);
      this.#model.set(model);
      (await this.#opened)?.rooms.changed();
      return { answer: { name: model.id } };
    },

    state: async ({ state }) => {
      this.#pageState = state;
      // Not awaited: a page that is about to be frozen has no time for a turn of the queue.
      this.#rooms?.page(state);
      await this.#rooms?.settled();
      return { answer: null };
    },

    persisted: async ({ isPersisted }) => {
      await this.#known.setPersisted(isPersisted);
      this.#persisted(isPersisted);
      (await this.#store()).rooms.say({ about: "persistence", isPersisted });
      return { answer: null };
    },

    crash: async ({ at }) => {
      if (at === "now") return await this.#crashes.crash(at);
      this.#crashes.arm(at);
      return { answer: null };
    },

    bank: async () => ({ answer: await this.#options.bank?.entries() ?? [] }),
  };

  async #store(): Promise<Opened> {
    if (this.#opened === null) throw new TypeError('Cannot answer before "hello"');
    return await this.#opened;
  }

  async #run(forwarded: Parameters<ReturnType<Rooms["get"]>["run"]>[0]): Promise<Answered> {
    const { rooms } = await this.#store();
    return { answer: await rooms.get(forwarded.ask.id).run(forwarded) };
  }

  async #open(): Promise<Opened> {
    const { platform, openStore, tools = [], systemPrompt, fileChangeOf = () => Promise.resolve(null) } = this.#options;
    const isVolatile = this.#isVolatile;
    let opened: OpenedStore;
    try {
      const found = await this.#inTime(openStore({ volatile: isVolatile }));
      opened = "store" in found ? found : { store: found };
    } catch (error) {
      this.#opened = null; // The next hello tries again.
      throw error;
    }
    const { logs = null } = opened;
    const store: WatchedStore = new WatchedStore(opened.store, {
      elapsedMs: () => performance.now(),
      listener: {
        appended: (id, _lastSeq, tookMs, isFirst) => {
          this.#times.add(tookMs);
          rooms.find(id)?.wrote();
          if (isFirst) void list.wrote(id);
        },
      },
      prepare: (log, salvaged) => logs === null ? Promise.resolve(null) : logs.admit(log, salvaged),
    });
    const tell = (news: WorkerNews) => this.#tell(news);
    const list = new SessionList({
      platform,
      known: this.#known,
      store,
      tell,
      say: () => rooms.say({ about: "list" }),
    });
    list.persisted((await this.#inTime(this.#known.read())).isPersisted);
    const hooks = new Hooks<AgentHooks>();
    this.#crashes.watch(hooks);
    const agent: Agent = createAgent({
      store,
      model: this.#model,
      tools,
      hooks,
      systemPrompt,
      approvers: [(request, signal) => rooms.ask(request, signal)],
    });
    const channel = this.#channel ??= platform.openChannel(TAB_CHANNEL);
    const rooms: Rooms = new Rooms(
      {
        tab: this.#tab,
        label: () => this.#label,
        platform,
        store,
        agent,
        times: this.#times,
        traits: () => list.traits,
        modelName: () => this.#model.id,
        fileChangeOf,
        isUntouched: (id) => logs?.isAsItCame(id) ?? Promise.resolve(false),
        // Where nothing is promised, the page has accepted that by now.
        isVolatile: isVolatile && store.traits.sync === "none",
        pageState: () => this.#pageState,
        tell,
      },
      channel,
      (message) => message.about === "list" ? list.tellSoon() : this.#hear(message),
    );
    this.#rooms = rooms;
    return { store, logs, rooms, list };
  }

  async #inTime<Value>(opening: Promise<Value>): Promise<Value> {
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = this.#options.platform.runtime.clock.schedule(OPEN_STORE_MS, () => {
      reject(new Refusal("STORAGE_LOST", `Cannot open the storage: it did not answer within ${OPEN_STORE_MS} ms`));
    });
    return await Promise.race([opening, promise]).finally(cancel);
  }

  #tell(news: WorkerNews): void {
    this.#options.platform.page.post(news);
  }

  #hear(message: TabMessage): void {
    if (message.about === "persistence") this.#persisted(message.isPersisted);
  }

  #persisted(isPersisted: boolean): void {
    void this.#opened?.then(({ list, rooms }) => {
      list.persisted(isPersisted);
      this.#tell({ kind: "persistence", persistence: list.traits.persistence, wasAsked: true });
      rooms.changed();
    });
  }
}
