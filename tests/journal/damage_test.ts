import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { hasCode, UnsupportedFormatError } from "../../src/errors.ts";
import { encodeHeader, encodeRow, type SessionEvent } from "../../src/event/mod.ts";
import { encodeLines } from "../../src/frame/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import type { LogFault } from "../../src/store/session_store.ts";
import {
  BATCHES,
  bytesOf,
  ENCODINGS,
  framesOf,
  headerOf,
  journal,
  logBytes,
  logOf,
  storageWith,
  tinyBlocks,
  turnOf,
  turnsOf,
} from "./script.ts";

const EVENTS = turnOf(1);
const HEADER = encodeHeader(headerOf());
const ROWS = EVENTS.map(encodeRow);
const codec = nodeZstd();

/** What opening a file of these bytes gives: the fault, how many events are readable, and that nothing was changed. */
async function look(
  bytes: Uint8Array,
  encoding: "zstd" | "none" = "zstd",
): Promise<{ fault: LogFault | null; events: readonly SessionEvent[] }> {
  const storage = storageWith({ [logOf(encoding)]: bytes });
  const store = journal(storage);
  const log = await store.open("s", "read");
  const { fault, nextSeq } = log.state();
  const { events } = await log.read();
  assertEquals(events.length, nextSeq);
  const row = await store.stat("s");
  if (fault === null) {
    assert(row?.state === "ok" || row?.state === "open");
  } else {
    assertEquals(row?.state, fault.code === "UNSUPPORTED_FORMAT" ? "unsupported" : "damaged");
    assertEquals(row?.reason, fault.message);
    const error = await assertRejects(() => store.open("s", "write"), Error, fault.message);
    assert(hasCode(error, fault.code));
    assert(!(await storage.isLocked("--w--/s/session.lock")), "a refused open lets go of the lock");
  }
  assertEquals(await storage.read(logOf(encoding)), bytesOf(bytes));
  return { fault, events };
}

/** The row with some members replaced. */
function changed(seq: number, more: object): string {
  return JSON.stringify({ ...EVENTS[seq], ...more });
}

/** A row of no surface, to put anywhere. */
const note = (seq: number, more: object = {}) =>
  JSON.stringify({ type: "feedback/record", seq, time: 1, data: { text: "" }, ...more });

/** The rows in frames that end wherever they end: only the file's end is the end of a row. */
function splitInsideARow(): Uint8Array {
  const rows = encodeLines(ROWS);
  const parts = [rows.subarray(0, 77), rows.subarray(77, 90), rows.subarray(90, 700), rows.subarray(700)];
  return bytesOf(framesOf([[HEADER]]), ...parts.map((part) => codec.compress(part)));
}

Deno.test("every flipped bit of a complete frame is refused or read right, and what lies before it stays readable (field/A15)", async () => {
  const whole = logBytes(headerOf(), BATCHES);
  const starts = [[], ...BATCHES.map((_, index) => BATCHES.slice(0, index + 1))].map((batches) =>
    logBytes(headerOf(), batches).length
  );
  for (let bit = 8 * starts[0]!; bit < 8 * whole.length; bit += 3) {
    const bytes = whole.slice();
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    const frame = starts.findLastIndex((start) => start <= bit >> 3);
    const intact = BATCHES.slice(0, frame).flat().length;
    const store = journal(storageWith({ [logOf("zstd")]: bytes }));
    const log = await store.open("s", "read");
    const { fault, torn, nextSeq } = log.state();
    const { events } = await log.read();
    assertEquals(events, EVENTS.slice(0, nextSeq), `bit ${bit}`);
    assert(nextSeq >= intact, `bit ${bit}: ${nextSeq} of ${intact} intact events`);
    // A bit that does not matter (a size that is not checked by anyone) may be read; a last frame may look torn.
    const isLast = frame === BATCHES.length - 1;
    assert(fault !== null || nextSeq === 12 || (isLast && torn !== null), `bit ${bit}: nothing noticed`);
    if (fault !== null) {
      assertEquals([fault.code === "CORRUPT_FRAME" || fault.code === "CORRUPT_LOG", fault.seq], [true, nextSeq]);
    }
  }
});

