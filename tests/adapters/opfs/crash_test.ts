import { assert, assertEquals } from "@std/assert";
import type { SessionEvent } from "../../../src/event/mod.ts";
import { walkFrames, type ZstdCodec } from "../../../src/frame/mod.ts";
import { nodeZstd } from "../../../src/frame/node_zstd.ts";
import { openOpfsStore } from "../../../src/entry/opfs.ts";
import type { SessionStore } from "../../../src/store/session_store.ts";
import { BATCHES, headerOf, logOf, remembering, tinyBlocks, turnOf } from "../../journal/script.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { FakeOrigin, type FakeWorker, type Unflushed } from "./fake_opfs.ts";

const EVENTS = turnOf(1);
const LEFT: readonly Unflushed[] = ["kept", "prefix", "dropped", "last"];
/** Between two deaths in one write. Frames of a log are some 200 bytes long. */
const BYTES_APART = 11;
const LOG = `holdfast/${logOf("zstd")}`;

const CODECS: Readonly<Record<string, ZstdCodec>> = {
  "zstd": remembering(nodeZstd()),
  "zstd in tiny blocks": remembering(tinyBlocks(64)),
};

/** What a run of the script got to before its worker died. */
interface Outcome {
  readonly acknowledged: number;
  readonly appended: number;
}

function open(worker: FakeWorker, codec: ZstdCodec): Promise<SessionStore> {
  return openOpfsStore({
    platform: worker.platform,
    codec,
    runtime: { clock: new FakeClock(), random: seededRandom(1) },
  });
}

/** Appends the script's batches until the worker dies. */
async function runScript(worker: FakeWorker, codec: ZstdCodec): Promise<Outcome> {
  let acknowledged = 0;
  let appended = 0;
  try {
    const log = await (await open(worker, codec)).create(headerOf());
    for (const batch of BATCHES) {
      appended += batch.length;
      acknowledged = await log.append(batch) + 1;
    }
  } catch (error) {
    if (!worker.isDead) throw error;
  }
  return { acknowledged, appended };
}

/** What a reader sees, `null` when there is no session. */
async function readable(origin: FakeOrigin, codec: ZstdCodec): Promise<SessionEvent[] | null> {
  await using store = await open(origin.worker(), codec);
  if (await store.stat("s") === null) return null;
  const visited: SessionEvent[] = [];
  const log = await store.open("s", "read", { visit: (event) => visited.push(event) });
  assertEquals(log.state().fault, null);
  return visited;
}

/** Goes on after a crash: what was acknowledged is there, nothing is that was not appended, and the log can be finished. */
async function recoverAndFinish(origin: FakeOrigin, codec: ZstdCodec, { acknowledged, appended }: Outcome) {
  const before = await readable(origin, codec);
  await using store = await open(origin.worker(), codec);
  if (before === null) {
    assertEquals(acknowledged, 0);
    const log = await store.create(headerOf());
    await log.append(EVENTS);
    await log.close();
  } else {
    assert(
      acknowledged <= before.length && before.length <= appended,
      `${acknowledged}, ${before.length}, ${appended}`,
    );
    assertEquals(before, EVENTS.slice(0, before.length));
    const log = await store.open("s", "write");
    assertEquals(await log.recover([]), before.length - 1);
    if (before.length < EVENTS.length) await log.append(EVENTS.slice(before.length));
    await log.close();
  }
  assertEquals(await readable(origin, codec), EVENTS);
  const { frames, fault } = walkFrames(origin.files.get(LOG)!);
  assertEquals(fault, null);
  assert(frames.length >= 2);
  assertEquals([...origin.files.keys()].filter((path) => path.includes("%")), [], "no stage is left");
}

