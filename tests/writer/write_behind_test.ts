import { assert, assertEquals, assertRejects, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  BufferFullError,
  LockLostError,
  SequenceGapError,
  SessionClosedError,
  StorageFullError,
  StorageLostError,
  TooLargeError,
} from "../../src/errors.ts";
import type { SessionEvent } from "../../src/event/mod.ts";
import { WINDOW_MS, WriteBehind, type WriteBehindOptions } from "../../src/writer/write_behind.ts";
import { FakeClock, settle } from "../support/fake_clock.ts";

/** One call of `append` that the test settles by hand. */
interface Write {
  readonly batchId: string;
  readonly seqs: readonly number[];
  readonly atMs: number;
  ok(): void;
  fail(error: unknown): void;
}

/** A writer over a medium whose every write the test answers, or which answers by itself. */
class Bench {
  readonly clock = new FakeClock(0);
  readonly writes: Write[] = [];
  readonly failures: unknown[] = [];
  readonly writer: WriteBehind;
  /** Set to have writes succeed or fail at once. */
  answer: "ok" | Error | null = "ok";
  isWriting = false;
  #nextSeq = 0;

  constructor(options: Partial<WriteBehindOptions> = {}) {
    this.writer = new WriteBehind({
      append: (events, batchId) => this.#append(events, batchId),
      clock: this.clock,
      durableSeq: -1,
      batchPrefix: "w",
      onFailure: (error) => this.failures.push(error),
      ...options,
    });
  }

  push(count = 1, text = ""): void {
    const events = Array.from({ length: count }, (_, index) => event(this.#nextSeq + index, text));
    this.writer.push(events);
    this.#nextSeq += count;
  }

  get pushed(): number {
    return this.#nextSeq;
  }

  get seqsWritten(): readonly (readonly number[])[] {
    return this.writes.map((write) => write.seqs);
  }

  #append(events: readonly SessionEvent[], batchId: string): Promise<number> {
    assert(!this.isWriting, "a write began before the last one was settled");
    this.isWriting = true;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const write: Write = {
      batchId,
      seqs: events.map((event) => event.seq),
      atMs: this.clock.now(),
      ok: () => (this.isWriting = false, resolve(events.at(-1)!.seq)),
      fail: (error) => (this.isWriting = false, reject(error)),
    };
    this.writes.push(write);
    if (this.answer === "ok") write.ok();
    else if (this.answer !== null) write.fail(this.answer);
    return promise;
  }
}

function event(seq: number, text = ""): SessionEvent {
  return { type: "feedback/record", seq, time: 0, data: { text } };
}

Deno.test("push() opens one window that later events join and never reset", async () => {
  const bench = new Bench();
  // The appends of fixtures v0-pure/write-behind-observations.json: at 0, 120, 180 and 240 ms.
  bench.push();
  await bench.clock.advance(120);
  bench.push();
  await bench.clock.advance(60);
  bench.push();
  await bench.clock.advance(60);
  bench.push();
  await bench.clock.advance(1000);

  assertEquals(bench.seqsWritten, [[0, 1, 2], [3]]);
  assertEquals(bench.writes.map((write) => write.atMs), [200, 440]);
  assertEquals(bench.clock.pendingTimers, 0);
  assertEquals(bench.writer.durableSeq, 3);
});

Deno.test("push() during a write opens the window of the next batch at once", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push();
  await bench.clock.advance(WINDOW_MS);
  await bench.clock.advance(50);
  bench.push();
  await bench.clock.advance(100);
  bench.writes[0]!.ok();
  await bench.clock.advance(99);
  assertEquals(bench.seqsWritten, [[0]]);
  await bench.clock.advance(1);
  assertEquals(bench.seqsWritten, [[0], [1]]);
  assertEquals(bench.writes[1]!.atMs, 450);
});

Deno.test("a window that ends during a write makes the next write begin right after it", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push();
  await bench.clock.advance(WINDOW_MS);
  bench.push(2);
  await bench.clock.advance(WINDOW_MS + 100);
  assertEquals(bench.seqsWritten, [[0]]);
  bench.writes[0]!.ok();
  await settle();
  assertEquals(bench.seqsWritten, [[0], [1, 2]]);
});

Deno.test("flush() cancels the window, drains what comes meanwhile and returns the last durable seq", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push(2);
  const flush = bench.writer.flush();
  await settle();
  assertEquals(bench.clock.pendingTimers, 0);
  bench.push();
  bench.writes[0]!.ok();
  await settle();
  assertEquals(bench.seqsWritten, [[0, 1], [2]]);
  bench.writes[1]!.ok();
  assertEquals(await flush, 2);
  assertEquals(bench.clock.pendingTimers, 0);
});

