import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import type { MemoryStorage } from "../../src/adapters/memory/memory_storage.ts";
import { hasCode, StorageLostError } from "../../src/errors.ts";
import { encodeHeader, type SessionEvent } from "../../src/event/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { logFold } from "../../src/fold/mod.ts";
import { LIST_CONTENT_BYTES_MAX } from "../../src/journal/limits.ts";
import { LIST_BYTES_MAX } from "../../src/journal/mod.ts";
import type { StorageEntry } from "../../src/storage/storage_port.ts";
import type { SessionRow, SessionStore } from "../../src/store/session_store.ts";
import {
  bytesOf,
  ENCODINGS,
  framesOf,
  headerOf,
  journal,
  logBytes,
  logOf,
  storageWith,
  turnOf,
  turnsOf,
} from "./script.ts";

async function rowsOf(store: SessionStore): Promise<SessionRow[]> {
  const rows: SessionRow[] = [];
  for await (const row of store.list()) rows.push(row);
  return rows;
}

const nameOf = (id: string, file = "session.v3.jsonl.zstd") => `--w--/${id}/${file}`;
const healthy = (id: string) => logBytes(headerOf(id), [turnOf(1)]);
const brief = (rows: readonly SessionRow[]) => Object.fromEntries(rows.map((row) => [row.id, row.state]));

/** Many turns in small batches: far more than a listing reads. */
function longLog(
  encoding: "zstd" | "none",
  turns: number,
  more: readonly SessionEvent[] = [],
): Uint8Array<ArrayBuffer> {
  const events = [...turnsOf(turns), ...more];
  const batches = Array.from(
    { length: Math.ceil(events.length / 4) },
    (_, index) => events.slice(4 * index, 4 * index + 4),
  );
  return logBytes(headerOf(), batches, encoding);
}

Deno.test("list() shows damaged sessions with their reason, among healthy ones (field/A15, field/A16, field/A29)", async () => {
  const files: Record<string, Uint8Array> = {};
  for (let index = 10; index < 60; index++) files[nameOf(`s${index}`)] = healthy(`s${index}`);
  const bomb = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 0x03, 0, 0, 0x41);
  files[nameOf("s20")] = bytesOf(healthy("s20"), bomb);
  files[nameOf("s30")] = healthy("s30");
  files[nameOf("s30")]![files[nameOf("s30")]!.length - 1]! ^= 1;
  files[nameOf("s40")] = healthy("s40").slice(logBytes(headerOf("s40"), []).length);
  files[nameOf("s50")] = new TextEncoder().encode("garbage");
  const store = journal(storageWith(files));
  const rows = await rowsOf(store);
  assertEquals(rows.map((row) => row.id), Array.from({ length: 50 }, (_, index) => `s${index + 10}`));
  const damaged = rows.filter((row) => row.state !== "ok");
  assertEquals(
    damaged.map(({ id, state, name }) => [id, state, name]),
    [20, 30, 40, 50].map((index) => [
      ...[`s${index}`, "damaged", nameOf(`s${index}`)],
    ]),
  );
  for (const row of damaged) assert(row.reason !== null && row.reason.length > 10);
  assertEquals(
    rows.filter((row) => row.state === "ok").every((row) => row.reason === null && row.lastEventTime === 2011),
    true,
  );
  // What is listed as damaged is refused, and the others open.
  assertEquals((await (await store.open("s20", "read")).read()).events.length, 12);
  await (await store.open("s21", "write")).close();
});

