import { assert, assertEquals } from "@std/assert";
import type { CallSteps, CheckerName, LabTrace } from "../../../src/testing/judge/mod.ts";
import { callSeqOf, opened } from "./scenarios.ts";
import { encode, type EventObject, judge, STEP, type Story, traceOf, withFile } from "./story.ts";

/**
 * The trace that is mutated: three calls (one paid, one dispatched and found by a lookup, one never recorded), an open question,
 * and what a recovery adds.
 */
function lawful(): LabTrace {
  const [first, second, third] = [{ id: "c1" }, { id: "c2" }, { id: "c3" }];
  const story = opened().propose(first, second, third, { id: "c4" }).flush();
  story.result("c1", story.dispatch(first));
  story.flush();
  story.dispatch(second);
  const asked = story.call(third);
  story.ask("q3", "c3", asked);
  return traceOf({
    story,
    effects: [{ callId: "c1" }, { callId: "c2", acceptedAtStep: 200 }],
    reports: {
      c1: { class: "done" },
      c2: { class: "outcome_unknown", verdict: "happened", saidAtStep: 300 },
      c3: { class: "not_dispatched" },
      c4: { class: "not_started" },
    },
    repair(s: Story) {
      const callSeq = callSeqOf(s, "c2");
      s.verdict("c2", callSeq, "happened");
      s.settled("c2", callSeq);
      s.close("approval/decided", { id: "q3", outcome: "cancelled" });
      s.closer("c3", "TOOL_NOT_STARTED", asked);
      s.closer("c4", "TOOL_NOT_STARTED");
      s.closeTurn();
    },
  });
}

interface Mutant {
  readonly kind: string;
  readonly what: string;
  readonly trace: LabTrace;
}

/** Why a mutant is no lie: what nobody can know, or what is as lawful as before. */
const LAWFUL: readonly (readonly [RegExp, string])[] = [
  [/^step of c[12]: bodyStartedAtStep (left out|late)/, "when a body began after its barrier matters to nobody"],
  [/^step of c1: resultFlush(Started|Ended)AtStep/, "the result is there, so the call is done whenever that was"],
  [/^step of c2: resultFlush(Started|Ended)AtStep late/, "a flush after the crash is none"],
  [/^step of c2: resultFlushStartedAtStep early/, "a flush that did not end may have written nothing"],
  [/^step of c[12]: marker.* early$/, "a marker may be durable long before its body"],
  [/^step of c1: markerFlushStartedAtStep/, "the window of a call that is done is over"],
  [/^effect of c[12]: early by one$/, "still after the barrier"],
  [/^report on c[1-4]: left out$/, "nothing said is no lie"],
  [/^row \d+ of the repair: left out: session\/end-seed$/, "a resume that died before it is as lawful"],
  [/^request: message 0 twice$/, "two messages of a user in a row are lawful"],
];

