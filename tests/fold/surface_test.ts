import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { SessionEvent, SurfaceOp } from "../../src/event/mod.ts";
import { deriveMessages, foldEvents, type Surface, surfaceFold, surfaceProblem } from "../../src/fold/mod.ts";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";
import { LogBuilder } from "./log_builder.ts";

function seqs(surface: Surface): number[] {
  return surface.nodes.toArray().map((node) => node.seq);
}

function ids(surface: Surface): string[] {
  return deriveMessages(surface).map((message) => message.id);
}

/** A log of nothing but user messages at these seqs; what lies between are events that never touch the surface. */
function messagesAt(...at: number[]): LogBuilder {
  const log = new LogBuilder();
  while (log.events.length <= at.at(-1)!) {
    if (at.includes(log.events.length)) log.user("x");
    else log.add("feedback/record" as "session/end-seed", {});
  }
  return log;
}

function replaceBy(seq: number, startSeq: number, endSeq: number, sourceEventSeqs?: readonly number[]): SessionEvent {
  const data = { id: `m${seq}`, role: "user", content: [], source: { kind: "user" } };
  return { type: "user/message", seq, time: 1, data, surfaceOp: { op: "replace", startSeq, endSeq }, sourceEventSeqs };
}

Deno.test("compaction/C-01: surfaceFold keeps the appended surface events in log order and nothing else", () => {
  const log = new LogBuilder();
  log.openStep("a");
  const user = log.user("hi");
  log.call("a");
  log.result("a");
  log.endStep();
  log.endTurn();
  const surface = foldEvents(surfaceFold, log.events);
  assertEquals(seqs(surface), [2, user, user + 2]);
  assertEquals(surface.replaceGeneration, 0);
});

Deno.test("compaction/C-02: a replacement splices by position", () => {
  const log = messagesAt(2, 5, 7, 9);
  const surface = surfaceFold.apply(foldEvents(surfaceFold, log.events), replaceBy(12, 5, 7, [5, 7]));
  assertEquals(seqs(surface), [2, 12, 9]);
  assertEquals(surface.replaceGeneration, 1);
  assertEquals(ids(surface), ["u2", "m12", "u9"]);
});

Deno.test("compaction/C-03: a span may start at the greater seq, because it is meant by position", () => {
  const log = messagesAt(2, 5, 9);
  const once = surfaceFold.apply(foldEvents(surfaceFold, log.events), replaceBy(12, 2, 5, [2, 5]));
  assertEquals(seqs(once), [12, 9]);
  const twice = surfaceFold.apply(once, replaceBy(20, 12, 9, [12, 9]));
  assertEquals([seqs(twice), twice.replaceGeneration, twice.fault], [[20], 2, null]);
});

Deno.test("compaction/C-04: surfaceProblem() refuses spans that are not there, and the state stays", () => {
  const surface = foldEvents(surfaceFold, messagesAt(2, 5, 7).events);
  const cases: [number, number, string][] = [
    [3, 7, "seq 3 is not on the surface"],
    [2, 99, "the span 2..99 reaches its own seq"],
    [2, 6, "seq 6 is not on the surface"],
    [7, 2, "seq 7 stands behind seq 2"],
    [2, 12, "the span 2..12 reaches its own seq"],
    [12, 7, "the span 12..7 reaches its own seq"],
  ];
  for (const [start, end, found] of cases) {
    const event = replaceBy(12, start, end, [2, 5, 7]);
    assertStringIncludes(surfaceProblem(surface, event) ?? "", found);
    const after = surfaceFold.apply(surface, event);
    assertEquals([seqs(after), after.replaceGeneration, after.fault?.seq], [[2, 5, 7], 0, 12]);
  }
  assertEquals(surfaceProblem(surface, replaceBy(12, 2, 7, [2, 5, 7])), null);
});

