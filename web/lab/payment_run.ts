/**
 * One small run of the real engine on a simulated medium: an agent pays somebody. At every moment at which a crash could come it
 * keeps every state that the crash could leave, and what the bank had done by then.
 *
 * @module
 */
import { createAgent, scripted, type SessionStore, type Tool } from "../../mod.ts";
import { openStoreOver } from "../../src/entry/over_storage.ts";
import { diceOf } from "../../src/testing/lab/dice.ts";
import { LabClock } from "../../src/testing/lab/lab_clock.ts";
import { withQuickDigests } from "../../src/testing/lab/quick_digest.ts";
import {
  type CrashState,
  type MediumKind,
  type MediumOperation,
  type SimulatedMedium,
  simulatedMedium,
} from "../../src/testing/media/mod.ts";
import { SimulatedTarget } from "../../src/testing/simulated_target.ts";
import { type Payment, payTool } from "../../src/tools/pack/payment.ts";
import { linesBetween } from "./log_lines.ts";

/** The session of the run. */
export const SESSION_ID = "payment";

/** Where the log is on the medium; a log that is stored plainly, so that its bytes can be read. */
export const LOG_NAME = /session\.v\d+\.jsonl$/;

/** What is paid. */
export const PAYMENT: Payment = { to: "alice", amount: 10 };

/** How far the payment itself has come. */
export type BankState =
  /** The bank has heard nothing. */
  | "not asked"
  /** The request has left and not arrived. */
  | "under way"
  /** The money has moved. */
  | "paid";

/** An instant at which a crash can come. */
export interface Moment {
  /** What has just been done, in words. */
  readonly done: string;
  /** Types of the events of the turn that have been handed to the medium by now, whether or not they are durable. */
  readonly written: readonly string[];
  /** How long the log is, as processes see it. */
  readonly writtenBytes: number;
  /** How many bytes of the log were promised to survive by now: what a sync has acknowledged. */
  readonly acknowledgedBytes: number;
  readonly bank: BankState;
  /** The key under which the payment was sent; `null` before that. */
  readonly effectKey: string | null;
  readonly stateCount: number;
  /** What a crash may leave, by number; in 0 nothing of what waits has arrived. */
  stateAt(index: number): CrashState;
}

/** A run that has been made. */
export interface PaymentRun {
  readonly kind: MediumKind;
  readonly moments: readonly Moment[];
  /** Where the turn begins in the log. */
  readonly turnStartBytes: number;
  /** The log as it is in the end. */
  readonly log: Uint8Array;
}

/** What the crash states of a write are enumerated by: prefixes at its ends and at sectors, and whole sectors. */
const BOUNDS = { blockBytes: 512, prefixBytesMax: 64, blockCombinationsMax: 16, nameCombinationsMax: 16 };

/** Lets the agent pay on a fresh medium, and keeps every moment. The same kind gives the same run. */
export function runPayment(kind: MediumKind): Promise<PaymentRun> {
  return withQuickDigests(async () => {
    const medium = simulatedMedium({ kind, bounds: BOUNDS });
    const keeper = new MomentKeeper(medium);
    const clock = new LabClock();
    const store = openOn(medium, "first", clock);
    const agent = createAgent({
      store,
      model: scripted([
        [{ text: "Good day." }],
        [{ text: "I will pay." }, { call: { name: "pay", arguments: { ...PAYMENT } } }],
        [{ text: "Paid." }],
      ]),
      tools: [keeper.pay],
      approvers: [() => "allowed-once"],
    });
    const play = async () => {
      const session = await agent.create({ id: SESSION_ID });
      // A session that is some seconds old: its name is durable on every medium.
      await session.send("good day");
      await session.session.flush();
      medium.writeBack();
      keeper.begin();
      await session.send(`pay ${PAYMENT.amount} to ${PAYMENT.to}`);
      await session.close();
      await store.close();
    };
    const ended = await clock.run(play());
    if (ended.kind !== "done") throw new Error("Cannot make the run: it did not come to its end", { cause: ended });
    return keeper.finish(kind);
  });
}

/** A store on a medium, as one process opens it. Logs are stored plainly. */
export function openOn(medium: SimulatedMedium, processName: string, clock: LabClock): SessionStore {
  const storage = medium.open(processName);
  return openStoreOver({ storage, compression: "none", runtime: { clock, random: diceOf(7) } });
}

/** What is known at an instant, before the log is whole and its lines have names. */
interface Seen extends Pick<Moment, "bank" | "effectKey" | "stateCount" | "stateAt" | "acknowledgedBytes"> {
  readonly operation: MediumOperation | null;
  /** Said in place of the operation. */
  readonly words: string | null;
  /** Of the log, as processes see it. */
  readonly sizeBytes: number;
}

