import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { SessionEvent } from "../../src/event/mod.ts";
import { foldEvents, KEPT_FOLDS_VERSION, type KeptFolds, keptText, logFold, readKept } from "../../src/fold/mod.ts";
import { plain } from "./log_builder.ts";
import { randomLogs } from "./random_log.ts";

const RUNS = { seed: 1, numRuns: 60 };

function keptOf(
  events: readonly SessionEvent[],
  from: KeptFolds = { folds: logFold.initial(), lastType: null },
): KeptFolds {
  return { folds: foldEvents(logFold, events, from.folds), lastType: events.at(-1)?.type ?? from.lastType };
}

Deno.test("folds/snapshot: of random logs, at every place: kept, read back and gone on with is the whole fold", () => {
  let places = 0;
  fc.assert(
    fc.property(randomLogs(), ({ events }) => {
      const whole = JSON.parse(keptText(keptOf(events)));
      let before = keptOf([]);
      for (let at = 0; at <= events.length; at++) {
        const text = keptText(before);
        const back = readKept(JSON.parse(text));
        assertEquals(keptText(back), text, `kept at ${at}, and read back`);
        assertEquals(JSON.parse(keptText(keptOf(events.slice(at), back))), whole, `gone on with from ${at}`);
        if (at < events.length) before = keptOf(events.slice(at, at + 1), before);
        places++;
      }
    }),
    RUNS,
  );
  assert(places > 1000, `only ${places} places`);
});

Deno.test("folds/snapshot: what was read back behaves like what was kept, through every list and every getter", () => {
  fc.assert(
    fc.property(randomLogs(), fc.nat(), ({ events }, number) => {
      const at = number % (events.length + 1);
      const back = readKept(JSON.parse(keptText(keptOf(events.slice(0, at))))).folds;
      const { folds } = keptOf(events.slice(0, at));
      for (const { seq } of folds.surface.nodes) {
        assertEquals(back.surface.nodes.findIndex(seq), folds.surface.nodes.findIndex(seq));
        assertEquals(back.meter.nodes.findIndex(seq), folds.meter.nodes.findIndex(seq));
      }
      for (const { id } of folds.heard) assertEquals(back.heard.findIndex(id), folds.heard.findIndex(id));
      for (const { callId } of folds.brackets.calls) {
        assertEquals(back.brackets.calls.findIndex(callId), folds.brackets.calls.findIndex(callId));
      }
      for (const { callId } of folds.unresolved.awaited) {
        assertEquals(back.unresolved.awaited.findIndex(callId), folds.unresolved.awaited.findIndex(callId));
      }
      assertEquals(plain(back), plain(folds));
      assert(back.lifecycle === back.pendingCalls.lifecycle);
    }),
    RUNS,
  );
});

Deno.test("folds/snapshot: the version names every member of the state that is a fold", () => {
  // A new fold must come into the version, into what is kept and into what is read back; these are not folds, or are named otherwise.
  const named: Record<string, string> = {
    pendingCalls: "pending_calls",
    meter: "token_meter",
    firstPrompt: "first_prompt",
  };
  for (const member of Object.keys(logFold.initial())) {
    if (member === "lastTime" || member === "nextSeq") continue;
    assert(` ${KEPT_FOLDS_VERSION}`.includes(` ${named[member] ?? member}:`), `no version of ${member}`);
  }
});
