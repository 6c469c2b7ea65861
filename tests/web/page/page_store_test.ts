import { assertEquals, assertMatch } from "@std/assert";
import type { Connection } from "../../../web/page/client.ts";
import type { Memory, UnsentInput } from "../../../web/page/memory.ts";
import { PageStore } from "../../../web/page/page_store.ts";
import { problemsOf } from "../../../web/page/problems.ts";
import type { ModelChoice, PageVerb, SessionView, WireError, WorkerNews } from "../../../web/protocol.ts";
import { fakeConnection, logOf, payment, type Scene } from "../../browser/fake_client.ts";

const ID = "01ky3v7m2q8r5t";
const SCENE: Scene = { events: logOf(payment("pay 10 to alice", "done")), view: {} };
const NONE_SPILLED = { count: 0, missing: [], damaged: [] };
const DIED: WireError = { code: "WORKER_DIED", message: "the worker is gone" };

/** A store over workers that the test holds in its hands. */
class Setup {
  readonly calls: { verb: PageVerb; ask: unknown }[] = [];
  readonly workers: { die: (reason: WireError) => void; tell: (news: WorkerNews) => void; isTerminated: boolean }[] =
    [];
  readonly unsent: UnsentInput[] = [];
  last: string | null = ID;
  kept: ModelChoice | null = null;
  /** What the verbs of the next worker answer instead. */
  overrides: { [Verb in PageVerb]?: () => Promise<unknown> } = {};
  readonly store: PageStore;
  #ids = 0;

  constructor(scene: Scene = SCENE) {
    const memory: Memory = {
      lastSession: () => this.last,
      keepLastSession: (id) => this.last = id,
      unsent: (id) => this.unsent.filter((input) => input.id === id),
      keepUnsent: (input) => this.unsent.push(input),
      dropUnsent: (inputId) => this.unsent.splice(this.unsent.findIndex((input) => input.inputId === inputId), 1),
      model: () => Promise.resolve(this.kept),
      keepModel: (choice) => Promise.resolve(void (this.kept = choice)),
      tabState: () => "visible",
    };
    this.store = new PageStore(() => this.#connect(scene), memory, {
      persist: () => Promise.resolve(false),
      onFrame: (run) => run(),
      later: () => () => {},
      newId: () => `input-${++this.#ids}`,
      tabLabel: "this tab",
    });
  }

  #connect(scene: Scene): Connection {
    const { client } = fakeConnection(scene, this.calls);
    const died = Promise.withResolvers<WireError>();
    const listeners = new Set<(news: WorkerNews) => void>();
    const overrides = this.overrides;
    const worker = {
      die: died.resolve,
      tell: (news: WorkerNews) => listeners.forEach((listen) => listen(news)),
      isTerminated: false,
    };
    this.workers.push(worker);
    return {
      client: {
        call: (verb, ask) => {
          if (overrides[verb] === undefined) return client.call(verb, ask);
          this.calls.push({ verb, ask });
          return overrides[verb]() as never;
        },
        subscribe: (listener) => (listeners.add(listener), () => listeners.delete(listener)),
      },
      terminate: () => worker.isTerminated = true,
      died: died.promise,
    };
  }

  verbs(verb: PageVerb): unknown[] {
    return this.calls.filter((call) => call.verb === verb).map(({ ask }) => ask);
  }
}

/** Resolves after everything that is already settled was taken in. */
const settled = () => new Promise((over) => setTimeout(over));

Deno.test("PageStore.start() opens the session the address names", async () => {
  const { store } = new Setup();
  await store.start();
  assertEquals([store.state.phase.kind, store.state.view?.id, store.log?.nextSeq], ["ready", ID, SCENE.events.length]);
});

Deno.test("PageStore keeps an input a dead worker did not acknowledge, and the next one gets it under the same id", async () => {
  const setup = new Setup();
  await setup.store.start();
  setup.overrides.send = () => Promise.reject(DIED);
  assertEquals(await setup.store.send("pay 10 to alice"), true);
  assertEquals(setup.unsent.map(({ inputId }) => inputId), ["input-1"]);
  setup.overrides = {};
  await setup.store.crashNow();
  const sent = setup.verbs("send") as UnsentInput[];
  assertEquals(sent.map(({ inputId, text }) => [inputId, text]), Array(2).fill(["input-1", "pay 10 to alice"]));
  assertEquals([setup.unsent, setup.store.state.problems], [[], []]);
});

Deno.test("PageStore.send() gives a refused input back and sends it to nobody again", async () => {
  const setup = new Setup();
  await setup.store.start();
  setup.overrides.send = () => Promise.reject({ code: "STORAGE_FULL", message: "Cannot write: it is full" });
  assertEquals(await setup.store.send("pay"), false);
  assertEquals([setup.unsent, setup.store.state.problems.map(({ code }) => code)], [[], ["STORAGE_FULL"]]);
});

