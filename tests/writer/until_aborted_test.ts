import { assertEquals, assertRejects } from "@std/assert";
import { untilAborted } from "../../src/writer/until_aborted.ts";

Deno.test("untilAborted() passes on what the promise settles to", async () => {
  const { signal } = new AbortController();
  assertEquals(await untilAborted(Promise.resolve(7), signal), 7);
  assertEquals(await untilAborted(Promise.resolve(7)), 7);
  await assertRejects(() => untilAborted(Promise.reject(new RangeError("no")), signal), RangeError, "no");
});

Deno.test("untilAborted() ends the waiting with the signal's reason, before and during it", async () => {
  const hung = new Promise<never>(() => {});
  assertEquals(await untilAborted(hung, AbortSignal.abort("before")).catch((reason) => reason), "before");

  const controller = new AbortController();
  const waiting = untilAborted(hung, controller.signal).catch((reason) => reason);
  controller.abort("during");
  assertEquals(await waiting, "during");
});

Deno.test("untilAborted() swallows a rejection that comes after the abort", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  assertEquals(await untilAborted(promise, AbortSignal.abort("gone")).catch((reason) => reason), "gone");
  reject(new Error("late")); // An unhandled rejection would fail the test run.
  await Promise.resolve();
});