Deno.test("list() reads at most LIST_BYTES_MAX bytes of a session, whatever its size", async () => {
  const random = crypto.getRandomValues(new Uint8Array(60_000));
  const files: Record<string, Uint8Array> = {
    [nameOf("s")]: longLog("zstd", 400),
    [nameOf("t", "session.v3.jsonl")]: longLog("none", 400),
    [nameOf("u")]: bytesOf(logBytes(headerOf("u"), []), random, random),
    [nameOf("v")]: logBytes(headerOf("v"), [turnOf(1)]).slice(0, -9),
    [nameOf("v", "session.v3.jsonl.zstd.torn-1-00000000")]: nodeZstd().compress(random),
  };
  const current = logBytes(headerOf("v"), []).length;
  files[nameOf("v", `session.v3.jsonl.zstd.torn-${current}-00000000`)] = bytesOf(random, random);
  const storage = storageWith(files);
  const readBytes = new Map<string, number>();
  const read = storage.read.bind(storage);
  storage.read = async (name, range) => {
    const bytes = await read(name, range);
    const folder = name.slice(0, name.lastIndexOf("/"));
    readBytes.set(folder, (readBytes.get(folder) ?? 0) + bytes.length);
    return bytes;
  };
  assert(files[nameOf("s")]!.length > LIST_BYTES_MAX);
  const rows = await rowsOf(journal(storage));
  assertEquals(brief(rows), { s: "unchecked", t: "damaged", u: "unchecked", v: "unchecked" });
  for (const [folder, bytes] of readBytes) assert(bytes <= LIST_BYTES_MAX, `${folder}: ${bytes} bytes`);
  assertEquals(rows[0]!.lastEventTime, 2000 + 400 * 12 - 1);
  assertEquals(rows[1]!.reason, 'its header belongs to "--w--/s/session.v3.jsonl"');
});

Deno.test("list() says of a large log what its two ends show", async () => {
  for (const encoding of ENCODINGS) {
    const stateOf = async (bytes: Uint8Array) => {
      const row = await journal(storageWith({ [logOf(encoding)]: bytes })).stat("s");
      return [row?.state, row?.header?.id ?? null];
    };
    const next = turnOf(401, 4800);
    assertEquals(await stateOf(longLog(encoding, 400)), ["unchecked", "s"]);
    assertEquals(await stateOf(longLog(encoding, 400, next.slice(0, 1))), ["open", "s"]);
    assertEquals(await stateOf(longLog(encoding, 400, next.slice(0, 6))), ["open", "s"]);
    // The turn began long before the end.
    const calls = Array.from({ length: 2000 }, (_, index) => ({ ...next[5]!, seq: 4801 + index }));
    assertEquals(await stateOf(longLog(encoding, 400, [next[0]!, ...calls])), ["open", "s"]);
    // Torn at its end: raw lines are still lines, of frames nothing is certain.
    const torn = longLog(encoding, 400, next.slice(0, 6)).slice(0, -3);
    assertEquals(await stateOf(torn), [encoding === "zstd" ? "unchecked" : "open", "s"]);
    const header = longLog(encoding, 400);
    header[encoding === "zstd" ? 20 : 2]! ^= 0xff;
    assertEquals(await stateOf(header), ["damaged", null]);
  }
  const bad = JSON.stringify({ ...turnOf(401, 4800)[0], surfaceOp: "append" });
  const bytes = bytesOf(longLog("zstd", 400), framesOf([[bad]]));
  assertEquals((await journal(storageWith({ [logOf("zstd")]: bytes })).stat("s"))?.state, "damaged");
});

Deno.test("list() never decodes more than it may, and says so", async () => {
  const rle = (blocks: number) => {
    const parts = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    for (let index = 0; index < blocks; index++) parts.push(0x02 | (index === blocks - 1 ? 1 : 0), 0, 0x10, 0x20);
    return new Uint8Array(parts);
  };
  // 128 KiB of spaces for each block of four bytes: 256 MiB in 8 KiB are over the listing's bound, not over the log's.
  const storage = storageWith({
    [nameOf("s")]: bytesOf(healthy("s"), rle(2000)),
    [nameOf("t")]: bytesOf(healthy("t"), rle(2200)),
  });
  assertEquals(brief(await rowsOf(journal(storage))), { s: "unchecked", t: "damaged" });
});