Deno.test("PageStore gives back what was typed into a session that died before it was written", async () => {
  const setup = new Setup({ events: [], view: {}, rows: [] });
  setup.last = null;
  await setup.store.start();
  setup.overrides.send = () => Promise.reject(DIED);
  await setup.store.send("pay 10 to alice");
  assertEquals([setup.last, setup.unsent.length], [ID, 1]);
  setup.overrides = {};
  await setup.store.crashNow();
  const { view, draft, problems } = setup.store.state;
  assertEquals([view, draft, problems, setup.last, setup.unsent], [null, "pay 10 to alice", [], null, []]);
  assertEquals(setup.verbs("send").length, 1);
});

Deno.test("PageStore gives back what was typed when there was no session yet and none could be made", async () => {
  const setup = new Setup({ events: [], view: {}, rows: [] });
  setup.last = null;
  await setup.store.start();
  const created = Promise.withResolvers();
  setup.overrides.create = () => created.promise;
  const sent = setup.store.send("pay 10 to alice");
  await setup.store.crashNow();
  created.reject(DIED);
  assertEquals(await sent, false);
  assertEquals([setup.store.state.draft, setup.store.state.problems], ["pay 10 to alice", []]);
  setup.overrides = {};
  await setup.store.crashNow();
  await setup.store.send("pay 10 to alice");
  assertEquals(setup.store.state.draft, "");
});

Deno.test("PageStore says so when the kept model is refused, and goes on with the demo model", async () => {
  const setup = new Setup();
  setup.kept = { kind: "openai", baseUrl: "nonsense", model: "m" };
  setup.overrides.model = () => Promise.reject({ code: "TypeError", message: "Cannot use the model" });
  await setup.store.start();
  const { phase, model, problems } = setup.store.state;
  assertEquals([phase.kind, model, problems.map(({ code }) => code)], ["ready", { kind: "demo" }, ["TypeError"]]);
});

Deno.test("PageStore starts a new worker after a crash, told or not, and shows the same session", async () => {
  const setup = new Setup();
  await setup.store.start();
  setup.workers[0]!.tell({ kind: "crash", at: "before-effect" });
  await settled();
  assertEquals([setup.workers.length, setup.workers[0]!.isTerminated, setup.store.state.crashes], [2, true, 1]);
  setup.workers[1]!.die(DIED);
  await settled();
  assertEquals([setup.workers.length, setup.store.state.crashes, setup.store.state.view?.id], [3, 2, ID]);
  // What a dead worker still says is not heard.
  setup.workers[1]!.tell({ kind: "problem", id: null, error: DIED });
  assertEquals(setup.store.state.problems, []);
});

Deno.test("PageStore does not start a worker over and over that never answers", async () => {
  const setup = new Setup();
  setup.overrides.hello = () => new Promise(() => {});
  setup.store.start();
  await settled();
  setup.workers[0]!.die({ code: "WORKER_DIED", message: "Cannot reach the worker: it failed to load" });
  await settled();
  const { phase } = setup.store.state;
  assertEquals([setup.workers.length, phase.kind], [1, "unusable"]);
  assertMatch(phase.kind === "unusable" ? phase.error.message : "", /failed to load/);
});

Deno.test("PageStore drops the overlay when the log holds the message, and at a takeover", async () => {
  const setup = new Setup();
  await setup.store.start();
  const [worker] = setup.workers;
  const chunk = {
    kind: "chunk",
    id: ID,
    turn: 2,
    step: 1,
    chunk: { type: "text-delta", index: 0, text: "Hel" },
  } as const;
  worker!.tell(chunk);
  worker!.tell({ ...chunk, chunk: { ...chunk.chunk, text: "lo" } });
  assertEquals(setup.store.state.live?.text, "Hello");
  worker!.tell({ kind: "reset", id: ID, from: 10 });
  assertEquals([setup.store.state.live, setup.store.log?.nextSeq], [null, 10]);
  worker!.tell(chunk);
  worker!.tell({ kind: "events", id: ID, events: SCENE.events.slice(5, 6), durableSeq: 9 });
  assertEquals(setup.store.state.live, null);
});

Deno.test("PageStore keeps a model and its key only when asked to", async () => {
  const setup = new Setup();
  await setup.store.start();
  const choice: ModelChoice = { kind: "openai", baseUrl: "https://api.example/v1", model: "m", apiKey: "secret" };
  await setup.store.chooseModel(choice, false);
  assertEquals([setup.kept, setup.store.state.model], [null, choice]);
  // The key in memory outlives the worker, not the page.
  await setup.store.crashNow();
  assertEquals(setup.verbs("model"), [{ choice }, { choice }]);
  await setup.store.chooseModel(choice, true);
  assertEquals(setup.kept, choice);
  await setup.store.chooseModel({ kind: "demo" }, false);
  assertEquals(setup.kept, null);
});

