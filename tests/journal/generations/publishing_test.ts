/**
 * Publishing the current generation of an old log.
 *
 * @module
 */
import { JOURNAL_LIMITS } from "../../../src/journal/limits.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { hasCode } from "../../../src/errors.ts";
import { parseRow, type SessionEvent } from "../../../src/event/mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";
import { migrateLog, rawLogs, type StageVerifier, verifyHere } from "../../../src/journal/mod.ts";
import { publish, type StoragePort } from "../../../src/storage/storage_port.ts";
import type { MigrationProgress } from "../../../src/store/session_store.ts";
import { wrapStorage } from "../../kill/wrapped_storage.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { casesNotRun, fixturesDir } from "../../support/fixtures.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { bytesOf, ENCODINGS, filesOf, headerOf, journal, logBytes, storageWith, turnOf } from "../script.ts";
import { OLD_FOLDER, oldBytes, oldHeader, oldName, oldTurns } from "./old_logs.ts";

const fixtures = fixturesDir();

function wiring(storage: StoragePort, verifyStage?: StageVerifier) {
  return { storage, codec: nodeZstd(), clock: new FakeClock(), random: seededRandom(1), verifyStage };
}

async function eventsOf(storage: StoragePort): Promise<readonly SessionEvent[]> {
  const log = await journal(storage).open("s", "read");
  assertEquals(log.state().fault, null);
  return (await log.read({ limit: 10_000 })).events;
}

for (const encoding of ENCODINGS) {
  const [source, target] = [oldName(0, encoding), oldName(3, encoding)];
  const bytes = oldBytes(oldHeader(), oldTurns(3).map((row) => [row]), encoding);

  Deno.test(`open(write) publishes the current generation in the same encoding, and leaves the old one as it is (${encoding})`, async () => {
    const storage = storageWith({ [source]: bytes });
    const read = await eventsOf(storage);
    const phases: MigrationProgress["phase"][] = [];
    const store = journal(storage, { compression: encoding === "zstd" ? "none" : "zstd" });
    const log = await store.open("s", "write", { onMigration: ({ phase }) => phases.push(phase) });
    assertEquals([log.encoding, log.header.version, log.state().nextSeq], [encoding, 3, read.length]);
    assertEquals([...new Set(phases)], ["writing", "checking", "published"]);
    await log.append([{ type: "feedback/record", seq: read.length, time: 9, data: { text: "on" } }]);
    await log.close();
    const files = await filesOf(storage);
    assertEquals([...files.keys()], [source, `${OLD_FOLDER}session.lock`, target]);
    assertEquals(files.get(source), bytes);
    assertEquals((await eventsOf(storage)).slice(0, -1), read);
    assertEquals([(await store.stat("s"))?.version, (await store.stat("s"))?.state], [3, "ok"]);
  });

  Deno.test(`migrateLog() publishes once, and has nothing to do after that (${encoding})`, async () => {
    const storage = storageWith({ [source]: bytes });
    const read = await eventsOf(storage);
    const first = await migrateLog(wiring(storage), "s");
    assertEquals([first.outcome, first.from, first.events, first.log], ["published", 0, read.length, target]);
    const files = await filesOf(storage);
    assertEquals((await migrateLog(wiring(storage), "s")).outcome, "current");
    assertEquals(await filesOf(storage), files);
    assertEquals(await eventsOf(storage), read);
    await (await storage.lock(`${OLD_FOLDER}session.lock`)).release();
  });

  Deno.test(`a target that appears meanwhile is accepted when it holds the same, longer or not, and refused when it does not (${encoding})`, async () => {
    const elsewhere = storageWith({ [source]: bytes });
    await migrateLog(wiring(elsewhere), "s");
    const same = await elsewhere.read(target);
    const more = logBytes(headerOf(), [[{ ...turnOf(2)[0]!, seq: 900 }]], encoding);
    const longer = bytesOf(same, more.subarray(logBytes(headerOf(), [], encoding).length));
    const other = logBytes(headerOf(), [turnOf(1)], encoding);
    const shorter = same.subarray(0, same.length - 1);

    for (const [name, content, isSame] of [["same", same, true], ["longer", longer, true]] as const) {
      const storage = storageWith({ [source]: bytes });
      const { outcome } = await migrateLog(wiring(appearing(storage, target, content)), "s");
      assertEquals([outcome, isSame], ["accepted", true], name);
      assertEquals(await storage.read(target), content, name);
    }
    for (const [name, content] of [["other", other], ["shorter", shorter]] as const) {
      const storage = storageWith({ [source]: bytes });
      const error = await assertRejects(() => migrateLog(wiring(appearing(storage, target, content)), "s"));
      assert(hasCode(error, "ALREADY_EXISTS"), `${name}: ${error}`);
      const files = await filesOf(storage);
      assertEquals([files.get(target), files.get(source)], [content, bytes], name);
    }
  });

  Deno.test(`a source that is written meanwhile is not published (${encoding})`, async () => {
    const grown = oldBytes(oldHeader(), oldTurns(4).map((row) => [row]), encoding);
    const last = bytes.slice();
    last[last.length - 3]! ^= 1;
    for (const changed of [grown, last, bytes.slice()]) {
      const storage = storageWith({ [source]: bytes });
      const verifier: StageVerifier = async (...args) => {
        storage.stranger.write(source, changed);
        return await verifyHere(nodeZstd())(...args);
      };
      const error = await assertRejects(
        () => migrateLog(wiring(storage, verifier), "s"),
        Error,
        "nothing was published",
      );
      assert(hasCode(error, "SOURCE_DRIFT"));
      assertEquals([...(await filesOf(storage)).keys()], [source, `${OLD_FOLDER}session.lock`]);
    }
  });

  Deno.test(`a stage that the medium gives back wrong is not published (${encoding})`, async () => {
    const storage = storageWith({ [source]: bytes });
    const lying = wrapStorage(storage, {
      stage: (staged) => ({
        read: async (range) => {
          const found = await staged.read(range);
          if (found.length > 0) found[0]! ^= 1;
          return found;
        },
      }),
    });
    const error = await assertRejects(() => migrateLog(wiring(lying), "s"));
    assert(hasCode(error, "CORRUPT_FRAME"), String(error));
    assertEquals([...(await filesOf(storage)).keys()], [source, `${OLD_FOLDER}session.lock`]);
  });
}

