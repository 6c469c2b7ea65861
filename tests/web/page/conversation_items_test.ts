import { assertEquals } from "@std/assert";
import type { SessionEvent } from "../../../mod.ts";
import { type CallItem, itemsOf } from "../../../web/page/conversation_items.ts";
import { logOf, payment } from "../../browser/fake_client.ts";

const call = (events: readonly SessionEvent[]) =>
  itemsOf(events).find((item): item is CallItem => item.kind === "call")!;
const text = (id: string, text: string, kind = "user") => ({
  id,
  role: "user",
  content: [{ type: "text", text }],
  source: { kind },
});

Deno.test("itemsOf() gives a call its trail of evidence, as far as the log proves it", () => {
  const done = call(logOf(payment("pay 10 to alice", "done")));
  const trail = [done.seq, done.callSeq, done.asked?.seq, done.decided?.seq, done.dispatched?.seq, done.result?.seq];
  assertEquals(trail, [5, 6, 7, 9, 10, 11]);
  assertEquals([done.decided?.outcome, done.result?.text], ["allowed-once", "Paid 10 to alice."]);
  const asked = call(logOf(payment("pay 10 to alice", "asked")));
  assertEquals([asked.asked?.id, asked.decided, asked.dispatched, asked.result], ["q1", null, null, null]);
  const unknown = call(logOf(payment("pay 10 to alice", "dispatched")));
  assertEquals([unknown.result?.code, unknown.result?.isError], ["TOOL_OUTCOME_UNKNOWN", true]);
});

Deno.test("itemsOf() tells calls with the same id apart, and gives an answer to the one that is open", () => {
  const first = payment("pay 10 to alice", "done");
  const items = itemsOf(logOf([...first, ...payment("pay 20 to bob", "asked")]));
  const calls = items.filter((item) => item.kind === "call");
  assertEquals(calls.map(({ result }) => result?.seq ?? null), [11, null]);
  assertEquals(calls.map(({ callSeq }) => callSeq), [6, first.length + 6]);
});

Deno.test("itemsOf() shows what waits in the inbox until it is heard or taken back", () => {
  const inserted = { target: "next-turn", start: 0, inserted: [text("m9", "and then?")] };
  const splice = { type: "agent/inbox/spliced", data: inserted as unknown as SessionEvent["data"] };
  const kinds = (...rest: Pick<SessionEvent, "type" | "data">[]) =>
    itemsOf(logOf([splice, ...rest])).map(({ kind }) => kind);
  assertEquals(kinds(), ["waiting"]);
  const claim = {
    type: "agent/inbox/spliced",
    data: { target: "next-turn", start: 0, removedCount: 1, inserted: [] },
  };
  const end = { type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } };
  assertEquals(kinds({ type: "user/message", data: text("m9", "and then?") }), ["person"]);
  assertEquals(kinds(claim, { type: "user/message", data: text("m9", "and then?") }, end), ["person"]);
  // Its turn took it up and was cut off: it waits for nothing any more, and nobody heard it.
  assertEquals(kinds(claim), ["waiting"]);
  assertEquals(kinds(claim, end), ["unheard"]);
  assertEquals(kinds(end), ["waiting"]);
  const canceled = { target: "next-turn", start: 0, removedCount: 1, inserted: [], outcome: "canceled" };
  assertEquals(kinds({ type: "agent/inbox/spliced", data: canceled }), []);
});

Deno.test("itemsOf() begins anywhere: every suffix of a log is shown as far as it goes", () => {
  const log = logOf(payment("pay 10 to alice", "done"));
  for (let from = 0; from <= log.length; from++) {
    const shown = itemsOf(log.slice(from));
    assertEquals(shown.some(({ seq }) => seq < from), false);
  }
  const [found] = itemsOf(log.slice(6));
  assertEquals(found?.kind === "call" && [found.name, found.callSeq, found.result?.seq], ["pay", 6, 11]);
});

Deno.test("itemsOf() says how a turn ended when it did not simply complete, and where the log was opened again", () => {
  const kinds = itemsOf(logOf(payment("pay 10 to alice", "dispatched"))).map(({ kind }) => kind);
  assertEquals(kinds, ["person", "answer", "call", "ended", "opened"]);
  assertEquals(itemsOf(logOf(payment("pay 10 to alice", "done"))).map(({ kind }) => kind), [
    "person",
    "answer",
    "call",
  ]);
});