function* mutants(): Generator<Mutant> {
  const trace = lawful();
  const { log } = trace;
  const rowsOf = (bytes: Uint8Array) =>
    new TextDecoder().decode(bytes).trimEnd().split("\n").map((line) => JSON.parse(line)) as [
      unknown,
      ...EventObject[],
    ];
  const [header, ...before] = rowsOf(trace.image.get(log)!);
  const [, ...after] = rowsOf(trace.recovered!.get(log)!);
  const added = after.slice(before.length);
  const numbered = (rows: EventObject[]) => rows.map((row, seq) => ({ ...row, seq }));
  const both = (rows: EventObject[]): LabTrace => {
    const files = withFile(trace.recovered!, log, encode([header, ...numbered([...rows, ...added])], "none"));
    const image = withFile(trace.image, log, encode([header, ...numbered(rows)], "none"));
    return { ...trace, image, recovered: files, recoveredAgain: [{ kind: "reopened", how: "reopened", files }] };
  };
  const repaired = (rows: EventObject[]): LabTrace => {
    const files = withFile(trace.recovered!, log, encode([header, ...numbered([...before, ...rows])], "none"));
    return { ...trace, recovered: files, recoveredAgain: [{ kind: "reopened", how: "reopened", files }] };
  };

  for (const [where, rows, make] of [["crash", before, both], ["repair", added, repaired]] as const) {
    for (const [index, row] of rows.entries()) {
      const of = `row ${index} of the ${where}`;
      yield {
        kind: `${where}: row left out`,
        what: `${of}: left out: ${row.type}`,
        trace: make(rows.toSpliced(index, 1)),
      };
      yield {
        kind: `${where}: row twice`,
        what: `${of}: twice: ${row.type}`,
        trace: make(rows.toSpliced(index, 0, row)),
      };
      yield {
        kind: `${where}: type changed`,
        what: `${of}: of another type: ${row.type}`,
        trace: make(rows.with(index, { type: "todo/write", seq: 0, time: row.time, data: { todos: [] } })),
      };
      if (row.type !== "session/end-seed" && row.type !== "effect/reconciled") {
        yield {
          kind: `${where}: time changed`,
          what: `${of}: time: ${row.type}`,
          trace: make(rows.with(index, { ...row, time: row.time + 5 })),
        };
      }
      for (const [key, change] of dataChanges(row)) {
        const data = structuredClone(row.data);
        change(data);
        yield {
          kind: `${where}: ${key} changed`,
          what: `${of}: ${key}: ${row.type}`,
          trace: make(rows.with(index, { ...row, data })),
        };
      }
      const next = rows[index + 1];
      if (next !== undefined) {
        const swapped = rows.with(index, next).with(index + 1, row);
        yield {
          kind: `${where}: rows swapped`,
          what: `${of}: swapped: ${row.type} and ${next.type}`,
          trace: make(swapped),
        };
      }
    }
  }

  const bytes = trace.image.get(log)!;
  for (let index = 0; index < bytes.length; index += 7) {
    const flipped = bytes.with(index, bytes[index]! ^ 0x01);
    const files = withFile(trace.recovered!, log, trace.recovered!.get(log)!.with(index, flipped[index]!));
    yield {
      kind: "crash: bit flipped",
      what: `byte ${index}`,
      trace: { ...trace, image: withFile(trace.image, log, flipped), recovered: files, recoveredAgain: [] },
    };
  }

  for (const [index, report] of trace.reports.entries()) {
    const said = (change: object | null) => {
      return {
        ...trace,
        reports: change === null
          ? trace.reports.toSpliced(index, 1)
          : trace.reports.with(index, { ...report, ...change }),
      };
    };
    const of = `report on ${report.callId}`;
    yield { kind: "report: left out", what: `${of}: left out`, trace: said(null) };
    for (const name of ["not_proposed", "not_started", "not_dispatched", "outcome_unknown", "done"] as const) {
      // A call that was settled as happened may be called done.
      if (name === report.class || (report.callId === "c2" && name === "done")) continue;
      yield { kind: "report: class changed", what: `${of}: ${name}`, trace: said({ class: name }) };
    }
    for (const verdict of ["happened", "absent", "undecidable", "retry"] as const) {
      if (verdict === report.verdict) continue;
      yield { kind: "report: verdict changed", what: `${of}: ${verdict}`, trace: said({ verdict }) };
    }
  }

  for (const [index, call] of trace.calls.entries()) {
    for (
      const name of [
        "markerFlushStartedAtStep",
        "markerFlushEndedAtStep",
        "bodyStartedAtStep",
        "resultFlushStartedAtStep",
        "resultFlushEndedAtStep",
      ] as const
    ) {
      for (const [how, step] of [["left out", undefined], ["early", 1], ["late", 900]] as const) {
        if (call[name] === undefined && step === undefined) continue;
        const steps: CallSteps = { ...call, [name]: step };
        yield {
          kind: "step changed",
          what: `step of ${call.callId}: ${name} ${how}`,
          trace: { ...trace, calls: trace.calls.with(index, steps) },
        };
      }
    }
  }

  for (const [index, effect] of trace.effects.entries()) {
    const changed = (change: object) => ({ ...trace, effects: trace.effects.with(index, { ...effect, ...change }) });
    const of = `effect of ${effect.callId}`;
    yield {
      kind: "ledger: left out",
      what: `${of}: left out`,
      trace: { ...trace, effects: trace.effects.toSpliced(index, 1) },
    };
    yield {
      kind: "ledger: twice",
      what: `${of}: twice`,
      trace: { ...trace, effects: [...trace.effects, { ...effect, acceptedAtStep: 800 }] },
    };
    yield { kind: "ledger: key changed", what: `${of}: another key`, trace: changed({ effectKey: "another" }) };
    yield { kind: "ledger: call changed", what: `${of}: another call`, trace: changed({ callId: "c4" }) };
    yield {
      kind: "ledger: time changed",
      what: `${of}: before its barrier`,
      trace: changed({ acceptedAtStep: STEP.started(0) }),
    };
    yield {
      kind: "ledger: time changed",
      what: `${of}: early by one`,
      trace: changed({ acceptedAtStep: effect.acceptedAtStep - 1 }),
    };
    yield { kind: "ledger: time changed", what: `${of}: after all`, trace: changed({ acceptedAtStep: 800 }) };
    yield { kind: "ledger: process changed", what: `${of}: by the next process`, trace: changed({ incarnation: 1 }) };
  }

  const [{ messages }] = trace.requests as [LabTrace["requests"][0]];
  for (const [index, message] of messages.entries()) {
    const sent = (messages: readonly unknown[]) => ({ ...trace, requests: [{ messages }] });
    yield {
      kind: "request: message twice",
      what: `request: message ${index} twice`,
      trace: sent(messages.toSpliced(index, 0, message)),
    };
    // Without the user's message the request is still well-formed, and whether it is all of the log is not this judge's promise.
    if (index > 0) {
      yield {
        kind: "request: message left out",
        what: `request: message ${index} left out`,
        trace: sent(messages.toSpliced(index, 1)),
      };
    }
    const next = messages[index + 1];
    if (next !== undefined) {
      yield {
        kind: "request: messages swapped",
        what: `request: message ${index} swapped`,
        trace: sent(messages.with(index, next).with(index + 1, message)),
      };
    }
  }
}

