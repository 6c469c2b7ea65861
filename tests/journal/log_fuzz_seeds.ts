/**
 * The logs that the fuzz damages: small real ones, written by our own engine in memory, and fixtures of old versions.
 *
 * @module
 */
import { createAgent, createSession, defineTool, type EventDraft, scripted } from "../../mod.ts";
import { MemoryStorage } from "../../src/entry/memory.ts";
import { openStoreOver } from "../../src/entry/over_storage.ts";
import { walkFrames } from "../../src/frame/mod.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { QuickClock } from "../agent/quick_clock.ts";
import { fixturesDir } from "../support/fixtures.ts";
import { seededRandom } from "../support/seeded_random.ts";
import { smallOldLog } from "./small_old_log.ts";

/** The largest log that is damaged, in bytes: many small inputs find more than few large ones. */
export const SEED_BYTES_MAX: number = 8 * 1024;

/** A frame (raw: a line, its newline included) as bytes and as rows. */
export interface SeedPart {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** JSON texts without newlines; none when the part does not decode by itself. */
  readonly rows: readonly string[];
}

/** A log to damage. */
export interface Seed {
  readonly name: string;
  readonly encoding: "zstd" | "none";
  /** The header first. */
  readonly parts: readonly SeedPart[];
  /** Whether it is whole, and each of its events has a `time` of its own, so that what was salvaged can be told by it. */
  readonly isOurs: boolean;
}

/** How often each log of ours is in the list: the small ones are looked at more often, because a run of them costs least. */
const OWN_WEIGHTS: readonly number[] = [12, 1, 1, 1];

/** Every seed; those of old versions only where the fixtures are. */
export async function fuzzSeeds(): Promise<Seed[]> {
  const seeds: Seed[] = [];
  for (const encoding of ["none", "zstd"] as const) {
    for (const [script, weight] of OWN_WEIGHTS.entries()) {
      const bytes = script === 0 ? await shortLog(encoding) : await ownLog(encoding, script - 1);
      const seed = seedOf(`own ${script} ${encoding}`, encoding, bytes, true);
      for (let times = 0; times < weight; times++) seeds.push(seed);
    }
  }
  seeds.push(seedOf("small old log", "none", smallOldLog(), false));
  const fixtures = fixturesDir();
  if (fixtures === null) return seeds;
  for (const path of filesBelow(`${fixtures}/dsh`)) {
    if (!/\.jsonl(?:\.zstd)?$/.test(path) || Deno.statSync(path).size > SEED_BYTES_MAX) continue;
    const encoding = path.endsWith(".zstd") ? "zstd" : "none";
    seeds.push(seedOf(path.slice(fixtures.length + 1), encoding, Deno.readFileSync(path), false));
  }
  return seeds;
}

/** A session of nine events in four batches. */
async function shortLog(encoding: "zstd" | "none"): Promise<Uint8Array<ArrayBuffer>> {
  const storage = new MemoryStorage({ simulate: "disk" });
  await using store = openStoreOver({ storage, compression: encoding, runtime: runtimeOf(7) });
  const session = await createSession({ store, id: "short" });
  const message = (id: string, role: "user" | "assistant", text: string, source: object) => {
    return { id, role, content: [{ type: "text", text }], source };
  };
  const of = { turn: 1, step: 1 };
  const model = { kind: "model", provider: "p", model: "m" };
  const drafts: readonly EventDraft[] = [
    { type: "turn/start", data: { turn: 1 } },
    { type: "step/start", data: of },
    { type: "user/message", data: message("m1", "user", "a 漢字 😀 \ud800", { kind: "user" }), surfaceOp: "append" },
    {
      ...{ type: "assistant/message", surfaceOp: "append" },
      data: { ...of, message: message("m2", "assistant", "yes", model), stream: [] },
    },
    { type: "step/end", data: of },
    { type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } },
    { type: "todo/write", data: { todos: [{ content: "more", status: "pending" }] } },
    { type: "custom/note", data: [1, null, { deep: [true] }], ignorable: true },
  ];
  for (const [index, draft] of drafts.entries()) {
    session.append(draft);
    if (index % 3 === 2) await session.flush();
  }
  await session.close();
  return await storage.read((await store.stat("short"))!.name);
}

/** No two readings of this clock are the same, so each event has a time of its own. */
function runtimeOf(seed: number) {
  return { clock: new QuickClock(), random: seededRandom(seed) };
}

/** A session of two or three turns with calls, questions and a crash, as its log. */
async function ownLog(encoding: "zstd" | "none", script: number): Promise<Uint8Array<ArrayBuffer>> {
  const storage = new MemoryStorage({ simulate: "disk" });
  await using store = openStoreOver({ storage, compression: encoding, runtime: runtimeOf(script) });
  const pay = defineTool({
    ...{ name: "pay", description: "pays", parameters: { type: "object" }, effect: "keyed" },
    execute: () => "paid",
  });
  const look = defineTool({
    ...{ name: "look", description: "", parameters: { type: "object" }, effect: "none" },
    execute: () => "a 漢字 😀 \ud800 line\n",
  });
  const turns = [
    [[{ text: "Hello, " }, { call: { id: "c1", name: "pay", arguments: { to: "alice" } } }], [{ text: "Paid." }]],
    [[{ call: { id: "c2", name: "look", arguments: {} } }, { call: { id: "c3", name: "look", arguments: {} } }], [{
      text: "Seen.",
    }]],
    [[{ text: "Only words, and a few more of them." }]],
  ];
  const used = [turns.slice(2), turns.slice(0, 1), turns.slice(1)][script]!;
  const model = scripted(used.flat() as Parameters<typeof scripted>[0]);
  const agent = createAgent({ store, model, tools: [pay, look], approvers: [() => "allowed-once"] });
  const session = await agent.create({ id: "fuzz" });
  for (let turn = 0; turn < used.length; turn++) await session.send(`turn ${turn}`);
  await session.close();
  if (script !== 0) {
    const resumed = await agent.resume("fuzz");
    await resumed.close();
  }
  const row = await store.stat("fuzz");
  return await storage.read(row!.name);
}

/** Cuts a log into its parts. */
export function seedOf(
  name: string,
  encoding: "zstd" | "none",
  bytes: Uint8Array<ArrayBuffer>,
  isOurs: boolean,
): Seed {
  const parts: SeedPart[] = [];
  if (encoding === "none") {
    for (let start = 0; start < bytes.length;) {
      const newline = bytes.indexOf(10, start);
      const end = newline === -1 ? bytes.length : newline + 1;
      const line = bytes.slice(start, end);
      parts.push({ bytes: line, rows: [new TextDecoder().decode(line).replace(/\n$/, "")] });
      start = end;
    }
  } else {
    let end = 0;
    for (const { startOffset, endOffset } of walkFrames(bytes).frames) {
      const frame = bytes.slice(startOffset, endOffset);
      parts.push({ bytes: frame, rows: rowsIn(frame) });
      end = endOffset;
    }
    if (end < bytes.length) parts.push({ bytes: bytes.slice(end), rows: [] });
  }
  return { name, encoding, parts, isOurs };
}

/** The rows of a frame; none when it does not decode or does not end with a whole row. */
function rowsIn(frame: Uint8Array): string[] {
  try {
    const text = new TextDecoder().decode(portableZstd().decompress(frame, SEED_BYTES_MAX * 64));
    return text.endsWith("\n") ? text.slice(0, -1).split("\n") : [];
  } catch {
    return [];
  }
}

function* filesBelow(folder: string): Generator<string> {
  const entries = [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1);
  for (const { name, isDirectory } of entries) {
    if (isDirectory) yield* filesBelow(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}
