import { assert, assertEquals } from "@std/assert";
import { MemoryStorage } from "../../src/adapters/memory/mod.ts";
import { createAgent, demo, requestOf, scripted } from "../../src/agent/mod.ts";
import { openMemoryStore } from "../../src/entry/memory.ts";
import type { SessionEvent } from "../../src/event/mod.ts";
import { foldEvents, logFold } from "../../src/fold/mod.ts";
import { defineTool, type Tool } from "../../src/tool/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { seededRandom } from "../support/seeded_random.ts";

const runtime = () => ({ clock: new FakeClock(), random: seededRandom(7) });

async function storedEvents(store: ReturnType<typeof openMemoryStore>, id: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  await using reader = await store.open(id, "read", { visit: (event) => events.push(event) });
  assertEquals(reader.state().nextSeq, events.length);
  return events;
}

function payTool(paid: string[]): Tool {
  return defineTool({
    name: "http_request",
    description: "",
    parameters: {},
    effect: (args) => (args as { method?: string }).method === "POST" ? "opaque" : "none",
    execute: (args, call) => (paid.push(call.effectKey), `HTTP 201 Created\n\n${JSON.stringify(args)}`),
  });
}

Deno.test("the demo model pays through the whole stack, and every request can be made again from the stored log", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  await using store = openMemoryStore({ storage, runtime: runtime() });
  const paid: string[] = [];
  const model = demo();
  let requests = 0;
  const witness = {
    ...model,
    async *stream(request: Parameters<typeof model.stream>[0], signal: AbortSignal) {
      requests++;
      assertEquals(request, requestOf("s1", foldEvents(logFold, await storedEvents(store, "s1"))));
      yield* model.stream(request, signal);
    },
  };
  const agent = createAgent({
    store,
    model: witness,
    tools: [payTool(paid)],
    approvers: [() => "allowed-once"],
    systemPrompt: "You are a demo.",
  });
  await using session = await agent.create({ id: "s1" });
  const outcome = await session.send(
    "pay 10 to alice at http://127.0.0.1:1 and pay 5 to bob at http://127.0.0.1:1",
  );
  assertEquals(outcome.reason, { kind: "completed" });
  assertEquals([requests, new Set(paid).size], [2, 2]);
});

const SCRIPT = [
  [
    { call: { id: "c1", name: "http_request", arguments: { method: "POST", n: 1 } } },
    { call: { id: "c2", name: "http_request", arguments: { method: "GET", n: 2 } } },
  ],
  [{ text: "done" }],
];

/** Runs the script until the medium dies at an operation. Says what ran, and what was acknowledged by then. */
async function runUntil(storage: MemoryStorage, paid: string[]): Promise<{ acknowledged: number; isWhole: boolean }> {
  const store = openMemoryStore({ storage, runtime: runtime() });
  const options = { tools: [payTool(paid)], approvers: [() => "allowed-once" as const] };
  let acknowledged = -1;
  try {
    const session = await createAgent({ store, model: scripted(SCRIPT), ...options }).create({ id: "s1" });
    session.session.subscribe(() => acknowledged = Math.max(acknowledged, session.session.durableSeq));
    const { reason } = await session.send("go");
    acknowledged = Math.max(acknowledged, session.session.durableSeq);
    await session.session.flush();
    return { acknowledged, isWhole: reason.kind === "completed" };
  } catch {
    return { acknowledged, isWhole: false };
  }
}

for (const [what, keepUnsynced] of [["power cut", "none"], ["kill", "all"]] as const) {
  Deno.test(`after a ${what} at any operation of the medium, classes are true and the session goes on`, async () => {
    const classes = new Set<string>();
    for (let operation = 1;; operation++) {
      const storage = new MemoryStorage({ simulate: "disk" });
      storage.failAt({ operation, kind: "crash" });
      const paid: string[] = [];
      const { acknowledged, isWhole } = await runUntil(storage, paid);
      if (isWhole) {
        assert(operation > 20, `only ${operation} operations`);
        break;
      }
      const bodies = paid.length;
      const after = { clock: new FakeClock(), random: seededRandom(8) };
      const store = openMemoryStore({ storage: storage.crash({ keepUnsynced }), runtime: after });
      if (await store.stat("s1") === null) {
        assertEquals([acknowledged, bodies], [-1, 0]);
        continue;
      }
      const agent = createAgent({
        store,
        model: scripted([[{ text: "I see" }], [{ text: "I see" }]]),
        tools: [payTool(paid)],
      });
      await using session = await agent.resume("s1");
      assert(session.session.durableSeq >= acknowledged, `operation ${operation}`);
      for (const call of session.resumed!.calls) {
        classes.add(call.class);
        const hasRun = bodies >= (call.callId === "c1" ? 1 : 2);
        if (hasRun) assertEquals(call.class, "outcome_unknown", `operation ${operation}: ${call.callId}`);
      }
      assertEquals((await session.send("continue")).reason, { kind: "completed" });
      assertEquals(paid.length, bodies);
    }
    assertEquals([...classes].sort(), ["not_dispatched", "not_started", "outcome_unknown"]);
  });
}
