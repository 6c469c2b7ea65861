/**
 * One schedule of kills, the same in every runtime: an agent pays twice over the runtime's own medium, and is killed, for good and
 * by whoever can kill it, on each side of everything it does to its files. The next process resumes, and hands over the log.
 *
 * @module
 */
import { createAgent, hasCode, scripted, type SessionEvent, type StorageFile, type StoragePort } from "../../mod.ts";
import { openStoreOver } from "../../src/entry/over_storage.ts";
import { SimulatedTarget } from "../../src/testing/simulated_target.ts";
import type { KeyedTarget, KeyState, OrderAnswer } from "../../src/tools/pack/keyed_target.ts";
import { type Payment, payTool } from "../../src/tools/pack/payment.ts";
import { seededRandom } from "../support/seeded_random.ts";

/** What a process shall do. */
export interface Order {
  readonly part: "pay" | "resume";
  readonly id: string;
  /** Before or behind which write or sync it stands still and waits to be killed, from 0; `null`: nowhere. */
  readonly stopAt: number | null;
}

/** What a process says. */
export type Said =
  | { readonly kind: "bank"; readonly ask: "perform" | "close"; readonly key: string; readonly payment: Payment }
  /** It stands still. */
  | { readonly kind: "stopped" }
  | { readonly kind: "over"; readonly points: number }
  /** What a resume left; `null` when there is no session. */
  | { readonly kind: "log"; readonly events: readonly SessionEvent[] | null }
  /** Whoever was killed seems to hold the log still. */
  | { readonly kind: "held" };

/** A process, seen from outside. */
export interface Life {
  /** The next thing it says. */
  hear(): Promise<Said>;
  tell(answer: OrderAnswer): void;
  /** Resolves when nothing of it runs any more. */
  kill(): Promise<void>;
}

/** What the schedule came to. */
export interface KillResult {
  /** Every log, as JSON without times. */
  readonly logs: readonly string[];
  readonly payments: readonly number[];
}

/** How often a resume is tried when the dead one seems to hold the log. */
const TRIES_MAX = 200;

const PAYS = ["alice", "bob"].map((to) => ({ call: { name: "pay", arguments: { to, amount: 10 } } }));

/** Runs the whole schedule: outside of the processes, and so it holds the bank. */
export async function killEverywhere(start: (order: Order) => Promise<Life>): Promise<KillResult> {
  const whole = await lived(start, { part: "pay", id: "whole", stopAt: null }, new SimulatedTarget());
  if (whole.kind !== "over") throw new Error(`Cannot rehearse: ${whole.kind}`);
  const logs: string[] = [];
  const payments: number[] = [];
  for (let stopAt = 0; stopAt < whole.points; stopAt++) {
    const bank = new SimulatedTarget<Payment>();
    const id = `s${stopAt}`;
    const stopped = await lived(start, { part: "pay", id, stopAt }, bank);
    if (stopped.kind !== "stopped") throw new Error(`Cannot kill at ${stopAt}: ${stopped.kind}`);
    const left = await resumed(start, id, bank);
    logs.push(JSON.stringify(left?.map((event) => ({ ...event, time: 0 })) ?? null));
    payments.push(bank.ledger.length);
  }
  return { logs, payments };
}

async function resumed(
  start: (order: Order) => Promise<Life>,
  id: string,
  bank: SimulatedTarget<Payment>,
): Promise<readonly SessionEvent[] | null> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const said = await lived(start, { part: "resume", id, stopAt: null }, bank);
    if (said.kind === "log") return said.events;
    if (said.kind !== "held") throw new Error(`Cannot resume "${id}": ${said.kind}`);
  }
  throw new Error(`Cannot resume "${id}": the dead process holds it still`);
}

/** One life from its start to its kill; the last thing it said. */
async function lived(
  start: (order: Order) => Promise<Life>,
  order: Order,
  bank: SimulatedTarget<Payment>,
): Promise<Exclude<Said, { kind: "bank" }>> {
  const life = await start(order);
  try {
    for (;;) {
      const said = await life.hear();
      if (said.kind !== "bank") return said;
      life.tell(await bank[said.ask](said.key, said.payment));
    }
  } finally {
    await life.kill();
  }
}

/** The way to whoever started this process. */
export interface Parent {
  say(said: Said): void;
  /** The answer to what was asked. One question at a time. */
  answer(): Promise<OrderAnswer>;
}

/** Lives: in the process. */
export async function live(order: Order, parent: Parent, storage: StoragePort): Promise<void> {
  const { part, id, stopAt } = order;
  const points = new Points(stopAt, parent);
  if (part === "pay") points.watch(storage);
  // No timer wakes: everything that happens follows from the schedule.
  const clock = { now: () => 1_700_000_000_000, schedule: () => () => {} };
  const store = openStoreOver({ storage, runtime: { clock, random: seededRandom(part === "pay" ? 1 : 2) } });
  const model = scripted(part === "pay" ? [PAYS, [{ text: "Paid." }]] : []);
  const agent = createAgent({ store, model, tools: [payTool(bankOf(parent))], approvers: [() => "allowed-once"] });
  if (part === "pay") {
    const session = await agent.create({ id });
    await session.send("pay");
    await session.close();
    return parent.say({ kind: "over", points: points.count });
  }
  try {
    if (await store.stat(id) === null) return parent.say({ kind: "log", events: null });
    const session = await agent.resume(id);
    const { events } = await session.session.history({ limit: 1000 });
    await session.close();
    parent.say({ kind: "log", events });
  } catch (error) {
    if (!hasCode(error, "LOCK_HELD")) throw error;
    parent.say({ kind: "held" });
  }
}

function bankOf(parent: Parent): KeyedTarget<Payment> {
  return {
    perform(key, payment) {
      parent.say({ kind: "bank", ask: "perform", key, payment });
      return parent.answer();
    },
    async close(key, payment): Promise<KeyState> {
      parent.say({ kind: "bank", ask: "close", key, payment });
      return await parent.answer() as KeyState;
    },
  };
}

/** Counts both sides of each write, sync and publication, and stands still at one of them. */
class Points {
  count = 0;
  readonly #stopAt: number | null;
  readonly #parent: Parent;

  constructor(stopAt: number | null, parent: Parent) {
    this.#stopAt = stopAt;
    this.#parent = parent;
  }

  watch(storage: StoragePort): void {
    const open = storage.open.bind(storage);
    const stage = storage.stage.bind(storage);
    storage.open = async (name, lock) => this.#watched(await open(name, lock));
    storage.stage = async (name, lock) => {
      const staged = await stage(name, lock);
      staged.append = this.#around(staged.append.bind(staged));
      const publish = this.#around(staged.publish.bind(staged));
      staged.publish = async () => this.#watched(await publish());
      return staged;
    };
  }

  #watched(file: StorageFile): StorageFile {
    file.append = this.#around(file.append.bind(file));
    file.sync = this.#around(file.sync.bind(file));
    return file;
  }

  #around<Args extends unknown[], Result>(act: (...args: Args) => Promise<Result>) {
    return async (...args: Args): Promise<Result> => {
      await this.#pass();
      const result = await act(...args);
      await this.#pass();
      return result;
    };
  }

  async #pass(): Promise<void> {
    if (this.count++ !== this.#stopAt) return;
    this.#parent.say({ kind: "stopped" });
    await new Promise(() => {});
  }
}
