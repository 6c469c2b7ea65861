import { assert, assertEquals, assertThrows } from "@std/assert";
import { type AgentHooks, installRetryPolicy, RETRY_CODES, type RetryPolicyOptions } from "../../src/agent/mod.ts";
import type { LlmFailure, SessionEvent } from "../../src/event/mod.ts";
import { Hooks } from "../../src/hooks/mod.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { logOf, resumed, stage, typesOf } from "./agent_support.ts";

const busy: LlmFailure = { message: "busy", code: "SERVER", status: 503 };

interface RetryData {
  readonly retryId: string;
  readonly retry: number;
  readonly delayMs: number;
  readonly maxRetries?: number;
  readonly mode: string;
  readonly policyKey: string;
}

function retriesOf(events: readonly SessionEvent[], type = "llm/retry"): RetryData[] {
  return events.flatMap((event) => event.type === type ? [event.data as unknown as RetryData] : []);
}

/** A stage with the policy, whose clock a test can move. */
async function retrying(failures: readonly LlmFailure[], options: RetryPolicyOptions = {}, answers = 1) {
  const clock = new FakeClock();
  const store = new FakeStore({ clock });
  const steps = [...failures.map((error) => [{ error }]), ...Array(answers).fill([{ text: "fine" }])];
  const on = await stage(steps, { store });
  installRetryPolicy(on.hooks, options);
  /** Lets time pass for as long as something waits for it. */
  const send = async () => {
    let isDone = false;
    const sent = on.session.send("go").finally(() => isDone = true);
    const waits: number[] = [];
    for (await settle(); !isDone; await settle()) {
      const before = clock.now();
      const ms = clock.nextTimerMs;
      assert(ms !== null, "nothing waits");
      await clock.advance(ms);
      if (ms > 0) waits.push(clock.now() - before);
    }
    return await sent;
  };
  return { ...on, clock, send };
}

Deno.test("installRetryPolicy() waits twice as long each time, and says before and after each wait that it does", async () => {
  const on = await retrying(Array(5).fill(busy), { jitter: 0 });
  const started = on.clock.now();
  assertEquals((await on.send()).reason, { kind: "completed" });
  const events = await logOf(on);
  const retries = retriesOf(events);
  assertEquals(retries.map(({ delayMs }) => delayMs), [500, 1000, 2000, 4000, 8000]);
  assertEquals(retries.map(({ retry }) => retry), [1, 2, 3, 4, 5]);
  const { retryId, policyKey, ...rest } = retries[0]!;
  assertEquals(
    rest,
    {
      ...{ turn: 1, step: 1, provider: "scripted", mode: "normal", retry: 1, maxRetries: 5, delayMs: 500 },
      failure: busy,
    } as unknown as typeof rest,
  );
  assert(/^[0-9a-f]{32}$/.test(retryId) && policyKey.includes("maxRetries"));
  assertEquals(
    retriesOf(events, "llm/retry-started"),
    retries.map(({ retryId, retry }) => ({ retryId, turn: 1, step: 1, retry })) as unknown as RetryData[],
  );
  assert(on.clock.now() - started >= 15_500);
  // Each retry has a request of its own, behind a flush of its own.
  assertEquals(on.requests.length, 6);
  const types = typesOf(events);
  assertEquals(types.filter((type) => type.startsWith("step/")), ["step/start", "step/end"]);
  const at = types.indexOf("assistant/attempt");
  assertEquals(types.slice(at, at + 4), [
    "assistant/attempt",
    "llm/retry",
    "llm/retry-started",
    "assistant/attempt",
  ]);
});

Deno.test("the sixth failure in a step ends the turn with its facts, and the next step has a budget of its own", async () => {
  const on = await retrying(Array(6).fill(busy), {}, 0);
  assertEquals((await on.send()).reason, { kind: "error", error: busy });
  assertEquals(retriesOf(await logOf(on)).length, 5);
  const next = await retrying([...Array(6).fill(busy), ...Array(3).fill(busy)], { maxDelayMs: 500 });
  assertEquals((await next.send()).reason.kind, "error");
  assertEquals((await next.send()).reason.kind, "completed");
  assertEquals(retriesOf(await logOf(next)).map(({ retry }) => retry), [1, 2, 3, 4, 5, 1, 2, 3]);
});

