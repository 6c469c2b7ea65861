/**
 * A session in which results are spilled and pruned and the surface is compacted, on a disk that dies, and what must hold after it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { MemoryStorage } from "../../src/adapters/memory/memory_storage.ts";
import { hasCode } from "../../src/errors.ts";
import { createAgent, requestOf, scripted, type ScriptStep } from "../../src/agent/mod.ts";
import { spilledText } from "../../src/compaction/mod.ts";
import { isEvent, type SessionEvent } from "../../src/event/mod.ts";
import { pairingProblem } from "../../src/fold/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { openJournal } from "../../src/journal/mod.ts";
import type { Model, ModelRequest } from "../../src/model/model.ts";
import type { StoragePort } from "../../src/storage/storage_port.ts";
import type { SessionStore } from "../../src/store/session_store.ts";
import { type CrashState, type SimulatedMedium, simulatedMedium } from "../../src/testing/media/mod.ts";
import { defineTool } from "../../src/tool/mod.ts";
import { transcriptProblem } from "../agent/transcripts.ts";
import { filesOf, remembering } from "../journal/script.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { seededRandom } from "../support/seeded_random.ts";

export type Encoding = "zstd" | "none";

const CODEC = remembering(nodeZstd());
/** Where the session's log lies. */
export const LOG = { zstd: "_no-cwd/s1/session.v3.jsonl.zstd", none: "_no-cwd/s1/session.v3.jsonl" } as const;

const SPILL = { maxInlineBytes: 300 };
const PRUNE = { thresholdChars: 160, headChars: 30, tailChars: 20, protectRecent: 1 };
const CALLS = 9;

/** @param seed another one for each process: ids that repeat would be taken for messages that were heard before */
function storeOn(storage: StoragePort, compression: Encoding, seed = 1): SessionStore {
  return openJournal({
    storage,
    codec: CODEC,
    clock: new FakeClock(),
    random: seededRandom(seed),
    compression,
  });
}

/** What the tool gives back: every third result is spilled, the others can be pruned. */
function outputOf(n: number): string {
  return n % 3 === 0 ? `whole ${n} `.repeat(60) : `part ${n} `.repeat(28);
}

function agentOn(store: SessionStore, model: Model, contextWindow?: number) {
  let calls = 0;
  const look = defineTool({
    name: "look",
    description: "",
    parameters: {},
    effect: "none",
    execute: () => outputOf(calls++),
  });
  const windowed: Model = { provider: model.provider, id: model.id, contextWindow, stream: model.stream.bind(model) };
  return createAgent({
    store,
    model: windowed,
    tools: [look],
    spill: SPILL,
    compaction: { prune: PRUNE, retainTokens: 100, auto: contextWindow !== undefined },
  });
}

/** Answers by what it is asked; every request is checked as three kinds of provider would. */
function checking(steps: readonly ScriptStep[]): Model {
  let asked = 0;
  return {
    provider: "scripted",
    id: "scripted",
    async *stream(request: ModelRequest, signal: AbortSignal) {
      assertEquals(transcriptProblem(request.messages), null);
      const step: ScriptStep = request.purpose === "compaction"
        ? [{ text: "Seen so far." }]
        : steps[asked++] ?? [{ text: "done" }];
      yield* scripted([step]).stream(request, signal);
    },
  };
}

/**
 * One turn of calls under pressure, then a compaction that a person asks for.
 *
 * @param onEvent told each event when it is committed
 */
export async function scriptIn(store: SessionStore, onEvent: (event: SessionEvent) => void = () => {}): Promise<void> {
  const steps = Array.from(
    { length: CALLS },
    (_, n): ScriptStep => [{ call: { id: `c${n}`, name: "look", arguments: {} } }],
  );
  const session = await agentOn(store, checking(steps), 700).create({ id: "s1" });
  session.session.subscribe(onEvent);
  await session.send("look at all of it");
  if (session.session.failure === null) await session.compact();
  await session.close();
}

/** The same on a disk that may die in the middle of it. */
export async function script(storage: MemoryStorage, encoding: Encoding): Promise<void> {
  try {
    await scriptIn(storeOn(storage, encoding));
  } catch (error) {
    if (!storage.isDead) throw error;
  }
}

