import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { UnknownEventError } from "../../src/errors.ts";
import {
  checkAppendable,
  encodeRow,
  type EventDraft,
  isRequiredUnknown,
  OWN_TYPES,
  parseRow,
  type SessionEvent,
  shapeProblem,
} from "../../src/event/mod.ts";
import { draft, json, seq, text, time } from "./arbitraries.ts";
import { sample, samples } from "./samples.ts";

/** What a reopen does with a row. */
function reopens(event: SessionEvent): SessionEvent {
  const back = parseRow(encodeRow(event));
  assertStrictEquals(shapeProblem(back), null);
  assert(!isRequiredUnknown(back));
  return back;
}

Deno.test("checkAppendable() gives a frozen event in the writer's key order", () => {
  const event = checkAppendable({ ...sample("user/message"), sourceEventSeqs: [1], ignorable: true }, 30, 5);
  assertEquals(Object.keys(event), ["type", "seq", "time", "data", "ignorable", "sourceEventSeqs", "surfaceOp"]);
  assert(Object.isFrozen(event) && Object.isFrozen(event.data) && Object.isFrozen(event.sourceEventSeqs));
  assertEquals(Object.keys(checkAppendable(sample("turn/start"), 0, 5)), ["type", "seq", "time", "data"]);
});

Deno.test("checkAppendable() takes an undefined member of a draft for an absent one", () => {
  const event = checkAppendable(
    { ...sample("turn/start"), ignorable: undefined, surfaceOp: undefined, sourceEventSeqs: undefined },
    0,
    5,
  );
  assertEquals(Object.keys(event), ["type", "seq", "time", "data"]);
});

Deno.test("field/A19: everything checkAppendable() accepts opens again as it was", () => {
  fc.assert(
    fc.property(draft, seq, time, (sample, seq, time) => {
      const event = checkAppendable(sample, seq, time);
      const back = reopens(event);
      assertStrictEquals(JSON.stringify(back), JSON.stringify(event));
    }),
    { seed: 8, numRuns: 1000 },
  );
});

Deno.test("field/A19: whatever is thrown at checkAppendable() is refused or opens again", () => {
  // Valid drafts with one member, anywhere, replaced by any value: most are refused, and none slips through.
  let accepted = 0;
  let refused = 0;
  const path = fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(draft, path, fc.oneof(json, fc.constantFrom(-0, NaN, undefined, Infinity)), (sample, path, value) => {
      const broken = replaceAt(JSON.parse(JSON.stringify(sample)), path, value) as unknown as EventDraft;
      let event: SessionEvent;
      try {
        event = checkAppendable(broken, 30, 5);
      } catch (error) {
        assert(error instanceof TypeError || error instanceof UnknownEventError, String(error));
        refused++;
        return;
      }
      accepted++;
      assertStrictEquals(JSON.stringify(reopens(event)), JSON.stringify(event));
    }),
    { seed: 9, numRuns: 5000 },
  );
  assert(accepted > 100 && refused > 1000, `${accepted} accepted, ${refused} refused`);
});

/** Walks down by index of member and replaces what it finds last. */
function replaceAt(target: Record<string, unknown>, path: readonly number[], value: unknown): Record<string, unknown> {
  let holder = target;
  for (const [depth, step] of path.entries()) {
    const keys = Object.keys(holder);
    const key = keys[step % Math.max(1, keys.length)] ?? "added";
    const next = holder[key];
    if (depth === path.length - 1 || typeof next !== "object" || next === null) {
      holder[key] = value;
      break;
    }
    holder = next as Record<string, unknown>;
  }
  return target;
}

Deno.test("field/A19: checkAppendable() refuses an unregistered type at append, not at the next open", () => {
  for (const type of ["future/thing", "assistant/chunk", "tool/code-dispatch", "TURN/START", ...OWN_TYPES]) {
    assertThrows(
      () => checkAppendable({ type, data: {} }, 0, 5),
      UnknownEventError,
      `Cannot append event "${type}": found a type outside format version 3 without ignorable: true`,
    );
  }
});

Deno.test("field/A20: a custom event needs no registration, so a second copy of the library opens it", async () => {
  const events = [
    checkAppendable({ type: "custom/thing", ignorable: true, data: { any: ["thing"] } }, 0, 5),
    checkAppendable(sample("effect/dispatched"), 1, 6),
  ];
  // A worker is a realm of its own: nothing but the text is shared with it.
  const worker = new Worker(new URL("./second_copy_worker.ts", import.meta.url), { type: "module" });
  const answer = new Promise((resolve, reject) => {
    worker.onmessage = (message) => resolve(message.data);
    worker.onerror = reject;
  });
  worker.postMessage(events.map(encodeRow));
  const opened = await answer;
  worker.terminate();
  assertEquals(
    opened,
    events.map((event) => ({ line: encodeRow(event), problem: null, isRequiredUnknown: false })),
  );
});