Deno.test("list() gives strays a row and never throws because of one", async () => {
  const storage = storageWith({
    [nameOf("good")]: healthy("good"),
    "--w--/flat.jsonl.zstd": healthy("flat"),
    "--w--/notes.txt": new Uint8Array(1),
    "top.jsonl": new Uint8Array(1),
    [nameOf("newer", "session.v4.jsonl.zstd")]: new Uint8Array(1),
    [nameOf("newer")]: healthy("newer"),
    [nameOf("older", "session.jsonl")]: new Uint8Array(1),
    [nameOf("both")]: healthy("both"),
    [nameOf("both", "session.v3.jsonl")]: logBytes(headerOf("both"), [], "none"),
    [nameOf("moved")]: healthy("elsewhere"),
    [nameOf("empty", "session.lock")]: new Uint8Array(0),
    [nameOf("twin")]: healthy("twin"),
    "_no-cwd/twin/session.v3.jsonl.zstd": logBytes(headerOf("twin", { cwd: undefined }), []),
    "--w--/bad~name/session.v3.jsonl.zstd": healthy("bad~name"),
  });
  const store = journal(
    withEntries(storage, [{ name: "--w--/link", kind: "other" }, { name: "--w--/a\\b/", kind: "folder" }]),
  );
  const rows = await rowsOf(store);
  assertEquals(rows.map(({ id, state }) => [id, state]), [
    ["a\\b", "damaged"],
    ["bad~name", "damaged"],
    ["both", "damaged"],
    ["flat", "unsupported"],
    ["good", "ok"],
    ["link", "damaged"],
    ["moved", "damaged"],
    ["newer", "unsupported"],
    ["older", "damaged"],
    ["twin", "damaged"],
    ["twin", "damaged"],
  ]);
  const reasonOf = (id: string) => rows.find((row) => row.id === id)!.reason!;
  assert(/newer/.test(reasonOf("newer")) && /header/.test(reasonOf("older")) && /flat/.test(reasonOf("flat")));

  // The healthy one is not touched by any of this.
  await (await store.open("good", "write")).close();
  // What is readable is readable, and refused for writing.
  for (const [id, code] of [["both", "CORRUPT_LOG"], ["moved", "CORRUPT_LOG"]] as const) {
    const log = await store.open(id, "read");
    assertEquals([log.state().fault?.code, (await log.read()).events.length], [code, 12]);
    const error = await assertRejects(() => store.open(id, "write"));
    assert(hasCode(error, code));
  }
  for (
    const [id, code] of [
      ["newer", "UNSUPPORTED_FORMAT"],
      ["older", "CORRUPT_LOG"],
      ["flat", "UNSUPPORTED_FORMAT"],
      [
        "twin",
        "CORRUPT_LOG",
      ],
      ["empty", "NOT_FOUND"],
      ["link", "STORAGE_LOST"],
    ] as const
  ) {
    for (const mode of ["read", "write"] as const) {
      const error = await assertRejects(() => store.open(id, mode as "read"), Error, "", id);
      assert(hasCode(error, code), `${id}: ${error}`);
    }
  }
  for (const id of ["flat", "twin", "newer"]) {
    const error = await assertRejects(() => store.create(headerOf(id)));
    assert(hasCode(error, "ALREADY_EXISTS"));
  }
  // A folder without a log is nobody's.
  await (await store.create(headerOf("empty"))).materialize();
});

Deno.test("list() goes on behind a session, and a project, that cannot be read", async () => {
  const storage = storageWith({
    [nameOf("a")]: healthy("a"),
    [nameOf("b")]: healthy("b"),
    "--x--/c/session.v3.jsonl": healthy("c"),
  });
  const read = storage.read.bind(storage);
  storage.read = (name, range) => {
    if (name.includes("/a/")) return Promise.reject(new StorageLostError(`Cannot read "${name}": input/output error`));
    return read(name, range);
  };
  const list = storage.list.bind(storage);
  storage.list = (prefix) => {
    if (prefix.startsWith("--x--/")) return Promise.reject(new StorageLostError(`Cannot list "${prefix}": forbidden`));
    return list(prefix);
  };
  const store = journal(storage);
  assertEquals((await rowsOf(store)).map(({ id, state, reason }) => [id, state, reason]), [
    ["--x--/", "damaged", "forbidden"],
    ["a", "damaged", "input/output error"],
    ["b", "ok", null],
  ]);
  assertEquals((await (await store.open("b", "read")).read()).events.length, 12);
  const missing = await assertRejects(() => store.open("c", "read"));
  assert(hasCode(missing, "STORAGE_LOST"), "it may lie where we cannot look");
});