/** Changes inside of an event's data that a fault could make. */
function dataChanges({ data }: EventObject): [string, (data: Record<string, unknown>) => void][] {
  const changes: [string, (data: Record<string, unknown>) => void][] = [];
  for (const key of ["turn", "step", "callSeq"]) {
    if (typeof data[key] === "number") changes.push([key, (data) => void (data[key] = Number(data[key]) + 1)]);
  }
  for (const key of ["callId", "effectKey", "id", "outcome", "verdict", "name"]) {
    if (typeof data[key] === "string") {
      changes.push([key, (data) => void (data[key] = key === "verdict" ? "absent" : "other")]);
    }
  }
  const error = data.error as { code: string } | undefined;
  if (error !== undefined) {
    changes.push(["code", (data) => {
      const code = error.code === "TOOL_NOT_STARTED" ? "TOOL_OUTCOME_UNKNOWN" : "TOOL_NOT_STARTED";
      data.error = { ...error, code };
    }]);
    changes.push(["error", (data) => void delete data.error]);
  }
  return changes;
}

Deno.test("judge() finds every mutant of a lawful trace that is a lie", () => {
  assertEquals(judge(lawful()), []);
  const table = new Map<string, { tried: number; found: number; lawful: number; by: Set<CheckerName> }>();
  const missed: string[] = [];
  const wrong: string[] = [];
  const excused = new Set<RegExp>();
  for (const { kind, what, trace } of mutants()) {
    const line = table.get(kind) ?? { tried: 0, found: 0, lawful: 0, by: new Set() };
    table.set(kind, line);
    line.tried++;
    const found = judge(trace);
    const excuse = LAWFUL.find(([pattern]) => pattern.test(what));
    for (const { checker } of found) line.by.add(checker);
    if (found.length > 0) line.found++;
    if (excuse !== undefined) excused.add(excuse[0]);
    if (found.length === 0 && excuse !== undefined) line.lawful++;
    if (found.length === 0 && excuse === undefined) missed.push(`${kind}, ${what}`);
    if (found.length > 0 && excuse !== undefined) wrong.push(`${kind}, ${what}: ${found[0]!.message}`);
  }
  console.log(
    [
      "mutation | tried | found | lawful all the same | by",
      ...[...table].map(([kind, { tried, found, lawful, by }]) => {
        return `${kind} | ${tried} | ${found} | ${lawful} | ${[...by].join(", ")}`;
      }),
    ].join("\n"),
  );
  assertEquals(missed, [], "lies that nobody found");
  assertEquals(wrong, [], "lawful traces that were called lies");
  const unused = LAWFUL.filter(([pattern]) => !excused.has(pattern)).map(([pattern]) => String(pattern));
  assertEquals(unused, [], "excuses that excuse nothing");
  const all = new Set([...table.values()].flatMap(({ by }) => [...by]));
  assert(all.size >= 9, `the mutants were found by ${[...all].join(", ")}`);
});