Deno.test("flush() waits for the write under way, then writes the rest at once", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push();
  await bench.clock.advance(WINDOW_MS);
  bench.push();
  const flush = bench.writer.flush();
  await settle();
  assertEquals(bench.seqsWritten, [[0]]);
  bench.writes[0]!.ok();
  await settle();
  assertEquals(bench.seqsWritten, [[0], [1]]);
  bench.writes[1]!.ok();
  assertEquals(await flush, 1);
});

Deno.test("flush() takes over from the background, also when the next window ends meanwhile", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push();
  await bench.clock.advance(WINDOW_MS);
  const flush = bench.writer.flush();
  bench.push();
  await bench.clock.advance(WINDOW_MS);
  bench.writes[0]!.ok();
  await settle();
  bench.push();
  bench.writes[1]!.ok();
  await settle();
  bench.writes[2]!.ok();
  assertEquals(await flush, 2);
  assertEquals(bench.seqsWritten, [[0], [1], [2]]);
});

Deno.test("flush() joins a flush under way, and begins a new one as soon as that is over", async () => {
  const bench = new Bench();
  bench.push();
  const first = bench.writer.flush();
  assertStrictEquals(bench.writer.flush(), first);
  // Pushed in the same turn of the event loop in which the first flush ends, at every possible point of it.
  for (let turns = 0; turns < 12; turns++) {
    const running = bench.writer.flush();
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    bench.push();
    const seq = bench.pushed - 1;
    assert(await bench.writer.flush() >= seq, `after ${turns} turns`);
    await running;
  }
});

Deno.test("flush() with nothing to write returns the last durable seq", async () => {
  const bench = new Bench({ durableSeq: 41 });
  assertEquals(await bench.writer.flush(), 41);
  assertEquals(await bench.writer.flush(), 41);
  assertEquals(bench.writes.length, 0);
});

Deno.test("a failed background write keeps its events in order, is reported, and waits for the next event", async () => {
  const bench = new Bench();
  bench.answer = new StorageFullError("no room");
  bench.push(2);
  await bench.clock.advance(WINDOW_MS);
  assertEquals(bench.failures, [bench.answer]);
  assertEquals(bench.writer.pending().map((event) => event.seq), [0, 1]);
  assertEquals(bench.writer.durableSeq, -1);
  await bench.clock.advance(60_000);
  assertEquals(bench.writes.length, 1);

  bench.answer = "ok";
  bench.push();
  assertEquals(bench.writer.pending(1).map((event) => event.seq), [1, 2]);
  await bench.clock.advance(WINDOW_MS);
  // The same batch under the same id first, because the store may have taken it; then the new event.
  assertEquals(bench.writes.map((write) => [write.batchId, ...write.seqs]), [["w-0", 0, 1], ["w-0", 0, 1], ["w-2", 2]]);
  assertEquals(bench.writer.durableSeq, 2);
  assertEquals(bench.writer.pendingEvents, 0);
  assertEquals(bench.writer.pendingSize, 0);
});

Deno.test("an event that came during a failing write has a window of its own, and only one", async () => {
  for (const waitMs of [50, WINDOW_MS + 50]) {
    const bench = new Bench();
    bench.answer = null;
    bench.push();
    await bench.clock.advance(WINDOW_MS);
    bench.push();
    await bench.clock.advance(waitMs);
    bench.answer = new StorageLostError("still away");
    bench.writes[0]!.fail(new StorageLostError("gone"));
    await bench.clock.advance(10 * WINDOW_MS);
    assertEquals(bench.seqsWritten, [[0], [0]], `${waitMs} ms after it came`);
    assertEquals(bench.failures.length, 2);
    assertEquals(bench.clock.pendingTimers, 0);
  }
});

Deno.test("field/B11: what failed to be written goes out before anything newer", async () => {
  const bench = new Bench();
  bench.push();
  await bench.writer.flush();
  bench.push(); // the result of a tool
  bench.answer = new StorageLostError("EIO");
  await assertRejects(() => bench.writer.flush(), StorageLostError, "EIO");
  bench.push();
  bench.answer = "ok";
  assertEquals(await bench.writer.flush(), 2);
  assertEquals(bench.seqsWritten, [[0], [1], [1], [2]]);
});

