/**
 * Runs of the crash lab in Chromium: workers over OPFS that come to failpoints, where the whole browser is killed, one after the other
 * on the same session, and the judgement of each run.
 *
 * @module
 */
import { bundle } from "../../src/cli/web_build.ts";
import { check } from "../kill/judge.ts";
import { tried } from "../kill/kill_run.ts";
import type { DeadProcess } from "../kill/lab_case.ts";
import { foundIn } from "../kill/lab_checks.ts";
import { judgeLab } from "../kill/lab_judge.ts";
import { type Found, type LabPlan, openingAim } from "../kill/lab_plan.ts";
import { LabReport } from "../kill/lab_report.ts";
import { LabWorld } from "../kill/lab_world.ts";
import { eventsOf, readRaw } from "../kill/raw_log.ts";
import type { TraceLine } from "../kill/stretched_disk.ts";
import { launchChromium, type RunningChromium } from "../support/browser/launch.ts";
import { serveSite, textResponse } from "../support/browser/site.ts";
import { repositoryDir } from "../support/paths.ts";
import { type KnownTail, snapshotOnDisk } from "./lab_kill_disk.ts";
import type { WorkerAnswer, WorkerOrder } from "./lab_kill_worker.ts";
import { readLogOnDisk } from "./support/disk_logs.ts";
import { Tab } from "./support/tab.ts";
import { verifyLogs } from "./support/verify.ts";

/** How often progress is said, in kills. */
const PROGRESS_KILLS = 20;

/** The longest a run may take, with all its browsers. */
const RUN_MS_MAX = 300_000;

/** How many browsers run at the same time, each on its own profile. */
const LANES = 2;

/** When to stop. */
export interface BrowserLabOptions {
  readonly plans: Iterable<LabPlan>;
  /** No more runs are begun once so many kills were made. Default: all plans. */
  readonly killsMax?: number;
}