Deno.test("list() and open() take a torn log for what it is: expected", async () => {
  for (const encoding of ENCODINGS) {
    const whole = logBytes(headerOf(), [turnOf(1), turnOf(2, 12)], encoding);
    const row = await journal(storageWith({ [logOf(encoding)]: whole.slice(0, -5) })).stat("s");
    assertEquals([row?.state, row?.reason], encoding === "zstd" ? ["ok", null] : ["open", "turn 2 is open"]);
  }
});

Deno.test("a header that names another spelling of the same folder is accepted where the medium ignores case", async () => {
  const bytes = logBytes(headerOf("S"), [turnOf(1)]);
  const plain = storageWith({ [nameOf("s")]: bytes });
  assertEquals((await journal(plain).stat("s"))?.state, "damaged");
  const folding = storageWith({ [nameOf("s")]: bytes });
  const stat = folding.stat.bind(folding);
  folding.stat = (name) => stat(name.toLowerCase());
  assertEquals((await journal(folding).stat("s"))?.state, "ok");
  assertEquals(encodeHeader(headerOf("S")).includes('"S"'), true);
});

/** A storage that lists a few more things, as a file system with links in it does. They can not be listed or read. */
function withEntries(storage: MemoryStorage, more: readonly StorageEntry[]): MemoryStorage {
  const list = storage.list.bind(storage);
  storage.list = async (prefix) => {
    for (const { name } of more) {
      if (prefix.startsWith(name)) throw new StorageLostError(`Cannot list "${prefix}": "${name}" is a link`);
    }
    const found = [...await list(prefix)];
    for (const entry of more) if (entry.name.slice(0, entry.name.indexOf("/") + 1) === prefix) found.push(entry);
    return found.sort((a, b) => a.name < b.name ? -1 : 1);
  };
  return storage;
}

/** A message whose frame is over what a listing decodes of one frame, and takes hardly a byte. */
const big = (seq: number): SessionEvent => ({
  ...turnOf(1)[3]!,
  seq,
  data: {
    ...{ id: `big${seq}`, role: "user", source: { kind: "user" } },
    content: [{ type: "text", text: "x".repeat(LIST_CONTENT_BYTES_MAX + 1000) }],
  },
});

Deno.test("list() tells nothing about the end of a log from what stands before a frame it does not decode", async () => {
  const DAY_MS = 86_400_000;
  const dated = (events: readonly SessionEvent[], fromTime: number) =>
    events.map((event, index) => ({ ...event, time: fromTime + index }));
  const [start] = dated(turnOf(1).slice(0, 1), 0);
  const end: SessionEvent = { ...turnOf(1)[11]!, seq: 2, time: 40 * DAY_MS };
  const large = { ...big(1), time: 40 * DAY_MS };
  const cases: Record<string, readonly [SessionEvent[][], string, number | null]> = {
    "the last frame is large": [[[start!], [large]], "unchecked", null],
    "a turn ends behind it": [[[start!], [large], [end]], "unchecked", 40 * DAY_MS],
    "a turn goes on behind it": [
      [[start!], [large], [{ ...turnOf(1)[1]!, seq: 2, time: 41 * DAY_MS }]],
      "open",
      41 * DAY_MS,
    ],
    "a frame behind it holds a bad row": [[[start!], [large], [{ ...end, data: { turn: "one" } }]], "damaged", null],
  };
  for (const [name, [batches, state, lastEventTime]] of Object.entries(cases)) {
    const row = await journal(storageWith({ [logOf("zstd")]: logBytes(headerOf(), batches) })).stat("s");
    assertEquals([row?.state, row?.lastEventTime, row?.header?.id], [state, lastEventTime, "s"], name);
  }
  // What is behind it is torn: nothing is certain.
  const torn = logBytes(headerOf(), [[start!], [large], [end]]).slice(0, -3);
  const row = await journal(storageWith({ [logOf("zstd")]: torn })).stat("s");
  assertEquals([row?.state, row?.lastEventTime], ["unchecked", null]);
});

