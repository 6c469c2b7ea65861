/**
 * One crash schedule, the same in every runtime: an agent pays twice, its machine dies at each operation in turn, the next
 * process resumes, and the log it leaves is handed over.
 *
 * @module
 */
import { createAgent, scripted, type SessionEvent } from "../../mod.ts";
import { type MemoryStorage, MemoryStorage as Memory, openMemoryStore } from "../../src/entry/memory.ts";
import { SimulatedTarget } from "../../src/testing/simulated_target.ts";
import { payTool } from "../../src/tools/pack/payment.ts";
import type { Payment } from "../../src/tools/pack/payment.ts";
import { seededRandom } from "../support/seeded_random.ts";

/** Every log that the schedule leaves behind, as JSON, and how many payments were made in each run. */
export interface ScheduleResult {
  readonly logs: readonly string[];
  readonly payments: readonly number[];
}

const PAYS = ["alice", "bob"].map((to) => ({ call: { name: "pay", arguments: { to, amount: 10 } } }));

/** Runs the whole schedule. */
export async function runSchedule(): Promise<ScheduleResult> {
  const rehearsal = new Memory({ simulate: "disk" });
  await pay(rehearsal, new SimulatedTarget<Payment>());
  const logs: string[] = [];
  const payments: number[] = [];
  for (const { operation, steps } of rehearsal.operations) {
    for (const done of [0, steps]) {
      const storage = new Memory({ simulate: "disk" });
      storage.failAt({ operation, kind: "crash", steps: done });
      const bank = new SimulatedTarget<Payment>();
      await pay(storage, bank);
      const events = await resumed(storage.crash({ keepUnsynced: "none" }), bank);
      logs.push(JSON.stringify(events));
      payments.push(bank.ledger.length);
    }
  }
  return { logs, payments };
}

function storeOn(storage: MemoryStorage, seed: number) {
  // Time stands still and no timer wakes: everything that happens follows from the schedule.
  const clock = { now: () => 1_700_000_000_000, schedule: () => () => {} };
  return openMemoryStore({ storage, runtime: { clock, random: seededRandom(seed) } });
}

async function pay(storage: MemoryStorage, bank: SimulatedTarget<Payment>): Promise<void> {
  const store = storeOn(storage, 1);
  const model = scripted([PAYS, [{ text: "Paid." }]]);
  const agent = createAgent({ store, model, tools: [payTool(bank)], approvers: [() => "allowed-once"] });
  try {
    const session = await agent.create({ id: "s" });
    await session.send("pay");
    await session.close();
  } catch (error) {
    if (!storage.isDead) throw error;
  }
}

/** The log after a resume that looked up what became of the payments; none when no session was left. */
async function resumed(storage: MemoryStorage, bank: SimulatedTarget<Payment>): Promise<readonly SessionEvent[]> {
  await using store = storeOn(storage, 2);
  if (await store.stat("s") === null) return [];
  const agent = createAgent({ store, model: scripted([]), tools: [payTool(bank)] });
  await using session = await agent.resume("s");
  return (await session.session.history({ limit: 1000 })).events;
}