/** Carries plans out. @throws {Error} naming the seed of the first run that was judged wrong */
export async function killBrowsersInLab({ plans, killsMax = Infinity }: BrowserLabOptions): Promise<LabReport> {
  const beganMs = performance.now();
  const folder = await Deno.makeTempDir({ prefix: "holdfast-lab-browsers-" });
  const report = new LabReport();
  const waiting = [...plans];
  const logs = new Map<string, Uint8Array>();
  let saidKills = 0;
  const say = () => {
    if (report.kills < saidKills + PROGRESS_KILLS) return;
    saidKills = report.kills;
    console.log(
      `  ${saidKills} browser kills, ${(saidKills / (performance.now() - beganMs) * 1000).toFixed(2)} a second`,
    );
  };
  try {
    const scripts = await buildScripts(folder);
    const lanes = Array.from({ length: LANES }, async (_, lane) => {
      try {
        await using browser = await LabBrowser.open(`${folder}/profile-${lane}`, scripts);
        const judged: Judged[] = [];
        for (let plan = waiting.shift(); plan !== undefined; plan = waiting.shift()) {
          if (report.kills >= killsMax) break;
          const next = plan;
          judged.push(await tried(next, () => runOnce(next, browser, report), RUN_MS_MAX));
          logs.set(plan.id, judged.at(-1)!.log);
          say();
        }
        await browser.world.whenQuiet();
        // Once more with everything that the world saw until then: "never" means never.
        for (const { plan, judge } of judged) await tried(plan, judge);
        report.addRequests(browser.world.requests);
      } catch (error) {
        waiting.length = 0;
        throw error;
      }
    });
    for (const ended of await Promise.allSettled(lanes)) if (ended.status === "rejected") throw ended.reason;
    for (const { id, open } of await verifyLogs(logs)) check(open === null, `verify finds a turn open in ${id}`);
    report.seconds = Math.round((performance.now() - beganMs) / 1000);
    return report;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What the page loads, by its path. */
async function buildScripts(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = ["lab_kill_page", "lab_kill_worker"];
  await bundle(
    Object.fromEntries(names.map((name) => [`${name}.js`, `${repositoryDir}/tests/browser/${name}.ts`])),
    `${folder}/scripts`,
  );
  return new Map(names.map((name) => [`/${name}.js`, Deno.readTextFileSync(`${folder}/scripts/${name}.js`)]));
}

/** A browser that is killed and started again on its profile, with a world of its own. */
class LabBrowser implements AsyncDisposable {
  readonly world = new LabWorld();
  readonly profile: string;
  readonly origin: string;
  readonly #closeSite: () => Promise<void>;
  #browser: RunningChromium | null = null;
  #tab: Tab | null = null;
  /** The trace of the worker that lives, and who is told when it says where it dies. */
  #trace: TraceLine[] = [];
  #onAt: () => void = () => {};

  private constructor(profile: string, scripts: ReadonlyMap<string, string>) {
    this.profile = profile;
    const site = serveSite({
      route: async (request, path) => {
        if (path === "/") {
          return textResponse(`<!doctype html><script type="module" src="/lab_kill_page.js"></script>`, "html");
        }
        if (path === "/trace") return await this.#hear(request);
        if (path === "/stand") return await new Promise<Response>(() => {});
        const script = scripts.get(path);
        if (script !== undefined) return textResponse(script, "js");
        return await this.world.answer(request, path) ?? new Response(null, { status: 404 });
      },
    });
    this.origin = site.origin;
    this.#closeSite = site.close;
  }

  static async open(profile: string, scripts: ReadonlyMap<string, string>): Promise<LabBrowser> {
    await Deno.mkdir(profile);
    return new LabBrowser(profile, scripts);
  }

  /** Runs an order to its end. */
  async run(order: WorkerOrder): Promise<WorkerAnswer> {
    const tab = await this.#openTab();
    return await tab.evaluate<WorkerAnswer>(`runOrder(${JSON.stringify(order)})`);
  }

  /** Runs an order until its worker says where it dies, a request of its is held back or it is over, and kills the browser. */
  async runUntilKilled(
    order: WorkerOrder,
    whenHeld: Promise<void>,
    heldMs: number,
  ): Promise<{ readonly point: string; readonly trace: readonly TraceLine[] }> {
    const tab = await this.#openTab();
    this.#trace = [];
    const at = new Promise<string>((resolve) => this.#onAt = () => resolve("at"));
    const over = tab.evaluate<WorkerAnswer>(`runOrder(${JSON.stringify(order)})`);
    // It ends with the kill, whatever it is at.
    const ended = over.then((told) => "failed" in told ? told.failed : "over", () => "gone");
    const point = await Promise.race([at, whenHeld.then(() => "held"), ended]);
    if (point === "held") await new Promise((done) => setTimeout(done, heldMs));
    await this.#browser!.kill();
    this.#browser = null;
    check(["at", "held", "over"].includes(point), `the worker ended by itself: ${point}`);
    await ended;
    return { point, trace: this.#trace };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser?.kill();
    await this.world[Symbol.asyncDispose]();
    await this.#closeSite();
  }

  /** The page is loaded anew by each browser; within one it is used again. */
  async #openTab(): Promise<Tab> {
    if (this.#browser !== null) return this.#tab!;
    this.#browser = await launchChromium({ profileDir: this.profile });
    this.#tab = await Tab.open(this.#browser.cdp);
    await this.#tab.navigate(`${this.origin}/`);
    return this.#tab;
  }

  async #hear(request: Request): Promise<Response> {
    const line = JSON.parse(await request.text()) as TraceLine;
    // The clock of the test: a browser may blur its own. The worker stands still until this is answered.
    this.#trace.push([line[0], Date.now(), ...line.slice(2)] as unknown as TraceLine);
    if (line[0] === "at") this.#onAt();
    return new Response(null, { status: 204 });
  }
}

/** A run that was judged, to be judged again. */
interface Judged {
  readonly plan: LabPlan;
  readonly judge: () => void;
  readonly log: Uint8Array;
}

/** One run, from the first worker to the verdict. */
async function runOnce(plan: LabPlan, browser: LabBrowser, report: LabReport): Promise<Judged> {
  const { world, profile } = browser;
  const { token } = world;
  let whenHeld = Promise.withResolvers<void>();
  world.begin(plan, () => whenHeld.resolve());

  const processes: DeadProcess[] = [];
  const tails: KnownTail[] = [];
  let isThere = false;
  let found: Found = { hasUnknown: false, isOpen: false, isTorn: false, isSalvaged: false };
  for (const [index, { aim: planned, heldMs, kill }] of plan.processes.entries()) {
    const aim = planned.kind === "opening" ? openingAim(planned.drawn, found) : planned;
    whenHeld = Promise.withResolvers();
    const order: WorkerOrder = { plan, token, life: { index, aim }, isThere };
    const { point, trace } = await browser.runUntilKilled(order, whenHeld.promise, heldMs);
    await world.died(plan);
    await world.whenQuiet();
    // A stage looks like a log, and has no name yet: it has one once its publishing was acknowledged.
    isThere ||= trace.some(([what]) => what === "synced");
    const snapshot = isThere ? snapshotOnDisk(profile, plan.id, tails) : null;
    processes.push({ left: snapshot?.events ?? null, trace });
    found = foundIn(snapshot);

    const said = trace.findLast(([what]) => what === "at")?.[3];
    report.addKill(point === "at" ? String(said) : point, point === "at" ? kill : "from outside");
    report.torn += Number((snapshot?.tornBytes ?? 0) > 0);
    report.salvaged += Number((snapshot?.salvaged ?? 0) > 0);
    report.withoutLog += Number(snapshot === null);
  }

  const told = await browser.run({ plan, token, life: null, isThere });
  if ("failed" in told) throw new Error(told.failed);
  await world.end(plan);
  await world.whenQuiet();
  const log = readLogOnDisk(profile, plan.id)!;
  const final = readRaw(log);
  check(final.tornBytes === 0, `at the end ${final.tornBytes} torn bytes are left`);
  const run = { plan, processes, ...told.found, final: eventsOf(final.rows) };
  const judge = () => judgeLab({ ...run, effects: world.effectsOf(plan) });
  report.add(judge());
  report.effects += world.effectsOf(plan).length;
  return { plan, judge, log };
}
