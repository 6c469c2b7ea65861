/**
 * Runs of the crash lab in Deno: real processes over real files that die at failpoints, one after the other on the same session, and
 * the judgement of each run.
 *
 * @module
 */
import { createAgent } from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";
import { putFileTool } from "../../src/tools/pack/file_target.ts";
import { gitCommitTool } from "../../src/tools/pack/git_commit.ts";
import { Child } from "./child.ts";
import { check } from "./judge.ts";
import { forEach, readIfThere, readTrace, tried } from "./kill_run.ts";
import { believer } from "./lab_believer.ts";
import type { LabOrder } from "./lab_child.ts";
import { Failpoints } from "./lab_failpoints.ts";
import { lastTurn, type Survivor, takeUp } from "./lab_finish.ts";
import { commitsOf, failingGit, type GitPlace, letGo, makeRepository } from "./lab_git.ts";
import type { DeadProcess, JudgedEffect } from "./lab_case.ts";
import { foundIn } from "./lab_checks.ts";
import { judgeLab } from "./lab_judge.ts";
import { type Found, type LabPlan, openingAim } from "./lab_plan.ts";
import { LabReport } from "./lab_report.ts";
import { readSnapshot } from "./lab_snapshot.ts";
import { argumentsOf, branchOf, httpTools } from "./lab_tools.ts";
import { LabWorld } from "./lab_world.ts";
import { eventsOf, readRaw } from "./raw_log.ts";
import { checkVerify } from "./resume_checks.ts";

/** How often progress is said, in kills. */
const PROGRESS_KILLS = 100;

/** The longest a run may take, with all its processes. */
const RUN_MS_MAX = 180_000;

/** How many runs there are at the same time. */
const LANES = 3;

/** How many logs are verified at once. */
const LOGS_VERIFIED = 200;

/** What a file holds that somebody else has changed since: whoever writes it again is found out. */
const TAMPERED = "changed by somebody else";

/** When to stop. */
export interface LabKillOptions {
  readonly plans: Iterable<LabPlan>;
  /** No more runs are begun once so many kills were made. Default: all plans. */
  readonly killsMax?: number;
  /** Default: an honest one. It is closed in the end. */
  readonly world?: LabWorld;
}

/** Carries plans out. @throws {Error} naming the seed of the first run that was judged wrong */
export async function killInLab(
  { plans, killsMax = Infinity, world = new LabWorld() }: LabKillOptions,
): Promise<LabReport> {
  const beganMs = performance.now();
  const folder = await Deno.makeTempDir({ prefix: "holdfast-lab-kills-" });
  const report = new LabReport();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    return await world.answer(request, new URL(request.url).pathname) ?? new Response(null, { status: 404 });
  });
  const lab: Lab = {
    ...{ folder, world, report, origin: `http://127.0.0.1:${server.addr.port}`, judged: [] },
    repository: `${folder}/repository`,
  };
  let saidKills = 0;
  try {
    await makeRepository(lab.repository);
    await forEach([...plans], async (plan) => {
      if (report.kills >= killsMax) return;
      await tried(plan, () => runOnce(plan, lab), RUN_MS_MAX);
      if (report.kills < saidKills + PROGRESS_KILLS) return;
      saidKills = report.kills;
      const seconds = (performance.now() - beganMs) / 1000;
      const left = Number.isFinite(killsMax)
        ? `, ${Math.ceil((killsMax - saidKills) / saidKills * seconds)} s left`
        : "";
      console.log(`  ${saidKills} kills, ${(saidKills / seconds).toFixed(1)} a second${left}`);
    }, LANES);
    await world.whenQuiet();
    report.addRequests(world.requests);
    // Once more with everything that the world saw until then: "never" means never.
    for (const { plan, judge } of lab.judged) await tried(plan, judge);
    const logs = lab.judged.map(({ logPath }) => logPath);
    for (let from = 0; from < logs.length; from += LOGS_VERIFIED) {
      await checkVerify(logs.slice(from, from + LOGS_VERIFIED));
    }
    report.seconds = Math.round((performance.now() - beganMs) / 1000);
    return report;
  } finally {
    await world[Symbol.asyncDispose]();
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
}

interface Lab {
  readonly folder: string;
  readonly world: LabWorld;
  readonly report: LabReport;
  readonly origin: string;
  /** To which all runs commit, each to a branch of its own. */
  readonly repository: string;
  /** Every run that was judged, to be judged again. */
  readonly judged: { readonly plan: LabPlan; readonly judge: () => void; readonly logPath: string }[];
}