Deno.test("field/A04: flush() rejects while there is no room, every time, and succeeds when there is", async () => {
  const bench = new Bench();
  bench.push(3);
  bench.answer = new StorageFullError("no room");
  for (let round = 0; round < 3; round++) {
    await assertRejects(() => bench.writer.flush(), StorageFullError, "no room");
    assertEquals(bench.writer.durableSeq, -1);
  }
  assertEquals(bench.failures, [], "whoever flushes is told, nobody else");
  bench.push();
  bench.answer = "ok";
  assertEquals(await bench.writer.flush(), 3);
});

Deno.test("flush() retries at once when the background write it waited for failed", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push();
  await bench.clock.advance(WINDOW_MS);
  const flush = bench.writer.flush();
  bench.answer = "ok";
  bench.writes[0]!.fail(new Error("EIO"));
  assertEquals(await flush, 0);
  assertEquals(bench.failures.length, 1);
});

Deno.test("flush() that fails tells everybody who joined it", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push();
  const joined = Promise.allSettled([bench.writer.flush(), bench.writer.flush()]);
  await settle();
  const error = new StorageFullError("no room");
  bench.writes[0]!.fail(error);
  assertEquals((await joined).map((result) => result.status === "rejected" && result.reason === error), [true, true]);
});

Deno.test("a permanent failure ends all writing at once and keeps the tail readable", async () => {
  const bench = new Bench();
  bench.answer = new LockLostError("the file was replaced");
  bench.push(2);
  await assertRejects(() => bench.writer.flush(), LockLostError);
  assertStrictEquals(bench.writer.failure, bench.answer);

  bench.answer = "ok";
  assertThrows(() => bench.push(), LockLostError);
  await assertRejects(() => bench.writer.flush(), LockLostError);
  await bench.clock.advance(60_000);
  assertEquals(bench.writes.length, 1);
  assertEquals(bench.writer.pending().map((event) => event.seq), [0, 1]);
  await assertRejects(() => bench.writer.close(), LockLostError);
});

Deno.test("a permanent failure in the background is reported and leaves no timer", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push();
  await bench.clock.advance(WINDOW_MS);
  bench.push();
  bench.writes[0]!.fail(new LockLostError("the file was replaced"));
  await settle();
  assertEquals(bench.failures.length, 1);
  assertEquals(bench.clock.pendingTimers, 0);
  await assertRejects(() => bench.writer.flush(), LockLostError);
});

Deno.test("an acknowledgement of anything but the batch's last seq counts as none", async () => {
  for (const answer of [-1, 0, 2, undefined as unknown as number]) {
    const writer = new WriteBehind({
      append: () => Promise.resolve(answer),
      clock: new FakeClock(),
      durableSeq: -1,
      batchPrefix: "w",
    });
    writer.push([event(0), event(1)]);
    await assertRejects(() => writer.flush(), SequenceGapError, `acknowledged seq ${answer}`);
    assertEquals(writer.durableSeq, -1);
    assertEquals(writer.pendingEvents, 2);
  }
});

Deno.test("a store that throws instead of rejecting, and a listener that throws, change nothing", async () => {
  const clock = new FakeClock();
  const writer = new WriteBehind({
    append: () => {
      throw new StorageLostError("gone");
    },
    clock,
    durableSeq: -1,
    batchPrefix: "w",
    onFailure: () => {
      throw new Error("listener");
    },
  });
  writer.push([event(0)]);
  await clock.advance(WINDOW_MS);
  await assertRejects(() => writer.flush(), StorageLostError);
  assertEquals(writer.pendingEvents, 1);
});

Deno.test("push() refuses what does not fit, all of it, before taking any", async () => {
  const bench = new Bench({ pendingEventsMax: 3 });
  bench.push(2);
  assertThrows(() => bench.writer.push([event(2), event(3)]), BufferFullError, "2 events of");
  assertEquals(bench.writer.pendingEvents, 2);
  bench.push();
  assertThrows(() => bench.push(), BufferFullError);
  await bench.writer.flush();
  bench.push(3);
  assertThrows(() => bench.push(4), TooLargeError);
});

Deno.test("push() counts the events of a batch that is being written or that failed", async () => {
  const bench = new Bench({ pendingEventsMax: 2 });
  bench.answer = null;
  bench.push(2);
  const flush = bench.writer.flush();
  await settle();
  assertThrows(() => bench.push(), BufferFullError);
  bench.writes[0]!.fail(new StorageFullError("no room"));
  await assertRejects(() => flush, StorageFullError);
  assertThrows(() => bench.push(), BufferFullError);
});

Deno.test("push() bounds the size of what waits, and of one event", () => {
  const bench = new Bench({ pendingSizeMax: 300 });
  bench.push(1, "x".repeat(150));
  assertThrows(() => bench.push(1, "x".repeat(150)), BufferFullError);
  assertThrows(() => bench.push(1, "x".repeat(300)), TooLargeError);
  bench.push();
});