Deno.test("surfaceProblem() wants every replaced node cited, and takes more, in any order", () => {
  const surface = foldEvents(surfaceFold, messagesAt(2, 5, 7).events);
  assertStringIncludes(surfaceProblem(surface, replaceBy(12, 2, 7, [2, 7])) ?? "", "leaves out seq 5");
  assertStringIncludes(surfaceProblem(surface, replaceBy(12, 5, 5)) ?? "", "leaves out seq 5");
  assertEquals(surfaceProblem(surface, replaceBy(12, 5, 7, [7, 1, 0, 5])), null);
});

Deno.test("compaction/C-06: surfaceProblem() checks the shape of citations, on appends as well", () => {
  const surface = foldEvents(surfaceFold, messagesAt(0, 1).events);
  const cases: [number[], string][] = [
    [[], "is empty"],
    [[0, 0], "names a seq twice"],
    [[2], "2, which is not before seq 2"],
    [[3], "3, which is not before seq 2"],
    [[0.5], "0.5, which is no seq"],
    [[-1], "-1, which is no seq"],
  ];
  for (const [sourceEventSeqs, found] of cases) {
    const append: SessionEvent = { ...replaceBy(2, 0, 0), surfaceOp: "append", sourceEventSeqs };
    assertStringIncludes(surfaceProblem(surface, append) ?? "", found);
  }
  const log = new LogBuilder();
  log.openStep();
  const cited: SessionEvent = { ...log.events[2]!, seq: 3, sourceEventSeqs: [2] };
  assertStringIncludes(surfaceProblem(surface, cited) ?? "", "must not have sourceEventSeqs");
});

Deno.test("surfaceProblem() wants a surfaceOp on the four surface types and looks at no other type", () => {
  const surface = surfaceFold.initial();
  const bare: SessionEvent = { ...replaceBy(0, 0, 0), surfaceOp: undefined };
  assertStringIncludes(surfaceProblem(surface, bare) ?? "", "user/message has no surfaceOp");
  const foreign: SessionEvent = { ...replaceBy(4, 9, 9), type: "future/thing", ignorable: true };
  assertEquals(surfaceProblem(surface, foreign), null);
  assertEquals(surfaceFold.apply(surface, foreign), surface);
});

Deno.test("compaction/C-11: an empty assistant message keeps its node and yields no message", () => {
  const log = new LogBuilder();
  log.startTurn();
  log.startStep();
  log.system("");
  log.user("hi");
  log.assistant([]);
  const surface = foldEvents(surfaceFold, log.events);
  assertEquals(surface.nodes.length, 3);
  assertEquals(ids(surface), ["u3"]);
});

Deno.test("deriveMessages() gives each kind of node verbatim", () => {
  const log = new LogBuilder();
  log.startTurn();
  log.startStep();
  log.system("be kind");
  log.user("hi");
  log.assistant(["a"], "text");
  log.call("a");
  log.result("a", "SOME_ERROR");
  const messages = deriveMessages(foldEvents(surfaceFold, log.events));
  assertEquals(messages.map((message) => message.role), ["system", "user", "assistant", "user"]);
  assert(messages[1] === (log.events[3]!.data as unknown));
});

Deno.test("the system message at the head is replaced only by another one over exactly it", () => {
  const log = new LogBuilder();
  log.startTurn();
  log.startStep();
  const head = log.system("one");
  const user = log.user("hi");
  const surface = foldEvents(surfaceFold, log.events);
  const system = (op: SurfaceOp, sources: number[]): SessionEvent => {
    const copy = new LogBuilder();
    copy.append(log.events);
    copy.turn = copy.step = 1;
    copy.system("two", op, sources);
    return copy.events.at(-1)!;
  };
  const over = (startSeq: number, endSeq: number): SurfaceOp => ({ op: "replace", startSeq, endSeq });
  assertEquals(surfaceProblem(surface, system(over(head, head), [head])), null);
  for (
    const event of [
      replaceBy(4, head, head, [head]),
      replaceBy(4, head, user, [head, user]),
      system(over(head, user), [head, user]),
    ]
  ) {
    assertStringIncludes(surfaceProblem(surface, event) ?? "", "is the system message at the head");
  }
  assertEquals(surfaceProblem(surface, replaceBy(4, user, user, [user])), null);
});

