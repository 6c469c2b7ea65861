import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { freezeJson, type SessionEvent, shapeProblem } from "../../src/event/mod.ts";
import {
  bracketProblem,
  foldEvents,
  inboxProblem,
  logFold,
  type LogFolds,
  openTurn,
  pendingCallsFold,
  surfaceProblem,
} from "../../src/fold/mod.ts";
import { LogBuilder, plain } from "./log_builder.ts";
import { randomLogs } from "./random_log.ts";

const RUNS = { seed: 1, numRuns: 300 };

/** The state after each prefix, the empty one first. */
function states(events: Parameters<typeof foldEvents>[1]): LogFolds[] {
  const found = [logFold.initial()];
  for (const event of events) found.push(logFold.apply(found.at(-1)!, event));
  return found;
}

Deno.test("the rules accept every event of a random legal log", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(randomLogs(), ({ events }) => {
      let folds = logFold.initial();
      for (const event of events) {
        const problems = [
          bracketProblem(folds.brackets, event),
          surfaceProblem(folds.surface, event),
          inboxProblem(folds.inbox, event),
        ];
        assertEquals([...problems, shapeProblem(event)], [null, null, null, null], `${event.type} at seq ${event.seq}`);
        seen.add(event.type);
        folds = logFold.apply(folds, event);
      }
      assertEquals([folds.brackets.problems.count, folds.surface.fault], [0, null]);
    }),
    RUNS,
  );
  // The generator must reach what the other properties speak about.
  for (
    const type of ["effect/dispatched", "approval/asked", "compaction/end", "tool/ptc-dispatch", "session/end-seed"]
  ) {
    assert(seen.has(type), `no random log holds a ${type}`);
  }
});

Deno.test("logFold gives the same state whether it goes on from an old state or starts anew", () => {
  fc.assert(
    fc.property(randomLogs(), fc.nat(), ({ events }, at) => {
      const all = states(events);
      const from = at % all.length;
      // The state is an old version by now: newer ones share its lists.
      const resumed = foldEvents(logFold, events.slice(from), all[from]);
      assertEquals(plain(resumed), plain(foldEvents(logFold, events)));
      assertEquals(plain(resumed), plain(all.at(-1)));
    }),
    RUNS,
  );
});

Deno.test("logFold.apply() never changes the state it is given, deep-frozen or not", () => {
  fc.assert(
    fc.property(randomLogs(), ({ events }) => {
      let folds = freezeJson(logFold.initial());
      for (const event of events) {
        const before = JSON.stringify(folds);
        const next = freezeJson(logFold.apply(folds, freezeJson(event)));
        assertEquals(JSON.stringify(folds), before, `${event.type} at seq ${event.seq}`);
        folds = next;
      }
    }),
    RUNS,
  );
});

Deno.test("two logs that part ways after a common state do not see each other's events", () => {
  const log = new LogBuilder();
  log.user("common");
  const common = log.folds();
  const base = { seq: 1, time: 5, type: "user/message", surfaceOp: "append" } as const;
  const message = (id: string) => ({ id, role: "user", content: [], source: { kind: "user" } });
  const left = logFold.apply(common, { ...base, data: message("left") });
  const right = logFold.apply(common, { ...base, data: message("right") });
  assertEquals(left.surface.nodes.toArray().map((node) => node.message.id), ["u0", "left"]);
  assertEquals(right.surface.nodes.toArray().map((node) => node.message.id), ["u0", "right"]);
  assertEquals(common.surface.nodes.length, 1);
});

Deno.test("classOf() never says of a body that may have run that it did not, over every prefix of a random log", () => {
  const seen = { not_started: 0, not_dispatched: 0, outcome_unknown: 0 };
  fc.assert(
    fc.property(randomLogs(), ({ events, mayRunFrom, ours }) => {
      states(events).forEach((folds, prefix) => {
        for (const { callId, class: found } of openTurn(folds.pendingCalls)?.calls ?? []) {
          seen[found]++;
          const { messageSeq, callSeq } = folds.pendingCalls.calls.find((call) => call.callId === callId)!;
          const from = mayRunFrom.get(`${messageSeq} ${callId}`) ?? Infinity;
          if (found !== "outcome_unknown") assert(from >= prefix, `${callId} may have run after seq ${from}: ${found}`);
          // Where barriers are kept the answer is also sharp.
          const isOurs = ours.some((lifecycle) => messageSeq >= lifecycle.from && prefix <= lifecycle.to);
          if (isOurs && from >= prefix) assertEquals(found, callSeq === null ? "not_started" : "not_dispatched");
        }
      });
    }),
    RUNS,
  );
  for (const [name, count] of Object.entries(seen)) assert(count > 100, `${name} was seen ${count} times`);
});