Deno.test("close() drains, is idempotent, and takes nothing afterwards", async () => {
  const bench = new Bench();
  bench.push(2);
  const close = bench.writer.close();
  assertStrictEquals(bench.writer.close(), close);
  assertThrows(() => bench.push(), SessionClosedError);
  await close;
  assertEquals(bench.seqsWritten, [[0, 1]]);
  await assertRejects(() => bench.writer.flush(), SessionClosedError);
  assertEquals(bench.clock.pendingTimers, 0);
});

Deno.test("close() tries again after a flush under way failed, and rejects when it fails itself", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push();
  const flush = bench.writer.flush();
  const close = bench.writer.close();
  await settle();
  bench.writes[0]!.fail(new StorageFullError("no room"));
  await assertRejects(() => flush, StorageFullError);
  await settle();
  bench.writes[1]!.ok();
  await close;

  const full = new Bench();
  full.answer = new StorageFullError("no room");
  full.push();
  await assertRejects(() => full.writer.close(), StorageFullError);
  await full.clock.advance(60_000);
  assertEquals(full.writes.length, 1, "nothing is written after close");
});

Deno.test("close() that fails leaves no window behind that would write later", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push();
  await bench.clock.advance(WINDOW_MS);
  bench.push();
  const close = assertRejects(() => bench.writer.close(), StorageFullError);
  bench.answer = new StorageFullError("no room");
  bench.writes[0]!.fail(bench.answer);
  await close;
  await bench.clock.advance(60_000);
  assertEquals(bench.seqsWritten, [[0], [0]]);
  assertEquals(bench.writer.pending().length, 2);
});

Deno.test("close() waits for a background write, and for the one that fell due behind it", async () => {
  const bench = new Bench();
  bench.answer = null;
  bench.push();
  await bench.clock.advance(WINDOW_MS);
  bench.push();
  await bench.clock.advance(WINDOW_MS);
  const close = bench.writer.close();
  bench.writes[0]!.ok();
  await settle();
  bench.writes[1]!.ok();
  await close;
  assertEquals(bench.seqsWritten, [[0], [1]]);
});

Deno.test("field/A25: any interleaving of events, time, answers, failures and flushes writes each event once, in order", async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("push" as const), count: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.integer({ min: 1, max: 450 }) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("ok" as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("fail" as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("flush" as const) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("turn" as const), count: fc.integer({ min: 1, max: 6 }) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const bench = new Bench();
      bench.answer = null;
      const acknowledged: number[] = [];
      const flushes: Promise<void>[] = [];
      for (const step of steps) {
        if (step.kind === "push") bench.push(step.count);
        else if (step.kind === "time") await bench.clock.advance(step.ms);
        else if (step.kind === "flush") {
          const wanted = bench.pushed - 1;
          flushes.push(
            bench.writer.flush().then((seq) => assert(seq >= wanted, `flush of ${wanted} gave ${seq}`), () => {}),
          );
        } else if (step.kind === "turn") { for (let turn = 0; turn < step.count; turn++) await Promise.resolve(); }
        else if (bench.isWriting) {
          const write = bench.writes.at(-1)!;
          if (step.kind === "fail") write.fail(new StorageLostError("EIO"));
          else (acknowledged.push(...write.seqs), write.ok());
        }
      }
      // Heal the medium, answer what hangs, and drain.
      if (bench.isWriting) (acknowledged.push(...bench.writes.at(-1)!.seqs), bench.writes.at(-1)!.ok());
      await settle();
      const before = bench.writes.length;
      bench.answer = "ok";
      if (bench.isWriting) (acknowledged.push(...bench.writes.at(-1)!.seqs), bench.writes.at(-1)!.ok());
      await bench.writer.close();
      await Promise.all(flushes);
      for (const write of bench.writes.slice(before)) acknowledged.push(...write.seqs);

      assertEquals(acknowledged, Array.from({ length: bench.pushed }, (_, seq) => seq));
      assertEquals(bench.writer.durableSeq, bench.pushed - 1);
      // A batch keeps its content under its id, however often it is tried.
      const contents = new Map<string, string>();
      for (const { batchId, seqs } of bench.writes) {
        assertEquals(contents.get(batchId) ?? seqs.join(), seqs.join());
        contents.set(batchId, seqs.join());
      }
      assertEquals(bench.clock.pendingTimers, 0);
    }),
    { seed: 25, numRuns: 300 },
  );
});
