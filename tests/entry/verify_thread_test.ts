import { assert, assertEquals, assertRejects } from "@std/assert";
import { hasCode } from "../../src/errors.ts";
import { encodeHeader, encodeRow } from "../../src/event/mod.ts";
import { encodeLines } from "../../src/frame/mod.ts";
import { JOURNAL_LIMITS } from "../../src/journal/mod.ts";
import { THREAD_SIZE_BYTES_MIN, verifyOnThread } from "../../src/entry/verify_thread.ts";
import { headerOf, turnsOf } from "../journal/script.ts";

const EVENTS = 600;

/** A raw log that is large enough for a thread of its own. */
const BYTES = encodeLines([
  encodeHeader(headerOf()),
  ...turnsOf(EVENTS / 12).map((event) => encodeRow(event).replaceAll("pay ünï", "pay ünï ".repeat(12_000))),
]);

function staged(bytes: Uint8Array<ArrayBuffer>) {
  return [
    { name: "session.v3.jsonl", sizeBytes: bytes.length, encoding: "none" },
    (start: number, end: number) => Promise.resolve(bytes.slice(start, end)),
    JOURNAL_LIMITS,
  ] as const;
}

Deno.test("a large log is checked on a thread of its own, with the answer of a check here", async () => {
  assert(BYTES.length > THREAD_SIZE_BYTES_MIN);
  assertEquals(await verifyOnThread(...staged(BYTES)), { id: "s", events: EVENTS, inheritedEventCount: 0 });
});

Deno.test("what the thread refuses arrives with its code, and what the medium refuses as it is", async () => {
  const damaged = BYTES.slice();
  damaged[BYTES.length >> 1] = 0x0a;
  const error = await assertRejects(() => verifyOnThread(...staged(damaged)), Error, "event");
  assert(hasCode(error, "CORRUPT_LOG"), String(error));

  const [log, read, limits] = staged(BYTES);
  const gone = new Error("the medium is gone");
  const failing = (start: number, end: number) => start > 1e6 ? Promise.reject(gone) : read(start, end);
  assertEquals(await assertRejects(() => verifyOnThread(log, failing, limits)), gone);
});
