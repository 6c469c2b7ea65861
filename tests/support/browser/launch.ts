/**
 * Starts a Chromium of our own, without Playwright between, so that it can be frozen, killed and started again on its profile.
 *
 * @module
 */

import { type Cdp, connectCdp } from "./cdp.ts";
import { findChromium } from "./chromium.ts";

/** How long a browser may take to say its address. A cold one on two busy cores needs some seconds. */
const START_MS_MAX = 60_000;

/** How long killed processes may take to be gone. */
const GONE_MS_MAX = 10_000;

const FLAGS: readonly string[] = [
  "--headless=new",
  // The tests also run as root and in containers, where Chromium's sandbox cannot be.
  "--no-sandbox",
  "--disable-dev-shm-usage",
  "--disable-gpu",
  "--no-first-run",
  "--no-default-browser-check",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-extensions",
  "--disable-sync",
  "--mute-audio",
  "--password-store=basic",
  "--use-mock-keychain",
  // Tabs that no person looks at must run at full speed, else every test of several tabs is slow.
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-renderer-backgrounding",
];

/** A running Chromium. */
export interface RunningChromium {
  /** Its main process. */
  readonly pid: number;
  /** The address of its DevTools: `chromium.connectOverCDP()` of Playwright takes it too. */
  readonly address: string;
  readonly cdp: Cdp;
  /** Kills the browser and every process it started with SIGKILL, all at once, and resolves when they are gone. */
  kill(): Promise<void>;
  /** Asks it to close, as a person does, and resolves when it is gone. */
  close(): Promise<void>;
  /** `close()`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** How to start it. */
export interface LaunchOptions {
  /** Kept between starts: the caller makes and removes it. */
  readonly profileDir: string;
  readonly args?: readonly string[];
}

/** Starts Chromium on a profile, headless, with DevTools on a free port. */
export async function launchChromium({ profileDir, args = [] }: LaunchOptions): Promise<RunningChromium> {
  const { executablePath, env } = await findChromium();
  const child = new Deno.Command(executablePath, {
    args: [...FLAGS, ...args, `--user-data-dir=${profileDir}`, "--remote-debugging-port=0", "about:blank"],
    env,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();

  const said = readAddress(child.stderr);
  const timer = setTimeout(() => child.kill("SIGKILL"), START_MS_MAX);
  let address: string;
  let cdp: Cdp;
  try {
    address = await said.address;
    cdp = await connectCdp(address);
  } catch (error) {
    await killTree(child.pid);
    await child.status;
    throw error;
  } finally {
    clearTimeout(timer);
  }

  async function ended(): Promise<void> {
    await child.status;
    await said.end;
    await cdp.close();
  }

  let isOver = false;
  const browser: RunningChromium = {
    pid: child.pid,
    address,
    cdp,
    async kill() {
      if (isOver) return;
      isOver = true;
      await killTree(child.pid);
      await ended();
    },
    async close() {
      if (isOver) return;
      isOver = true;
      const tree = await descendants(child.pid);
      const timer = setTimeout(() => killTree(child.pid), GONE_MS_MAX);
      await cdp.send("Browser.close").catch(() => {}); // It may be gone before it answers.
      await ended();
      clearTimeout(timer);
      await untilGone(tree);
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
  return browser;
}

/** The address that a browser prints on standard error. Reads on to the end, because a full pipe would block the browser. */
function readAddress(
  stderr: ReadableStream<Uint8Array<ArrayBuffer>>,
): { address: Promise<string>; end: Promise<void> } {
  const address = Promise.withResolvers<string>();
  const end = (async () => {
    let text = "";
    for await (const piece of stderr.pipeThrough(new TextDecoderStream())) {
      text = (text + piece).slice(-10_000);
      const [, found] = /DevTools listening on (ws:\S+)/.exec(text) ?? [];
      if (found !== undefined) address.resolve(found);
    }
    address.reject(new Error(`Chromium ended before it said its address: ${text.trim().slice(-1000)}`));
  })();
  return { address: address.promise, end };
}

/** Kills a process and all that descend from it with SIGKILL, and resolves when none is left. */
export async function killTree(pid: number): Promise<void> {
  const tree = [pid, ...await descendants(pid)];
  for (const each of tree) kill(each);
  // The first stays a zombie until whoever started it asks for its status.
  await untilGone(tree.slice(1));
}

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Processes that nobody of ours started send no event when they end, so they are looked at, again and again. */
async function untilGone(pids: readonly number[]): Promise<void> {
  const deadline = performance.now() + GONE_MS_MAX;
  while ((await aliveAmong(pids)).length > 0) {
    if (performance.now() > deadline) throw new Error(`Processes live on after SIGKILL: ${pids.join(", ")}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Those of these processes that still run. */
export async function aliveAmong(pids: readonly number[]): Promise<number[]> {
  const alive = (await processes()).filter(({ isZombie }) => !isZombie).map(({ pid }) => pid);
  return pids.filter((pid) => alive.includes(pid));
}

/** All processes that a process started, and theirs. */
export async function descendants(pid: number): Promise<number[]> {
  const all = await processes();
  const tree = [pid];
  for (const parent of tree) {
    tree.push(...all.filter((each) => each.parent === parent).map((each) => each.pid));
  }
  return tree.slice(1);
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly isZombie: boolean;
}

async function processes(): Promise<Process[]> {
  if (Deno.build.os !== "linux") return await processesOfPs();
  const found: Process[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      // "pid (name) state parent …", and the name may hold anything.
      const stat = Deno.readTextFileSync(`/proc/${name}/stat`);
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      found.push({ pid: Number(name), parent: Number(parent), isZombie: state === "Z" || state === "X" });
    } catch {
      // It ended while we looked.
    }
  }
  return found;
}

async function processesOfPs(): Promise<Process[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-A", "-o", "pid=,ppid=,stat="] }).output();
  return new TextDecoder().decode(stdout).trim().split("\n").map((line) => {
    const [pid, parent, state] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), isZombie: state!.startsWith("Z") };
  });
}
