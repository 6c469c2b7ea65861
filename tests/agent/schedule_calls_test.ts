import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { type CallMode, type CallStages, scheduleCalls } from "../../src/agent/schedule_calls.ts";
import { settle } from "../support/fake_clock.ts";

/** Calls by name, each running until a test says otherwise, with a note of everything that happens. */
class Stagehand implements CallStages<string, string, string> {
  readonly notes: string[] = [];
  readonly inFlight = new Set<string>();
  readonly #ends = new Map<string, PromiseWithResolvers<string>>();
  mostInFlight = 0;
  modes: (call: string) => CallMode = () => "parallel";
  failures: Readonly<Record<string, Error>> = {};

  modeOf = (call: string): CallMode => this.modes(call);

  prepare = async (call: string): Promise<string> => {
    this.#note(`prepare ${call}`);
    await null;
    this.#fail(`prepare ${call}`);
    return call;
  };

  dispatch = async (call: string): Promise<string> => {
    this.#note(`run ${call}`);
    this.inFlight.add(call);
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight.size);
    const end = Promise.withResolvers<string>();
    this.#ends.set(call, end);
    try {
      return await end.promise;
    } finally {
      this.inFlight.delete(call);
    }
  };

  commit = async (call: string): Promise<unknown> => {
    await null;
    this.#fail(`commit ${call}`);
    this.#note(`commit ${call}`);
    return this.failures[`refuse ${call}`] ?? null;
  };

  async end(call: string): Promise<void> {
    this.#ends.get(call)!.resolve(call);
    await settle();
  }

  #note(note: string): void {
    this.notes.push(note);
  }

  #fail(what: string): void {
    if (this.failures[what] !== undefined) throw this.failures[what];
  }
}

function of(kind: string, { notes }: Stagehand): string {
  return notes.flatMap((note) => note.startsWith(`${kind} `) ? [note.slice(kind.length + 1)] : []).join("");
}

function begun(calls: string, hand: Stagehand, parallelMax = 10, signal = new AbortController().signal) {
  const done = scheduleCalls([...calls], hand, { parallelMax, signal });
  // It may fail before the test waits for it.
  done.catch(() => {});
  return done;
}

Deno.test("scheduleCalls() lets parallel calls overlap and commits them in their order, whatever order they end in", async () => {
  const hand = new Stagehand();
  const done = scheduleCalls(["1", "2", "3"], hand, { parallelMax: 10, signal: new AbortController().signal });
  await settle();
  assertEquals(of("run", hand), "123");
  await hand.end("3");
  assertEquals(of("commit", hand), "");
  await hand.end("1");
  assertEquals(of("commit", hand), "1");
  await hand.end("2");
  await done;
  assertEquals(of("commit", hand), "123");
});

Deno.test("scheduleCalls() fills a place as soon as one call has ended, also while an earlier one still runs", async () => {
  const hand = new Stagehand();
  const done = scheduleCalls([..."12345"], hand, { parallelMax: 2, signal: new AbortController().signal });
  await settle();
  for (const next of ["2", "3", "4", "5"]) await hand.end(next);
  assertEquals([of("run", hand), of("commit", hand)], ["12345", ""]);
  await hand.end("1");
  await done;
  assertEquals([hand.mostInFlight, of("commit", hand)], [2, "12345"]);
});

Deno.test("scheduleCalls() lets an exclusive call run alone, after all results before it and before everything behind it", async () => {
  const hand = new Stagehand();
  hand.modes = (call) => call === "x" ? "exclusive" : "parallel";
  const done = scheduleCalls([..."12x34"], hand, { parallelMax: 10, signal: new AbortController().signal });
  await settle();
  assertEquals(of("prepare", hand), "12");
  await hand.end("1");
  await hand.end("2");
  assertEquals([of("commit", hand), [...hand.inFlight].join()], ["12", "x"]);
  await hand.end("x");
  assertEquals(of("run", hand), "12x34");
  await hand.end("4");
  await hand.end("3");
  await done;
  assertEquals(of("commit", hand), "12x34");
});

Deno.test("scheduleCalls() asks again before a call starts, so that what changed meanwhile counts", async () => {
  const hand = new Stagehand();
  const done = scheduleCalls([..."123"], hand, { parallelMax: 2, signal: new AbortController().signal });
  await settle();
  hand.modes = () => "exclusive";
  await hand.end("1");
  assertEquals(of("run", hand), "12", "3 waits for 2, because it is exclusive now");
  await hand.end("2");
  assertEquals(of("run", hand), "123");
  await hand.end("3");
  await done;
});