Deno.test("a delay stays within its jitter and its maximum, and what a provider asks for is taken as it is", async () => {
  const on = await retrying(Array(40).fill(busy), { maxRetries: 40, maxDelayMs: 4000, jitter: 0.5 });
  await on.send();
  const delays = retriesOf(await logOf(on)).map(({ delayMs }) => delayMs);
  delays.forEach((delayMs, index) => {
    const backoff = Math.min(500 * 2 ** index, 4000);
    assert(delayMs >= backoff / 2 - 1 && delayMs <= Math.min(backoff * 1.5 + 1, 4000), `${index}: ${delayMs}`);
  });
  assert(new Set(delays).size > 10, "no jitter");
  const asked = await retrying([{ ...busy, providerRetryAfterMs: 1234 }, { ...busy, providerRetryAfterMs: 10_000 }]);
  assertEquals((await asked.send()).reason.kind, "completed");
  assertEquals(retriesOf(await logOf(asked)).map(({ delayMs }) => delayMs), [1234, 10_000]);
});

Deno.test("a provider that asks for more patience than there is is not asked again, unless always", async () => {
  const patient = { ...busy, providerRetryAfterMs: 10_001 };
  const on = await retrying([patient]);
  assertEquals((await on.send()).reason, { kind: "error", error: patient });
  const always = await retrying([patient], { mode: "always" });
  assertEquals((await always.send()).reason.kind, "completed");
  const [retry] = retriesOf(await logOf(always));
  assertEquals([retry!.delayMs, retry!.mode, "maxRetries" in retry!], [10_000, "always", false]);
});

Deno.test("only failures that another try may mend are tried again, unless always", async () => {
  for (const code of [...RETRY_CODES, "UNKNOWN", "NO_ADAPTER", "INVALID_REQUEST", "STREAM_CLOSED"]) {
    const on = await retrying([{ message: "x", code }]);
    assertEquals((await on.send()).reason.kind, RETRY_CODES.includes(code) ? "completed" : "error", code);
    const always = await retrying(Array(8).fill({ message: "x", code }), { mode: "always", maxDelayMs: 1 });
    assertEquals((await always.send()).reason.kind, "completed", code);
  }
  assertEquals(RETRY_CODES, ["EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"]);
});

Deno.test("a cancel ends the wait at once, and the log does not say that the retry began", async () => {
  const on = await retrying([busy]);
  const sent = on.session.send("go");
  await settle();
  const waiting = on.clock.pendingTimers;
  on.session.cancel();
  assertEquals((await sent).reason, { kind: "aborted", reason: { kind: "user" } });
  assertEquals([waiting - on.clock.pendingTimers >= 1, on.requests.length], [true, 1]);
  const types = typesOf(await logOf(on));
  assertEquals([types.includes("llm/retry"), types.includes("llm/retry-started")], [true, false]);
});

Deno.test("a crash in the wait leaves a step that repair closes, and the next turn begins anew", async () => {
  const on = await retrying([busy]);
  void on.session.send("go");
  await settle();
  await on.session.session.flush();
  const after = await resumed(on.store.crash(), [[{ text: "fine" }]]);
  assertEquals(after.session.resumed!.closers.map(({ type }) => type), ["step/end", "turn/end"]);
  assertEquals((await after.session.send("again")).reason, { kind: "completed" });
  await logOf(after);
});

Deno.test("the budget is counted from the log, however long the step is, and per policy", async () => {
  const on = await retrying([busy, busy, busy], { maxRetries: 3, maxDelayMs: 1 });
  on.hooks.on("agent/request", ({ agent }, next) => {
    for (let n = 0; n < 400; n++) agent.session.append({ type: "noise/made", data: {}, ignorable: true });
    return next();
  });
  const other = { turn: 1, step: 1, provider: "scripted", policyKey: "another" };
  on.hooks.on("agent/request-error", ({ agent }, next) => {
    agent.session.append({ type: "llm/retry", data: { ...other, retryId: "x", retry: 1 } });
    return next();
  });
  assertEquals((await on.send()).reason.kind, "completed");
  assertEquals(retriesOf(await logOf(on)).filter(({ policyKey }) => policyKey !== "another").length, 3);
});

Deno.test("a listener behind the policy that wants another try gets it at once, and two policies are one after the other", async () => {
  const on = await retrying([busy, busy]);
  on.hooks.on("agent/request-error", () => Promise.resolve({ kind: "retry" }));
  assertEquals((await on.send()).reason.kind, "completed");
  assertEquals(retriesOf(await logOf(on)).length, 0);
});

Deno.test("installRetryPolicy() refuses numbers that make no sense, and leaves when asked", async () => {
  const hooks = new Hooks<AgentHooks>();
  for (
    const options of [
      { maxRetries: -1 },
      { maxRetries: 1.5 },
      { initialDelayMs: NaN },
      { maxDelayMs: 2 ** 31 },
      { jitter: 2 },
      { jitter: NaN },
    ]
  ) assertThrows(() => installRetryPolicy(hooks, options), RangeError);
  const stop = installRetryPolicy(hooks);
  stop();
  assertEquals(hooks.count("agent/request-error"), 0);
  const on = await stage([[{ error: busy }]], { hooks });
  assertEquals((await on.session.send("go")).reason.kind, "error");
});
