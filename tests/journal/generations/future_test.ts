/**
 * Logs of versions that are not there yet: listed, shown as far as they can be understood, never written.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { hasCode } from "../../../src/errors.ts";
import type { SessionEvent } from "../../../src/event/mod.ts";
import { foldEvents, logFold } from "../../../src/fold/mod.ts";
import { migrateLog, openLogFile } from "../../../src/journal/mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { bytesOf, ENCODINGS, filesOf, FOLDER, headerOf, journal, logBytes, storageWith, turnOf } from "../script.ts";
import { oldBytes, oldName, type OldRecord } from "./old_logs.ts";

const HEADER: OldRecord = { ...headerOf(), version: 4, parentCatalog: { a: 1 } };

/** Rows of which some are as ours are, and some are not. */
function futureRows(): OldRecord[] {
  const rows: OldRecord[] = turnOf(1).map((event) => ({ ...event }));
  // A result is a message of a role of its own there.
  rows[6] = {
    ...rows[6]!,
    data: { turn: 1, step: 1, message: { id: "r", role: "tool", toolCallId: "c1", content: [] } },
  };
  rows.push({ type: "plugin:x/thing", seq: 12, time: 2012, data: [1, 2], lane: "b" });
  return rows;
}

for (const encoding of ENCODINGS) {
  const name = oldName(4, encoding);
  const bytes = oldBytes(HEADER, [futureRows()], encoding);

  Deno.test(`a log of version 4 is listed, its header and its rows are shown, and it is never written (${encoding})`, async () => {
    const storage = storageWith({ [name]: bytes, [oldName(3, encoding)]: logBytes(headerOf(), [turnOf(1)], encoding) });
    const before = await filesOf(storage);
    const store = journal(storage);
    const row = await store.stat("s");
    assertEquals([row?.version, row?.state, row?.header?.id, row?.header?.version], [4, "unsupported", "s", 4]);
    assert(/version 4 .*newer/.test(row!.reason!), row!.reason!);

    const visited: SessionEvent[] = [];
    const log = await store.open("s", "read", { visit: (event) => visited.push(event) });
    assertEquals((log.header as unknown as OldRecord).parentCatalog, { a: 1 });
    assertEquals([log.state().fault?.code, log.state().nextSeq], ["UNSUPPORTED_FORMAT", 13]);
    assertEquals((await log.read()).events as unknown, futureRows());
    // Whoever folds is given what is an event of ours, and nothing else.
    assertEquals(visited.map(({ seq }) => seq), [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12]);
    assertEquals(foldEvents(logFold, visited, logFold.initial()).nextSeq > 0, true);
    await log.close();

    for (
      const act of [
        () => store.open("s", "write"),
        () => migrateLog({ storage, codec: nodeZstd(), clock: new FakeClock(), random: seededRandom(1) }, "s"),
      ] as (() => Promise<unknown>)[]
    ) {
      const error = await assertRejects(act, Error, "newer");
      assert(hasCode(error, "UNSUPPORTED_FORMAT") && "version" in error && error.version === 4);
    }
    const files = await filesOf(storage);
    files.delete(`${FOLDER}session.lock`);
    assertEquals(files, before, "an older generation is no way around it");
  });

  Deno.test(`rows of version 4 that cannot be understood end what is shown, and are not called damage (${encoding})`, async () => {
    const strange = [...futureRows().slice(0, 5), { kind: "other", n: 5 }];
    const storage = storageWith({ x: oldBytes(HEADER, [strange], encoding) });
    const wiring = { codec: nodeZstd(), clock: new FakeClock(), random: seededRandom(1) };
    const log = await openLogFile({ storage, ...wiring }, "x");
    assertEquals([log.state().fault?.code, (await log.read()).events.length], ["UNSUPPORTED_FORMAT", 5]);
  });
}

Deno.test("rows of version 4 with members that our version gives another shape are shown, and no fold is given them", async () => {
  for (
    const odd of [{ sourceEventSeqs: { 0: 3 } }, { sourceEventSeqs: [0.5] }, { surfaceOp: null }, { surfaceOp: {} }, {
      ignorable: 1,
    }]
  ) {
    const rows: OldRecord[] = turnOf(1).map((event) => ({ ...event }));
    for (const [seq, row] of rows.entries()) rows[seq] = { ...row, ...odd };
    const storage = storageWith({ x: oldBytes(HEADER, [rows], "none") });
    const visited: SessionEvent[] = [];
    const wiring = { codec: nodeZstd(), clock: new FakeClock(), random: seededRandom(1) };
    const log = await openLogFile({ storage, ...wiring }, "x", { visit: (event) => visited.push(event) });
    assertEquals([log.state().fault?.code, (await log.read()).events as unknown], ["UNSUPPORTED_FORMAT", rows]);
    assertEquals([JSON.stringify(odd), visited.length < rows.length], [JSON.stringify(odd), true]);
  }
});

Deno.test("a torn log of version 4 shows what its tail yields", async () => {
  const rows = futureRows();
  const solid = oldBytes(HEADER, [rows.slice(0, 4)], "zstd");
  const whole = oldBytes(HEADER, [rows.slice(0, 4), rows.slice(4)], "zstd");
  const torn = whole.subarray(0, whole.length - 2);
  const storage = storageWith({ [oldName(4, "zstd")]: torn });
  const visited: number[] = [];
  const log = await journal(storage).open("s", "read", { visit: ({ seq }) => visited.push(seq) });
  assertEquals(log.state().torn, { offsetBytes: solid.length, bytes: torn.length - solid.length, salvagedEvents: 9 });
  assertEquals((await log.read()).events as unknown, rows);
  assertEquals(visited.includes(6), false);
});

Deno.test("a name of version 4 over anything else is still a newer program's, and says so", async () => {
  for (const bytes of [new Uint8Array(9).fill(7), bytesOf(new TextEncoder().encode("{}\n"))]) {
    const store = journal(storageWith({ [oldName(4, "none")]: bytes }));
    assertEquals((await store.stat("s"))?.state, "unsupported");
    const error = await assertRejects(() => store.open("s", "read"), Error, "version 4");
    assert(hasCode(error, "UNSUPPORTED_FORMAT"));
  }
});
