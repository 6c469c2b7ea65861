/**
 * A process of the lab over files. Its one argument is a {@linkcode LabOrder} as JSON. It prints `at POINT` where it is to be killed,
 * `held` when a command of its is held back, and `over` after the turn.
 *
 * @module
 */
import * as nodeFs from "node:fs";
import { writeSync } from "node:fs";
import process from "node:process";
import { setTimeout } from "node:timers";
import { nodeFileSystem, openFileStorage } from "../../src/adapters/file/mod.ts";
import { systemRuntime } from "../../src/entry/system.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { openJournal } from "../../src/journal/mod.ts";
import { putFileTool } from "../../src/tools/pack/file_target.ts";
import { gitCommitTool } from "../../src/tools/pack/git_commit.ts";
import { live } from "./lab_agent.ts";
import { type Aim, type Death, failingFetch, failingFs, failingStorage, Failpoints } from "./lab_failpoints.ts";
import { failingGit } from "./lab_git.ts";
import type { LabPlan } from "./lab_plan.ts";
import { httpTools, watched } from "./lab_tools.ts";
import { readRaw } from "./raw_log.ts";
import { Trace } from "./stretched_disk.ts";

/** What the process shall do, and where. */
export interface LabOrder {
  readonly plan: LabPlan;
  /** Which of the plan's processes it is. */
  readonly index: number;
  readonly aim: Aim;
  /** Of the world, and the token of its sandbox endpoint. */
  readonly origin: string;
  readonly token: string;
  readonly root: string;
  readonly workspace: string;
  readonly repository: string;
  readonly gates: string;
  readonly tracePath: string;
}

/** A process that nobody kills ends by itself. */
const LIFE_MS_MAX = 60_000;

const order = JSON.parse(process.argv[2] ?? "") as LabOrder;
const { plan, index, aim, origin } = order;
const { kill, tornPart, calls } = plan.processes[index]!;
const trace = new Trace(order.tracePath);
setTimeout(() => process.exit(1), LIFE_MS_MAX);

const death: Death = {
  announce(point, passed) {
    trace.add(["at", Date.now(), passed, point]);
    if (kill !== "self") writeSync(1, `at ${point}\n`);
  },
  die: () => kill === "hanging" ? new Promise<never>(() => {}) : Promise.resolve(stop()),
  dieNow: stop,
};
const points = new Failpoints(aim, death);

const tools = [
  ...httpTools(origin, order.token, failingFetch(fetch, points)),
  putFileTool({ root: order.workspace, fs: failingFs(nodeFs, points, "put") }),
  gitCommitTool(failingGit({
    place: order,
    points,
    landingOf(callId) {
      const fate = calls.find(({ id }) => id === callId)?.fate;
      return fate?.kind === "late" ? fate.lands : null;
    },
    onHeld: () => void writeSync(1, "held\n"),
  })),
].map((tool) => watched(tool, { points, trace, isParallel: plan.isParallel }));

const storage = failingStorage(
  openFileStorage({ root: order.root, fs: failingFs(nodeFileSystem, points, "disk") }),
  { points, trace, tornPart, textOf: (bytes) => readRaw(bytes).rows.map(({ text }) => `${text}\n`).join("") },
);
const store = openJournal({ storage, codec: nodeZstd(), ...systemRuntime, compression: plan.encoding });
await live({ plan, index, origin, store, tools, points, trace });
writeSync(1, "over\n");

/** Dies by its own hand, or stands still until it is killed. */
function stop(): never {
  if (kill === "self") Deno.kill(Deno.pid, "SIGKILL");
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
