/**
 * How much a single damage costs: of the events it has not touched at least 95 % are in the salvaged copy, and the copy goes on.
 */
import { assert, assertEquals } from "@std/assert";
import { MemoryStorage } from "../../../src/adapters/memory/memory_storage.ts";
import { hasCode } from "../../../src/errors.ts";
import type { SessionEvent } from "../../../src/event/mod.ts";
import { openSession } from "../../../src/session/mod.ts";
import { sha256Hex } from "../../../src/journal/digest.ts";
import { logBytes } from "../../../src/journal/diagnose/mod.ts";
import { salvageLog } from "../../../src/journal/salvage_copy/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { journal } from "../script.ts";
import { type Damaged, DAMAGES } from "./damages.ts";
import { CODEC, piecesOf, richLog } from "./rich_log.ts";

/** How many damages of each kind, encoding and size of frame are tried. */
const TRIES = Number(Deno.env.get("HOLDFAST_SALVAGE_TRIES") ?? 4);

const EVENTS = richLog(12);

/** What a part of a log is: a frame of so many events, or a line. */
const FRAMINGS = [["zstd", 5], ["zstd", 1], ["none", 1]] as const;

interface Share {
  untouched: number;
  kept: number;
  least: number;
}

Deno.test("of the events that a single damage has not touched at least 95 % are salvaged, and the copy goes on", async () => {
  const draw = belowOf(1);
  const total: Share = { untouched: 0, kept: 0, least: 1 };
  for (const [name, damage] of Object.entries(DAMAGES)) {
    const share: Share = { untouched: 0, kept: 0, least: 1 };
    for (const [encoding, size] of FRAMINGS) {
      const pieces = piecesOf(EVENTS, encoding, size);
      for (let index = 0; index < TRIES; index++) {
        const damaged = damage(pieces, draw);
        const before = damaged.bytes.slice();
        const kept = await salvagedOf(damaged);
        assertEquals(damaged.bytes, before, "the source was changed");
        const part = damaged.untouched.length === 0 ? 1 : kept / damaged.untouched.length;
        assert(
          part >= 0.95,
          `${name} in ${encoding}, try ${index}: ${kept} of ${damaged.untouched.length} were salvaged`,
        );
        for (const each of [share, total]) {
          each.untouched += damaged.untouched.length;
          each.kept += kept;
          each.least = Math.min(each.least, part);
        }
      }
    }
    console.log(`${name}: ${text(share)}`);
  }
  console.log(`all: ${text(total)}`);
});

function text({ untouched, kept, least }: Share): string {
  return `${(100 * kept / Math.max(1, untouched)).toFixed(3)} % of ${untouched} events, at least ${
    (100 * least).toFixed(2)
  } %`;
}

/** How many of the untouched events are in the copy, which is opened, repaired and gone on with. */
async function salvagedOf({ bytes, untouched }: Damaged): Promise<number> {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ simulate: "disk" });
  try {
    await salvageLog(logBytes("damaged", bytes), {
      ...{ storage, codec: CODEC, clock, random: seededRandom(1), newId: newIds(), keep: ["A"] },
    });
  } catch (error) {
    // Nothing was left to be salvaged.
    if (hasCode(error, "CORRUPT_LOG") && untouched.length === 0) return 0;
    throw error;
  }
  const store = journal(storage);
  const found = await eventsOf(store, "s0");
  checkReferences(found, untouched);
  await checkAccount(found, bytes);
  assert((await store.stat("s0"))?.state !== "damaged");
  const opened = await openSession({ store, id: "s0", volatile: true });
  const turn = (opened.session.folds.brackets.lastTurn ?? 0) + 1;
  opened.session.append({ type: "turn/start", data: { turn } });
  opened.session.append({ type: "turn/end", data: { turn, reason: { kind: "completed" } } });
  await opened.session.close();
  await store.close();
  const there = new Set(found.map(keyOf));
  return untouched.filter((event) => there.has(keyOf(event))).length;
}

/**
 * Every reference of the copy leads to what it is about. Events that the damage has touched are left out: without a checksum
 * nobody can see that a letter of an id is another one.
 */
function checkReferences(found: readonly SessionEvent[], untouched: readonly SessionEvent[]): void {
  const whole = new Set(untouched.map(keyOf));
  const touched = new Set(EVENTS.map(keyOf).filter((key) => !whole.has(key)));
  const callIdAt = (seq: number) => (found[seq]?.data as { callId?: string } | undefined)?.callId;
  const isTouched = (event: SessionEvent | undefined) => event !== undefined && touched.has(keyOf(event));
  for (const event of found) {
    const about = [event.seq, (event.data as { callSeq?: number }).callSeq, ...event.sourceEventSeqs ?? []];
    if (about.some((seq) => seq !== undefined && isTouched(found[seq]))) continue;
    const data = event.data as { callSeq?: number; callId?: string; messageSeqs?: number[]; message?: Message };
    if (event.type === "effect/dispatched" || event.type === "result/spilled") {
      assertEquals([found[data.callSeq!]?.type, callIdAt(data.callSeq!)], ["tool/call", data.callId]);
    }
    if (event.type === "approval/bound") assertEquals(found[data.callSeq!]?.type, "tool/call");
    if (event.type === "tool/result" && event.sourceEventSeqs !== undefined) {
      const { callId } = data.message!.source;
      assertEquals(event.sourceEventSeqs.map(callIdAt), event.sourceEventSeqs.map(() => callId));
    }
    if (event.type === "session/title") {
      assertEquals(data.messageSeqs!.map((seq) => found[seq]?.type), ["user/message"]);
    }
  }
}

interface Message {
  readonly source: { readonly callId?: string };
}

/** What the last event says is so. */
async function checkAccount(found: readonly SessionEvent[], bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  const { type, data } = found.at(-1)!;
  assertEquals(type, "log/salvaged");
  const { source, kept, dropped } = data as unknown as {
    source: { sizeBytes: number; sha256: string };
    kept: [number, number][];
    dropped: { offsetBytes: number; sizeBytes: number; sha256: string }[];
  };
  assertEquals([source.sizeBytes, source.sha256], [bytes.length, await sha256Hex(bytes)]);
  for (const { offsetBytes, sizeBytes, sha256 } of dropped) {
    assertEquals(sha256, await sha256Hex(bytes.slice(offsetBytes, offsetBytes + sizeBytes)));
  }
  const seqs = new Map(EVENTS.map((event) => [keyOf(event), event.seq]));
  const isKept = (seq: number) => kept.some(([first, last]) => seq >= first && seq <= last);
  for (const event of found) {
    const seq = seqs.get(keyOf(event));
    assert(seq === undefined || isKept(seq), `seq ${seq} is in the copy, and it does not say so`);
  }
}

/** Times are unique in the log, and nothing changes them. */
function keyOf({ type, time }: SessionEvent): string {
  return `${time} ${type}`;
}

async function eventsOf(store: ReturnType<typeof journal>, id: string): Promise<SessionEvent[]> {
  const log = await store.open(id, "read");
  const { events } = await log.read({ limit: 100_000 });
  const { fault } = log.state();
  assertEquals(fault, null);
  await log.close();
  return [...events];
}

function newIds(): () => string {
  let next = 0;
  return () => `s${next++}`;
}

function belowOf(seed: number): (bound: number) => number {
  const random = seededRandom(seed);
  return (bound) => random.below(bound);
}
