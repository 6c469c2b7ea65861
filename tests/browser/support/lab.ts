/**
 * The laboratory of the browser tests: a site with the real worker and a page that draws nothing, a remote that counts, a browser
 * on a real profile, and tabs that tell everything they hear.
 *
 * @module
 */
import { bundle } from "../../../src/cli/web_build.ts";
import type { PageCalls, PageVerb, Role, SessionView, WireError } from "../../../web/protocol.ts";
import type { Cdp } from "../../support/browser/cdp.ts";
import { launchChromium, type RunningChromium } from "../../support/browser/launch.ts";
import { serveSite, type Site, textResponse } from "../../support/browser/site.ts";
import { eventsOf, readRaw } from "../../kill/raw_log.ts";
import { repositoryDir } from "../../support/paths.ts";
import { isAtRest } from "./judge_log.ts";
import type { LabReport } from "./lab_page.ts";
import type { StoreAnswer, StoreRequest } from "./store_worker.ts";
import { CountingRemote, type RemoteDelays } from "./remote.ts";
import { isMarkerOnDisk } from "./disk_logs.ts";
import { Tab } from "./tab.ts";
import type { Told, ToldEvent } from "./judge.ts";

/** The longest anything awaited may take to come, where no bound is promised. */
const AWAITED_MS_MAX = 30_000;

/** How often a log is looked at, and how often in a row it must be at rest: a tab that takes over needs a moment. */
const REST_LOOK_MS = 100;
const REST_LOOKS = 4;

/** Where the remote is, below the origin of the page. */
const REMOTE_PATH = "/pay";

/** How a laboratory is set up. */
export interface LabOptions {
  /** How long the remote takes. Changed at any time. */
  readonly delays?: ReadonlyMap<string, RemoteDelays>;
  /** More arguments for the browser. */
  readonly args?: readonly string[];
}

/** How a tab comes up. */
export interface TabOptions {
  /** In a window of its own: it stays visible beside others. */
  readonly isWindow?: boolean;
  /** Default true. A page that is frozen before its worker could read the message is one that never told it. */
  readonly follows?: boolean;
}

/** A laboratory. Whatever happens, its browser is dead and its folders are gone when its scope ends. */
export class Lab implements AsyncDisposable {
  readonly remote: CountingRemote;
  readonly profile: string;
  readonly #folder: string;
  readonly #site: Site;
  readonly #args: readonly string[];
  #browser: RunningChromium;

  private constructor(
    folder: string,
    site: Site,
    remote: CountingRemote,
    browser: RunningChromium,
    args: readonly string[],
  ) {
    this.#folder = folder;
    this.#site = site;
    this.remote = remote;
    this.profile = `${folder}/profile`;
    this.#browser = browser;
    this.#args = args;
  }

  /** Builds the worker, serves it, starts the browser. */
  static async open({ delays, args = [] }: LabOptions = {}): Promise<Lab> {
    const folder = await Deno.makeTempDir({ prefix: "holdfast-lab-" });
    const profileDir = `${folder}/profile`;
    const remote = new CountingRemote({
      delaysOf: (to) => delays?.get(to),
      onArrival: (effectKey) => isMarkerOnDisk(profileDir, effectKey),
    });
    let site: Site | undefined;
    try {
      const scripts = await (built ??= buildScripts());
      site = serveSite({
        route: (request, path) => {
          if (path === REMOTE_PATH) return remote.answer(request);
          if (path === "/") return labPage();
          const script = scripts.get(path);
          return script === undefined ? null : textResponse(script, "js");
        },
      });
      const browser = await launchChromium({ profileDir, args });
      return new Lab(folder, site, remote, browser, args);
    } catch (error) {
      await site?.close();
      await Deno.remove(folder, { recursive: true });
      throw error;
    }
  }

  get cdp(): Cdp {
    return this.#browser.cdp;
  }

  get origin(): string {
    return this.#site.origin;
  }