Deno.test("checkAppendable() refuses every other bad draft with a TypeError that says what was found", () => {
  const turn = sample("turn/start");
  const user = sample("user/message");
  const cases: [unknown, string][] = [
    [null, "Cannot append an event: found null, expected a draft"],
    [[], "Cannot append an event: found an array of 0, expected a draft"],
    [{ ...turn, seq: 4 }, 'Cannot append event "turn/start": found the unknown field "seq"'],
    [{ ...turn, type: "" }, 'Cannot append event "": found type = "", expected a non-empty string'],
    [{ ...turn, type: undefined }, "Cannot append event nothing: found type = nothing, expected"],
    [{ ...turn, ignorable: false }, "found ignorable = false, expected true or nothing"],
    [{ type: "turn/start" }, "Cannot keep data as lossless JSON: found undefined"],
    [{ ...turn, data: { turn: -0 } }, "Cannot keep data.turn as lossless JSON: found -0"],
    [{ ...turn, data: { turn: "1" } }, 'Cannot append event "turn/start": found data.turn = "1", expected a count'],
    [{ ...turn, surfaceOp: "append" }, "found a surfaceOp on an event that is never on the surface"],
    [{ ...user, surfaceOp: undefined }, "found no surfaceOp on an event of the surface"],
    [{ ...user, surfaceOp: "prepend" }, 'found surfaceOp = "prepend", expected "append" or a replacement'],
    [{ ...user, surfaceOp: { op: "replace", start: 1, end: 2 } }, "found surfaceOp = an object, expected"],
    [{ ...user, surfaceOp: { op: "replace", startSeq: 1, endSeq: 30 } }, "found a replacement of 1 to 30"],
    [{ ...user, sourceEventSeqs: [] }, "found an empty list (in sourceEventSeqs)"],
    [{ ...user, sourceEventSeqs: [30] }, "found seq 30, which is not before the event itself (in sourceEventSeqs)"],
    [{ ...user, sourceEventSeqs: [1, 1] }, "found the same seq twice (in sourceEventSeqs)"],
    [{ ...user, sourceEventSeqs: [[1, 3]] }, "found a range (in sourceEventSeqs)"],
    [{ ...user, sourceEventSeqs: [[3, 3]] }, "found a range (in sourceEventSeqs)"],
    [{ type: "x/y", ignorable: true, data: 1, surfaceOp: "append" }, "found a place on the surface"],
    [{ type: "x/y", ignorable: true, data: 1, sourceEventSeqs: [1] }, "found a place on the surface"],
  ];
  for (const [value, message] of cases) {
    assertThrows(() => checkAppendable(value as EventDraft, 30, 5), TypeError, message);
  }
  assertThrows(() => checkAppendable(turn, -1, 5), TypeError, "found seq = -1, expected a count");
  assertThrows(() => checkAppendable(turn, 0, 1.5), TypeError, "found time = 1.5, expected an integer of milliseconds");
});

Deno.test("checkAppendable() refuses rows that readers refuse whatever follows", () => {
  assertThrows(
    () => checkAppendable({ type: "request/header", data: { header: { system: "x", config: {} } } }, 0, 5),
    TypeError,
    "found data.header.system",
  );
  const system = sample("system/message");
  const data = { ...system.data as object, extra: 1 };
  assertThrows(() => checkAppendable({ ...system, data }, 30, 5), TypeError, 'found the unknown field "extra" in data');
});

Deno.test("checkAppendable() reads each member of a draft once and keeps what it read", () => {
  let reads = 0;
  const sly = {
    type: "turn/start",
    get data() {
      return { turn: ++reads };
    },
  };
  assertEquals([checkAppendable(sly, 0, 5).data, reads], [{ turn: 1 }, 1]);
});

Deno.test("checkAppendable() accepts every sample, and any payload of a custom event", () => {
  for (const event of samples) reopens(checkAppendable(event, 20, -5));
  fc.assert(
    fc.property(text, json, (name, data) => {
      reopens(checkAppendable({ type: `x${name}`, ignorable: true, data }, 0, 0));
    }),
    { seed: 10, numRuns: 300 },
  );
});
