import { assert, assertEquals } from "@std/assert";
import type { ScriptStep } from "../../src/agent/mod.ts";
import { isEvent, type Message, type SessionHeader } from "../../src/event/mod.ts";
import type { LogWriter } from "../../src/store/session_store.ts";
import { FakeStore } from "../support/fake_store.ts";
import { seededRandom } from "../support/seeded_random.ts";
import { logOf, noting, resultsOf, resumed, stage, textOf } from "./agent_support.ts";
import { transcriptProblem } from "./transcripts.ts";

/** What was durable after one write, and which bodies had begun before anything more became durable. */
interface CrashPoint {
  readonly store: FakeStore;
  begun: readonly string[];
}

/** A store that keeps what a crash would leave after every write. */
class SweptStore extends FakeStore {
  readonly points: CrashPoint[] = [];
  readonly notes: string[] = [];

  override async create(header: SessionHeader): Promise<LogWriter> {
    const writer = await super.create(header);
    return {
      ...writer,
      append: async (events, options) => {
        const durable = await writer.append(events, options);
        this.seal();
        this.points.push({ store: this.crash(), begun: [] });
        return durable;
      },
    };
  }

  /** Everything that began until now could have begun before a crash at the newest point. */
  seal(): void {
    const last = this.points.at(-1);
    if (last !== undefined) last.begun = [...this.notes];
  }
}

const SCRIPT: readonly ScriptStep[] = [
  [
    { text: "two things" },
    { call: { id: "c1", name: "pay", arguments: { to: "alice" } } },
    { call: { id: "c2", name: "look", arguments: { at: "notes" } } },
    { call: { id: "c3", name: "pay", arguments: { to: "bob" } } },
  ],
  [{ text: "done" }],
];

function toolsOn(notes: string[]) {
  return [
    noting(notes, { name: "pay", effect: "opaque" }),
    noting(notes, { name: "look", effect: "none" }),
  ];
}

Deno.test("after a crash at any write, no class is wrong, nothing runs again, and the next request is whole", async () => {
  const store = new SweptStore();
  const on = await stage(SCRIPT, { store, tools: toolsOn(store.notes), approvers: [() => "allowed-once"] });
  await on.session.send("go");
  await on.session.session.flush();
  store.seal();
  assertEquals(store.notes.length, 3);
  const seen = new Set<string>();

  for (const [index, point] of store.points.entries()) {
    const notes: string[] = [];
    const after = await resumed(point.store, [[{ text: "I see" }]], { tools: toolsOn(notes) });
    const answered = resultsOf(point.store.events("s1"));
    for (const call of after.session.resumed!.calls) {
      seen.add(call.class);
      const key = { c1: "alice", c2: "notes", c3: "bob" }[call.callId]!;
      const mayHaveRun = point.begun.some((note) => note.includes(key));
      if (call.class !== "outcome_unknown") assert(!mayHaveRun, `crash ${index}: ${call.callId} is ${call.class}`);
      assert(answered.every((line) => !line.startsWith(call.callId) || line.includes("TOOL_")), "an answered call");
    }
    await after.session.send("continue");
    assertEquals(notes, [], "repair and resume run nothing");
    assertEquals(transcriptProblem(after.requests[0]!.messages), null);
    const events = await logOf(after);
    assertEquals(events.map((event) => event.seq), events.map((_, seq) => seq));
  }
  assertEquals([...seen].sort(), ["not_dispatched", "not_started", "outcome_unknown"]);
});

/** Runs until a body begins, and then the process is gone. */
async function killedInBody(notes: string[], effect: "opaque" | "none" = "opaque") {
  const begun = Promise.withResolvers<void>();
  const hanging = noting(notes, {
    name: "pay",
    effect,
    permission: () => ({ decision: "allow" }),
    execute: () => (begun.resolve(), new Promise(() => {})),
  });
  const calls = ["c1", "c2"].map((id) => ({ call: { id, name: "pay", arguments: { id } } }));
  const on = await stage([[{ text: "paying" }, ...calls]], { tools: [hanging] });
  void on.session.send("go");
  await begun.promise;
  return on.store.crash();
}

function resultTexts(messages: readonly Message[]): string[] {
  return messages.flatMap((message) =>
    message.content.flatMap((block) => block.type === "tool-result" ? [textOf(block.content)] : [])
  );
}

