/**
 * Crashes inside a resume that asks what became of effects: at every operation, every few bytes, also one inside the resume after it.
 */
import { assert, assertEquals } from "@std/assert";
import type { MemoryStorage } from "../../src/adapters/memory/memory_storage.ts";
import { isEvent, type SessionEvent } from "../../src/event/mod.ts";
import { bracketsFold, foldEvents } from "../../src/fold/mod.ts";
import type { ZstdCodec } from "../../src/frame/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { type Lookup, openSession, settleByPerson } from "../../src/session/mod.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import {
  filesOf,
  headerOf,
  journal,
  logBytes,
  logOf,
  remembering,
  storageWith,
  tinyBlocks,
} from "../journal/script.ts";

interface Setup {
  readonly name: string;
  /** Every how many bytes a crash is tried; the first and the last few always. */
  readonly strideBytes: number;
  readonly encoding: "zstd" | "none";
  readonly codec: ZstdCodec;
}

const SETUPS: readonly Setup[] = [
  { name: "zstd", strideBytes: 5, encoding: "zstd", codec: remembering(nodeZstd()) },
  { name: "zstd in tiny blocks", strideBytes: 11, encoding: "zstd", codec: remembering(tinyBlocks(64)) },
  { name: "none", strideBytes: 7, encoding: "none", codec: remembering(nodeZstd()) },
];

/** What really became of each call. */
const WORLD: Readonly<Record<string, Lookup>> = {
  old: { verdict: "happened", content: [{ type: "text", text: "receipt old" }] },
  done: { verdict: "happened", content: [{ type: "text", text: "receipt done" }] },
  closed: { verdict: "absent" },
  later: { verdict: "undecidable" },
};

/** A call that was answered with "unknown" in an earlier turn, and a turn that broke off inside of three others. */
function baseLog(): LogBuilder {
  const log = new LogBuilder();
  log.policy();
  log.openStep("old");
  log.call("old");
  log.marker("old");
  log.result("old", "TOOL_OUTCOME_UNKNOWN");
  log.endStep();
  log.endTurn();
  log.openStep("done", "closed", "later", "waiting");
  for (const callId of ["done", "closed", "later"]) {
    log.call(callId);
    log.marker(callId);
  }
  log.call("waiting");
  return log;
}

const BASE = baseLog().events;

function fresh({ encoding, codec }: Setup): MemoryStorage {
  return storageWith({ [logOf(encoding)]: logBytes(headerOf(), [BASE], encoding, codec) });
}

/** Resumes as an agent does. A crash ends it; whatever else goes wrong is told. */
async function resume(storage: MemoryStorage, { encoding, codec }: Setup): Promise<void> {
  const store = journal(storage, { compression: encoding, codec });
  try {
    const reconcile = ({ callId }: { readonly callId: string }) => Promise.resolve(WORLD[callId]!);
    const { session } = await openSession({ store, id: "s", reconcile });
    await session.close();
  } catch (error) {
    if (!storage.isDead) throw error;
  }
}

async function eventsOn(storage: MemoryStorage, { encoding, codec }: Setup): Promise<readonly SessionEvent[]> {
  const log = await journal(storage, { compression: encoding, codec }).open("s", "read");
  const { events } = await log.read();
  await log.close();
  return events;
}

/** What must be true of a log at the end, whatever happened on the way. */
function check(events: readonly SessionEvent[]): void {
  assertEquals(events.slice(0, BASE.length), BASE, "what was acknowledged is there");
  assertEquals(events.map((event) => event.seq), events.map((_, seq) => seq));
  assertEquals(foldEvents(bracketsFold, events).problems.first, []);
  const verdicts = events.flatMap((event) => isEvent(event, "effect/reconciled") ? [event.data] : []);
  for (const callId of ["old", "done", "closed"]) {
    const about = verdicts.filter((data) => data.callId === callId);
    assertEquals(about.map((data) => data.verdict), [WORLD[callId]!.verdict], `verdicts about ${callId}`);
  }
  assert(verdicts.every((data) => data.verdict === WORLD[data.callId]!.verdict), "a wrong verdict");
  const told = events.flatMap((event) => isEvent(event, "agent/inbox/spliced") ? event.data.inserted : []);
  assertEquals(told.map(({ source }) => source.summary), ["pay: happened"], "told exactly once");
  assert(JSON.stringify(told).includes("receipt old"));
  const results = events.slice(BASE.length).flatMap((event) => isEvent(event, "tool/result") ? [event.data] : []);
  assertEquals(results.map(({ message, error }) => [message.source.callId, error?.code]), [
    ["done", undefined],
    ["closed", "TOOL_NOT_STARTED"],
    ["later", "TOOL_OUTCOME_UNKNOWN"],
    ["waiting", "TOOL_NOT_STARTED"],
  ]);
  assert(JSON.stringify(results[0]).includes("receipt done"));
}