Deno.test("PageStore asks the browser to keep the data once, after the first event is durable", async () => {
  const setup = new Setup({ events: [], view: {} });
  await setup.store.start();
  await settled();
  assertEquals([setup.store.state.view?.id, setup.verbs("persisted")], [ID, []]);
  const view = setup.store.state.view as SessionView;
  const durable = { ...view, durability: { ...view.durability, durableSeq: 0 } };
  setup.workers[0]!.tell({ kind: "view", view: durable });
  setup.workers[0]!.tell({ kind: "view", view: durable });
  await settled();
  assertEquals(setup.verbs("persisted"), [{ isPersisted: false }]);
  assertEquals(setup.store.state.persistence, { answer: "best-effort", wasAsked: true });
});

Deno.test("PageStore keeps at most eight sessions attached, and lets the one go that was shown longest ago", async () => {
  const setup = new Setup();
  await setup.store.start();
  const view = setup.store.state.view as SessionView;
  for (let number = 1; number <= 8; number++) {
    setup.overrides.attach = () => Promise.resolve({ ...view, id: `other${number}` });
    await setup.store.open(`other${number}`);
  }
  assertEquals(setup.verbs("detach"), [{ id: ID }]);
  await setup.store.delete("other3");
  assertEquals(setup.verbs("detach"), [{ id: ID }, { id: "other3" }]);
  assertEquals([setup.verbs("delete"), setup.store.state.view?.id], [[{ id: "other3" }], "other8"]);
});

Deno.test("PageStore says which sessions are gone while others are there, until somebody noted it", async () => {
  const setup = new Setup();
  await setup.store.start();
  const error = { code: "STORAGE_LOST", message: "1 session is gone", sessionIds: ["gone1"] };
  setup.workers[0]!.tell({ kind: "problem", id: null, error });
  const [problem] = setup.store.state.problems;
  assertEquals([problem?.sessionIds, setup.store.state.phase.kind], [["gone1"], "ready"]);
  await setup.store.noteLoss(problem!.number);
  assertEquals([setup.store.state.problems, setup.verbs("forgetLost").length], [[], 1]);
});

Deno.test("PageStore shows as durable what the worker says is durable, with or without new events", async () => {
  const setup = new Setup({ events: SCENE.events, view: { durability: { durableSeq: 9 } as never } });
  await setup.store.start();
  assertEquals(setup.store.state.view?.durability.durableSeq, 9);
  setup.workers[0]!.tell({ kind: "events", id: ID, events: [], durableSeq: 12 });
  assertEquals(setup.store.state.view?.durability.durableSeq, 12);
});

Deno.test("PageStore enters sessions one after the other, so that many opened at once stay below the bound", async () => {
  const ids = Array.from({ length: 12 }, (_, number) => `session-${number}`);
  const setup = new Setup();
  await setup.store.start();
  const attached = new Set([ID]);
  let most = 0;
  let id = "";
  const view = setup.store.state.view!;
  setup.overrides.attach = async () => {
    const asked = (setup.verbs("attach").at(-1) as { id: string }).id;
    id = asked;
    await settled();
    most = Math.max(most, attached.add(asked).size);
    return { ...view, id: asked };
  };
  setup.overrides.detach = () => {
    attached.delete((setup.verbs("detach").at(-1) as { id: string }).id);
    return Promise.resolve(null);
  };
  await Promise.all(ids.map((id) => setup.store.open(id)));
  assertEquals([most, id, setup.store.state.view?.id], [8, ids.at(-1), ids.at(-1)]);
});

Deno.test("PageStore says once why events cannot be had", async () => {
  const setup = new Setup();
  await setup.store.start();
  setup.overrides.history = () => Promise.reject({ code: "RangeError", message: "too deep" });
  await setup.store.open("another");
  setup.store.log!.extend(2_000);
  for (const seq of [0, 300, 600]) {
    setup.store.log!.get(seq);
    await settled();
  }
  assertEquals(setup.store.state.problems.map(({ message }) => message), ["too deep"]);
});

Deno.test("PageStore keeps what went wrong with the session it belongs to, and says it once", async () => {
  const setup = new Setup();
  await setup.store.start();
  const error = { code: "STORAGE_FULL", message: "Cannot write: it is full" };
  for (const id of [ID, ID, "other"]) setup.workers[0]!.tell({ kind: "problem", id, error });
  assertEquals(setup.store.state.problems.map(({ id }) => id), [ID, "other"]);
  assertEquals(problemsOf(setup.store.state.problems, ID).map(({ id }) => id), [ID]);
  assertEquals(problemsOf(setup.store.state.problems, null), []);
});

