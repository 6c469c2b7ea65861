/**
 * What the page knows and what it can ask: the state behind everything that is drawn.
 *
 * All truth comes from the worker. The store keeps the last view, the events that are here, the overlay of the answer being
 * streamed, and the inputs that were not acknowledged yet: those are sent again, under the same id, when a worker dies.
 *
 * @module
 */
import type { SessionRow, SpilledCheck } from "../../mod.ts";
import type {
  BankEntry,
  CrashPoint,
  ModelChoice,
  SeqPlace,
  SessionView,
  SettleVerdict,
  WireError,
  WorkerNews,
} from "../protocol.ts";
import { type Connect, type Connection, wireError } from "./client.ts";
import { EventLog } from "./event_log.ts";
import { isEvent } from "./is_event.ts";
import { withChunk } from "./live_answer.ts";
import type { Memory, UnsentInput } from "./memory.ts";
import { announcementOf, isSettled, type PageState, START } from "./page_state.ts";
import { isToldElsewhere } from "./problems.ts";
import { nameIn, type NameTask, nextToName } from "./session_names.ts";

/** No failure: the conversation is as short as it can be. */
const NOTHING_TO_COMPACT: WireError = { code: "NOTHING_TO_COMPACT", message: "There is nothing to compact yet." };

/** How long the first answer of a worker may take before the page says that something is wrong. */
export const HELLO_WAIT_MS = 2000;
/** How many sessions stay attached: one that is left goes on with its turn. The worker's own bound. */
const ATTACHED_MAX = 8;
/** How many problems stand on the page at once; the oldest goes first. */
const PROBLEMS_MAX = 3;

/** The browser, as far as the store needs it. */
export interface Surroundings {
  /** Asks to keep the data; `null` where the browser has no such question. */
  persist(): Promise<boolean | null>;
  /** Runs once before the next frame is drawn. */
  onFrame(run: () => void): void;
  /** Runs later; returns how to call it off. */
  later(run: () => void, delayMs: number): () => void;
  newId(): string;
  tabLabel: string;
}

/** The state of one page. */
export class PageStore {
  #state = START;
  #connection: Connection | null = null;
  #log: EventLog | null = null;
  /** Sessions the worker holds for this tab, the one that was shown last at the end. */
  #attached: string[] = [];
  #isFrameAsked = false;
  #problemNumber = 0;
  /** Sessions whose beginning was read for a name, or is being read. */
  readonly #named = new Set<string>();
  /** The worker that is being asked for names. */
  #naming: Connection | null = null;
  #isPersistAsked = false;
  /** The session that is being entered; it never rejects. */
  #entering: Promise<void> = Promise.resolve();
  readonly #listeners = new Set<() => void>();
  readonly #connect: Connect;
  readonly #memory: Memory;
  readonly #surroundings: Surroundings;

  constructor(connect: Connect, memory: Memory, surroundings: Surroundings) {
    this.#connect = connect;
    this.#memory = memory;
    this.#surroundings = surroundings;
  }

  /** What is drawn now. */
  get state(): PageState {
    return this.#state;
  }

  /** The events of the session that is open; `null` without one. */
  get log(): EventLog | null {
    return this.#log;
  }

