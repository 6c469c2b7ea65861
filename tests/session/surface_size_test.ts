import { assertEquals, assertThrows } from "@std/assert";
import { logFold } from "../../src/fold/mod.ts";
import { SurfaceBound } from "../../src/session/surface_size.ts";

function foldsOf(surfaceTokens: number) {
  const folds = logFold.initial();
  return { meter: { ...folds.meter, surfaceTokens }, nextSeq: 8 };
}

Deno.test("SurfaceBound ends a reading only when the conversation is over the bound, and says at which event", () => {
  const bound = new SurfaceBound("a", undefined, 10);
  bound.watch(foldsOf(10));
  bound.check();
  assertEquals(bound.signal.aborted, false);
  bound.watch(foldsOf(11));
  bound.watch(foldsOf(12));
  assertEquals(bound.signal.reason.code, "TOO_LARGE");
  assertThrows(() => bound.check(), Error, "up to event 7 its conversation has 11 tokens, over the bound of 10");
});

Deno.test("SurfaceBound: the caller's signal ends the reading too, and is no finding", () => {
  const caller = new AbortController();
  const bound = new SurfaceBound("a", caller.signal);
  caller.abort(new Error("enough"));
  assertEquals(bound.signal.reason.message, "enough");
  bound.check();
});
