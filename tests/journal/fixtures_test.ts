import { assertEquals } from "@std/assert";
import { parseRow, type SessionEvent, type SessionHeader } from "../../src/event/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { openLogFile } from "../../src/journal/mod.ts";
import type { LogReader } from "../../src/store/session_store.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";
import { seededRandom } from "../support/seeded_random.ts";
import { bytesOf, journal, storageWith } from "./script.ts";

const fixtures = fixturesDir();
const bytesFrom = (path: string) => bytesOf(Deno.readFileSync(`${fixtures}/dsh/${path}`));
const linesFrom = (path: string) => Deno.readTextFileSync(`${fixtures}/dsh/${path}`).trimEnd().split("\n");

/** A file of another place, as `verify FILE` opens it. */
async function openFile(name: string, bytes: Uint8Array): Promise<LogReader> {
  const wiring = { codec: nodeZstd(), clock: new FakeClock(), random: seededRandom(1) };
  return await openLogFile({ storage: storageWith({ [name]: bytes }), ...wiring }, name);
}

/** Checks that a log holds exactly these rows, in pages and in one go. */
async function checkHolds(log: LogReader, header: SessionHeader, events: readonly SessionEvent[]): Promise<void> {
  assertEquals(log.header, header);
  assertEquals(log.state().fault, null);
  assertEquals(log.state().torn, null);
  assertEquals(log.state().nextSeq, events.length);
  assertEquals((await log.read({ limit: 10_000 })).events, events);
  for (const event of events) assertEquals((await log.read({ from: event.seq, limit: 1 })).events, [event]);
}

Deno.test("read() gives exactly the events of the hand-written version-3 log", async () => {
  if (fixtures === null) return casesNotRun(1, "v3");
  const path = "v3/preview-follow-up-builder.session.v3.jsonl";
  const [header, ...events] = linesFrom(path).map((line) => JSON.parse(line));
  await checkHolds(await openFile("any name.jsonl", bytesFrom(path)), header, events);

  const name = "--lyn-workspace--/preview-follow-up-builder/session.v3.jsonl";
  const store = journal(storageWith({ [name]: bytesFrom(path) }));
  await checkHolds(await store.open("preview-follow-up-builder", "read"), header, events);
});

Deno.test("read() gives exactly the events of the migrated version-3 logs, in both encodings", async () => {
  if (fixtures === null) return casesNotRun(2, "derived/migratable");
  const { header, events, inheritedEventCount } = JSON.parse(
    linesFrom("derived/migratable/expected.v3.json").join("\n"),
  );
  for (const file of ["session.v3.jsonl", "session.v3.jsonl.zstd"]) {
    const bytes = bytesFrom(`derived/migratable/${file}`);
    const log = await openFile("renamed", bytes);
    await checkHolds(log, header, events);
    assertEquals(log.inheritedEventCount, inheritedEventCount);

    const store = journal(storageWith({ [`--home-u-proj--/migratable/${file}`]: bytes }));
    const writer = await store.open("migratable", "write");
    assertEquals(writer.state().nextSeq, events.length);
    await writer.close();
    assertEquals((await store.stat("migratable"))?.state, "ok");
  }
});

Deno.test("read() gives every prefix of a crashed version-3 log and its repaired whole", async () => {
  if (fixtures === null) return casesNotRun(9, "derived/v3-crash");
  for (
    const { name } of [...Deno.readDirSync(`${fixtures}/dsh/derived/v3-crash`)].filter(({ name }) =>
      name !== "index.json"
    )
  ) {
    const { header, stored, closers, afterRepairFileLines } = JSON.parse(
      linesFrom(`derived/v3-crash/${name}`).join("\n"),
    );
    const events = afterRepairFileLines.slice(1).map((line: string) => JSON.parse(line));
    const whole = new TextEncoder().encode(afterRepairFileLines.join("\n") + "\n");
    await checkHolds(await openFile(name, whole), header, events);

    // Appending the closers writes, byte for byte, the file that the other program writes.
    const path = "_no-cwd/a1/session.v3.jsonl";
    const storage = storageWith({
      [path]: new TextEncoder().encode(afterRepairFileLines.slice(0, 1 + stored).join("\n") + "\n"),
    });
    const writer = await journal(storage).open("a1", "write");
    assertEquals(writer.state().nextSeq, stored);
    await writer.recover(closers);
    assertEquals(new TextDecoder().decode(await storage.read(path)), new TextDecoder().decode(whole));
  }
});

Deno.test("older generations are read as the current version, and listed with their own", async () => {
  if (fixtures === null) return casesNotRun(4, "derived/migratable");
  const current = linesFrom("derived/migratable/session.v3.jsonl").slice(1).map((line) => parseRow(line));
  for (
    const [file, version] of [
      ["session.jsonl", 0],
      ["session.v1.jsonl", 1],
      ["session.v2.jsonl", 2],
      ["session.v2.jsonl.zstd", 2],
    ] as const
  ) {
    const bytes = bytesFrom(`derived/migratable/${file}`);
    const bare = await openFile("x", bytes);
    assertEquals([bare.header.version, bare.storedVersion], [3, version]);
    assertEquals((await bare.read()).events, current);
    const store = journal(storageWith({ [`--home-u-proj--/migratable/${file}`]: bytes }));
    const log = await store.open("migratable", "read");
    assertEquals([log.state().fault, (await log.read()).events], [null, current]);
    const row = await store.stat("migratable");
    assertEquals([row?.state, row?.version, row?.header?.version], ["ok", version, version], row?.reason ?? "");
  }
});