/** The bytes the script leaves, with the events in them. */
export async function rehearsal(encoding: Encoding) {
  const storage = new MemoryStorage({ simulate: "disk" });
  await script(storage, encoding);
  const log = await storeOn(storage, encoding).open("s1", "read");
  const { events } = await log.read({ limit: 10_000 });
  const files = await filesOf(storage);
  return { storage, events, files };
}

/** Which of the things that must happen did. */
export function happened(events: readonly SessionEvent[]): Record<string, number> {
  const count = (isIt: (event: SessionEvent) => boolean) => events.filter(isIt).length;
  return {
    spilled: count(({ type }) => type === "result/spilled"),
    pruned: count(({ type }) => type === "compaction/prune"),
    automatic: count((event) => isEvent(event, "compaction/start") && event.data.turn !== null),
    manual: count((event) => isEvent(event, "compaction/start") && event.data.turn === null),
    ended: count((event) => isEvent(event, "compaction/end") && event.data.error === undefined),
  };
}

/**
 * Opens what a crash left and goes on: what the log names is there, the next request is what providers take, and a new compaction
 * runs.
 *
 * @param mayMiss whether the medium may have forgotten a blob: its name was not durable yet
 * @returns whether there was a session
 */
export async function goOnIn(
  store: SessionStore,
  mayMiss: (digest: string) => boolean = () => false,
): Promise<boolean> {
  if (await store.stat("s1") === null) return false;
  const session = await agentOn(store, checking([])).resume("s1");
  const { folds } = session.session;
  assertEquals([folds.surface.fault, folds.brackets.compaction, folds.brackets.turn], [null, null, null]);
  assertEquals(pairingProblem(folds.surface.nodes), null);
  for (const text of folds.spilled.texts) {
    const n = Number(text.callId.slice(1));
    if (mayMiss(text.digest)) continue;
    assertEquals(await spilledText(session.session, text), outputOf(n));
  }
  if (folds.route.header !== null) {
    // A log that ends with the model's word waits for somebody's.
    const { messages } = requestOf("s1", folds);
    const problem = transcriptProblem([...messages, ...(messages.at(-1)?.role === "assistant" ? [WORD] : [])]);
    assertEquals(problem, null);
  }
  // Enough is said that a compaction is worth it, also where the crash left next to nothing.
  for (const prompt of ["and now? ".repeat(400), "and then?"]) {
    assertEquals((await session.send(prompt)).reason.kind, "completed");
  }
  const generation = session.session.folds.surface.replaceGeneration;
  const compacted = await session.compact();
  assert(compacted !== null, "nothing could be compacted");
  const { surface } = session.session.folds;
  assertEquals(surface.replaceGeneration, generation + 1);
  assertEquals(pairingProblem(surface.nodes), null);
  await session.close();
  const log = await store.open("s1", "read");
  assertEquals(log.state().fault, null);
  await log.close();
  return true;
}

/** The same on what a crash left of a disk. */
export function goOn(storage: MemoryStorage, encoding: Encoding): Promise<boolean> {
  return goOnIn(storeOn(storage, encoding, 2));
}

const WORD = { id: "w", role: "user", content: [{ type: "text", text: "and?" }], source: { kind: "user" } } as const;

/** A disk with these files and nothing else. */
export function diskWith(files: ReadonlyMap<string, Uint8Array>): MemoryStorage {
  const storage = new MemoryStorage({ simulate: "disk" });
  for (const [name, bytes] of files) storage.stranger.write(name, bytes);
  return storage;
}

/** Cuts the log after some of its bytes, and goes on from each. Returns how many states there were. */
export async function sweepBytes(encoding: Encoding, isTried: (cutBytes: number) => boolean): Promise<number> {
  const { files } = await rehearsal(encoding);
  const whole = files.get(LOG[encoding])!;
  const headerBytes = headerEnd(whole, encoding);
  let states = 0;
  for (let cutBytes = headerBytes; cutBytes <= whole.length; cutBytes++) {
    if (!isTried(cutBytes)) continue;
    states++;
    await explained(`${cutBytes} of ${whole.length} bytes`, async () => {
      const left = new Map(files).set(LOG[encoding], whole.slice(0, cutBytes));
      assert(await goOn(diskWith(left), encoding), "there is no session");
    });
  }
  return states;
}