  /** Opens the page in a new tab, and starts its worker. */
  async openTab(label: string, options: TabOptions = {}): Promise<LabTab> {
    const tab = await LabTab.openAt(this.#browser.cdp, `${this.#site.origin}/`, label, options);
    await tab.start(options);
    return tab;
  }

  /** Kills the whole browser. */
  kill(): Promise<void> {
    return this.#browser.kill();
  }

  /** Starts the browser again on its profile. */
  async relaunch(): Promise<void> {
    this.#browser = await launchChromium({ profileDir: this.profile, args: this.#args });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.kill();
    await this.#site.close();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Built once: the sources do not change under a test. */
let built: Promise<ReadonlyMap<string, string>> | undefined;

/** What the page loads, by its path. */
async function buildScripts(): Promise<ReadonlyMap<string, string>> {
  const support = `${repositoryDir}/tests/browser/support`;
  const entries = {
    "worker.js": `${repositoryDir}/web/worker.ts`,
    "lab.js": `${support}/lab_page.ts`,
    "store_worker.js": `${support}/store_worker.ts`,
  };
  const folder = await Deno.makeTempDir({ prefix: "holdfast-lab-scripts-" });
  try {
    await bundle(entries, folder);
    const names = Object.keys(entries);
    return new Map(names.map((name) => [`/${name}`, Deno.readTextFileSync(`${folder}/${name}`)]));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function labPage(): Response {
  return textResponse(`<!doctype html><title>lab</title><script type="module" src="/lab.js"></script>`, "html");
}

/** A tab of the laboratory. */
export class LabTab {
  readonly tab: Tab;
  readonly label: string;
  /** Everything the page told, in order. */
  readonly reports: LabReport[] = [];
  readonly #waiting = new Set<() => void>();

  private constructor(tab: Tab, label: string) {
    this.tab = tab;
    this.label = label;
  }

  static async openAt(cdp: Cdp, url: string, label: string, options: TabOptions = {}): Promise<LabTab> {
    const lab = new LabTab(await Tab.open(cdp, options), label);
    await lab.tab.listen("tell", (payload) => lab.#hear(JSON.parse(payload)));
    await lab.tab.navigate(url);
    return lab;
  }

  /** Starts a worker in the page, and says hello. */
  async start({ follows = true }: TabOptions = {}): Promise<PageCalls["hello"]["answer"]> {
    await this.tab.evaluate(`lab.start("?bank=${REMOTE_PATH}", ${follows})`);
    return await this.call("hello", { tabLabel: this.label, state: "visible" });
  }

  /** Asks the worker. @throws {Refused} */
  async call<Verb extends PageVerb>(verb: Verb, ask: PageCalls[Verb]["ask"]): Promise<PageCalls[Verb]["answer"]> {
    const expression = `lab.call(${JSON.stringify(verb)}, ${JSON.stringify(ask)})`;
    return answered(verb, await this.tab.evaluate(expression));
  }

  /** Asks a worker that has nothing but a store. */
  store(name: string, request: StoreRequest): Promise<StoreAnswer> {
    return this.tab.evaluate(`lab.storeCall(${JSON.stringify(name)}, ${JSON.stringify(request)})`);
  }

  /** The log's bytes. */
  async export(id: string): Promise<Uint8Array<ArrayBuffer>> {
    return Uint8Array.fromBase64(await this.tab.evaluate<string>(`lab.exportAsBase64(${JSON.stringify(id)})`));
  }

  /** Gives the worker a log file. @throws {Refused} */
  async import(name: string, bytes: Uint8Array): Promise<PageCalls["import"]["answer"]> {
    const expression = `lab.importBase64(${JSON.stringify(name)}, ${JSON.stringify(bytes.toBase64())})`;
    return answered("import", await this.tab.evaluate(expression));
  }

  /** What the page was told of a session, news and answers, from the report `from` on. */
  told(id: string, from = 0, end = this.reports.length): Told {
    const events = new Map<number, ToldEvent>();
    let durableSeq = -1;
    for (const report of this.reports.slice(from, end)) {
      if (report.kind === "answered" && report.verb === "send" && (report.ask as { id: string }).id === id) {
        durableSeq = Math.max(durableSeq, (report.answer as { seq: number }).seq);
      }
      if (report.kind !== "news") continue;
      const { news } = report;
      if (news.kind === "events" && news.id === id) {
        for (const event of news.events) events.set(event.seq, event);
        durableSeq = Math.max(durableSeq, news.durableSeq);
      }
      if (news.kind === "reset" && news.id === id) {
        for (const seq of events.keys()) if (seq >= news.from) events.delete(seq);
      }
    }
    for (const { view } of this.views(id, from, end)) durableSeq = Math.max(durableSeq, view.durability.durableSeq);
    return { durableSeq, events: [...events.values()] };
  }

  /** What each worker told the page of a session: the next one knows nothing of what an earlier one believed. */
  toldByEachWorker(id: string): Told[] {
    const starts = this.reports.flatMap((report, index) => {
      return report.kind === "answered" && report.verb === "hello" ? index : [];
    });
    return starts.map((start, index) => this.told(id, start, starts[index + 1]));
  }

  /** The newest view the page has of a session, from the report `from` on. */
  view(id: string, from = 0): SessionView | null {
    return this.views(id, from).at(-1)?.view ?? null;
  }

  /** Every view the page got of a session, with its instant, from the report `from` on. */
  views(id: string, from = 0, end?: number): { readonly at: number; readonly view: SessionView }[] {
    return this.reports.slice(from, end).flatMap((report) => {
      const view = viewIn(report);
      return view?.id === id ? { at: report.at, view } : [];
    });
  }

  /** Resolves with the first view, from now on or already there, that fits. */
  async untilView(id: string, what: string, fits: (view: SessionView) => boolean, from = 0): Promise<SessionView> {
    return await this.until(what, () => {
      const view = this.view(id, from);
      return view !== null && fits(view) ? view : null;
    });
  }

  /** Sends a message; resolves when its turn has ended and everything is durable. Questions must be answered by somebody. */
  async converse(id: string, inputId: string, text: string): Promise<void> {
    const { seq } = await this.call("send", { id, inputId, text });
    await this.untilEnd(id, seq);
  }

  /** Resolves when the turn of an input has ended and everything is durable. */
  async untilEnd(id: string, inputSeq: number): Promise<void> {
    await this.untilView(id, "the end of the turn", ({ status, nextSeq, durability }) => {
      return status === "idle" && nextSeq > inputSeq + 2 && durability.durableSeq === nextSeq - 1;
    });
  }

  /**
   * Resolves with the log when all of these inputs have had their turns and nothing is added any more. Questions must be answered
   * by somebody.
   *
   * @param beforeLast called before the log is read for the last time
   */
  async untilRest(id: string, inputs: readonly string[], beforeLast = () => {}): Promise<Uint8Array<ArrayBuffer>> {
    const deadline = performance.now() + AWAITED_MS_MAX * 2;
    for (let looks = 0, sizeBytes = -1;;) {
      beforeLast();
      const log = await this.export(id);
      const isResting = log.length === sizeBytes && isAtRest(eventsOf(readRaw(log).rows), inputs);
      looks = isResting ? looks + 1 : 0;
      sizeBytes = log.length;
      if (looks === REST_LOOKS) return log;
      if (performance.now() > deadline) {
        throw new Error(`${this.label} waited for the end of all turns; its view: ${JSON.stringify(this.view(id))}`);
      }
      await new Promise((over) => setTimeout(over, REST_LOOK_MS));
    }
  }

  /** Resolves when the role of this tab is one of a kind. */
  untilRole(id: string, kind: Role["kind"], from = 0): Promise<SessionView> {
    return this.untilView(id, `role ${kind}`, ({ role }) => role.kind === kind, from);
  }

  /** Resolves with the first thing that is found, looked for at each report. */
  async until<Found>(what: string, find: () => Found | null, signal?: AbortSignal): Promise<Found> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let look: (() => void) | undefined;
    try {
      return await new Promise<Found>((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        timer = setTimeout(() => {
          const newest = this.reports.slice(-3).map((report) => JSON.stringify(report).slice(0, 600)).join("\n");
          reject(new Error(`${this.label} waited ${AWAITED_MS_MAX} ms for ${what}; the last it heard:\n${newest}`));
        }, AWAITED_MS_MAX);
        look = () => {
          const found = find();
          if (found !== null) resolve(found);
        };
        this.#waiting.add(look);
        look();
      });
    } finally {
      clearTimeout(timer);
      if (look !== undefined) this.#waiting.delete(look);
    }
  }

  #hear(report: LabReport): void {
    this.reports.push(report);
    for (const look of [...this.#waiting]) look();
  }
}

/** The first view in any of the tabs, from a report of theirs on, whose role is one of these. */
export async function firstRole(
  tabs: readonly LabTab[],
  id: string,
  kinds: readonly Role["kind"][],
  from: (tab: LabTab) => number,
): Promise<{ readonly at: number; readonly view: SessionView }> {
  const stop = new AbortController();
  try {
    return await Promise.any(tabs.map((tab) => {
      const find = () => tab.views(id, from(tab)).find(({ view }) => kinds.includes(view.role.kind)) ?? null;
      return tab.until(`role ${kinds.join(" or ")}`, find, stop.signal);
    }));
  } finally {
    stop.abort();
  }
}

/** What `lab.call` of the page came to. */
interface Called<Answer> {
  readonly answer: Answer;
  readonly refused?: WireError;
}

function answered<Answer>(verb: PageVerb, { answer, refused }: Called<Answer>): Answer {
  if (refused !== undefined) throw new Refused(verb, refused);
  return answer;
}

function viewIn(report: LabReport): SessionView | null {
  if (report.kind === "news") return report.news.kind === "view" ? report.news.view : null;
  if (report.kind === "answered" && (report.verb === "create" || report.verb === "attach")) {
    return report.answer as SessionView;
  }
  return null;
}

/** A refusal of the worker, in the test. */
export class Refused extends Error {
  readonly code: string;
  /** With `STORAGE_LOST`. */
  readonly sessionIds: readonly string[] | undefined;

  constructor(verb: string, { code, message, sessionIds }: WireError) {
    super(`${verb} was refused: ${code}: ${message}`);
    this.code = code;
    this.sessionIds = sessionIds;
  }
}