Deno.test("a flipped checksum is damage in any complete frame, the last one included", async () => {
  const starts = BATCHES.map((_, index) => logBytes(headerOf(), BATCHES.slice(0, index + 1)).length);
  for (const [index, end] of starts.entries()) {
    const bytes = logBytes(headerOf(), BATCHES);
    bytes[end - 1]! ^= 1;
    const { fault, events } = await look(bytes);
    const intact = BATCHES.slice(0, index).flat().length;
    assertEquals([fault?.code, fault?.seq, events.length], ["CORRUPT_FRAME", intact, intact]);
  }
});

Deno.test("a frame that declares 2^40 bytes is damage, found without reading it (field/A15)", async () => {
  const bomb = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 0x03, 0, 0, 0x41);
  const { fault, events } = await look(bytesOf(logBytes(headerOf(), BATCHES.slice(0, 1)), bomb));
  assertEquals([fault?.code, events.length], ["CORRUPT_FRAME", 2]);
  assert(fault!.message.includes("limit"), fault!.message);
});

Deno.test("zeros, garbage and a lost end behind the last frame", async () => {
  const whole = logBytes(headerOf(), BATCHES);
  for (const tail of [new Uint8Array(4), new Uint8Array(4096), new TextEncoder().encode("garbage")]) {
    assertEquals((await look(bytesOf(whole, tail))).fault?.code, "CORRUPT_FRAME");
  }
  for (const count of [1, 2, 3]) {
    const log = await journal(storageWith({ [logOf("zstd")]: bytesOf(whole, new Uint8Array(count)) })).open(
      "s",
      "write",
    );
    assertEquals(log.state().torn, { offsetBytes: whole.length, bytes: count, salvagedEvents: 0 });
  }
});

Deno.test("a torn frame with whole frames behind it is damage: they were acknowledged", async () => {
  const solid = logBytes(headerOf(), BATCHES.slice(0, 2));
  const third = logBytes(headerOf(), BATCHES.slice(0, 3)).slice(solid.length);
  third.set([0xff, 0xff, 0x01], 9); // The size of its first block: it now reaches beyond the end of the file.
  const rest = logBytes(headerOf(), BATCHES).slice(solid.length + third.length);
  const { fault, events } = await look(bytesOf(solid, third, rest));
  assertEquals([fault?.code, fault?.offsetBytes, events.length], ["CORRUPT_FRAME", solid.length, 4]);
});

Deno.test("a frame that lost its end is damage when any whole frame of later rows lies behind it, whatever comes last", async () => {
  const solid = logBytes(headerOf(), BATCHES.slice(0, 2));
  const third = logBytes(headerOf(), BATCHES.slice(0, 3)).slice(solid.length);
  third.set([0xff, 0xff, 0x01], 9);
  const rest = logBytes(headerOf(), BATCHES).slice(solid.length + third.length);
  const later = framesOf([turnOf(2, 12).map(encodeRow)]);
  const ends: Record<string, Uint8Array> = {
    "nothing": new Uint8Array(0),
    "three bytes": Uint8Array.of(0x28, 0xb5, 0x2f),
    "zeros": new Uint8Array(64),
    "garbage": new TextEncoder().encode("garbage"),
    "a torn frame": later.slice(0, 20),
    "a frame without its checksum": later.slice(0, -4),
    "a damaged frame": later.with(later.length - 9, later.at(-9)! ^ 1),
  };
  for (const [name, end] of Object.entries(ends)) {
    const { fault, events } = await look(bytesOf(solid, third, rest, end));
    assertEquals([fault?.code, fault?.offsetBytes, events.length], ["CORRUPT_FRAME", solid.length, 4], name);
  }
  for (let count = 1; count < later.length; count++) {
    const { fault } = await look(bytesOf(solid, third, rest, later.subarray(0, count)));
    assertEquals(fault?.offsetBytes, solid.length, `${count} bytes`);
  }
});

