/**
 * A process of the crash lab in a browser: a worker over OPFS. It is told what to do by one message. What it does is traced, line by
 * line, before it goes on; where it is to die it stands still until the browser is killed.
 *
 * @module
 */
import { createAgent } from "../../mod.ts";
import { openOpfsStorage } from "../../src/adapters/opfs/mod.ts";
import { systemRuntime } from "../../src/entry/system.ts";
import { walkFrames } from "../../src/frame/walk.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { openJournal } from "../../src/journal/mod.ts";
import { live } from "../kill/lab_agent.ts";
import { believer } from "../kill/lab_believer.ts";
import {
  type Aim,
  type Death,
  failingFetch,
  failingStorage,
  Failpoints,
  type TraceSink,
} from "../kill/lab_failpoints.ts";
import { type Found, lastTurn, takeUp } from "../kill/lab_finish.ts";
import type { LabPlan } from "../kill/lab_plan.ts";
import { httpTools, watched } from "../kill/lab_tools.ts";

/** What the worker shall do. */
export interface WorkerOrder {
  readonly plan: LabPlan;
  readonly token: string;
  /** Which of the plan's processes it is, and where it dies; `null` = it finishes what they left. */
  readonly life: { readonly index: number; readonly aim: Aim } | null;
  /** When it finishes: whether there is a session. */
  readonly isThere: boolean;
}

/** What it tells the page. */
export type WorkerAnswer = { readonly found: Found } | { readonly failed: string };

/** The most that a batch of a log decodes to here. */
const BATCH_SIZE_BYTES_MAX = 16 * 1024 * 1024;

const origin = self.location.origin;
const codec = portableZstd();

/** Asks the test, and waits for its answer with everything standing still. */
function askNow(path: string, body: string): void {
  const request = new XMLHttpRequest();
  request.open("POST", `${origin}${path}`, false);
  request.send(body);
}

async function answer({ plan, token, life, isThere }: WorkerOrder): Promise<Found> {
  const trace: TraceSink = { add: (line) => askNow(`/trace?${plan.id}`, JSON.stringify(line)) };
  const kill = plan.processes[life?.index ?? 0]!.kill;
  const stop = (): never => {
    for (;;) askNow("/stand", "");
  };
  const death: Death = {
    announce: (point, passed) => trace.add(["at", Date.now(), passed, point]),
    die: () => kill === "hanging" ? new Promise<never>(() => {}) : Promise.resolve(stop()),
    dieNow: stop,
  };
  const points = life === null ? Failpoints.none() : new Failpoints(life.aim, death);
  const send: typeof fetch = (input, init) => fetch(input, init);
  const storage = await openOpfsStorage();
  if (life !== null) {
    const { tornPart } = plan.processes[life.index]!;
    const failing = failingStorage(storage, { points, trace, tornPart, textOf });
    const store = openJournal({ storage: failing, codec, ...systemRuntime, compression: plan.encoding });
    const tools = httpTools(origin, token, failingFetch(send, points))
      .map((tool) => watched(tool, { points, trace, isParallel: plan.isParallel }));
    await live({ plan, index: life.index, origin, store, tools, points, trace });
    return { read: [], opened: null };
  }
  const store = openJournal({ storage, codec, ...systemRuntime, compression: plan.encoding });
  const tools = httpTools(origin, token, send);
  const agent = createAgent({ store, model: believer(plan, origin), tools, approvers: [() => "allowed-once"] });
  const sizeOf = async () => (await storage.stat(`_no-cwd/${plan.id}/session.v3.jsonl.zstd`))!.sizeBytes;
  const survivor = { plan, agent, store, sizeOf };
  const found = isThere ? await takeUp(survivor) : { read: [], opened: null };
  await lastTurn(survivor, isThere);
  await store.close();
  return found;
}

function textOf(bytes: Uint8Array): string {
  const { frames } = walkFrames(bytes);
  return frames.map(({ endOffset }, index) => {
    const frame = bytes.subarray(frames[index - 1]?.endOffset ?? 0, endOffset);
    return new TextDecoder().decode(codec.decompress(frame, BATCH_SIZE_BYTES_MAX));
  }).join("");
}

self.addEventListener("message", async ({ data }: MessageEvent<WorkerOrder>) => {
  const told: WorkerAnswer = await answer(data).then(
    (found) => ({ found }),
    (error) => ({ failed: error instanceof Error ? `${error.message}\n${error.stack}` : String(error) }),
  );
  (self as unknown as { postMessage(message: unknown): void }).postMessage(told);
});