  /** Calls back, at most once a frame, after anything changed. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Starts a worker and says hello. `isVolatile` is a person's explicit choice to go on without a medium. */
  async start(isVolatile = this.#state.isVolatile): Promise<void> {
    this.#connection?.terminate();
    const connection = this.#connection = this.#connect();
    this.#attached = [];
    const { client } = connection;
    client.subscribe((news) => connection === this.#connection && this.#hear(news));
    connection.died.then((reason) => {
      if (connection === this.#connection) this.#onDeath(reason);
    });
    this.#set({ phase: { kind: "starting", isSlow: false }, isVolatile });
    const callOff = this.#surroundings.later(() => {
      if (this.#state.phase.kind === "starting") this.#set({ phase: { kind: "starting", isSlow: true } });
    }, HELLO_WAIT_MS);
    try {
      const hello = { tabLabel: this.#surroundings.tabLabel, state: this.#memory.tabState(), volatile: isVolatile };
      const { traits, version } = await client.call("hello", hello);
      const kept = await this.#memory.model();
      if (kept !== null) this.#set({ model: kept });
      if (this.#state.model.kind !== "demo") await this.#reuseModel();
      const rows = await client.call("list", {});
      if (connection !== this.#connection) return;
      this.#set({ phase: { kind: "ready", traits, version }, rows });
      await this.#reopen(rows, connection);
      void this.#nameRows();
    } catch (error) {
      if (connection !== this.#connection) return;
      const wire = wireError(error);
      this.#set({
        phase: { kind: wire.code === "STORAGE_LOST" && wire.sessionIds ? "lost" : "unusable", error: wire },
      });
    } finally {
      callOff();
    }
  }

  /** Goes on where this tab was. */
  async #reopen(rows: readonly SessionRow[], connection: Connection): Promise<void> {
    const last = this.#memory.lastSession();
    if (last === null) return;
    if (rows.some(({ id }) => id === last)) {
      if (!await this.open(last) && connection === this.#connection) this.#forget();
      return;
    }
    // Nothing of it was ever written.
    const inputs = this.#memory.unsent(last);
    for (const { inputId } of inputs) this.#memory.dropUnsent(inputId);
    this.#forget();
    this.#set({ draft: inputs.map(({ text }) => text).join("\n") });
  }

  async #reuseModel(): Promise<void> {
    const isKept = await this.#try((client) => client.call("model", { choice: this.#state.model }));
    if (!isKept) this.#set({ model: { kind: "demo" } });
  }

  /** After a loss was read: forgets the sessions that are gone and begins anew. */
  async startEmpty(): Promise<void> {
    if (await this.#try((client) => client.call("forgetLost", {}))) await this.start();
  }

  /** Makes a session and shows it. */
  create(): Promise<boolean> {
    return this.#try(async (client) => {
      await this.#enter(null, () => client.call("create", { volatile: this.#state.isVolatile }));
    });
  }

  /** Shows a session: as its owner when nobody else is. */
  open(id: string): Promise<boolean> {
    return this.#try(async (client) => {
      await this.#enter(id, () => client.call("attach", { id }));
      for (const input of this.#memory.unsent(id)) await this.#deliver(input);
    }); // What keeps it from being opened concerns whoever is on another session too.
  }

  /** Leaves the session, which goes on with what it does; the list stays. */
  close(): Promise<void> {
    this.#forget();
    return Promise.resolve();
  }

