import { assertEquals, assertStringIncludes } from "@std/assert";
import type { EventData, Message, SessionEvent } from "../../src/event/mod.ts";
import { foldEvents, type Inbox, inboxFold, inboxProblem } from "../../src/fold/mod.ts";

function message(id: string): Message {
  return { id, role: "user", content: [], source: { kind: "user" } };
}

function splice(
  target: EventData["agent/inbox/spliced"]["target"],
  start: number,
  removedCount: number | undefined,
  ...inserted: string[]
): SessionEvent {
  const data = { target, start, ...(removedCount === undefined ? {} : { removedCount }) };
  const event = { type: "agent/inbox/spliced", seq: 0, time: 1, data: { ...data, inserted: inserted.map(message) } };
  return event as unknown as SessionEvent;
}

function ids({ nextTurn, nextStep }: Inbox): string[][] {
  return [nextTurn.map(({ id }) => id), nextStep.map(({ id }) => id)];
}

Deno.test("inboxFold inserts and removes at a place of the named list", () => {
  const inbox = foldEvents(inboxFold, [
    splice("next-turn", 0, undefined, "a", "b"),
    splice("next-step", 0, undefined, "x"),
    splice("next-turn", 1, undefined, "c"),
    splice("next-turn", 0, 1),
  ]);
  assertEquals(ids(inbox), [["c", "b"], ["x"]]);
});

Deno.test("inboxProblem() refuses a splice outside its list and a message that waits already", () => {
  const inbox = foldEvents(inboxFold, [splice("next-turn", 0, 0, "a", "b"), splice("next-step", 0, 0, "x")]);
  const cases: [SessionEvent, string | null][] = [
    [splice("next-turn", 2, 0, "c"), null],
    [splice("next-turn", 3, 0, "c"), "it removes 0 from 3 on, and next-turn holds 2"],
    [splice("next-turn", 1, 2), "it removes 2 from 1 on, and next-turn holds 2"],
    [splice("next-step", 0, 2), "next-step holds 1"],
    [splice("next-turn", 0, 0, "x"), 'message "x" waits in the inbox already'],
    [splice("next-turn", 0, 0, "c", "c"), 'message "c" waits in the inbox already'],
    [splice("next-turn", 0, 1, "a"), null],
    [{ type: "turn/start", seq: 0, time: 1, data: { turn: 1 } }, null],
  ];
  for (const [event, found] of cases) {
    const problem = inboxProblem(inbox, event);
    if (found === null) assertEquals(problem, null);
    else assertStringIncludes(problem ?? "", found);
  }
});

Deno.test("inboxFold cuts a splice of a damaged log to the list", () => {
  assertEquals(ids(inboxFold.apply(inboxFold.initial(), splice("next-turn", 7, 3, "a"))), [["a"], []]);
});

Deno.test("inboxFold keeps what a turn took until somebody was told, and what a crash left so", () => {
  const untold = (...events: SessionEvent[]) =>
    foldEvents(inboxFold, [splice("next-turn", 0, 0, "a"), splice("next-step", 0, 0, "x"), ...events])
      .taken.map(({ message, target }) => `${message.id} of ${target}`);
  const event = (type: string, data: unknown) => ({ type, seq: 0, time: 1, data }) as SessionEvent;
  const take = [splice("next-step", 0, 1), splice("next-turn", 0, 1)];
  const both = ["x of next-step", "a of next-turn"];
  const interrupted = event("turn/end", { turn: 1, reason: { kind: "interrupted" } });

  assertEquals(untold(...take), both);
  assertEquals(untold(...take, interrupted), both);
  assertEquals(untold(...take, event("user/message", message("a"))), ["x of next-step"]);
  assertEquals(untold(...take, event("request/header", {})), []);
  const ended = (reason: unknown) => event("turn/end", { turn: 1, reason });
  assertEquals(untold(...take, ended({ kind: "aborted", reason: { kind: "disposed" } })), both);
  assertEquals(untold(...take, ended({ kind: "aborted", reason: { kind: "user" } })), []);
  assertEquals(untold(...take, ended({ kind: "blocked" })), []);
  assertEquals(untold(...take, interrupted, splice("next-turn", 0, 0, "a")), ["x of next-step"]);
  const canceled = splice("next-turn", 0, 1);
  (canceled.data as { outcome?: string }).outcome = "canceled";
  assertEquals(untold(canceled), []);
});
