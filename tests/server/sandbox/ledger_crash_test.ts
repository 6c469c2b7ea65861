import { assertEquals } from "@std/assert";
import type { Fault } from "../../../src/entry/memory.ts";
import { MemoryStorage } from "../../../src/entry/memory.ts";
import { type Answer, CountingRunner, endOf, type SandboxServer, sandboxServer } from "./sandbox_support.ts";

/** A generation takes two keys and hands on one outcome, so that a few commands rotate the log more than once. */
const LIMITS = { limits: { keysMax: 2, outcomesCarriedMax: 1 } };
/** Keys that are run, in this order; the second prints so much that its outcome is spilled. */
const RUN = [1, 2, 4, 5, 6];
/** Keys that are only settled. */
const SETTLED = [3, 7];
const KEYS = [...RUN, ...SETTLED];

/** What clients of one life after another were told, and what really happened. */
class History {
  readonly runner = new CountingRunner();
  readonly #said = new Map<number, string[]>();

  constructor() {
    this.runner.end = ({ argv }) => Promise.resolve(endOf(argv.at(-1) === "key 2" ? "x".repeat(9000) : "short"));
  }

  runs(key: number): number {
    return this.runner.started.filter(({ argv }) => argv.at(-1) === `key ${key}`).length;
  }

  /** Remembers an answer, and compares it with what was said before and what happened. */
  hear(key: number, { status, said, body }: Answer, where: string): void {
    const before = this.#said.get(key) ?? [];
    const runs = this.runs(key);
    if (runs > 1) throw new Error(`${where}: key ${key} ran ${runs} times`);
    const state = status === 200 ? said : body.state as string | undefined;
    if (state === undefined) return;
    if (state === "absent" && runs > 0) throw new Error(`${where}: key ${key} ran and was called absent`);
    if (state === "finished" && runs === 0) throw new Error(`${where}: key ${key} did not run and was called finished`);
    if (before.includes("absent") && state !== "absent") {
      throw new Error(`${where}: key ${key} was absent, now ${state}`);
    }
    if (before.includes("finished") && !["finished", "forgotten"].includes(state)) {
      throw new Error(`${where}: key ${key} was finished, now ${state}`);
    }
    if (state === "finished" && body.outcome.stdout.text.length !== (key === 2 ? 9000 : 5)) {
      throw new Error(`${where}: the outcome of key ${key} is another`);
    }
    this.#said.set(key, [...before, state]);
  }

  /** Whether some client was told so. */
  wasTold(key: number, state: string): boolean {
    return this.#said.get(key)?.includes(state) ?? false;
  }
}

async function serverOn(storage: MemoryStorage, history: History): Promise<SandboxServer> {
  return await sandboxServer({ storage, runner: history.runner, parts: { limits: LIMITS } });
}

const exec = (server: SandboxServer, key: number) => server.exec(key, `key ${key}`, { waitMs: 30_000 });

/** What clients do in the first life. They go on whatever they are answered. */
async function firstLife(server: SandboxServer, history: History, where: string): Promise<void> {
  for (const key of [1, 2, 3, 4, 5, 6, 7]) {
    history.hear(key, RUN.includes(key) ? await exec(server, key) : await server.settle(key), where);
  }
}

/** Settles everything, and then tries to run everything; or the other way round. */
async function nextLife(storage: MemoryStorage, history: History, isSettledFirst: boolean, where: string) {
  const server = await serverOn(storage, history);
  const ask = async (isSettle: boolean) => {
    for (const key of KEYS) {
      const answer = isSettle ? await server.settle(key) : await exec(server, key);
      if (answer.status >= 500) throw new Error(`${where}: key ${key} is answered ${answer.status} ${answer.said}`);
      history.hear(key, answer, `${where}, ${isSettle ? "settle" : "exec"}`);
    }
  };
  await ask(isSettledFirst);
  await ask(!isSettledFirst);
  for (const key of KEYS) {
    if (isSettledFirst && history.wasTold(key, "absent") && history.runs(key) > 0) throw new Error(`${where}: ${key}`);
  }
  await server.endpoint.close();
}

function stepsOf(count: number): number[] {
  return [...new Set([0, Math.floor(count / 2), count])];
}

Deno.test("a crash at every operation, before, within and after it: nothing runs twice, nothing that ran is absent", async () => {
  const plain = new MemoryStorage({ simulate: "disk" });
  const whole = new History();
  const server = await serverOn(plain, whole);
  await firstLife(server, whole, "no fault");
  for (const key of RUN) assertEquals(whole.runs(key), 1);
  for (const key of SETTLED) assertEquals(whole.wasTold(key, "absent"), true);
  const { operations } = plain;
  await server.endpoint.close();
  assertEquals(
    operations.some(({ name }) => name.includes("sandbox-ledger-000003")),
    true,
    "the log did not rotate twice",
  );

  let crashes = 0;
  for (const { operation, kind, name, steps: count } of operations) {
    for (const steps of stepsOf(count)) {
      for (const keepUnsynced of ["none", "all"] as const) {
        for (const isSettledFirst of [true, false]) {
          const where = `crash at ${operation} (${kind} ${name}) step ${steps}, keeps ${keepUnsynced}`;
          const storage = new MemoryStorage({ simulate: "disk" });
          storage.failAt({ operation, kind: "crash", steps });
          const history = new History();
          await firstLife(await serverOn(storage, history), history, where);
          await nextLife(storage.crash({ keepUnsynced }), history, isSettledFirst, where);
          crashes++;
        }
      }
    }
  }
  assertEquals(crashes > 500, true, `only ${crashes} crashes`);
});

Deno.test("a medium that refuses at every operation: what is answered stays true, in this life and in the next", async () => {
  const plain = new MemoryStorage({ simulate: "disk" });
  const whole = new History();
  const server = await serverOn(plain, whole);
  await firstLife(server, whole, "no fault");
  const { operations } = plain;
  await server.endpoint.close();
  for (const { operation, kind: verb, name } of operations) {
    for (const kind of ["enospc", "eio", "sync", "short"] as Fault["kind"][]) {
      const where = `${kind} at ${operation} (${verb} ${name})`;
      const storage = new MemoryStorage({ simulate: "disk" });
      storage.failAt({ operation, kind });
      const history = new History();
      const first = await serverOn(storage, history);
      await firstLife(first, history, where);
      // The same clients ask again, as they would after a 5xx.
      await firstLife(first, history, `${where}, again`);
      await nextLife(storage.crash(), history, true, where);
    }
  }
});