/** One run, from the first process to the verdict. */
async function runOnce(plan: LabPlan, lab: Lab): Promise<void> {
  const { world, report } = lab;
  const root = `${lab.folder}/${plan.id}`;
  const workspace = `${root}.workspace`;
  const git: GitPlace = { repository: lab.repository, gates: `${root}.gates` };
  const logName = `session.v3.jsonl${plan.encoding === "zstd" ? ".zstd" : ""}`;
  const session = `${root}/_no-cwd/${plan.id}`;
  await Deno.mkdir(workspace);
  await Deno.mkdir(git.gates);
  let whenHeld = Promise.withResolvers<void>();
  world.begin(plan, () => whenHeld.resolve());

  const processes: DeadProcess[] = [];
  let found: Found = { hasUnknown: false, isOpen: false, isTorn: false, isSalvaged: false };
  for (const [index, { aim: planned }] of plan.processes.entries()) {
    const tracePath = `${root}.trace-${index}`;
    const aim = planned.kind === "opening" ? openingAim(planned.drawn, found) : planned;
    const places = { root, workspace, tracePath, ...git };
    const order: LabOrder = { plan, index, aim, origin: lab.origin, token: world.token, ...places };
    whenHeld = Promise.withResolvers();
    const point = await runUntilDead(order, whenHeld.promise);
    await world.died(plan);
    await letGo(git, "death");
    const trace = readTrace(new TextDecoder().decode(await readIfThere(tracePath) ?? new Uint8Array(0)));
    const snapshot = await readSnapshot(session, logName);
    processes.push({ left: snapshot?.events ?? null, trace });
    found = foundIn(snapshot);

    report.addKill(trace.findLast(([what]) => what === "at")?.[3] as string ?? point, killOf(order, point));
    report.torn += Number((snapshot?.tornBytes ?? 0) > 0);
    report.salvaged += Number((snapshot?.salvaged ?? 0) > 0);
    report.withoutLog += Number(snapshot === null);
  }
  const isThere = processes.at(-1)!.left !== null;

  const logPath = `${session}/${logName}`;
  const survivor = undisturbed(plan, lab, git, { root, workspace, logPath });
  const { read, opened } = isThere ? await takeUp(survivor) : { read: [], opened: null };
  const files = filesOf(plan, workspace);
  const first = files.filter(({ path, content }) => textIn(path) === content);
  for (const { path } of first) Deno.writeTextFileSync(path, TAMPERED);
  await lastTurn(survivor, isThere);
  await survivor.store.close();
  await world.end(plan);
  await letGo(git, "any");
  report.heldCommands += [...Deno.readDirSync(git.gates)].filter(({ name }) => name.endsWith(".lands")).length;

  const again = files.filter(({ path, content }) => textIn(path) === content);
  const written = (which: typeof files, attempt: "first" | "again") =>
    which.map(({ id }): JudgedEffect => ({ callId: id, tool: "put_file", key: null, at: null, attempt }));
  const seen: JudgedEffect[] = [
    ...(await commitsOf(git, branchOf(plan.id))).map(({ message, key }): JudgedEffect => {
      return { callId: message, tool: "git_commit", key, at: null };
    }),
    ...written(first, "first"),
    ...written(again, "again"),
  ];
  const final = readRaw(await Deno.readFile(logPath));
  check(final.tornBytes === 0, `at the end ${final.tornBytes} torn bytes are left`);
  const run = { plan, processes, read, opened, final: eventsOf(final.rows) };
  const judge = () => judgeLab({ ...run, effects: [...seen, ...world.effectsOf(plan)] });
  report.add(judge());
  report.effects += seen.length + world.effectsOf(plan).length;
  lab.judged.push({ plan, judge, logPath });
}

/** Starts a process, and kills it when it says so, when a request of its is held back, or when it is over. @returns which of these */
async function runUntilDead(order: LabOrder, whenHeld: Promise<void>): Promise<string> {
  const { heldMs } = order.plan.processes[order.index]!;
  await using child = new Child("lab_child.ts", order);
  // A process that kills itself says nothing more.
  const said = child.line().catch(() => "itself");
  const what = await Promise.race([said, whenHeld.then(() => "held")]);
  if (what === "held") await new Promise((over) => setTimeout(over, heldMs));
  check(await child.kill(), `process ${order.index} ended by itself`);
  return what;
}

/** Who killed it. */
function killOf({ plan, index }: LabOrder, point: string): string {
  return point === "held" || point === "over" ? "from outside" : plan.processes[index]!.kill;
}

/** An agent that nobody kills, in this process. */
function undisturbed(
  plan: LabPlan,
  { origin, world }: Lab,
  git: GitPlace,
  { root, workspace, logPath }: { readonly root: string; readonly workspace: string; readonly logPath: string },
): Survivor {
  const store = openFileStore({ root, compression: plan.encoding });
  const points = Failpoints.none();
  const tools = [
    ...httpTools(origin, world.token, fetch),
    putFileTool({ root: workspace }),
    gitCommitTool(failingGit({ place: git, points, landingOf: () => null, onHeld() {} })),
  ];
  const agent = createAgent({ store, model: believer(plan, origin), tools, approvers: [() => "allowed-once"] });
  return { plan, agent, store, sizeOf: async () => (await Deno.stat(logPath)).size };
}

/** The files that the plan's calls write. */
function filesOf(plan: LabPlan, workspace: string): { id: string; path: string; content: string }[] {
  const calls = plan.processes.flatMap(({ calls }) => calls).filter(({ tool }) => tool === "put_file");
  return calls.map((call) => {
    const { path, content } = argumentsOf(call, { origin: "", sessionId: plan.id }) as {
      path: string;
      content: string;
    };
    return { id: call.id, path: `${workspace}/${path}`, content };
  });
}

function textIn(path: string): string | null {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
