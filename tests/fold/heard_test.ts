import { assertEquals } from "@std/assert";
import type { SessionEvent } from "../../src/event/mod.ts";
import { foldEvents, HEARD_MESSAGES_MAX, heardFold, heardSeq } from "../../src/fold/mod.ts";

function insertion(seq: number, ...ids: string[]): SessionEvent {
  const inserted = ids.map((id) => ({ id, role: "user" as const, content: [], source: { kind: "user" as const } }));
  return { type: "agent/inbox/spliced", seq, time: 1, data: { target: "next-turn", start: 0, inserted } };
}

Deno.test("heardFold remembers where a message came in, also after it was taken", () => {
  const taken: SessionEvent = {
    type: "agent/inbox/spliced",
    seq: 8,
    time: 1,
    data: { target: "next-turn", start: 0, removedCount: 2, inserted: [] },
  };
  const heard = foldEvents(heardFold, [insertion(3, "a", "b"), taken, insertion(9, "c")]);
  assertEquals([heardSeq(heard, "a"), heardSeq(heard, "b"), heardSeq(heard, "c")], [3, 3, 9]);
  assertEquals(heardSeq(heard, "d"), null);
});

Deno.test("heardFold forgets all but the newest HEARD_MESSAGES_MAX", () => {
  let heard = heardFold.initial();
  for (let seq = 0; seq < HEARD_MESSAGES_MAX + 600; seq++) heard = heardFold.apply(heard, insertion(seq, `m${seq}`));
  assertEquals(heard.length, HEARD_MESSAGES_MAX);
  assertEquals([heardSeq(heard, "m599"), heardSeq(heard, "m600")], [null, 600]);
  const atOnce = heardFold.apply(heard, insertion(9999, ...Array.from({ length: 5000 }, (_, n) => `n${n}`)));
  assertEquals([atOnce.length, heardSeq(atOnce, "n4999"), heardSeq(atOnce, "n0")], [HEARD_MESSAGES_MAX, 9999, null]);
});