/** What is said of a log that names no long results. */
const NONE_SPILLED = { count: 0, missing: [], damaged: [] };

Deno.test("a stage in which the check finds anything but what came out is not published", async () => {
  const source = oldName(0, "zstd");
  const bytes = oldBytes(oldHeader(), [oldTurns(1)], "zstd");
  for (const wrong of [{ events: 1 }, { id: "t" }, { inheritedEventCount: 7 }]) {
    const storage = storageWith({ [source]: bytes });
    const verifier: StageVerifier = async (...args) => ({ ...await verifyHere(nodeZstd())(...args), ...wrong });
    const error = await assertRejects(() => migrateLog(wiring(storage, verifier), "s"));
    assert(hasCode(error, "CORRUPT_LOG"), String(error));
    assertEquals([...(await filesOf(storage)).keys()], [source, `${OLD_FOLDER}session.lock`]);
  }
});

Deno.test("verifyHere() refuses what a writer would not go on with", async () => {
  const limits = { ...JOURNAL_LIMITS, contentSizeBytesMax: 1e6, frameSizeBytesMax: 1e6, batchBytesMax: 1e6 };
  const good = logBytes(headerOf(), [turnOf(1)]);
  const check = (bytes: Uint8Array<ArrayBuffer>) =>
    verifyHere(nodeZstd())(
      { name: "x", sizeBytes: bytes.length, encoding: "zstd" },
      (start, end) => Promise.resolve(bytes.slice(start, end)),
      limits,
    );
  assertEquals(await check(good), { id: "s", events: 12, inheritedEventCount: 0 });
  const flipped = good.slice();
  flipped[good.length - 8]! ^= 1;
  const answer = turnOf(1)[4]!;
  const stream = [
    { type: "chunk", time: 1, chunk: { type: "block-start", index: 0, blockType: "text" } },
    { type: "chunk", time: 1, chunk: { type: "block-end", index: 0, block: { type: "text", text: "another" } } },
  ];
  const wrongStream = { ...answer, data: { ...answer.data as object, stream } } as unknown as SessionEvent;
  const bad = [
    good.subarray(0, good.length - 1).slice(),
    flipped,
    logBytes(headerOf("s", { isSeeded: true }), [turnOf(1)]),
    logBytes(headerOf(), [[...turnOf(1).slice(0, 4), wrongStream]]),
  ];
  for (const bytes of bad) await assertRejects(() => check(bytes));
});

