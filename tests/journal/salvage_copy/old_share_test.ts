/**
 * The same for a log of version 0: its chunks become the streams of its answers, and everything else is in the copy.
 */
import { assert, assertEquals } from "@std/assert";
import { MemoryStorage } from "../../../src/adapters/memory/memory_storage.ts";
import { hasCode } from "../../../src/errors.ts";
import type { SessionEvent } from "../../../src/event/mod.ts";
import { logBytes } from "../../../src/journal/diagnose/mod.ts";
import { salvageLog } from "../../../src/journal/salvage_copy/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { oldBytes, oldHeader, oldTurns } from "../generations/old_logs.ts";
import { journal } from "../script.ts";
import { DAMAGES } from "./damages.ts";
import { CODEC, type Pieces } from "./rich_log.ts";

const ROWS = oldTurns(24) as unknown as SessionEvent[];

/** A log of version 0 in frames of so many rows, or in lines. */
function oldPieces(encoding: "zstd" | "none"): Pieces {
  const size = encoding === "zstd" ? 5 : 1;
  const groups: SessionEvent[][] = [[]];
  for (let at = 0; at < ROWS.length; at += size) groups.push(ROWS.slice(at, at + size));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const header = oldBytes(oldHeader(), [], encoding);
  for (const group of groups) {
    const rows = group as unknown as ReturnType<typeof oldTurns>;
    parts.push(group.length === 0 ? header : oldBytes(oldHeader(), [rows], encoding).slice(header.length));
  }
  return { encoding, parts, events: groups };
}

Deno.test("of a log of version 0 with a single damage at least 95 % of the untouched events are salvaged", async () => {
  const random = seededRandom(3);
  let untouched = 0;
  let kept = 0;
  let least = 1;
  for (const [name, damage] of Object.entries(DAMAGES)) {
    for (const encoding of ["zstd", "none"] as const) {
      const pieces = oldPieces(encoding);
      for (let index = 0; index < 2; index++) {
        const damaged = damage(pieces, (bound) => random.below(bound));
        const wanted = damaged.untouched.filter(({ type }) => !type.includes("chunk"));
        const found = await salvagedOf(damaged.bytes, wanted.length);
        const there = wanted.filter(({ type, time }) => found.has(`${time} ${type}`)).length;
        const part = wanted.length === 0 ? 1 : there / wanted.length;
        assert(part >= 0.95, `${name} in ${encoding}, try ${index}: ${there} of ${wanted.length}`);
        untouched += wanted.length;
        kept += there;
        least = Math.min(least, part);
      }
    }
  }
  console.log(
    `${(100 * kept / untouched).toFixed(3)} % of ${untouched} events, at least ${(100 * least).toFixed(2)} %`,
  );
});

async function salvagedOf(bytes: Uint8Array<ArrayBuffer>, wanted: number): Promise<ReadonlySet<string>> {
  const storage = new MemoryStorage();
  const wiring = { storage, codec: CODEC, clock: new FakeClock(), random: seededRandom(1) };
  try {
    await salvageLog(logBytes("session.jsonl", bytes), { ...wiring, newId: () => "new", keep: ["A"] });
  } catch (error) {
    if (hasCode(error, "CORRUPT_LOG") && wanted === 0) return new Set();
    throw error;
  }
  const log = await journal(storage).open("new", "write");
  assertEquals(log.state().fault, null);
  const { events } = await log.read({ limit: 100_000 });
  await log.close();
  return new Set(events.map(({ type, time }) => `${time} ${type}`));
}
