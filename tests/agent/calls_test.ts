import { assert, assertEquals } from "@std/assert";
import { StorageFullError } from "../../src/errors.ts";
import { type EventDraft, isEvent, type SessionEvent } from "../../src/event/mod.ts";
import { type Tool, type ToolDefinition, ToolError } from "../../src/tool/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { endOf, logOf, noting, resultsOf, resumed, stage, textOf, typesOf, until } from "./agent_support.ts";

/** Bodies that run until a test lets them go, by their argument `n`. */
class Bodies {
  readonly begun: number[] = [];
  readonly inFlight = new Set<number>();
  mostInFlight = 0;
  readonly #ends = new Map<number, PromiseWithResolvers<string>>();

  tool(definition: Partial<ToolDefinition> = {}): Tool {
    return noting([], {
      name: "work",
      effect: "none",
      isConcurrencySafe: () => true,
      ...definition,
      execute: async (args) => {
        const { n } = args as { n: number };
        this.begun.push(n);
        this.inFlight.add(n);
        this.mostInFlight = Math.max(this.mostInFlight, this.inFlight.size);
        const end = Promise.withResolvers<string>();
        this.#ends.set(n, end);
        return await end.promise.finally(() => this.inFlight.delete(n));
      },
    });
  }

  /** Lets one go, when it has begun. */
  async end(n: number): Promise<void> {
    await until(() => this.inFlight.has(n));
    this.#ends.get(n)!.resolve(`done ${n}`);
    await settle();
  }
}

const calls = (count: number, name = "work") =>
  Array.from({ length: count }, (_, n) => ({ call: { id: `c${n + 1}`, name, arguments: { n: n + 1 } } }));

function results(events: readonly SessionEvent[]): string[] {
  return resultsOf(events).map((line) => line.split(" ")[0]!);
}

Deno.test("exec/T26: three calls overlap, and their results are logged in the model's order, whatever order they end in", async () => {
  const bodies = new Bodies();
  const on = await stage([calls(3), [{ text: "x" }]], { tools: [bodies.tool()] });
  const sent = on.session.send("go");
  await until(() => bodies.begun.length === 3);
  assertEquals([...bodies.inFlight], [1, 2, 3]);
  // All of them are recorded before the first result.
  assertEquals(typesOf(await logOf(on)).slice(-3), ["tool/call", "tool/call", "tool/call"]);
  await bodies.end(3);
  await bodies.end(1);
  assertEquals(results(await logOf(on)), ["c1"]);
  await bodies.end(2);
  assertEquals((await sent).reason, { kind: "completed" });
  assertEquals(results(await logOf(on)), ["c1", "c2", "c3"]);
});

Deno.test("exec/T28: at most two of four run when two may, places are filled as they fall free, and with one nothing overlaps", async () => {
  for (const maxParallelToolCalls of [2, 1, undefined]) {
    const bodies = new Bodies();
    const on = await stage([calls(12), [{ text: "x" }]], { tools: [bodies.tool()], maxParallelToolCalls });
    const sent = on.session.send("go");
    const places = maxParallelToolCalls ?? 10;
    await until(() => bodies.inFlight.size === places);
    while (bodies.inFlight.size > 0) {
      const wanted = Math.min(bodies.begun.length + 1, 12);
      await bodies.end([...bodies.inFlight].at(-1)!);
      // The place is filled at once, whatever runs before it.
      await until(() => bodies.begun.length === wanted);
    }
    assertEquals((await sent).reason, { kind: "completed" });
    assertEquals([bodies.mostInFlight, results(await logOf(on)).length], [places, 12]);
  }
});