Deno.test("PageStore shows no card for what the conversation says: how the turn failed, before or after it", async () => {
  const setup = new Setup();
  await setup.store.start();
  const error = { code: "MODEL_FAILED", message: "the endpoint answered 500" };
  const failed = (seq: number) => {
    const data = { turn: 2, reason: { kind: "error", error: { ...error, name: "E" } } };
    const events = [{ type: "turn/end", seq, time: 0, data: data as never }];
    setup.workers[0]!.tell({ kind: "events", id: ID, events, durableSeq: seq });
  };
  setup.workers[0]!.tell({ kind: "problem", id: ID, error });
  assertEquals(setup.store.state.problems.length, 1);
  failed(SCENE.events.length);
  assertEquals(setup.store.state.problems, []);
  setup.workers[0]!.tell({ kind: "problem", id: ID, error });
  assertEquals(setup.store.state.problems, []);
});

Deno.test("PageStore.import() of a damaged log leaves the damage to the line of the session, and of a taken id says whose it is", async () => {
  const fault = {
    code: "CORRUPT_FRAME",
    offsetBytes: 8,
    seq: 3,
    message: "the frame at 8 has a wrong checksum",
  } as const;
  const setup = new Setup({ events: SCENE.events, view: { role: { kind: "read-only", fault } } });
  await setup.store.start();
  setup.overrides.import = () => Promise.resolve({ id: ID, fault, spilled: NONE_SPILLED });
  assertEquals(await setup.store.import("a.zstd", new Uint8Array(4)), true);
  setup.workers[0]!.tell({ kind: "problem", id: ID, error: { ...fault, message: "Cannot open session: damaged" } });
  assertEquals(setup.store.state.problems, []);
  setup.overrides.import = () => Promise.reject({ code: "ALREADY_EXISTS", message: "it is there", sessionIds: [ID] });
  assertEquals(await setup.store.import("b.zstd", new Uint8Array(4)), false);
  assertEquals(setup.store.state.problems.map(({ inTheWay }) => inTheWay), [ID]);
});

Deno.test("PageStore says that nothing was said, where an error has no words", async () => {
  const setup = new Setup();
  await setup.store.start();
  setup.overrides.import = () => Promise.reject(new DOMException("", "AbortError"));
  await setup.store.import("a.zstd", new Uint8Array(4));
  const [problem] = setup.store.state.problems;
  assertEquals(problem?.code, "AbortError");
  assertMatch(problem!.message, /\w/);
});

Deno.test("PageStore names sessions by what was said first, also those that were never opened here", async () => {
  const setup = new Setup();
  await setup.store.start();
  await settled();
  assertEquals([...setup.store.state.names], [[ID, "pay 10 to alice"]]);
});

Deno.test("PageStore.send() takes /compact as a command: the model never reads it, and it takes no arguments", async () => {
  const setup = new Setup();
  const { store } = setup;
  await store.start();
  assertEquals(await store.send("/compact"), true);
  assertEquals(await store.send("/compact now please"), false);
  assertEquals([setup.verbs("compact").length, setup.verbs("send").length], [1, 0]);
  assertMatch(store.state.problems.at(-1)!.message, /takes no arguments/);
  assertEquals(await store.send("/compactor"), true);
  assertEquals(setup.verbs("send").length, 1);
});

Deno.test("PageStore.send() of /compact before there is a conversation says calmly that there is nothing to compact", async () => {
  const setup = new Setup();
  setup.last = null;
  const { store } = setup;
  await store.start();
  assertEquals(store.state.view, null);
  assertEquals(await store.send("/compact"), true);
  assertEquals(store.state.problems.map(({ code, message }) => [code, message]), [
    ["NOTHING_TO_COMPACT", "There is nothing to compact yet."],
  ]);
  assertEquals([setup.verbs("create").length, setup.verbs("compact").length, setup.verbs("send").length], [0, 0, 0]);
});

Deno.test("PageStore.import() says how many long results did not come with a log", async () => {
  const setup = new Setup();
  await setup.store.start();
  const lost = {
    seq: 4,
    callId: "c",
    callSeq: 2,
    digest: "0".repeat(64),
    sizeBytes: 9,
    code: "NOT_FOUND",
    message: "m",
  };
  setup.overrides.import = () =>
    Promise.resolve({ id: ID, fault: null, spilled: { count: 3, missing: [lost], damaged: [] } });
  assertEquals(await setup.store.import("a.jsonl", new Uint8Array(4)), true);
  assertMatch(setup.store.state.problems.at(-1)!.message, /^1 of 3 long results did not come with this log/);
});

Deno.test("PageStore.compact() says it when there is nothing to compact", async () => {
  const setup = new Setup();
  await setup.store.start();
  setup.overrides.compact = () => Promise.resolve({ isStarted: false });
  await setup.store.compact();
  assertEquals(setup.store.state.problems.map(({ code }) => code), ["NOTHING_TO_COMPACT"]);
});
