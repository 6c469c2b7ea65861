/**
 * The contracts of the OPFS adapter as cases for a dedicated worker of a real browser: each in a fresh folder, removed after.
 *
 * The other process of a contract is another dedicated worker, `browser_other.ts`, served beside this one as `opfs_other.js`.
 * A runner imports this in a worker and calls each `run`; nothing here needs Deno.
 *
 * @module
 */

import { probeOpfs, SYNC_HANDLES_MAX } from "../../../src/adapters/opfs/mod.ts";
import { openOpfsStore } from "../../../src/entry/opfs.ts";
import type { SessionStore } from "../../../src/store/session_store.ts";
import { check, checkEquals } from "../../../src/testing/check.ts";
import {
  type OtherStoreProcess,
  type SessionStoreContext,
  sessionStoreContract,
} from "../../../src/testing/session_store_contract.ts";
import { eventsOf, headerOf, readAll } from "../../../src/testing/session_store_context.ts";
import { type OtherProcess, storageContract } from "../../../src/testing/storage_contract.ts";
import { openOpfsStorage } from "../../../src/adapters/opfs/mod.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import type { OtherAnswerMessage, OtherCommandMessage } from "./browser_other.ts";

/** One case. */
export interface BrowserCase {
  readonly name: string;
  readonly run: () => Promise<void>;
  /** Why it cannot be run in a browser. */
  readonly skip?: string;
}

/** A session costs some thirty messages to the browser's own process. */
const SESSIONS_MANY = 60;

/** How long `advance()` waits for somebody to set a timer, in real milliseconds: as long as taking a lock may need. */
const TIMER_WAIT_MS = 200;

/** How often the locks of a killed worker are looked at before we give up. */
const LOCK_LOOKS_MAX = 5000;

/** What an OPFS storage always says, as far as a case looks at it. */
const TRAITS = {
  medium: "opfs",
  sync: "device",
  names: "deferred",
  publish: "claim",
  lockScope: "origin",
  persistence: "best-effort",
} as const;

/** Every case. */
export const cases: readonly BrowserCase[] = [
  ...storageContract.map(({ name, run, skip }): BrowserCase => ({
    name: `storage: ${name}`,
    skip: skip?.(TRAITS) ?? undefined,
    run: () =>
      inFreshRoot(async (root) => {
        await using other = new OtherWorker(root);
        await using storage = await openOpfsStorage({ root });
        await run({ storage, other: other as OtherProcess, stranger: NOBODY });
      }),
  })),
  ...sessionStoreContract.map(({ name, run, skip }): BrowserCase => ({
    name: `store: ${name}`,
    skip: skip?.(TRAITS) ?? undefined,
    run: () => inFreshRoot((root) => runOnStores(root, run)),
  })),
  {
    name: "probeOpfs() finds a usable file system, and leaves nothing",
    run: async () => {
      const found = await probeOpfs();
      check(found.usable, `usable, found ${JSON.stringify(found)}`);
      for await (const name of originNames()) check(!name.startsWith("%"), `"${name}" was left`);
    },
  },
  {
    name: "more sessions than there are handles are written and read side by side",
    run: () =>
      inFreshRoot(async (root) => {
        await using store = await openOpfsStore({ root });
        const ids = Array.from({ length: 2 * SYNC_HANDLES_MAX }, (_, index) => `s${index}`);
        const logs = await Promise.all(ids.map((id) => store.create(headerOf(id))));
        for (let seq = 0; seq < 3; seq++) await Promise.all(logs.map((log) => log.append(eventsOf(seq, 1))));
        for (const id of ids) checkEquals(await readAll(await store.open(id, "read")), eventsOf(0, 3));
        for (const log of logs) await log.close();
      }),
  },
];

const NOBODY = {
  write: () => Promise.reject(new Error("a browser lets nobody pass its locks")),
  append: () => Promise.reject(new Error("a browser lets nobody pass its locks")),
  remove: () => Promise.reject(new Error("a browser lets nobody pass its locks")),
};

async function inFreshRoot(run: (root: string) => Promise<void>): Promise<void> {
  const root = `case-${crypto.randomUUID()}`;
  try {
    await run(root);
  } finally {
    const origin = await navigator.storage.getDirectory();
    await origin.removeEntry(root, { recursive: true }).catch(() => {}); // A case that wrote nothing has no folder.
  }
}

async function* originNames(): AsyncGenerator<string> {
  const origin = await navigator.storage.getDirectory();
  yield* (origin as unknown as { keys(): AsyncIterable<string> }).keys();
}

async function runOnStores(root: string, run: (context: SessionStoreContext) => Promise<void>): Promise<void> {
  const clock = new FakeClock();
  const stores: SessionStore[] = [];
  await using other = new OtherWorker(root);
  try {
    await run({
      async openStore() {
        const store = await openOpfsStore({ root, runtime: { clock, random: seededRandom(1) } });
        stores.push(store);
        return store;
      },
      other: other as unknown as OtherStoreProcess,
      advance: (ms) => advance(clock, ms),
      sessionsMany: SESSIONS_MANY,
    });
  } finally {
    for (const store of stores) await store.close();
  }
}

/** Moves the clock from timer to timer. Between two of them the browser may have to be asked for something. */
async function advance(clock: FakeClock, ms: number): Promise<void> {
  for (let leftMs = ms; leftMs > 0;) {
    for (let waitedMs = 0; clock.nextTimerMs === null && waitedMs < TIMER_WAIT_MS; waitedMs += 5) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const stepMs = Math.min(leftMs, Math.max(1, clock.nextTimerMs ?? leftMs));
    await clock.advance(stepMs);
    leftMs -= stepMs;
  }
}

/** Another worker on the same folder. */
class OtherWorker {
  readonly #root: string;
  #worker: Worker | null = null;
  #lastId = 0;

  constructor(root: string) {
    this.#root = root;
  }

  async run(command: OtherCommandMessage["command"]): Promise<OtherAnswerMessage["answer"]> {
    const worker = this.#worker ??= this.#start();
    const id = ++this.#lastId;
    const message: OtherCommandMessage = { id, root: this.#root, command };
    return await new Promise((resolve, reject) => {
      const hear = ({ data }: MessageEvent<OtherAnswerMessage>) => {
        if (data.id !== id) return;
        worker.removeEventListener("message", hear);
        resolve(data.answer);
      };
      worker.addEventListener("message", hear);
      worker.addEventListener("error", (event) => reject(new Error(`the other worker failed: ${event.message}`)));
      worker.postMessage(message);
    });
  }

  /** Terminates it, and waits until the browser has noticed: until then its locks are held. */
  async kill(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    this.#worker = null;
    const { held = [] } = await navigator.locks.query();
    const clientId = held.find((lock) => lock.name === aliveName(this.#root))?.clientId;
    worker.terminate();
    for (let looks = 0; looks < LOCK_LOOKS_MAX; looks++) {
      const { held = [] } = await navigator.locks.query();
      if (!held.some((lock) => lock.clientId === clientId)) return;
    }
    throw new Error("a terminated worker kept its locks");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #start(): Worker {
    return new Worker(new URL("./opfs_other.js", location.href), { type: "module" });
  }
}

/** The lock that the other worker holds as long as it lives. */
function aliveName(root: string): string {
  return `alive:${root}`;
}
