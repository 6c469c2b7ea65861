/**
 * What the next start finds in a state that a crash left: the evidence before anything is written, the class of the payment, what
 * asking the bank settles, and whether all of that is true.
 *
 * @module
 */
import {
  type CallClass,
  type CallEvidence,
  callEvidence,
  createAgent,
  HoldfastError,
  isEvent,
  logFold,
  type Resumed,
  scripted,
  type SessionEvent,
} from "../../mod.ts";
import { LabClock } from "../../src/testing/lab/lab_clock.ts";
import { withQuickDigests } from "../../src/testing/lab/quick_digest.ts";
import type { CrashState, SimulatedMedium } from "../../src/testing/media/mod.ts";
import { SimulatedTarget } from "../../src/testing/simulated_target.ts";
import { type Payment, payTool } from "../../src/tools/pack/payment.ts";
import { logIn, type Moment, openOn, PAYMENT, type PaymentRun, SESSION_ID } from "./payment_run.ts";

/** What the log says of the payment. `not_proposed`: the model never asked for it. */
export type Given = CallClass | "done" | "not_proposed";

/** How the next start ends. */
export type NextStart =
  /** The log is damaged: shown, never written. */
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | {
    readonly kind: "open";
    readonly given: Given;
    /** What asking the bank found; `null` when nobody asked. */
    readonly verdict: "happened" | "absent" | "undecidable" | null;
    /** Events that were appended: verdicts and closers. */
    readonly appended: readonly SessionEvent[];
    /** Events of an unfinished write that could be kept. */
    readonly salvagedEvents: number;
    /** What the model reads as the result of the payment; `null` when the log holds none. */
    readonly modelReads: string | null;
  };

/** A state, looked at. */
export interface Look {
  /** The log's bytes as the crash left them. */
  readonly log: Uint8Array;
  /** Which of the changes that waited have arrived, in words. */
  readonly arrived: string;
  /** What proves the class, by event; `null` when the log says nothing of the payment, or all of it. */
  readonly evidence: CallEvidence | null;
  readonly next: NextStart;
  /** What the bank holds in the end. */
  readonly bankAtLast: "paid once" | "not paid" | "paid twice";
  /** What is wrong with what was said; none of it may ever be. */
  readonly lies: readonly string[];
}

/** How the next start goes. */
export interface NextStartOptions {
  /** Whether the tool can ask the bank what became of a key. */
  readonly asksBank: boolean;
}

/** Starts the engine on a state, and compares what it says with what the bank knows. */
export function lookAt(run: PaymentRun, moment: Moment, state: CrashState, options: NextStartOptions): Promise<Look> {
  return withQuickDigests(async () => {
    const bank = await bankAt(moment);
    const medium = state.medium();
    const log = (logIn(state.files()) ?? new Uint8Array(0)).slice();
    const evidence = await evidenceOn(state.medium());
    const next = await startOn(medium, bank, options.asksBank);
    // A request that was under way arrives when the next process has long been up.
    if (moment.bank === "under way") await bank.perform(moment.effectKey!, PAYMENT);
    const times = bank.ledger.length;
    const bankAtLast = times === 0 ? "not paid" : times === 1 ? "paid once" : "paid twice";
    const look = { log, arrived: state.describe(), evidence, next, bankAtLast } as const;
    const lies = liesOf(moment, look);
    const promised = run.log.subarray(0, moment.acknowledgedBytes);
    for (const left of [log, logIn(medium.snapshot())]) {
      if (left === null || !beginsWith(left, promised)) lies.push("what was acknowledged is not there any more");
    }
    return { ...look, lies };
  });
}

/** Reads a log as a person does who writes nothing: its evidence about the payment. */
async function evidenceOn(medium: SimulatedMedium): Promise<CallEvidence | null> {
  const clock = new LabClock();
  const store = openOn(medium, "reader", clock);
  let folds = logFold.initial();
  const read = async () => {
    const reader = await store.open(SESSION_ID, "read", { visit: (event) => folds = logFold.apply(folds, event) });
    await reader.close();
    await store.close();
  };
  await clock.run(read());
  return callEvidence(folds).find(({ name }) => name === "pay") ?? null;
}

async function startOn(medium: SimulatedMedium, bank: SimulatedTarget<Payment>, asksBank: boolean): Promise<NextStart> {
  const clock = new LabClock();
  const store = openOn(medium, "next", clock);
  const pay = payTool(bank);
  // Without its lookup the tool cannot be asked, as one that nobody has written one for.
  const tools = [asksBank ? pay : { ...pay, reconcile: null }];
  const agent = createAgent({ store, model: scripted([]), tools });
  const start = async () => {
    const session = await agent.resume(SESSION_ID);
    const events: SessionEvent[] = [];
    for (let from: number | null = 0; from !== null;) {
      const page = await session.session.history({ from });
      events.push(...page.events);
      from = page.nextFrom;
    }
    const found = foundBy(session.resumed!, events);
    await session.close();
    await store.close();
    return found;
  };
  const ended = await clock.run(start());
  if (ended.kind === "done") return ended.value;
  if (ended.kind === "failed" && ended.error instanceof HoldfastError) {
    return { kind: "refused", code: ended.error.code, message: ended.error.message };
  }
  throw new Error("Cannot start on this state", { cause: ended });
}

function foundBy({ calls, verdicts, closers, salvagedEvents }: Resumed, events: readonly SessionEvent[]): NextStart {
  const open = calls.find(({ name }) => name === "pay");
  const results = events.flatMap((event) => isEvent(event, "tool/result") ? [event.data] : []);
  const result = results.at(-1);
  const given = open?.class ?? (result === undefined ? "not_proposed" : "done");
  const settled = verdicts.flatMap((event) => isEvent(event, "effect/reconciled") ? [event.data.verdict] : [])[0] ??
    null;
  const verdict = settled === "retry" ? null : settled;
  const blocks = result?.message.content.flatMap((block) => block.type === "tool-result" ? block.content : []) ?? [];
  const text = blocks.map((block) => block.type === "text" ? block.text : "").join("");
  const modelReads = result === undefined ? null : text;
  return { kind: "open", given, verdict, appended: [...verdicts, ...closers], salvagedEvents, modelReads };
}

/** The bank as it was at a moment: nothing that happens after a crash may change another state's bank. */
async function bankAt({ bank: state, effectKey }: Moment): Promise<SimulatedTarget<Payment>> {
  const bank = new SimulatedTarget<Payment>();
  if (state === "paid") await bank.perform(effectKey!, PAYMENT);
  return bank;
}

/** Held against the bank alone, without looking at how the engine decides. */
function liesOf(moment: Moment, { next, bankAtLast }: Omit<Look, "lies">): string[] {
  const lies: string[] = [];
  const mayHaveBegun = moment.bank !== "not asked";
  if (bankAtLast === "paid twice") lies.push("the bank was made to pay twice");
  if (next.kind === "refused") return lies;
  const { given, verdict } = next;
  if (mayHaveBegun && given.startsWith("not_")) lies.push(`${given}, and the request had left`);
  if (given === "done" && moment.bank !== "paid") lies.push("done, and the bank had not paid");
  if (verdict === "happened" && bankAtLast !== "paid once") lies.push("settled as happened, and the bank never paid");
  if (verdict === "absent" && bankAtLast !== "not paid") lies.push("settled as absent, and the bank paid");
  const isDispatched = moment.written.includes("effect/dispatched");
  if (given === "outcome_unknown" && !isDispatched) lies.push("unknown, before the marker was being written");
  return lies;
}

function beginsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  return bytes.length >= start.length && start.every((byte, index) => byte === bytes[index]);
}