Deno.test("exec/R13, field/B01, field/B05: a kill inside a body leaves one unknown and one not started, told once, never run again", async () => {
  const notes: string[] = [];
  const store = await killedInBody(notes);
  const on = await resumed(store, [[{ text: "I will check" }]], { tools: toolsOn(notes) });
  assertEquals(on.session.resumed!.calls.map((call) => [call.callId, call.class]), [
    ["c1", "outcome_unknown"],
    ["c2", "not_started"],
  ]);
  assertEquals(on.session.resumed!.unresolved.map((effect) => effect.callId), ["c1"]);
  await on.session.send("continue");
  assertEquals(notes, ['pay {"id":"c1"}']);
  assertEquals(transcriptProblem(on.requests[0]!.messages), null);
  const [first, second] = resultTexts(on.requests[0]!.messages);
  assert(first!.includes("Its outcome is unknown"));
  assert(second!.includes("before the Harness recorded it as started"));
  assertEquals(resultsOf(await logOf(on)).map((line) => line.split(":")[0]), [
    "c1 TOOL_OUTCOME_UNKNOWN",
    "c2 TOOL_NOT_STARTED",
  ]);
});

Deno.test("exec/A21, exec/C22: a kill while a question is open leaves the call not dispatched and the question closed", async () => {
  const asked = Promise.withResolvers<void>();
  const on = await stage([[{ call: { id: "c1", name: "pay" } }]], {
    tools: [noting([], { name: "pay", effect: "opaque" })],
    approvers: [() => (asked.resolve(), new Promise(() => {}))],
  });
  void on.session.send("go");
  await asked.promise;
  const after = await resumed(on.store.crash(), []);
  assertEquals(after.session.resumed!.calls.map((call) => call.class), ["not_dispatched"]);
  assertEquals(after.session.resumed!.closers.map((event) => event.type), [
    "approval/decided",
    "tool/result",
    "step/end",
    "turn/end",
  ]);
});

Deno.test("after an unknown outcome, the model's equal call inherits the key and is asked about", async () => {
  const store = await killedInBody([]);
  const keys: string[] = [];
  const reasons: (string | undefined)[] = [];
  const again = { call: { id: "c9", name: "pay", arguments: { id: "c1" } } };
  const on = await resumed(store, [[again], [{ text: "done" }]], {
    tools: [noting([], { name: "pay", effect: "opaque", execute: (_, call) => (keys.push(call.effectKey), "paid") })],
    approvers: [({ reason }) => (reasons.push(reason), "allowed-once")],
  });
  const [unknown] = on.session.resumed!.unresolved;
  await on.session.send("try again");
  assertEquals(keys, [unknown!.effectKey]);
  assert(reasons[0]?.includes("may already have taken effect"));
  assertEquals(on.session.session.folds.unresolved.effects, []);
  const marker = (await logOf(on)).findLast((event) => isEvent(event, "effect/dispatched"))!;
  assert(isEvent(marker, "effect/dispatched"));
  assertEquals(marker.data.retryOf, unknown!.callSeq);
});

Deno.test("a message that was durable and not claimed when the process died is run by the next send", async () => {
  const on = await stage([[{ text: "never seen" }]]);
  await on.session.send("first");
  const events = on.store.events("s1").slice(0, 2);
  assertEquals(events.map((event) => event.type), ["checkpoint/policy", "agent/inbox/spliced"]);
  const store = new FakeStore({ random: seededRandom(2) });
  store.plant(on.session.session.header, events);
  const after = await resumed(store, [[{ text: "1" }], [{ text: "2" }]]);
  assertEquals(after.session.resumed!.closers, []);
  await after.session.send("second");
  assertEquals(after.requests.map((request) => textOf(request.messages.at(-1)!.content)), ["first", "second"]);
});

for (const end of ["crash", "close"] as const) {
  Deno.test(`what a turn took before a ${end} and told nobody waits again, once, and is told with the next message`, async () => {
    const store = new FakeStore();
    const on = await stage([[{ text: "never" }]], { store });
    const arrived = Promise.withResolvers<void>();
    on.hooks.on("agent/pre-step", () => (arrived.resolve(), new Promise(() => {})));
    on.session.inject("a fact");
    void on.session.send("pay alice").catch(() => {});
    await arrived.promise;
    if (end === "close") await on.session.close();

    const after = await resumed(on.store.crash(), [[{ text: "1" }], [{ text: "2" }]]);
    const { nextSeq } = after.session.session;
    assertEquals(after.session.status, "idle");
    await after.session.close();
    const again = await resumed(after.store.crash(), [[{ text: "1" }], [{ text: "2" }]]);
    assertEquals(again.session.session.nextSeq, nextSeq, "opening it again adds nothing");
    await again.session.send("go on");
    const told = again.requests.map(({ messages }) => messages.map(({ content }) => textOf(content)));
    assertEquals(told, [["a fact", "pay alice"], ["a fact", "pay alice", "1", "go on"]]);
    await logOf(again);
  });
}