Deno.test("a session is migrated by its writer alone", async () => {
  const storage = storageWith({ [oldName(0, "zstd")]: oldBytes(oldHeader(), [oldTurns(1)], "zstd") });
  const lock = await storage.lock(`${OLD_FOLDER}session.lock`);
  for (const act of [() => migrateLog(wiring(storage), "s"), () => journal(storage).open("s", "write")]) {
    assert(hasCode(await assertRejects(act as () => Promise<unknown>), "LOCK_HELD"));
  }
  await lock.release();
  assertEquals((await migrateLog(wiring(storage), "s")).outcome, "published");
});

Deno.test("of two that migrate at once one publishes, and the other accepts or is refused; nothing is lost", async () => {
  const source = oldName(0, "zstd");
  const storage = storageWith({ [source]: oldBytes(oldHeader(), [oldTurns(2)], "zstd") });
  const read = await eventsOf(storage);
  const results = await Promise.allSettled([1, 2].map(() => migrateLog(wiring(storage), "s")));
  const outcomes = results.map((result) =>
    result.status === "fulfilled" ? result.value.outcome : result.reason.code as string
  );
  assertEquals(outcomes.filter((outcome) => outcome === "published").length, 1, outcomes.join());
  assert(outcomes.every((outcome) => ["published", "accepted", "LOCK_HELD"].includes(outcome)), outcomes.join());
  assertEquals(await eventsOf(storage), read);
});

Deno.test("a migration that was overtaken between the look and the lock opens what the other one published", async () => {
  const source = oldName(0, "zstd");
  const storage = storageWith({ [source]: oldBytes(oldHeader(), [oldTurns(2)], "zstd") });
  let isOvertaken = false;
  const overtaken = wrapStorage(storage, {
    port: {
      lock: async (name) => {
        if (!isOvertaken) {
          isOvertaken = true;
          await migrateLog(wiring(storage), "s");
        }
        return await storage.lock(name);
      },
    },
  });
  assertEquals((await migrateLog(wiring(overtaken), "s")).outcome, "accepted");
  const log = await journal(storage).open("s", "write");
  await log.close();
});

Deno.test("generations lie side by side: the highest counts, and the older ones stay; two encodings are not written", async () => {
  const [zero, two] = [oldName(0, "none"), oldName(2, "none")];
  const header = {
    type: "session",
    version: 2,
    id: "s",
    createdAt: 1000,
    cwd: "/w",
    isSeeded: false,
    delegationDepth: 0,
  };
  const start = { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } };
  const bytes = oldBytes(oldHeader(), [oldTurns(1)], "none");
  const storage = storageWith({ [zero]: bytes, [two]: oldBytes(header, [[start]], "none") });
  assertEquals((await eventsOf(storage)).length, 1);
  assertEquals((await migrateLog(wiring(storage), "s")).from, 2);
  assertEquals((await eventsOf(storage)).length, 1);
  assertEquals(await storage.read(zero), bytes);

  const both = storageWith({ [zero]: bytes, [oldName(0, "zstd")]: oldBytes(oldHeader(), [oldTurns(2)], "zstd") });
  const log = await journal(both).open("s", "read");
  assertEquals([log.encoding, log.state().fault?.code], ["zstd", "CORRUPT_LOG"]);
  const before = [...(await filesOf(both)).keys()];
  const error = await assertRejects(() => migrateLog(wiring(both), "s"), Error, "other encoding");
  assert(hasCode(error, "CORRUPT_LOG"));
  assertEquals([...(await filesOf(both)).keys()], [before[0]!, before[1]!, `${OLD_FOLDER}session.lock`]);
});

Deno.test("an old log that lies where its header does not belong, or says another version than its name, is not published", async () => {
  const rows = oldTurns(1);
  for (
    const [header, code] of [
      [oldHeader({ id: "other" }), "CORRUPT_LOG"],
      [oldHeader({ version: 1 }), "UNSUPPORTED_FORMAT"],
      [oldHeader({ cwd: "/elsewhere" }), "CORRUPT_LOG"],
    ] as const
  ) {
    const storage = storageWith({ [oldName(0, "none")]: oldBytes(header, [rows], "none") });
    const log = await journal(storage).open("s", "read");
    assertEquals([log.state().fault?.code, log.state().nextSeq > 0], [code, true]);
    assert(hasCode(await assertRejects(() => journal(storage).open("s", "write")), code));
    assertEquals((await storage.list(OLD_FOLDER)).length, 2);
  }
});