/** Every state that a crash of one act can leave. */
async function* crashesOf(
  act: (storage: MemoryStorage) => Promise<void>,
  make: () => MemoryStorage,
  stepsOf: (steps: number) => Iterable<number>,
): AsyncGenerator<{ machine: () => MemoryStorage; at: string }> {
  const rehearsal = make();
  await act(rehearsal);
  const seen = new Set<string>();
  for (const { operation, kind, name, steps } of rehearsal.operations) {
    for (const done of stepsOf(steps)) {
      const storage = make();
      storage.failAt({ operation, kind: "crash", steps: done });
      await act(storage);
      assert(storage.isDead, "the planned crash did not happen");
      for (const keepUnsynced of ["none", "all"] as const) {
        const files = await filesOf(storage.crash({ keepUnsynced }));
        const key = JSON.stringify([...files].map(([name, bytes]) => [name, bytes.toHex()]));
        if (seen.has(key)) continue;
        seen.add(key);
        yield {
          machine: () => storageWith(Object.fromEntries(files)),
          at: `${kind} ${name}, step ${done} of ${steps}, kept ${keepUnsynced}`,
        };
      }
    }
  }
}

const many = ({ strideBytes }: Setup) =>
  function* (steps: number): Iterable<number> {
    for (let step = 0; step <= steps; step++) {
      if (step % strideBytes === 0 || step < 4 || step > steps - 8) yield step;
    }
  };

function some(steps: number): Iterable<number> {
  return new Set([0, 1, steps >> 2, steps >> 1, steps - 1, steps].filter((step) => step >= 0 && step <= steps));
}

async function explained(at: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    throw new Error(`after a crash at ${at}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

for (const setup of SETUPS) {
  Deno.test(`a crash anywhere in a resume leaves no wrong verdict and tells the model once (${setup.name})`, async () => {
    let states = 0;
    for await (
      const { machine, at } of crashesOf((storage) => resume(storage, setup), () => fresh(setup), many(setup))
    ) {
      states++;
      const storage = machine();
      await explained(at, async () => {
        await resume(storage, setup);
        check(await eventsOn(storage, setup));
      });
    }
    console.log(`${states} different states`);
  });

  Deno.test(`a second crash inside the resume after the first changes nothing of that (${setup.name})`, async () => {
    let states = 0;
    const act = (storage: MemoryStorage) => resume(storage, setup);
    for await (const first of crashesOf(act, () => fresh(setup), some)) {
      for await (const second of crashesOf(act, first.machine, some)) {
        states++;
        const storage = second.machine();
        await explained(`${first.at}; then ${second.at}`, async () => {
          await act(storage);
          check(await eventsOn(storage, setup));
        });
      }
    }
    console.log(`${states} different states`);
  });
}

Deno.test("a crash inside a person's verdict leaves none, or one that is told exactly once", async () => {
  for (const setup of SETUPS) {
    const settle = async (storage: MemoryStorage) => {
      const store = journal(storage, { compression: setup.encoding, codec: setup.codec });
      try {
        const { session } = await openSession({ store, id: "s" });
        const callSeq = session.folds.unresolved.effects.find(({ callId }) => callId === "old")!.callSeq;
        await settleByPerson(session, { callSeq, verdict: "absent", note: "looked" });
        await session.close();
      } catch (error) {
        if (!storage.isDead) throw error;
      }
    };
    const seen = new Set<number>();
    for await (const { machine, at } of crashesOf(settle, () => fresh(setup), many(setup))) {
      const storage = machine();
      const store = journal(storage, { compression: setup.encoding, codec: setup.codec });
      await (await openSession({ store, id: "s" })).session.close();
      const events = await eventsOn(storage, setup);
      const verdicts = events.filter((event) => event.type === "effect/reconciled").length;
      const told = events.flatMap((event) => isEvent(event, "agent/inbox/spliced") ? event.data.inserted : []);
      assertEquals(told.length, verdicts, at);
      seen.add(verdicts);
    }
    assertEquals([...seen].sort(), [0, 1]);
  }
});