/** Kills the machine in every operation of the script, after some of its steps. */
export async function sweepOperations(
  encoding: Encoding,
  stepsOf: (steps: number) => Iterable<number>,
): Promise<{ readonly states: number; readonly sessions: number }> {
  const { storage: { operations } } = await rehearsal(encoding);
  let [states, sessions] = [0, 0];
  for (const { operation, kind, name, steps } of operations) {
    for (const done of stepsOf(steps)) {
      const storage = new MemoryStorage({ simulate: "disk" });
      storage.failAt({ operation, kind: "crash", steps: done });
      await script(storage, encoding);
      assert(storage.isDead, "the planned crash did not happen");
      for (const keepUnsynced of ["none", "all"] as const) {
        states++;
        await explained(`${kind} ${name}, step ${done} of ${steps}, kept ${keepUnsynced}`, async () => {
          if (await goOn(storage.crash({ keepUnsynced }), encoding)) sessions++;
        });
      }
    }
  }
  return { states, sessions };
}

/** The first state, the last, and so many altogether, evenly spread. */
export function someOf(count: number): (states: Iterable<CrashState>) => CrashState[] {
  return (states) => {
    const all = [...states];
    const picked = new Set(
      Array.from({ length: count }, (_, n) => Math.round(n * (all.length - 1) / (count - 1))),
    );
    return [...picked].map((index) => all[index]!);
  };
}

/** How often the cache of a medium that defers names reaches the device by itself, in operations. */
const WRITE_BACK_OPERATIONS = 8;

/**
 * Cuts the power before every operation of the script on a simulated medium, and goes on from states that it can leave.
 *
 * Where names are deferred, the log's name is durable with its first batch, and the cache is written back now and then.
 *
 * @param choose which of the states of one moment are tried
 */
export async function sweepMedium(
  kind: "posix" | "opfs",
  encoding: Encoding,
  choose: (states: Iterable<CrashState>) => Iterable<CrashState>,
): Promise<{ readonly states: number; readonly sessions: number; readonly refused: number }> {
  const counts = { states: 0, sessions: 0, refused: 0 };
  const whole = mediumFor(kind);
  await scriptOn(whole, encoding);
  for (let operation = 0; operation < whole.operations; operation++) {
    const medium = mediumFor(kind);
    medium.failAt({ operation, kind: "crash" });
    await scriptOn(medium, encoding);
    assert(medium.isDead, "the planned crash did not happen");
    for (const state of choose(medium.crashStates())) {
      counts.states++;
      await explained(`operation ${operation} of ${kind}: ${state.describe()}`, async () => {
        const names = [...state.files().keys()];
        const mayMiss = (digest: string) => kind === "opfs" && !names.some((name) => name.includes(digest));
        const left = state.medium();
        try {
          if (await goOnIn(storeOn(left.open("second"), encoding, 2), mayMiss)) counts.sessions++;
        } catch (error) {
          // Blocks that come before others are damage in this format.
          if (!hasCode(error, "CORRUPT_FRAME") && !hasCode(error, "CORRUPT_LOG")) throw error;
          counts.refused++;
        }
      });
    }
  }
  return counts;
}

function mediumFor(kind: "posix" | "opfs"): SimulatedMedium {
  const medium = simulatedMedium({ kind, seed: 1 });
  let operations = 0;
  medium.observer = () => {
    if (kind === "opfs" && operations++ % WRITE_BACK_OPERATIONS === 0) medium.writeBack();
  };
  return medium;
}

async function scriptOn(medium: SimulatedMedium, encoding: Encoding): Promise<void> {
  try {
    await scriptIn(storeOn(medium.open("first"), encoding));
  } catch (error) {
    if (!medium.isDead) throw error;
  }
}

/** Where the first record ends: a log without it was never there. */
function headerEnd(bytes: Uint8Array, encoding: Encoding): number {
  if (encoding === "none") return bytes.indexOf(0x0a) + 1;
  for (let end = 1; end <= bytes.length; end++) {
    try {
      CODEC.decompress(bytes.slice(0, end), 1e6);
      return end;
    } catch {
      // The frame is longer.
    }
  }
  throw new Error("unreachable: no frame");
}

async function explained(at: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw new Error(`after a crash at ${at}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}