/** Every operation of a run, and how far a worker gets in it. */
async function* deaths(
  run: (worker: FakeWorker) => Promise<Outcome>,
  fresh: () => FakeOrigin,
  isDense: boolean,
): AsyncGenerator<{ origin: FakeOrigin; outcome: Outcome; at: string }> {
  const rehearsal = fresh();
  await run(rehearsal.worker());
  const seen = new Set<string>();
  for (const [operation, { kind, path, steps }] of rehearsal.operations.entries()) {
    const edges = [0, 1, steps >> 1, steps - 1, steps].filter((done) => done >= 0);
    const between = Array.from({ length: Math.floor(steps / BYTES_APART) }, (_, index) => index * BYTES_APART);
    for (const done of new Set(isDense ? [...edges, ...between] : edges)) {
      const origin = fresh();
      const worker = origin.worker();
      worker.dieAt(operation, done);
      const outcome = await run(worker);
      assert(worker.isDead, "the planned death did not happen");
      assertEquals([origin.heldLocks, origin.openHandles], [[], 0]);
      for (const left of LEFT) {
        const restarted = origin.restart(left);
        const key = JSON.stringify([outcome, [...restarted.files].map(([name, bytes]) => [name, bytes.toHex()])]);
        if (seen.has(key)) continue;
        seen.add(key);
        yield { origin: restarted, outcome, at: `${kind} ${path}, step ${done} of ${steps}, ${left}` };
      }
    }
  }
}

async function explained(at: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw new Error(`after a death in ${at}`, { cause: error });
  }
}

for (const [label, codec] of Object.entries(CODECS)) {
  Deno.test(`a worker that dies in any operation loses nothing acknowledged and invents nothing (${label})`, async () => {
    let states = 0;
    const run = (worker: FakeWorker) => runScript(worker, codec);
    for await (const { origin, outcome, at } of deaths(run, () => new FakeOrigin(), label === "zstd")) {
      states++;
      await explained(at, () => recoverAndFinish(origin, codec, outcome));
    }
    assert(states > 50, `${states} states`);
    console.log(`${states} different states`);
  });
}

Deno.test("a worker that dies in the recovery from a death loses no record that could be read before", async () => {
  const codec = CODECS["zstd in tiny blocks"]!;
  const torn: { readonly origin: FakeOrigin; readonly outcome: Outcome }[] = [];
  for await (
    const { origin, outcome, at } of deaths((worker) => runScript(worker, codec), () => new FakeOrigin(), false)
  ) {
    if (at.includes("jsonl.zstd") && at.startsWith("write")) torn.push({ origin, outcome });
  }
  assert(torn.length > 10, `${torn.length} torn logs`);
  let states = 0;
  for (const { origin, outcome } of torn) {
    const before = await readable(origin, codec);
    if (before === null) continue;
    const recover = async (worker: FakeWorker): Promise<Outcome> => {
      try {
        const log = await (await open(worker, codec)).open("s", "write");
        await log.recover([]);
      } catch (error) {
        if (!worker.isDead) throw error;
      }
      return { acknowledged: before.length, appended: outcome.appended };
    };
    for await (const again of deaths(recover, () => origin.restart("kept"), false)) {
      states++;
      await explained(again.at, () => recoverAndFinish(again.origin, codec, again.outcome));
    }
  }
  assert(states > 20, `${states} states`);
  console.log(`${states} different states`);
});

Deno.test("a session whose name the power cut took is absent, and its neighbours are whole", async () => {
  const codec = CODECS["zstd"]!;
  const origin = new FakeOrigin();
  await runScript(origin.worker(), codec);
  const restarted = origin.restart("dropped");
  const folder = restarted.root.entries.get("holdfast");
  assert(folder?.kind === "directory");
  const project = folder.entries.get("--w--");
  assert(project?.kind === "directory");
  project.entries.set("t", project.entries.get("s")!);
  project.entries.delete("s");
  await using store = await open(restarted.worker(), codec);
  assertEquals(await store.stat("s"), null);
  const rows = await Array.fromAsync(store.list());
  assertEquals(rows.map((row) => row.id), ["t"]);
});