Deno.test("a copy that holds whole frames of later events was cut off by mistake: nothing is written over the place", async () => {
  const solid = logBytes(headerOf(), BATCHES.slice(0, 2));
  const third = logBytes(headerOf(), BATCHES.slice(0, 3)).slice(solid.length);
  third.set([0xff, 0xff, 0x01], 9);
  const rest = logBytes(headerOf(), BATCHES).slice(solid.length + third.length);
  const copy = (offset: number) => ({
    [`${logOf("zstd")}.torn-${offset}-00000000`]: codec.compress(bytesOf(third, rest)),
  });
  const store = journal(storageWith({ [logOf("zstd")]: solid, ...copy(solid.length) }));
  const log = await store.open("s", "read");
  const { fault, nextSeq } = log.state();
  assertEquals([fault?.code, fault?.offsetBytes, nextSeq], ["CORRUPT_FRAME", solid.length, 4]);
  assert(hasCode(await assertRejects(() => store.open("s", "write")), "CORRUPT_FRAME"));
  assertEquals((await store.stat("s"))?.state, "damaged");
  // Once the log has gone on it is the past, and evidence.
  const whole = logBytes(headerOf(), BATCHES);
  const later = journal(storageWith({ [logOf("zstd")]: whole, ...copy(solid.length) }));
  assertEquals((await later.open("s", "write")).state().fault, null);
});

/** A frame of stored blocks, as another program may write it, with its checksum. */
const stored = (plain: Uint8Array) => tinyBlocks(128 * 1024).compress(plain);

Deno.test("a torn frame whose content looks like frames of the log is a torn frame", async () => {
  const solid = logBytes(headerOf(), BATCHES);
  const tornWith = (...inner: readonly Uint8Array[]) => {
    const row = encodeLines([note(12)]);
    // Binary content is no JSON text; a reader takes what is not UTF-8 for U+FFFD.
    const at = row.indexOf(0x22, row.indexOf(0x7b, 1)) + 8;
    return stored(bytesOf(row.subarray(0, at), ...inner, row.subarray(at))).slice(0, -6);
  };
  const rowsFrame = (rows: readonly string[]) => codec.compress(encodeLines(rows));
  const inner: Record<string, Uint8Array> = {
    "this log": solid,
    "its header": framesOf([[HEADER]]),
    "the rows that are being written": rowsFrame([note(12), note(13)]),
    "a frame of no rows": rowsFrame(["{}", "later"]),
    "a frame of rows with a gap": rowsFrame([note(20), note(22)]),
    "a frame of half a row": codec.compress(encodeLines([note(20)]).subarray(3)),
    "an empty frame": rowsFrame([]),
    "a frame with a wrong checksum": rowsFrame([note(20)]).with(-1, 0),
    "a frame without an end": rowsFrame([note(20)]).slice(0, -5),
  };
  for (const [name, bytes] of Object.entries(inner)) {
    const tail = tornWith(bytes, new Uint8Array(8));
    const log = await journal(storageWith({ [logOf("zstd")]: bytesOf(solid, tail) })).open("s", "write");
    assertEquals([log.state().fault, log.state().torn?.offsetBytes], [null, solid.length], name);
    await log.close();
  }
  // What remains: binary content that was made to hold later rows of a log. Refused, and nothing is lost.
  const made = await look(bytesOf(solid, tornWith(rowsFrame([note(20)]), new Uint8Array(8))));
  assertEquals(made.fault?.code, "CORRUPT_FRAME");
});

Deno.test("the search behind a torn frame is bounded, and refuses what it cannot tell", async () => {
  const solid = logBytes(headerOf(), BATCHES);
  const magic = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd);
  // A block that is said to be longer than what is there, full of what looks like the beginning of a frame.
  const torn = (content: Uint8Array) => bytesOf(magic, Uint8Array.of(0x04, 0x58, 0xf8, 0xff, 0x0f), content);
  const many = new Uint8Array(4 * 5000);
  for (let at = 0; at < many.length; at += 4) many.set(magic, at);
  assertStringIncludes((await look(bytesOf(solid, torn(many)))).fault?.message ?? "", "than can be tried");
  // Frames of ever so many empty blocks, each beginning in the one before: walking all would be quadratic.
  const blocks = new Uint8Array(3 * 40_000);
  for (let at = 0; at < 999; at++) blocks.set([...magic, 0x04, 0x00], at * 30);
  const startMs = performance.now();
  const log = await journal(storageWith({ [logOf("zstd")]: bytesOf(solid, torn(blocks)) })).open("s", "read");
  assert(log.state().nextSeq === 12);
  assert(performance.now() - startMs < 2000);
});