Deno.test("a call that is not safe beside others runs alone, in its place", async () => {
  const bodies = new Bodies();
  const alone = new Bodies();
  const on = await stage([[...calls(2), { call: { id: "x", name: "alone", arguments: { n: 9 } } }, {
    call: { id: "c3", name: "work", arguments: { n: 3 } },
  }], [{ text: "x" }]], {
    tools: [bodies.tool(), alone.tool({ name: "alone", isConcurrencySafe: undefined })],
  });
  const sent = on.session.send("go");
  await until(() => bodies.begun.length === 2);
  await bodies.end(2);
  assertEquals(alone.begun, []);
  await bodies.end(1);
  await until(() => alone.begun.length === 1);
  assertEquals(bodies.begun, [1, 2]);
  assertEquals(results(await logOf(on)), ["c1", "c2"]);
  await alone.end(9);
  await bodies.end(3);
  await sent;
  assertEquals(results(await logOf(on)), ["c1", "c2", "x", "c3"]);
});

Deno.test("exec/T31: what calls want to add comes after all results, in the order of the calls, at the next step", async () => {
  const on = await stage([calls(2), [{ text: "x" }]], {
    tools: [noting([], {
      name: "work",
      isConcurrencySafe: () => true,
      execute: (args, call) => {
        const { n } = args as { n: number };
        call.deferContext(`${n} first`);
        call.deferContext(`${n} second`);
        return "done";
      },
    })],
  });
  await on.session.send("go");
  const types = typesOf(await logOf(on)).filter((type) => type !== "agent/inbox/spliced");
  const at = types.indexOf("tool/result");
  assertEquals(types.slice(at, at + 8), [
    "tool/result",
    "tool/result",
    "step/end",
    "step/start",
    "user/message",
    "user/message",
    "user/message",
    "user/message",
  ]);
  assertEquals(on.requests[1]!.messages.slice(-4).map(({ content }) => textOf(content)), [
    "1 first",
    "1 second",
    "2 first",
    "2 second",
  ]);
});

Deno.test("exec/T33: policies and reviewers see the calls in the model's order, and no two policies at once", async () => {
  const bodies = new Bodies();
  const on = await stage([calls(3), [{ text: "x" }]], { tools: [bodies.tool()] });
  const [before, after]: string[][] = [[], []];
  let isDeciding = false;
  on.hooks.on("tools/pre-execute", async ({ callId }, next) => {
    assert(!isDeciding);
    isDeciding = true;
    before!.push(callId);
    await settle();
    isDeciding = false;
    return await next();
  });
  on.hooks.on("tools/post-execute", ({ callId }, _, next) => (after!.push(callId), next()));
  const sent = on.session.send("go");
  for (const n of [3, 2, 1]) await bodies.end(n);
  await sent;
  assertEquals([before, after], [["c1", "c2", "c3"], ["c1", "c2", "c3"]]);
});

Deno.test("exec/C16: calls that reach their barrier together are each durable when their body begins, and no seq is written twice", async () => {
  const store = new FakeStore();
  const on = await stage([calls(4), [{ text: "x" }]], {
    store,
    tools: [noting([], {
      name: "work",
      effect: "idempotent",
      permission: () => ({ decision: "allow" }),
      isConcurrencySafe: () => true,
      execute: (_, { callSeq, effectKey }) => {
        const durable = store.events("s1");
        assertEquals(durable[callSeq]?.type, "tool/call");
        assert(durable.some((event) => isEvent(event, "effect/dispatched") && event.data.effectKey === effectKey));
        return "done";
      },
    })],
  });
  assertEquals((await on.session.send("go")).reason, { kind: "completed" });
  assertEquals(resultsOf(await logOf(on)).every((line) => line.endsWith("ok: done")), true);
  const seqs = store.calls.flatMap((call) => call.seqs);
  assertEquals(seqs, seqs.map((_, index) => index));
});