/** Watches a run from outside: its medium, and the way to the bank. */
class MomentKeeper {
  readonly #medium: SimulatedMedium;
  readonly #seen: Seen[] = [];
  #last: MediumOperation | null = null;
  #startBytes = 0;
  #acknowledgedBytes = 0;
  #bank: BankState = "not asked";
  #effectKey: string | null = null;

  constructor(medium: SimulatedMedium) {
    this.#medium = medium;
  }

  /** From now on, every moment is kept. */
  begin(): void {
    const medium = this.#medium;
    this.#startBytes = this.#acknowledgedBytes = logIn(medium.snapshot())?.length ?? 0;
    // Told before an operation: everything before it is done.
    medium.observer = (operation) => {
      this.#see(this.#last, null);
      this.#last = operation;
    };
  }

  /** The tool that pays, with the instants of the way to the bank. */
  get pay(): Tool {
    const bank = new SimulatedTarget<Payment>();
    return payTool({
      close: (...question) => bank.close(...question),
      perform: async (key, payment) => {
        this.#see(this.#last, null);
        this.#effectKey = key;
        this.#bank = "under way";
        this.#see(null, "the request has left for the bank");
        const answer = await bank.perform(key, payment);
        this.#bank = "paid";
        this.#see(null, "the bank has paid, and its answer is on its way back");
        this.#last = null;
        return answer;
      },
    });
  }

  /** Names what was done at each moment. */
  finish(kind: MediumKind): PaymentRun {
    this.#medium.observer = null;
    this.#see(this.#last, null);
    const log = logIn(this.#medium.snapshot()) ?? new Uint8Array(0);
    let before = this.#startBytes;
    const moments = this.#seen.map((seen): Moment => {
      const added = linesBetween(log, before, seen.sizeBytes);
      before = seen.sizeBytes;
      const { bank, effectKey, stateCount, stateAt, acknowledgedBytes } = seen;
      const done = seen.words ?? wordsFor(seen.operation, added);
      const written = linesBetween(log, this.#startBytes, seen.sizeBytes);
      const writtenBytes = seen.sizeBytes;
      return { done, written, writtenBytes, acknowledgedBytes, bank, effectKey, stateCount, stateAt };
    });
    return { kind, moments, turnStartBytes: this.#startBytes, log };
  }

  #see(operation: MediumOperation | null, words: string | null): void {
    const medium = this.#medium;
    const sizeBytes = logIn(medium.snapshot())?.length ?? 0;
    if (operation !== null && operation.kind === "sync" && LOG_NAME.test(operation.name)) {
      this.#acknowledgedBytes = sizeBytes;
    }
    const stateCount = medium.countCrashStates();
    const states = Array.from({ length: stateCount }, (_, index) => medium.crashStateAt(index));
    const { length } = this.#seen;
    // The instant before the request leaves is the one after the marker's sync: it is there already.
    if (words === null && this.#seen[length - 1]?.operation === operation) return;
    this.#seen.push({
      ...{ operation, words, sizeBytes, stateCount, stateAt: (index) => states[index]! },
      ...{ bank: this.#bank, effectKey: this.#effectKey, acknowledgedBytes: this.#acknowledgedBytes },
    });
  }
}

/** The bytes of the log among the files of a medium; `null` when it is not there. */
export function logIn(files: ReadonlyMap<string, Uint8Array>): Uint8Array | null {
  for (const [name, bytes] of files) if (LOG_NAME.test(name)) return bytes;
  return null;
}

function wordsFor(operation: MediumOperation | null, types: readonly string[]): string {
  if (operation === null) return "the person has said what to pay, and nothing of it is written";
  const { kind, name, sizeBytes } = operation;
  const isLog = LOG_NAME.test(name);
  const what = isLog
    ? "the log"
    : name.endsWith("session.lock")
    ? "the lock file"
    : name.endsWith("/")
    ? "a folder"
    : "a file beside it";
  const which = types.length === 0 ? "" : `: ${types.join(", ")}`;
  switch (kind) {
    case "write":
      return `${sizeBytes} bytes written to ${what}${which}`;
    case "sync":
      return `${what} is synced`;
    case "sync-folder":
      return "the names of a folder are synced";
    case "mkdir":
      return "a folder is made";
    case "create":
      return `${what} is made, empty`;
    case "open-handle":
      return `${what} is opened for this process alone`;
    case "link":
      return `${what} has its name${which}`;
    case "truncate":
      return `${what} is cut`;
    case "unlink":
      return `a name of ${what} is removed`;
  }
}