Deno.test("a tool/result replaces one tool/result and differs only in its content", () => {
  const log = new LogBuilder();
  log.openStep("a", "b");
  const user = log.user("hi");
  log.call("a");
  const first = log.result("a", "SOME_ERROR");
  log.call("b");
  const second = log.result("b");
  const surface = foldEvents(surfaceFold, log.events);
  const original = log.events[first]!.data as Record<string, unknown>;
  const message = original.message as Record<string, unknown>;
  const block = (message.content as Record<string, unknown>[])[0]!;
  const replaced = (data: unknown, startSeq: number, endSeq = startSeq, sources = [startSeq]): SessionEvent => ({
    type: "tool/result",
    seq: 20,
    time: 1,
    data: data as SessionEvent["data"],
    surfaceOp: { op: "replace", startSeq, endSeq },
    sourceEventSeqs: sources,
  });
  const shorter = { ...block, content: [{ type: "text", text: "short" }] };
  assertEquals(
    surfaceProblem(surface, replaced({ ...original, message: { ...message, content: [shorter] } }, first)),
    null,
  );

  const more = "differs from the tool/result at seq 5 in more than its content";
  const cases: [unknown, string][] = [
    [{ ...original, turn: 2 }, more],
    [{ ...original, error: { name: "Error", code: "OTHER" } }, more],
    [{ ...original, meta: 1 }, more],
    [{ ...original, message: { ...message, id: "other" } }, more],
    [{ ...original, message: { ...message, source: { kind: "tool", callId: "b" } } }, more],
    [{ ...original, message: { ...message, content: [{ ...block, isError: false }] } }, more],
    [{ ...original, message: { ...message, content: [block, block] } }, more],
  ];
  for (const [data, found] of cases) assertStringIncludes(surfaceProblem(surface, replaced(data, first)) ?? "", found);
  const only = "may replace only one other tool/result";
  assertStringIncludes(surfaceProblem(surface, replaced(original, user)) ?? "", only);
  assertStringIncludes(surfaceProblem(surface, replaced(original, first, second, [first, second])) ?? "", only);
});

Deno.test("surfaceFold remembers only the first fault and goes on", () => {
  const log = messagesAt(0, 1);
  const faulty = [replaceBy(2, 8, 8), replaceBy(3, 9, 9)];
  const surface = foldEvents(surfaceFold, [...log.events, ...faulty, { ...replaceBy(4, 0, 0), surfaceOp: "append" }]);
  assertEquals([surface.fault?.seq, seqs(surface)], [2, [0, 1, 4]]);
});

Deno.test("surfaceFold agrees with the recorded outcomes of another implementation", () => {
  const folder = fixturesDir();
  if (folder === null) return casesNotRun(9, "v0-pure/surface-cases.json");
  const { cases } = JSON.parse(Deno.readTextFileSync(`${folder}/dsh/v0-pure/surface-cases.json`));
  assert(cases.length >= 9);
  for (const { name, events, fold } of cases) {
    // The parser refuses a wrong spelling of the operation before any fold sees it.
    if (name === "extraOpKey" || name === "badOp") continue;
    const surface = foldEvents(surfaceFold, events.map(withCurrentSpelling));
    if (fold.ok === undefined) {
      assert(surface.fault !== null, name);
    } else {
      assertEquals([seqs(surface), surface.fault], [fold.ok.nodes, null], name);
      assertEquals(surface.replaceGeneration, fold.ok.replacements.length, name);
    }
  }
});

// deno-lint-ignore no-explicit-any
function withCurrentSpelling(event: any): SessionEvent {
  const { surfaceOp } = event;
  if (typeof surfaceOp !== "object") return event;
  return { ...event, surfaceOp: { op: surfaceOp.op, startSeq: surfaceOp.start, endSeq: surfaceOp.end } };
}