Deno.test("exec/C18: a result that is only in memory when the process dies is an unknown outcome; one with an effect is durable at once", async () => {
  const on = await stage([[{ call: { id: "c1", name: "look" } }, { call: { id: "c2", name: "pay" } }, {
    call: { id: "c3", name: "look" },
  }, { call: { id: "c4", name: "hang" } }]], {
    tools: [
      noting([], { name: "look" }),
      noting([], { name: "pay", effect: "keyed", permission: () => ({ decision: "allow" }) }),
      // Ends before its own marker is written, so that nothing flushes what c3 found.
      noting([], { name: "hang", permission: () => (held.resolve(), { decision: "allow" }) }),
    ],
  });
  const held = Promise.withResolvers<void>();
  on.hooks.on("tools/pre-execute", async (call, next) => {
    if (call.name !== "hang") return await next();
    held.resolve();
    return await new Promise(() => {});
  });
  void on.session.send("go");
  await held.promise;
  const after = await resumed(on.store.crash(), [[{ text: "I see" }]]);
  assertEquals(after.session.resumed!.calls.map(({ callId, class: found }) => `${callId} ${found}`), [
    "c3 outcome_unknown",
    "c4 not_started",
  ]);
});

Deno.test("a cancel in a batch waits for all that run, keeps what they came to, and answers the rest", async () => {
  const bodies = new Bodies();
  const on = await stage([calls(5), [{ text: "y" }]], { tools: [bodies.tool()], maxParallelToolCalls: 3 });
  const sent = on.session.send("go");
  await bodies.end(2);
  await until(() => bodies.begun.length === 4);
  on.session.cancel();
  await bodies.end(3);
  assertEquals(on.session.status, "running", "1 and 4 still run");
  await bodies.end(4);
  await bodies.end(1);
  assertEquals((await sent).reason, { kind: "aborted", reason: { kind: "user" } });
  assertEquals(resultsOf(await logOf(on)).map((line) => line.split(":")[0]), [
    "c1 ABORTED",
    // It had ended before the cancel, and yet was not committed: c1 was not done.
    "c2 ABORTED",
    "c3 ABORTED",
    "c4 ABORTED",
    "c5 ABORTED_BEFORE_DISPATCH",
  ]);
  assertEquals((await on.session.send("again")).reason, { kind: "completed" });
});

Deno.test("what a cancelled call wants to add waits for the next wake", async () => {
  const on = await stage([[{ call: { name: "work" } }], [{ text: "y" }]], {
    tools: [noting([], {
      name: "work",
      execute: (_, call) => {
        call.deferContext("by the way");
        on.session.cancel();
        throw new ToolError("LIMIT", "no more");
      },
    })],
  });
  await on.session.send("go");
  assertEquals(on.session.session.folds.inbox.nextStep.length, 1);
  assertEquals(resultsOf(await logOf(on)), ["call_1_1 LIMIT: Error: no more"]);
  await on.session.send("again");
  assertEquals(on.requests[1]!.messages.slice(-2).map(({ content }) => textOf(content)), ["by the way", "again"]);
});

Deno.test("a call that concludes the turn spares the model its results, unless something else is to be said", async () => {
  const conclude = noting([], { name: "finish", execute: (_, call) => (call.concludeTurn(), "done") });
  const on = await stage([[{ call: { name: "finish" } }, { call: { name: "finish" } }], [{ text: "x" }]], {
    tools: [conclude],
  });
  let stops = 0;
  on.hooks.on("agent/turn-stopping", ({ agent }) => stops++ === 1 ? void agent.steer("one more thing") : undefined);
  const outcome = await on.session.send("go");
  assert(outcome.turn !== null);
  assertEquals([outcome.reason, outcome.steps, stops, on.requests.length], [{ kind: "completed" }, 1, 1, 1]);
  const next = await stage([[{ call: { name: "finish" } }], [{ text: "x" }]], {
    tools: [noting([], {
      name: "finish",
      execute: (_, call) => (call.concludeTurn(), call.deferContext("say goodbye"), "done"),
    })],
  });
  await next.session.send("go");
  assertEquals([next.requests.length, textOf(next.requests[1]!.messages.at(-1)!.content)], [2, "say goodbye"]);
});

/** What the log refuses, while a batch of three runs beside each other. */
const REFUSED = ["tool/call", "effect/dispatched", "tool/result"] as const;