Deno.test("list() tells nothing about the end of a log from a copy of its torn tail that it does not read", async () => {
  const next = turnOf(401, 4800);
  // Cut and not put back yet: the log ends inside the turn, the copy holds its end.
  const bytes = longLog("zstd", 400, next.slice(0, 8));
  const copy = nodeZstd().compress(framesOf([next.slice(8).map((event) => JSON.stringify(event))]).slice(0, -2));
  const storage = storageWith({
    [logOf("zstd")]: bytes,
    [`${logOf("zstd")}.torn-${bytes.length}-00000000`]: copy,
  });
  const log = await journal(storage).open("s", "read");
  assertEquals(log.state().nextSeq, 4812);
  const row = await journal(storage).stat("s");
  assertEquals([row?.state, row?.lastEventTime], ["unchecked", null]);

  // The same of a small log, whose copies are too large for a listing.
  const small = logBytes(headerOf(), [turnOf(1).slice(0, 8)]);
  const noise = crypto.getRandomValues(new Uint8Array(60_000));
  const few = storageWith({
    [logOf("zstd")]: small,
    [`${logOf("zstd")}.torn-${small.length}-00000000`]: bytesOf(noise, noise),
  });
  const cut = await journal(few).stat("s");
  assertEquals([cut?.state, cut?.lastEventTime], ["unchecked", null]);
});

Deno.test("list() never says a wrong ok, open or time, for any log with large frames, torn or not", async () => {
  const shape = fc.record({
    turns: fc.oneof({ weight: 7, arbitrary: fc.integer({ min: 1, max: 3 }) }, {
      weight: 1,
      arbitrary: fc.constant(300),
    }),
    dropped: fc.nat(14),
    bigAtPercent: fc.array(fc.nat(100), { maxLength: 2 }),
    batch: fc.integer({ min: 1, max: 6 }),
    tear: fc.oneof(fc.constant(0), fc.nat(200)),
    encoding: fc.constantFrom(...ENCODINGS),
  });
  await fc.assert(
    fc.asyncProperty(shape, async ({ turns, dropped, bigAtPercent, batch, tear, encoding }) => {
      const events = turnsOf(turns).slice(0, -dropped || undefined);
      if (encoding === "zstd") {
        for (const at of bigAtPercent) events.splice(Math.floor(at / 100 * events.length), 0, big(0));
      }
      const log = events.map((event, seq) => ({ ...event, seq, time: 1000 + seq }));
      const batches: SessionEvent[][] = [];
      for (let at = 0; at < log.length; at += batch) batches.push(log.slice(at, at + batch));
      const whole = logBytes(headerOf(), batches, encoding);
      const bytes = whole.slice(0, Math.max(whole.length - tear, 400));
      const store = journal(storageWith({ [logOf(encoding)]: bytes }));
      const row = (await store.stat("s"))!;
      let folds = logFold.initial();
      const reader = await store.open("s", "read", { visit: (event) => folds = logFold.apply(folds, event) });
      const { fault } = reader.state();
      await reader.close();
      if (row.state === "ok") assert(fault === null && folds.brackets.turn === null, "ok is true");
      if (row.state === "open") assert(fault === null && folds.brackets.turn !== null, "open is true");
      if (row.state === "damaged") assert(fault !== null, "damaged is true");
      if (row.lastEventTime !== null) assertEquals(row.lastEventTime, folds.lastTime);
    }),
    { seed: 1, numRuns: 40 },
  );
});