  /** Sends a message. True when it is durable. It is kept, and sent again, when the worker dies before that. */
  async send(text: string): Promise<boolean> {
    if (/^\/compact(\s|$)/.test(text)) return await this.#command(text);
    this.#set({ draft: "" });
    if (this.#state.view === null && !await this.create()) {
      this.#set({ draft: text });
      return false;
    }
    const input = { id: this.#state.view!.id, inputId: this.#surroundings.newId(), text };
    this.#memory.keepUnsent(input);
    return await this.#try(() => this.#deliver(input), input.id);
  }

  /** A command is no message: the model never reads it. */
  async #command(text: string): Promise<boolean> {
    this.#set({ draft: "" });
    if (text === "/compact" && this.#state.view !== null) return await this.compact();
    if (text === "/compact") {
      this.report(NOTHING_TO_COMPACT);
      return true;
    }
    this.report(new TypeError("Cannot run /compact: it takes no arguments"), this.#state.view?.id ?? null);
    return false;
  }

  /** A worker that dies before it answers is no refusal: the input stays, and the next worker gets it under the same id. */
  async #deliver(input: UnsentInput): Promise<void> {
    try {
      await this.#connection!.client.call("send", input);
    } catch (error) {
      if (wireError(error).code === "WORKER_DIED") return;
      this.#memory.dropUnsent(input.inputId);
      throw error;
    }
    this.#memory.dropUnsent(input.inputId);
  }

  /** Compacts the conversation. What comes of it stands in the log. */
  compact(): Promise<boolean> {
    return this.#tryHere(async (client, id) => {
      const { isStarted } = await client.call("compact", { id });
      if (isStarted) this.#set({ announcement: "Compacting the conversation." });
      else this.report(NOTHING_TO_COMPACT, id);
    });
  }

  /** Stops the turn. */
  cancel(): Promise<boolean> {
    return this.#tryHere((client, id) => client.call("cancel", { id }));
  }

  /** Answers a question. */
  answer(question: string, decision: "allowed-once" | "rejected"): Promise<boolean> {
    return this.#tryHere((client, id) => client.call("answer", { id, question, decision }));
  }

  /** Settles an unknown by hand. */
  settle(callSeq: number, verdict: SettleVerdict, note: string): Promise<boolean> {
    const ask = { callSeq, verdict, ...(note === "" ? {} : { note }) };
    return this.#tryHere((client, id) => client.call("settle", { id, ...ask }));
  }

  /** The messages the model sees, or `null` when they cannot be had. */
  async surface() {
    const { view } = this.#state;
    return view === null ? null : await this.#quiet((client) => client.call("surface", { id: view.id }));
  }

  /** Where these events lie in the file; none when that cannot be found out. */
  async places(seqs: readonly number[]): Promise<readonly SeqPlace[]> {
    const { view } = this.#state;
    return view === null ? [] : await this.#quiet((client) => client.call("places", { id: view.id, seqs })) ?? [];
  }

  /** What the pretend bank holds; `null` when it cannot be asked. */
  async bank(): Promise<readonly BankEntry[] | null> {
    return await this.#quiet((client) => client.call("bank", {}));
  }

  /** The log's bytes, or `null` after a problem, which is then shown. */
  async exported(): Promise<{ readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> } | null> {
    let answer = null;
    await this.#tryHere(async (client, id) => {
      const exported = await client.call("export", { id });
      // Every session's log has the same name where it is kept; among somebody's downloads it has its session's.
      answer = { ...exported, name: exported.name.replace(/^session\b/, id) };
      this.#reportLost(answer.spilled, "are lost, and are not in the export. Everything else is", id);
    });
    return answer;
  }

  /** Takes a log in and shows it. */
  import(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<boolean> {
    return this.#try(async (client) => {
      const { id, fault, spilled } = await client.call("import", { name, bytes });
      this.#set({ rows: await client.call("list", {}) });
      const lost = spilled.missing.length + spilled.damaged.length;
      if (lost > 0) {
        const message =
          `${lost} of ${spilled.count} long results did not come with this log. Everything else of it is ` +
          "here; the .zip that an export writes brings them along";
        this.report({ code: "NOT_FOUND", message }, id);
      }
      // A log that is damaged says so where it is shown, in the line of who may write it.
      if (!await this.open(id) && fault !== null) this.report(fault, id);
    });
  }

  #reportLost({ count, missing, damaged }: SpilledCheck, found: string, id: string): void {
    const lost = missing.length + damaged.length;
    if (lost > 0) this.report({ code: "NOT_FOUND", message: `${lost} of ${count} long results ${found}` }, id);
  }

  /** Removes a session for good. */
  delete(id: string): Promise<boolean> {
    return this.#try(async (client) => {
      await this.#detach(id);
      await client.call("delete", { id });
      if (this.#state.view?.id === id) this.#forget();
      this.#set({ rows: await client.call("list", {}) });
    });
  }

  /** Chooses who answers. The key is kept beyond this page only when `isKept`. */
  chooseModel(choice: ModelChoice, isKept: boolean): Promise<boolean> {
    return this.#try(async (client) => {
      const { name } = await client.call("model", { choice });
      await this.#memory.keepModel(isKept ? choice : null);
      this.#set({ model: choice, announcement: `The model is now ${name}.` });
    });
  }

  /** Kills the worker here and now, and starts another. */
  async crashNow(): Promise<void> {
    this.#connection?.terminate();
    await this.#restart();
  }

  /** Arms a crash: the next effect dies at this point. */
  arm(at: Exclude<CrashPoint, "now">): Promise<boolean> {
    return this.#try(async (client) => {
      await client.call("crash", { at });
      this.#set({ armed: at, announcement: "Armed: the next effect will crash the worker." });
    });
  }

  /** Crashes here, or arms a crash. True when there is something to go on with: an effect that will meet the crash. */
  async crashAt(at: CrashPoint): Promise<boolean> {
    if (at !== "now") return await this.arm(at);
    await this.crashNow();
    return true;
  }

  /** Takes a problem off the page. */
  dismiss(number: number): void {
    this.#set({ problems: this.#state.problems.filter((problem) => problem.number !== number) });
  }

  /** A person has read that sessions are gone: they are not missed any more. */
  async noteLoss(number: number): Promise<void> {
    if (await this.#try((client) => client.call("forgetLost", {}))) this.dismiss(number);
  }

  /** Puts a problem on the page, once. `id`: the session it belongs to; it is shown with no other. */
  report(error: unknown, id: string | null = null): void {
    const wire = wireError(error);
    const inTheWay = wire.code === "ALREADY_EXISTS" ? wire.sessionIds?.[0] : undefined;
    const problem = { ...wire, id, number: this.#problemNumber++, ...(inTheWay === undefined ? {} : { inTheWay }) };
    if (isToldElsewhere(problem, this.#state.problems, this.#state.view, this.#log)) return;
    this.#set({ problems: [...this.#state.problems, problem].slice(-PROBLEMS_MAX) });
  }

  #show(view: SessionView): void {
    this.#log?.close();
    const fetch = (from: number, limit: number) =>
      this.#connection!.client.call("history", { id: view.id, from, limit });
    this.#log = new EventLog(fetch, (error) => {
      if (wireError(error).code !== "WORKER_DIED") this.report(error, view.id);
    });
    this.#attached = [...this.#attached.filter((id) => id !== view.id), view.id];
    this.#memory.keepLastSession(view.id);
    this.#set({ live: null });
    this.#seeAsking(view);
    this.#seeView(view);
  }

  /** One after the other: who is let go for a session is counted when those before it are there. */
  async #enter(id: string | null, ask: () => Promise<SessionView>): Promise<void> {
    const entering = this.#entering.then(async () => {
      await this.#makeRoom(id);
      this.#show(await ask());
    });
    this.#entering = entering.catch(() => {});
    await entering;
  }

  /** Lets the sessions go that were shown longest ago, so that another one can be attached. */
  async #makeRoom(id: string | null): Promise<void> {
    const others = this.#attached.filter((attached) => attached !== id);
    for (const oldest of others.slice(0, Math.max(0, others.length + 1 - ATTACHED_MAX))) await this.#detach(oldest);
  }

  async #detach(id: string): Promise<void> {
    if (!this.#attached.includes(id)) return;
    this.#attached = this.#attached.filter((attached) => attached !== id);
    await this.#connection!.client.call("detach", { id });
  }

  #forget(): void {
    this.#log?.close();
    this.#log = null;
    this.#memory.keepLastSession(null);
    this.#set({ view: null, live: null });
  }

  #hear(news: WorkerNews): void {
    const { view } = this.#state;
    switch (news.kind) {
      case "sessions":
        this.#set({ rows: news.rows });
        return void this.#nameRows();
      case "view":
        this.#seeAsking(news.view);
        if (news.view.id === view?.id) this.#seeView(news.view);
        return;
      case "events":
        if (news.id !== view?.id) return;
        this.#log!.push(news.events);
        this.#dropTold();
        if (news.durableSeq > view.durability.durableSeq) {
          this.#seeView({ ...view, durability: { ...view.durability, durableSeq: news.durableSeq } });
        }
        if (news.events.some((event) => isEvent(event, "assistant/message") || isEvent(event, "turn/end"))) {
          this.#set({ live: null });
        }
        return;
      case "reset":
        if (news.id !== view?.id) return;
        this.#log!.reset(news.from);
        return this.#set({ live: null });
      case "chunk":
        if (news.id !== view?.id) return;
        return this.#set({ live: withChunk(this.#state.live, news.turn, news.step, news.chunk) });
      case "persistence":
        return this.#set({ persistence: { answer: news.persistence, wasAsked: news.wasAsked } });
      case "crash":
        // The worker is at the point where it dies: it does nothing any more, and this page ends it.
        return void this.crashNow();
      case "problem":
        return this.report(news.error, news.id);
    }
  }

  #seeView(view: SessionView): void {
    const before = this.#state.view?.id === view.id ? this.#state.view : null;
    this.#log!.extend(view.nextSeq);
    if (before?.durability.durableSeq !== view.durability.durableSeq) this.#log!.refresh();
    this.#set({ view, announcement: announcementOf(before, view) ?? this.#state.announcement });
    if (view.title !== null) this.#name(view.id, view.title);
    this.#dropTold();
    if (view.status === "idle" && before?.status === "running") this.#set({ live: null });
    // What the list says of this session has changed on the medium.
    if (isSettled(view) && before !== null && (!isSettled(before) || before.unknowns.length !== view.unknowns.length)) {
      this.#refreshRows();
    }
    // The first session was written: now there is something to lose.
    if (view.durability.durableSeq >= 0 && view.role.kind === "owner" && !this.#state.isVolatile) this.#askToPersist();
  }

  #seeAsking({ id, questions }: SessionView): void {
    const { asking } = this.#state;
    if (asking.includes(id) === questions.length > 0) return;
    this.#set({ asking: questions.length > 0 ? [...asking, id] : asking.filter((other) => other !== id) });
  }

  /** Takes off what the log, or the line of who writes it, has come to say as well. */
  #dropTold(): void {
    const { problems, view } = this.#state;
    const left = problems.filter((problem) => !isToldElsewhere(problem, [], view, this.#log));
    if (left.length < problems.length) this.#set({ problems: left });
  }

  #name(id: string, name: string): void {
    this.#named.add(id);
    if (this.#state.names.get(id) !== name) this.#set({ names: new Map(this.#state.names).set(id, name) });
  }

  /** Reads the beginnings of sessions that have no name yet, one after the other. */
  async #nameRows(): Promise<void> {
    const connection = this.#connection;
    if (this.#naming === connection) return;
    this.#naming = connection;
    let task: NameTask | null;
    while (connection === this.#connection && (task = nextToName(this.#state.rows, this.#named)) !== null) {
      const { id, limit } = task;
      this.#named.add(id);
      const page = await this.#quiet((client) => client.call("history", { id, from: 0, limit }));
      const name = page === null ? null : nameIn(page.events);
      if (name !== null) this.#name(id, name);
      else if (connection !== this.#connection) this.#named.delete(id); // The next worker is asked again.
    }
    if (connection === this.#connection) this.#naming = null;
  }

  async #refreshRows(): Promise<void> {
    const rows = await this.#quiet((client) => client.call("list", {}));
    if (rows !== null) this.#set({ rows });
  }

  async #askToPersist(): Promise<void> {
    if (this.#isPersistAsked) return;
    this.#isPersistAsked = true;
    const isGranted = await this.#surroundings.persist();
    if (isGranted === null) return;
    this.#set({ persistence: { answer: isGranted ? "persistent" : "best-effort", wasAsked: true } });
    await this.#quiet((client) => client.call("persisted", { isPersisted: isGranted }));
  }

  async #onDeath(reason: WireError): Promise<void> {
    // A worker that never answered would not answer again: somebody has to read why.
    if (this.#state.phase.kind === "starting") return this.#set({ phase: { kind: "unusable", error: reason } });
    await this.#restart();
  }

  async #restart(): Promise<void> {
    const { crashes, view } = this.#state;
    if (view !== null) this.#memory.keepLastSession(view.id);
    this.#log?.close();
    this.#set({
      phase: { kind: "crashed" },
      crashes: crashes + 1,
      armed: null,
      asking: [],
      live: null,
      announcement: "The worker died.",
    });
    await this.start();
  }

  /** Asks about the session that is shown. What becomes of it belongs to that session. */
  #tryHere(ask: (client: Connection["client"], id: string) => Promise<unknown>): Promise<boolean> {
    const { id } = this.#state.view!;
    return this.#try((client) => ask(client, id), id);
  }

  async #try(ask: (client: Connection["client"]) => Promise<unknown>, id: string | null = null): Promise<boolean> {
    const connection = this.#connection;
    if (connection === null) return false;
    try {
      await ask(connection.client);
      return true;
    } catch (error) {
      if (connection === this.#connection) this.report(error, id);
      return false;
    }
  }

  async #quiet<Answer>(ask: (client: Connection["client"]) => Promise<Answer>): Promise<Answer | null> {
    try {
      return this.#connection === null ? null : await ask(this.#connection.client);
    } catch {
      return null; // What is shown beside the conversation is asked for again at the next change.
    }
  }

  #set(change: Partial<PageState>): void {
    this.#state = { ...this.#state, ...change };
    this.#changed();
  }

  #changed(): void {
    if (this.#isFrameAsked) return;
    this.#isFrameAsked = true;
    this.#surroundings.onFrame(() => {
      this.#isFrameAsked = false;
      for (const listener of this.#listeners) listener();
    });
  }
}