for (const type of REFUSED) {
  Deno.test(`a ${type} that the log refuses stops the batch, and every call is answered once (ours: a scheduler's failure)`, async () => {
    for (let nth = 1; nth <= 3; nth++) {
      const on = await stage([calls(3), [{ text: "y" }]], {
        tools: [noting([], { name: "work", isConcurrencySafe: () => true })],
      });
      const { session } = on.session;
      const append = session.append.bind(session);
      let count = 0;
      session.append = (draft: EventDraft) => {
        // Refused as often as it is tried while calls run; what closes the turn passes.
        if (draft.type === type && ++count >= nth && count < nth + 2) throw new Error("the log takes no events");
        return append(draft);
      };
      const { reason } = await on.session.send("go");
      assert(reason.kind === "error" || type === "tool/result", `${type} ${nth}: ${JSON.stringify(reason)}`);
      const events = await logOf(on);
      assertEquals(results(events), ["c1", "c2", "c3"], `${type} ${nth}`);
      assertEquals(on.session.status, "idle");
      session.append = append;
      assertEquals((await on.session.send("again")).reason, { kind: "completed" });
    }
  });
}

Deno.test("a barrier that fails in a batch starts no further call, and answers all of them", async () => {
  const bodies = new Bodies();
  const store = new FakeStore();
  const on = await stage([calls(4), [{ text: "y" }]], { store, tools: [bodies.tool()], maxParallelToolCalls: 2 });
  on.session.session.subscribe((event) => {
    if (event.type === "effect/dispatched") store.inject({ fail: new StorageFullError("no room") });
  });
  const { reason } = await on.session.send("go");
  assert(reason.kind === "error");
  assertEquals([reason.error.code, bodies.begun], ["CHECKPOINT_FAILED", []]);
  const found = resultsOf(await logOf(on)).map((line) => line.split(":")[0]);
  assertEquals(found.slice(2), ["c3 ABORTED_BEFORE_DISPATCH", "c4 ABORTED_BEFORE_DISPATCH"]);
  assertEquals(endOf(await logOf(on)), reason);
});

Deno.test("exec/T32: only calls of which the tool says exactly true run beside others; unknown tools run alone", async () => {
  const classifiers: Readonly<Record<string, unknown>> = {
    missing: undefined,
    throwing: () => {
      throw new Error("who knows");
    },
    one: () => 1,
    no: () => false,
    yes: () => true,
  };
  for (const [what, isConcurrencySafe] of Object.entries(classifiers)) {
    const bodies = new Bodies();
    const tool = bodies.tool({ isConcurrencySafe: isConcurrencySafe as () => boolean });
    const on = await stage([[...calls(2), { call: { name: "gone" } }], [{ text: "x" }]], { tools: [tool] });
    const sent = on.session.send("go");
    await until(() => bodies.begun.length === (what === "yes" ? 2 : 1));
    await settle();
    assertEquals(bodies.inFlight.size, what === "yes" ? 2 : 1, what);
    await bodies.end(1);
    await bodies.end(2);
    await sent;
    assertEquals(resultsOf(await logOf(on)).map((line) => line.split(":")[0]), [
      "c1 ok",
      "c2 ok",
      "call_1_3 UNKNOWN_TOOL",
    ]);
  }
});

Deno.test("contexts for which the inbox has no room end the turn, and lose no result", async () => {
  const on = await stage([calls(3), [{ text: "y" }]], {
    tools: [noting([], {
      name: "work",
      isConcurrencySafe: () => true,
      execute: (_, call) => (call.deferContext("by the way"), "done"),
    })],
  });
  on.session.session.subscribe((event) => {
    if (event.type !== "assistant/message" || event.seq > 20) return;
    queueMicrotask(() => {
      for (let n = on.session.session.folds.inbox.nextStep.length; n < 1000; n++) on.session.inject("noise");
    });
  });
  const { reason } = await on.session.send("go");
  assert(reason.kind === "error");
  assertEquals(resultsOf(await logOf(on)), ["c1 ok: done", "c2 ok: done", "c3 ok: done"]);
});