Deno.test("one log in several framings reads the same from list and from open (field/A17)", async () => {
  const skippable = Uint8Array.of(0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3);
  const header = framesOf([[HEADER]]);
  const cases: Record<string, { bytes: Uint8Array; code: string | null; count: number }> = {
    "header frame and frames": { bytes: framesOf([[HEADER], ROWS.slice(0, 5), ROWS.slice(5)]), code: null, count: 12 },
    "one event per frame": { bytes: framesOf([[HEADER], ...ROWS.map((row) => [row])]), code: null, count: 12 },
    "an empty frame": { bytes: framesOf([[HEADER], ROWS.slice(0, 3), [], ROWS.slice(3)]), code: null, count: 12 },
    "a row over two frames": { bytes: splitInsideARow(), code: null, count: 12 },
    "one single frame": { bytes: framesOf([[HEADER, ...ROWS]]), code: "CORRUPT_LOG", count: 12 },
    "a skippable frame between": {
      bytes: bytesOf(header, skippable, framesOf([ROWS.slice(0, 4)]), skippable, framesOf([ROWS.slice(4)])),
      code: "CORRUPT_FRAME",
      count: 12,
    },
  };
  for (const [name, { bytes, code, count }] of Object.entries(cases)) {
    const { fault, events } = await look(bytes);
    assertEquals([fault?.code ?? null, events], [code, EVENTS.slice(0, count)], name);
  }
  const split = bytesOf(
    codec.compress(encodeLines([HEADER]).subarray(0, 20)),
    codec.compress(encodeLines([HEADER]).subarray(20)),
  );
  const store = journal(storageWith({ [logOf("zstd")]: bytesOf(split, framesOf([ROWS])) }));
  const error = await assertRejects(() => store.open("s", "read"));
  assert(hasCode(error, "CORRUPT_LOG"));
  assertEquals([(await store.stat("s"))?.state, (await store.stat("s"))?.header], ["damaged", null]);
});

Deno.test("a row that is wrong inside a complete frame is damage at its seq", async () => {
  const bad: readonly (readonly [string, number, string])[] = [
    ["not json", 4, "CORRUPT_LOG"],
    ["", 4, "CORRUPT_LOG"],
    ["null", 4, "CORRUPT_LOG"],
    ["[1]", 4, "CORRUPT_LOG"],
    [changed(4, { seq: 5 }), 4, "CORRUPT_LOG"],
    [changed(4, { seq: 3 }), 4, "CORRUPT_LOG"],
    [changed(4, { time: 1.5 }), 4, "CORRUPT_LOG"],
    [changed(4, { ignorable: false }), 4, "CORRUPT_LOG"],
    [changed(4, { extra: 1 }), 4, "CORRUPT_LOG"],
    [changed(4, { surfaceOp: { op: "replace", start: 3, end: 3 }, sourceEventSeqs: [3] }), 4, "CORRUPT_LOG"],
    [changed(4, { surfaceOp: { op: "replace", startSeq: 9, endSeq: 9 }, sourceEventSeqs: [3] }), 4, "CORRUPT_LOG"],
    [changed(4, { surfaceOp: undefined }), 4, "CORRUPT_LOG"],
    [note(4, { surfaceOp: "append" }), 4, "CORRUPT_LOG"],
    [
      JSON.stringify({ type: "request/header", seq: 4, time: 1, data: { header: { system: "x" } } }),
      4,
      "UNSUPPORTED_FORMAT",
    ],
    [JSON.stringify({ type: "tool/code-dispatch", seq: 4, time: 1, data: {} }), 4, "UNSUPPORTED_FORMAT"],
    [JSON.stringify({ type: "session/end-seed", seq: 4, time: 1, data: { inherited: true } }), 4, "CORRUPT_LOG"],
  ];
  for (const [row, seq, code] of bad) {
    const { fault, events } = await look(
      framesOf([[HEADER], ROWS.slice(0, 2), [...ROWS.slice(2, 4), row, ...ROWS.slice(5)]]),
    );
    assertEquals([fault?.code, fault?.seq, events], [code, seq, EVENTS.slice(0, 4)], row);
    assertEquals(fault?.offsetBytes, framesOf([[HEADER], ROWS.slice(0, 2)]).length, row);
  }
  const unfinished = bytesOf(
    framesOf([[HEADER], ROWS.slice(0, 2)]),
    codec.compress(new TextEncoder().encode(ROWS[2]!)),
  );
  const { fault, events } = await look(unfinished);
  assertEquals([fault?.code, fault?.seq, events.length], ["CORRUPT_LOG", 2, 2]);
});