Deno.test("a torn old log publishes what its tail still yields, and the tail stays in the old file", async () => {
  const rows = oldTurns(2);
  const whole = oldBytes(oldHeader(), [rows.slice(0, 9), rows.slice(9)], "zstd");
  const torn = whole.slice(0, whole.length - 2); // Only the checksum is cut: every row is there.
  const storage = storageWith({ [oldName(0, "zstd")]: torn });
  const log = await journal(storage).open("s", "write");
  assertEquals([log.state().torn, log.state().nextSeq], [null, 15]);
  await log.close();
  assertEquals(await storage.read(oldName(0, "zstd")), torn);
});

Deno.test("the migratable fixtures publish, uncompressed, byte for byte what the other program publishes", async () => {
  if (fixtures === null) return casesNotRun(3, "derived/migratable");
  const expected = Deno.readFileSync(`${fixtures}/dsh/derived/migratable/session.v3.jsonl`);
  const folder = "--home-u-proj--/migratable/";
  for (const file of ["session.jsonl", "session.v1.jsonl", "session.v2.jsonl"]) {
    const source = bytesOf(Deno.readFileSync(`${fixtures}/dsh/derived/migratable/${file}`));
    const storage = storageWith({ [folder + file]: source });
    assertEquals((await migrateLog(wiring(storage), "migratable")).outcome, "published");
    assertEquals(
      new TextDecoder().decode(await storage.read(`${folder}session.v3.jsonl`)),
      new TextDecoder().decode(expected),
      file,
    );
    assertEquals(await storage.read(folder + file), source);
  }
  const zstd = bytesOf(Deno.readFileSync(`${fixtures}/dsh/derived/migratable/session.v2.jsonl.zstd`));
  const storage = storageWith({ [`${folder}session.v2.jsonl.zstd`]: zstd });
  await migrateLog(wiring(storage), "migratable");
  const log = await journal(storage).open("migratable", "read");
  const rows = new TextDecoder().decode(expected).trimEnd().split("\n").slice(1);
  assertEquals((await log.read()).events, rows.map((row) => parseRow(row)));
});

/** A storage on which somebody without our lock publishes the target at the last moment. */
function appearing(storage: StoragePort, target: string, content: Uint8Array): StoragePort {
  return wrapStorage(storage, {
    stage: (staged, name) => ({
      publish: async () => {
        const lock = await storage.lock(`${OLD_FOLDER}other.lock`);
        if (name === target) await publish(storage, target, content, lock);
        await lock.release();
        await storage.remove(`${OLD_FOLDER}other.lock`, lock).catch(() => {});
        return await staged.publish();
      },
    }),
  });
}

Deno.test("an old log is taken in from elsewhere as it is, comes out as it is, and goes on with a note of where it came from", async () => {
  const storage = storageWith({});
  const bytes = oldBytes(oldHeader(), [oldTurns(1)], "zstd");
  const logs = rawLogs({ ...wiring(storage) });
  assertEquals(await logs.take("copy.jsonl.zstd", bytes), { id: "s", fault: null, spilled: NONE_SPILLED });
  assertEquals(await storage.read(oldName(0, "zstd")), bytes);
  assertEquals(await logs.read("s"), { name: "session.jsonl.zstd", bytes, spilled: NONE_SPILLED });
  assert(await logs.isAsItCame("s"));
  const log = await journal(storage).open("s", "write");
  const note = await logs.admit(log, []);
  assertEquals([note?.type, note?.seq], ["log/salvaged", 9]);
  await log.close();
  assertEquals(await storage.read(oldName(0, "zstd")), bytes);
});

Deno.test("a log whose header says another version than its name is read by its header, and the fault says so", async () => {
  const storage = storageWith({ [oldName(3, "none")]: oldBytes(oldHeader(), [oldTurns(1)], "none") });
  const log = await journal(storage).open("s", "read");
  assertEquals([log.state().fault?.code, log.header.version, log.storedVersion], ["UNSUPPORTED_FORMAT", 3, 0]);
  assert(/version 0 where its name says 3/.test(log.state().fault!.message));
  await assertRejects(() => journal(storage).open("s", "write"), Error, "version 0");
  assertEquals((await journal(storage).stat("s"))?.state, "unsupported");
});
