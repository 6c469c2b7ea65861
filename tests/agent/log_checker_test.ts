import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../src/event/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { checkLog } from "./log_checker.ts";
import { logOf, noting, stage } from "./agent_support.ts";

/** A log with two turns, calls, a question and an attempt. */
async function goodLog(): Promise<readonly SessionEvent[]> {
  const on = await stage([
    [{ text: "two" }, { call: { id: "a", name: "pay" } }, { call: { id: "b", name: "look" } }],
    [{ text: "done" }],
    [{ hang: true }],
  ], {
    tools: [noting([], { name: "pay", effect: "opaque" }), noting([], { name: "look" })],
    approvers: [() => "allowed-once"],
    systemPrompt: "be kind",
  });
  await on.session.send("go");
  const sent = on.session.send("again");
  await settle();
  on.session.cancel();
  await sent;
  return await logOf(on);
}

function renumbered(events: readonly SessionEvent[]): SessionEvent[] {
  return events.map((event, seq) => ({ ...event, seq }));
}

/** What nothing in a log depends on. */
const DISPENSABLE: readonly string[] = [
  "checkpoint/policy",
  "request/context",
  "approval/bound",
  "effect/dispatched",
  "system/message",
  "user/message",
  "assistant/attempt",
];

Deno.test("checkLog() takes a good log and refuses it when an event is missing, comes twice or comes early", async () => {
  const events = await goodLog();
  assertEquals(checkLog("s1", events).problems, []);
  events.forEach((event, index) => {
    if (!DISPENSABLE.includes(event.type)) {
      const without = renumbered(events.toSpliced(index, 1));
      assert(checkLog("s1", without).problems.length > 0, `without ${index} ${event.type}`);
    }
    const isHarmlessTwice = ["checkpoint/policy", "request/context", "approval/bound", "assistant/attempt"];
    if (!isHarmlessTwice.includes(event.type)) {
      const twice = renumbered(events.toSpliced(index, 0, event));
      assert(checkLog("s1", twice).problems.length > 0, `twice ${index} ${event.type}`);
    }
  });
  const at = (type: string) => events.findIndex((event) => event.type === type);
  const moves: readonly [string, string][] = [
    ["tool/result", "tool/call"],
    ["tool/call", "assistant/message"],
    ["step/end", "tool/result"],
    ["turn/end", "step/end"],
    ["assistant/message", "request/header"],
    ["approval/decided", "approval/asked"],
    ["step/start", "turn/start"],
  ];
  for (const [what, before] of moves) {
    const moved = [...events];
    const [event] = moved.splice(at(what), 1);
    moved.splice(at(before), 0, event!);
    assert(checkLog("s1", renumbered(moved)).problems.length > 0, `${what} before ${before}`);
  }
});

Deno.test("checkLog() says that a turn is open at the end of a live log, and makes requests of its own", async () => {
  const events = await goodLog();
  const cut = events.slice(0, -1);
  assertEquals([checkLog("s1", cut).problems.length, checkLog("s1", cut, false).problems], [1, []]);
  const { requests } = checkLog("s1", events);
  assertEquals(requests.length, 3);
  const changed = events.map((event) =>
    event.type === "user/message" ? { ...event, data: { ...(event.data as object), content: [] } } : event
  );
  assert(checkLog("s1", changed).requests[0] !== requests[0]);
});
