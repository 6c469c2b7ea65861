/**
 * A process of its own that makes a session with very long results, or opens it, goes on with it and compacts it. Says how much
 * memory it took.
 *
 * @module
 */
import { createAgent, defineTool, scripted, type ScriptStep } from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";
import { seededRandom } from "../support/seeded_random.ts";

/** How many results, and how large each is. */
const [RESULTS, RESULT_BYTES] = [200, 1024 * 1024];

const [what, root] = Deno.args as [string, string];
const started = performance.now();
const said = what === "build" ? await build() : await compactIt();
console.log(JSON.stringify({ ...said, seconds: (performance.now() - started) / 1000, peakMiB: peakMiB() }));

async function build(): Promise<object> {
  await using store = openFileStore({ root });
  const random = seededRandom(1);
  const look = defineTool({
    name: "look",
    description: "",
    parameters: {},
    effect: "none",
    execute: () => random.bytes(RESULT_BYTES / 2).toHex(),
  });
  const steps = Array.from({ length: RESULTS }, (_, n): ScriptStep => [{ call: { id: `c${n}`, name: "look" } }]);
  const agent = createAgent({
    store,
    model: scripted([...steps, [{ text: "done" }]]),
    tools: [look],
    stepsPerTurnMax: RESULTS + 1,
  });
  const session = await agent.create({ id: "s1" });
  const { reason } = await session.send("look at all of it");
  const { length } = session.session.folds.spilled.texts;
  await session.close();
  return { reason: reason.kind, spilled: length, bytes: await sizeOf(root) };
}

async function compactIt(): Promise<object> {
  await using store = openFileStore({ root });
  const locator = `blob:${await firstDigest(store)}`;
  const steps: ScriptStep[] = [
    [{ call: { name: "read_result", arguments: { locator, from: 1000, limit: 100 } } }],
    [{ text: "done" }],
    [{ text: "Everything was looked at." }],
  ];
  const session = await createAgent({ store, model: scripted(steps), compaction: { auto: false } }).resume("s1");
  const openedMs = performance.now() - started;
  const { reason } = await session.send("and once more");
  const compacted = await session.compact();
  const nodes = session.session.folds.surface.nodes.length;
  await session.close();
  return { reason: reason.kind, openedMs, shadowed: compacted?.shadowedCount ?? 0, nodes };
}

async function firstDigest(store: ReturnType<typeof openFileStore>): Promise<string> {
  const log = await store.open("s1", "read");
  for (let from: number | null = 0; from !== null;) {
    const page: Awaited<ReturnType<typeof log.read>> = await log.read({ from, limit: 50 });
    for (const { type, data } of page.events) {
      if (type === "result/spilled") {
        await log.close();
        return (data as { digest: string }).digest;
      }
    }
    from = page.nextFrom;
  }
  throw new Error("nothing was spilled");
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    bytes += entry.isDirectory ? await sizeOf(path) : (await Deno.stat(path)).size;
  }
  return bytes;
}

/** The most this process ever had in memory. */
function peakMiB(): number | null {
  try {
    const [, kib] = /VmHWM:\s+(\d+)/.exec(Deno.readTextFileSync("/proc/self/status")) ?? [];
    return kib === undefined ? null : Math.round(Number(kib) / 1024);
  } catch {
    return null;
  }
}