Deno.test("a raw log's tail is trimmed, unless a turn ends behind the bad row or the row is refused anywhere", async () => {
  const raw = (rows: readonly string[], rest = "") =>
    new TextEncoder().encode([HEADER, ...rows].join("\n") + "\n" + rest);
  const head = ROWS.slice(0, 3);
  const trimmed: readonly (readonly [string, number])[] = [
    ["not json\n", 3],
    ["\n", 3],
    ["null\n", 3],
    ['[{"type":"turn/end"}]\n' + note(3) + "\n", 3],
    [note(5) + "\n" + note(6) + "\n", 3],
    [note(3) + "\n" + "garbage", 4],
    ['{"type":"turn/end"}\n' + note(3) + "\n", 3],
  ];
  for (const [rest, nextSeq] of trimmed) {
    const bytes = raw(head, rest);
    const storage = storageWith({ [logOf("none")]: bytes });
    const store = journal(storage);
    const log = await store.open("s", "write");
    const solid = raw([...head, ...nextSeq === 4 ? [note(3)] : []]).length;
    assertEquals(log.state().torn, { offsetBytes: solid, bytes: bytes.length - solid, salvagedEvents: 0 }, rest);
    assertEquals(log.state().nextSeq, nextSeq);
    await log.recover([]);
    assertEquals(await storage.read(logOf("none")), bytes.slice(0, solid));
    const [copy] = (await storage.list("--w--/s/")).filter(({ name }) => name.includes(".torn-"));
    assertEquals(codec.decompress(await storage.read(copy!.name), 1e6), bytes.slice(solid), "no byte is lost");
  }
  const end = JSON.stringify({ type: "turn/end", seq: 4, time: 1, data: { turn: 1, reason: { kind: "completed" } } });
  const refused: readonly (readonly [string, string])[] = [
    ["not json\n" + end + "\n", "CORRUPT_LOG"],
    [end + "\n", "CORRUPT_LOG"],
    ['bad\n{"type":"turn/end"}\n', "CORRUPT_LOG"],
    ['bad\n \t{"type":"turn\\/end"}\n', "CORRUPT_LOG"],
    ['bad\n{"\\u0074ype":"turn/\\u0065nd"}\n', "CORRUPT_LOG"],
    [
      "bad\n" + JSON.stringify({ type: "tool/code-dispatch-start", seq: 9, time: 1, data: {} }) + "\n",
      "UNSUPPORTED_FORMAT",
    ],
    [
      "bad\n" + JSON.stringify({ type: "request/header", seq: 9, time: 1, data: { header: { system: "" } } }) + "\n",
      "UNSUPPORTED_FORMAT",
    ],
    ["bad\n" + JSON.stringify({ type: "system/message", seq: 9, time: 1, data: {} }) + "\n", "CORRUPT_LOG"],
    [note(3, { surfaceOp: "append" }) + "\n", "CORRUPT_LOG"],
  ];
  for (const [rest, code] of refused) {
    const { fault, events } = await look(raw(head, rest), "none");
    assertEquals([fault?.code, fault?.seq, events.length], [code, 3, 3], rest);
  }
});

Deno.test("a raw log's tail of ever so many lines is read in a moment", async () => {
  const lines = (line: string) => new TextEncoder().encode(`${HEADER}\n${`${line}\n`.repeat(500_000)}`);
  for (const line of ["x", '{"a":1}', "[", ""]) {
    const store = journal(storageWith({ [logOf("none")]: lines(line) }));
    const startMs = performance.now();
    const log = await store.open("s", "read");
    assert(performance.now() - startMs < 3000, `${line}: ${performance.now() - startMs} ms`);
    assertEquals([log.state().nextSeq, log.state().fault], [0, null]);
  }
});

