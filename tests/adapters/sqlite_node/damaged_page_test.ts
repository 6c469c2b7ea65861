import { assert, assertEquals } from "@std/assert";
import { hasCode, type SessionEvent } from "../../../mod.ts";
import { openSqliteFile, openSqliteStore } from "../../../src/entry/sqlite.ts";
import { headerOf, readAll } from "../../../src/testing/session_store_context.ts";

const PAGE_BYTES = 4096;
const EVENTS = 60;

function eventsFrom(seq: number, count: number): SessionEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    ...{ type: "feedback/record", seq: seq + index, time: 5, data: { text: `${seq + index} ${"x".repeat(900)}` } },
  }));
}

const DAMAGES: Readonly<Record<string, (page: Uint8Array) => void>> = {
  "zeros, as of a write that never came": (page) => void page.fill(0),
  "noise": (page) => page.forEach((_, index) => page[index] = (index * 167 + 13) & 0xff),
  "a changed head": (page) => page.set([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
};

// Each page in turn: whichever tree it belongs to, what is shown is what was written, or there is a named refusal.
Deno.test("sqlite: a damaged page shows no event that was not written, and nothing is built on it", async (t) => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-sqlite-pages-" });
  try {
    const whole = `${folder}/whole.db`;
    const events = eventsFrom(0, EVENTS);
    {
      await using store = openSqliteStore({ path: whole });
      const log = await store.create(headerOf("a"));
      await log.append(events);
      await log.putBlob(new Uint8Array(3 * PAGE_BYTES));
    }
    const bytes = await Deno.readFile(whole);
    const pages = bytes.length / PAGE_BYTES;
    assert(Number.isInteger(pages) && pages > 10, `${bytes.length} bytes`);
    for (const [name, damage] of Object.entries(DAMAGES)) {
      await t.step(name, async () => {
        let refused = 0, partly = 0;
        for (let number = 0; number < pages; number++) {
          const path = `${folder}/damaged.db`;
          const copy = bytes.slice();
          damage(copy.subarray(number * PAGE_BYTES, (number + 1) * PAGE_BYTES));
          await Deno.writeFile(path, copy, { mode: 0o600 });
          await using store = await openSqliteFile({ path }).catch(refusal);
          if (store === null) {
            refused += 1;
            continue;
          }
          const reader = await store.open("a", "read").catch(refusal);
          if (reader === null) {
            refused += 1;
          } else {
            const read = await readAll(reader).catch(refusal);
            assertEquals(read ?? [], events.slice(0, read?.length ?? 0), `page ${number}`);
            const isWhole = read?.length === EVENTS && reader.state().fault === null;
            if (!isWhole) partly += 1;
          }
          await Array.fromAsync(store.list()).catch(refusal);
          // A writer comes only to a log that was read whole.
          const writer = await store.open("a", "write").catch(refusal);
          if (writer === null) continue;
          assertEquals(await readAll(writer), events, `page ${number}`);
          await writer.close();
        }
        assert(refused + partly > pages / 3, `${refused} refused, ${partly} partly read, of ${pages} pages`);
      });
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Named, and of the damage: anything else is a fault of ours. */
function refusal(error: unknown): null {
  const isNamed = hasCode(error, "CORRUPT_LOG") || hasCode(error, "UNSUPPORTED_FORMAT") || hasCode(error, "NOT_FOUND");
  assert(isNamed || hasCode(error, "STORAGE_LOST"), String(error));
  return null;
}
