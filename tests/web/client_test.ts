import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  connectWorker,
  followPageState,
  FREEZE_HOLD_MS,
  PENDING_REQUESTS_MAX,
  WorkerError,
  type WorkerLike,
} from "../../web/client.ts";
import type { PageRequest, WorkerMessage } from "../../web/protocol.ts";

/** A worker whose answers the test gives. */
class StubWorker implements WorkerLike {
  readonly asked: PageRequest[] = [];
  isTerminated = false;
  readonly #listeners: [string, (event: Event) => void][] = [];

  postMessage(message: unknown): void {
    this.asked.push(message as PageRequest);
  }

  addEventListener(type: string, listener: (event: Event) => void): void {
    this.#listeners.push([type, listener]);
  }

  terminate(): void {
    this.isTerminated = true;
  }

  say(data: WorkerMessage): void {
    this.#tell("message", { data } as unknown as Event);
  }

  fail(message: string): void {
    this.#tell("error", { message } as unknown as Event);
  }

  #tell(type: string, event: Event): void {
    for (const [wanted, listener] of this.#listeners) if (wanted === type) listener(event);
  }
}

Deno.test("connectWorker() gives each request its own answer, whatever their order", async () => {
  const worker = new StubWorker();
  const client = connectWorker(worker);
  const first = client.call("list", {});
  const second = client.call("bank", {});
  const [one, two] = worker.asked;
  worker.say({ kind: "reply", request: two!.request, answer: ["second"] });
  worker.say({
    kind: "refusal",
    request: one!.request,
    error: { code: "STORAGE_LOST", message: "gone", sessionIds: ["a"] },
  });
  worker.say({ kind: "reply", request: 99, answer: null });
  assertEquals(await second as unknown, ["second"]);
  const error = await first.catch((error) => error);
  assert(error instanceof WorkerError);
  assertEquals([error.code, error.sessionIds], ["STORAGE_LOST", ["a"]]);
});

Deno.test("connectWorker() rejects what waits when the worker dies, and what is asked later", async () => {
  for (const end of ["terminate", "crash", "error"] as const) {
    const worker = new StubWorker();
    const client = connectWorker(worker);
    const waiting = client.call("list", {}).catch((error) => error);
    if (end === "terminate") client.terminate();
    if (end === "crash") worker.say({ kind: "crash", at: "now" });
    if (end === "error") worker.fail("no such script");
    assertEquals((await waiting).code, "WORKER_DIED");
    assertEquals((await client.died).code, "WORKER_DIED");
    assertEquals(worker.isTerminated, true);
    assertEquals((await client.call("list", {}).catch((error) => error)).code, "WORKER_DIED");
  }
});

Deno.test("restart() starts a new worker, and the old one is not heard any more", async () => {
  const workers: StubWorker[] = [];
  const client = connectWorker(() => workers[workers.push(new StubWorker()) - 1]!);
  let heard = 0;
  client.subscribe(() => heard++);
  client.terminate();
  client.restart();
  const answered = client.call("list", {});
  const [old, fresh] = workers;
  old!.say({ kind: "sessions", rows: [] });
  old!.say({ kind: "reply", request: fresh!.asked[0]!.request, answer: "old" });
  fresh!.say({ kind: "sessions", rows: [] });
  fresh!.say({ kind: "reply", request: fresh!.asked[0]!.request, answer: [] });
  assertEquals(await answered, []);
  assertEquals(heard, 1);
  assertThrows(() => connectWorker(new StubWorker()).restart(), TypeError);
});

Deno.test("connectWorker() bounds what waits, and subscribe() ends", async () => {
  const worker = new StubWorker();
  const client = connectWorker(worker);
  const waiting = Array.from({ length: PENDING_REQUESTS_MAX }, () => client.call("list", {}).catch(() => {}));
  const error = await assertRejects(() => client.call("list", {}), WorkerError) as WorkerError;
  assertEquals(error.code, "BUFFER_FULL");
  assertEquals(worker.asked.length, PENDING_REQUESTS_MAX);
  let heard = 0;
  const stop = client.subscribe(() => heard++);
  stop();
  worker.say({ kind: "sessions", rows: [] });
  assertEquals(heard, 0);
  client.terminate();
  await Promise.all(waiting);
});

Deno.test("followPageState() tells what the page does, and holds its thread in freeze", () => {
  const told: string[] = [];
  const listeners = new Map<string, (event: Event) => void>();
  const target = {
    addEventListener: (type: string, listener: (event: Event) => void) => void listeners.set(type, listener),
    removeEventListener: (type: string) => void listeners.delete(type),
  };
  const document = { visibilityState: "visible" as DocumentVisibilityState, ...target };
  let nowMs = 0;
  // Each look at the clock takes a millisecond.
  const elapsedMs = () => nowMs++;
  const client = {
    call: (_verb: string, ask: unknown) => Promise.resolve(void told.push((ask as { state: string }).state)),
  };
  // deno-lint-ignore no-explicit-any -- only what is used of a page and a client
  const stop = followPageState(client as any, { document, window: target, elapsedMs } as any);
  document.visibilityState = "hidden";
  listeners.get("visibilitychange")!(new Event("visibilitychange"));
  listeners.get("freeze")!(new Event("freeze"));
  assert(nowMs >= FREEZE_HOLD_MS);
  listeners.get("resume")!(new Event("resume"));
  listeners.get("pagehide")!(new Event("pagehide"));
  listeners.get("pageshow")!(Object.assign(new Event("pageshow"), { persisted: false }));
  listeners.get("pageshow")!(Object.assign(new Event("pageshow"), { persisted: true }));
  assertEquals(told, ["hidden", "freeze", "resume", "hidden", "pagehide", "resume", "hidden"]);
  stop();
  assertEquals(listeners.size, 0);
});