Deno.test("scheduleCalls() starts nothing after an abort, waits for what runs, and commits it", async () => {
  const hand = new Stagehand();
  const controller = new AbortController();
  const done = scheduleCalls([..."1234"], hand, { parallelMax: 2, signal: controller.signal });
  await settle();
  controller.abort();
  await hand.end("2");
  assertEquals(of("run", hand), "12");
  let isDone = false;
  void done.then(() => isDone = true);
  await settle();
  assert(!isDone, "1 still runs");
  await hand.end("1");
  await done;
  assertEquals([of("run", hand), of("commit", hand)], ["12", "12"]);
});

Deno.test("scheduleCalls() stops at a refusal and at a failed preparation, commits what runs, and throws the first reason", async () => {
  for (const what of ["prepare 3", "refuse 1"]) {
    const hand = new Stagehand();
    const reason = new Error(what);
    hand.failures = { [what]: reason };
    const done = begun("1234", hand, 2);
    await settle();
    await hand.end("1");
    await hand.end("2");
    assertEquals(await assertRejects(() => done), reason);
    assertEquals(of("commit", hand), "12", what);
    assert(!hand.notes.includes("run 3"), what);
  }
});

Deno.test("scheduleCalls() commits nothing behind a commit that failed, and still waits for what runs", async () => {
  const hand = new Stagehand();
  hand.failures = { "commit 1": new Error("no log") };
  const done = begun("123", hand);
  await settle();
  await hand.end("1");
  await hand.end("2");
  assertEquals([...hand.inFlight].join(), "3");
  await hand.end("3");
  await assertRejects(() => done, Error, "no log");
  assertEquals([of("commit", hand), hand.inFlight.size], ["", 0]);
});

Deno.test("scheduleCalls() never breaks its promises, whatever modes, ends and aborts come", async () => {
  const schedule = fc.record({
    modes: fc.array(fc.constantFrom(true, true, true, false), { minLength: 4, maxLength: 8 }),
    ends: fc.array(fc.nat({ max: 9 }), { minLength: 24, maxLength: 24 }),
    parallelMax: fc.integer({ min: 1, max: 4 }),
    abortAfter: fc.integer({ min: 0, max: 30 }),
  });
  let [overlaps, cuts] = [0, 0];
  await fc.assert(
    fc.asyncProperty(schedule, async ({ modes, ends, parallelMax, abortAfter }) => {
      const [prepared, committed]: string[][] = [[], []];
      const inFlight = new Set<string>();
      let [isPreparing, isCommitting, ticks] = [false, false, 0];
      const controller = new AbortController();
      const tick = async (count: number) => {
        for (let n = 0; n < count; n++) {
          if (ticks++ === abortAfter) controller.abort();
          await null;
        }
      };
      const isParallel = (call: string) => modes[Number(call)]!;
      const stages: CallStages<string, string, string> = {
        modeOf: (call) => isParallel(call) ? "parallel" : "exclusive",
        prepare: async (call) => {
          assert(!isPreparing && !controller.signal.aborted);
          isPreparing = true;
          await tick(ends[Number(call)]! % 3);
          isPreparing = false;
          prepared!.push(call);
          return call;
        },
        dispatch: async (call) => {
          inFlight.add(call);
          assert(inFlight.size <= parallelMax);
          assert(isParallel(call) || inFlight.size === 1, "an exclusive call has company");
          if (inFlight.size > 1) overlaps++;
          await tick(ends[Number(call) + 8]! % 9);
          assert(isParallel(call) || inFlight.size === 1, "an exclusive call got company");
          inFlight.delete(call);
          return call;
        },
        commit: async (call) => {
          assert(!isCommitting);
          isCommitting = true;
          await tick(ends[Number(call) + 16]! % 3);
          isCommitting = false;
          committed!.push(call);
          return null;
        },
      };
      const calls = modes.map((_, index) => `${index}`);
      await scheduleCalls(calls, stages, { parallelMax, signal: controller.signal });
      assertEquals(inFlight.size, 0);
      assertEquals(committed, prepared);
      assertEquals(prepared, calls.slice(0, prepared!.length));
      if (!controller.signal.aborted) assertEquals(prepared!.length, calls.length);
      else if (prepared!.length < calls.length) cuts++;
    }),
    { seed: 5, numRuns: 1000 },
  );
  assert(overlaps > 100 && cuts > 100, `${overlaps} overlaps, ${cuts} cuts`);
});