Deno.test("a required event of an unknown type forbids writing and hides nothing (field/A18)", async () => {
  for (const encoding of ENCODINGS) {
    const events = turnsOf(9);
    events[5] = { type: "future/thing", seq: 5, time: 1, data: [1], future: true } as unknown as SessionEvent;
    const bytes = logBytes(headerOf(), [events.slice(0, 30), events.slice(30)], encoding);
    const { fault, events: read } = await look(bytes, encoding);
    assertEquals([fault?.code, fault?.seq], ["UNSUPPORTED_FORMAT", 5]);
    assertEquals(read, events);
    const error = await assertRejects(
      () => journal(storageWith({ [logOf(encoding)]: bytes })).open("s", "write"),
      UnsupportedFormatError,
    );
    assertEquals([error.type, error.seq], ["future/thing", 5]);
  }
});

Deno.test("the next seq is one more than the last row's, for any choice of unknown ignorable events (field/A08)", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }),
      fc.constantFrom(...ENCODINGS),
      async (unknown, encoding) => {
        const rows = unknown.map((isUnknown, seq) =>
          note(seq, isUnknown ? { type: "x/y", ignorable: true, sourceEventSeqs: [[0, 99]] } : {})
        );
        const storage = storageWith({ [logOf(encoding)]: framesOf([[HEADER], rows], encoding) });
        const log = await journal(storage).open("s", "write");
        assertEquals(log.state().nextSeq, rows.length);
        await log.append([JSON.parse(note(rows.length))]);
        await log.close();
        const read = (await (await journal(storage).open("s", "read")).read()).events;
        assertEquals(read.map((event) => JSON.stringify(event)), [...rows, note(rows.length)]);
      },
    ),
    { seed: 1, numRuns: 60 },
  );
});

Deno.test("a header that is none: nothing is readable, the session is listed with the reason (field/A16, field/A29)", async () => {
  const bad: readonly (readonly [Uint8Array, string])[] = [
    [new Uint8Array(0), "CORRUPT_LOG"],
    [framesOf([ROWS]), "CORRUPT_LOG"],
    [framesOf([["not json"], ROWS]), "CORRUPT_LOG"],
    [framesOf([["\ufeff" + HEADER], ROWS]), "CORRUPT_LOG"],
    [framesOf([[HEADER.replace('"isSeeded":false,', "")], ROWS]), "CORRUPT_LOG"],
    [framesOf([[HEADER.replace('"id"', '"approvalPolicy":"ask","id"')], ROWS]), "CORRUPT_LOG"],
    [new TextEncoder().encode(HEADER + "\n"), "CORRUPT_FRAME"],
    [framesOf([[HEADER]]).slice(0, -1), "CORRUPT_LOG"],
  ];
  for (const [bytes, code] of bad) {
    const store = journal(storageWith({ [logOf("zstd")]: bytes }));
    for (const mode of ["read", "write"] as const) {
      const error = await assertRejects(() => store.open("s", mode as "read"));
      assert(hasCode(error, code as "CORRUPT_LOG"), `${code}: ${error}`);
    }
    const row = await store.stat("s");
    assertEquals([row?.id, row?.state, row?.header], ["s", "damaged", null]);
    assert(row!.reason!.length > 10);
  }
});

Deno.test("a header of another version than the file's name says is read by the header, and not written", async () => {
  for (const version of [2, 4]) {
    const bytes = framesOf([[HEADER.replace('"version":3', `"version":${version}`)], ROWS]);
    const storage = storageWith({ [logOf("zstd")]: bytes });
    const store = journal(storage);
    await using reader = await store.open("s", "read");
    assertEquals(reader.state().fault?.code, "UNSUPPORTED_FORMAT");
    const error = await assertRejects(() => store.open("s", "write"));
    assert(hasCode(error, "UNSUPPORTED_FORMAT"), `${version}: ${error}`);
    const row = await store.stat("s");
    assertEquals([row?.id, row?.state], ["s", "unsupported"]);
    assertEquals(await storage.read(logOf("zstd")), bytes);
  }
});