Deno.test("logFold keeps time and next seq of the last event, whatever its type", () => {
  const folds = foldEvents(logFold, [
    { type: "turn/start", seq: 0, time: 9, data: { turn: 1 } },
    { type: "future/thing", seq: 1, time: 4, data: null, ignorable: true, surfaceOp: "append" },
  ]);
  assertEquals([folds.lastTime, folds.nextSeq, folds.surface.nodes.length], [4, 2, 0]);
  assertEquals([logFold.initial().lastTime, logFold.initial().nextSeq], [null, 0]);
});

Deno.test("logFold takes 200,000 surface events without copying the surface each time", () => {
  const base = { time: 1, type: "user/message", surfaceOp: "append" } as const;
  const data = { id: "m", role: "user", content: [], source: { kind: "user" } };
  const start = performance.now();
  let folds = logFold.initial();
  for (let seq = 0; seq < 200_000; seq++) {
    folds = logFold.apply(folds, { ...base, seq, data });
    // It takes a fraction of a second; copying 160 GB of list takes minutes.
    assert(performance.now() - start < 10_000, `${seq} events took 10 s`);
  }
  assertEquals(folds.surface.nodes.length, 200_000);
});

/** The fastest way there was took longer for a tenth of this. */
const SOON_MS = 5000;

function replacements(count: number, spanOf: (index: number) => number): SessionEvent[] {
  const message = (seq: number, rest: Partial<SessionEvent>): SessionEvent => {
    const data = { id: `m${seq}`, role: "user", content: [], source: { kind: "user" } };
    return { type: "user/message", seq, time: 1, data, ...rest };
  };
  const events = Array.from({ length: count }, (_, seq) => message(seq, { surfaceOp: "append" }));
  for (let index = 0; index < count; index++) {
    const at = spanOf(index);
    const surfaceOp = { op: "replace", startSeq: at, endSeq: at } as const;
    events.push(message(count + index, { surfaceOp, sourceEventSeqs: [at] }));
  }
  return events;
}

Deno.test("the folds take tens of thousands of replacements in a moment, in any order", () => {
  const count = 20_000;
  for (
    const spanOf of [
      (index: number) => index === 0 ? count / 2 : count + index - 1,
      (index: number) => (index * 7919) % count,
      (index: number) => count - 1 - index,
    ]
  ) {
    const events = replacements(count, spanOf);
    const startMs = performance.now();
    const { surface } = foldEvents(logFold, events);
    assert(performance.now() - startMs < SOON_MS);
    assertEquals([surface.nodes.length, surface.replaceGeneration, surface.fault], [count, count, null]);
  }
});

Deno.test("the folds take a step of tens of thousands of open calls in a moment, and their results in any order", () => {
  const count = 30_000;
  const log = new LogBuilder();
  log.policy();
  const ids = Array.from({ length: count }, (_, index) => `c${index}`);
  log.openStep(...ids);
  for (const id of ids) log.call(id);
  const startMs = performance.now();
  const open = log.folds();
  assert(performance.now() - startMs < SOON_MS);
  assertEquals([open.pendingCalls.calls.length, open.brackets.calls.length, open.unresolved.awaited.length], [
    ...[count, count, count],
  ]);
  assertEquals(open.pendingCalls.calls.map(({ callSeq }) => callSeq), ids.map((id) => log.callSeqs.get(id)!));
  const calls = log.events.length;
  for (let index = 0; index < count; index++) log.result(ids[(index * 7919) % count]!);
  const resultsMs = performance.now();
  const done = foldEvents(logFold, log.events.slice(calls), open);
  assert(performance.now() - resultsMs < 2 * SOON_MS);
  assertEquals([done.pendingCalls.calls, done.unresolved.awaited.length, done.brackets.problems.count], [[], 0, 0]);
});

Deno.test("pendingCallsFold goes on from a state that came back from JSON", () => {
  const log = new LogBuilder();
  log.policy();
  log.openStep("a", "b");
  log.call("a");
  log.asked("q", "a");
  const half = JSON.parse(JSON.stringify(log.folds().pendingCalls));
  const from = log.events.length;
  log.decided("q");
  log.marker("a");
  log.result("a");
  const resumed = foldEvents(pendingCallsFold, log.events.slice(from), half);
  assertEquals(plain(resumed), plain(log.folds().pendingCalls));
});
