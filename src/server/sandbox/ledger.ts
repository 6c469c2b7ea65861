/**
 * Runs each effect key at most once, and says what became of it.
 *
 * A start is durable before the process exists; that a key never ran is said only behind a durable tombstone, after which it never
 * will. What was started and has no outcome when the server starts again is undecidable: it may have run, so it is not run again.
 *
 * @module
 */
import { type Clock, hasCode, type JsonObject } from "../../../mod.ts";
import { Refusal } from "../problem.ts";
import { ledgerDrafts, type LedgerEntry } from "./entries.ts";
import { LedgerLog, type LedgerLogOptions } from "./ledger_log.ts";
import { COMMANDS_RUNNING_MAX, LEDGER_KEYS_MAX } from "./limits.ts";

/** What became of a key. */
export type EffectState =
  /** Nobody asked for it yet: it may still come. */
  | { readonly state: "unseen" }
  /** Its command runs, or its outcome is not durable yet. */
  | { readonly state: "running" }
  /** Its command has ended. */
  | { readonly state: "finished"; readonly outcome: JsonObject }
  /** Its command was refused, and did not run. */
  | { readonly state: "refused"; readonly refusal: { readonly code: string; readonly message: string } }
  /** It did not run and never will. */
  | { readonly state: "absent" }
  /** It has run to some end; how is not kept any more. */
  | { readonly state: "forgotten" }
  /** It was started, and the server does not know how it ended. */
  | { readonly state: "undecidable" };

/** How a ledger is made. */
export interface LedgerParts extends LedgerLogOptions {
  readonly clock: Clock;
  /**
   * Whether a key is known to a ledger of another token. What may have run there is not run here, and not called absent: a page
   * that comes back with a new token means the same effect. Default: there are no others.
   */
  readonly isKnownElsewhere?: (effectKey: string) => Promise<boolean>;
  /** Default LEDGER_KEYS_MAX. */
  readonly keysMax?: number;
  /** Default COMMANDS_RUNNING_MAX. */
  readonly runningMax?: number;
  /** Told what failed where no request waits for it. */
  readonly report?: (error: unknown) => void;
}

/** A command of this process that was started. */
interface Running {
  readonly bodyDigest: string;
  readonly controller: AbortController;
  /** Resolves when it has ended and that was written down, or could not be. Never rejects. */
  readonly ended: Promise<void>;
  /** How it ended; `null` while it runs. From then on it waits to become durable. */
  outcome: JsonObject | null;
}

/**
 * The ledger of one token.
 *
 * @example
 * ```ts
 * import { openMemoryStore, systemClock } from "../../entry/memory.ts";
 * import { Ledger } from "./ledger.ts";
 *
 * await using store = openMemoryStore({ simulate: "disk" });
 * const ledger = new Ledger({ store, clock: systemClock });
 * let runs = 0;
 * const run = () => Promise.resolve({ exitCode: runs++ });
 * const [key, digest] = ["0".repeat(32), "1".repeat(64)];
 * await ledger.exec(key, digest, run);
 * await ledger.exec(key, digest, run);
 * await ledger.ended(key, 1000);
 * if (runs !== 1 || (await ledger.look(key)).state !== "finished") throw new Error("unreachable");
 * await ledger.close();
 * ```
 */
export class Ledger {
  readonly #parts: LedgerParts;
  readonly #running = new Map<string, Running>();
  /** Keys whose start was appended, refused by the medium, and that were not started. Their start may become durable all the same. */
  readonly #notStarted = new Set<string>();
  #log: LedgerLog | null = null;
  /** What is done now; the next waits for it. */
  #last: Promise<unknown> = Promise.resolve();
  #isClosing = false;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  /**
   * Starts the command of a key, if it never was, and says what is true then: `running`, or what became of it before.
   *
   * @param bodyDigest of what the key stands for
   * @param run starts the command. What it returns, or a failure that proves that nothing ran, is written down
   * @throws {Refusal} when the key came with another body before, or too much runs or is known
   * @throws whatever kept the start from becoming durable; nothing was started then
   */
  exec(
    effectKey: string,
    bodyDigest: string,
    run: (signal: AbortSignal) => Promise<JsonObject>,
  ): Promise<EffectState> {
    return this.#inTurn(async () => {
      const running = this.#running.get(effectKey);
      if (running !== undefined) {
        checkSame(effectKey, running.bodyDigest, bodyDigest);
        return await this.#stateOfRunning(effectKey, running);
      }
      const log = await this.#opened();
      const entry = log.entries.get(effectKey);
      if (entry !== undefined && !(entry.kind === "started" && this.#notStarted.has(effectKey))) {
        if ("bodyDigest" in entry) checkSame(effectKey, entry.bodyDigest, bodyDigest);
        await this.#flush(log);
        return await this.#stateOf(log, entry);
      }
      if (entry !== undefined && "bodyDigest" in entry) checkSame(effectKey, entry.bodyDigest, bodyDigest);
      if (this.#isClosing) throw closed();
      const { runningMax = COMMANDS_RUNNING_MAX } = this.#parts;
      if (this.#running.size >= runningMax) {
        throw new Refusal(429, "TOO_MANY_REQUESTS", `Cannot run one more command: ${runningMax} run already`);
      }
      if (entry === undefined) {
        if (await this.#isKnownElsewhere(effectKey)) return { state: "undecidable" };
        await this.#makeRoom(log);
        log.append(ledgerDrafts.started(effectKey, bodyDigest));
        this.#notStarted.add(effectKey);
      }
      await this.#flush(log);
      // Durable. From here on the process may exist.
      this.#notStarted.delete(effectKey);
      this.#start(effectKey, bodyDigest, run);
      return { state: "running" };
    });
  }

  /**
   * Says for good what became of a key. One that never came gets a tombstone, which is durable before it is called absent.
   *
   * @throws whatever kept the tombstone from becoming durable; nothing is known then
   */
  settle(effectKey: string): Promise<EffectState> {
    return this.#inTurn(async () => {
      const running = this.#running.get(effectKey);
      if (running !== undefined) return await this.#stateOfRunning(effectKey, running);
      const log = await this.#opened();
      let entry = log.entries.get(effectKey);
      if (entry === undefined || (entry.kind === "started" && this.#notStarted.has(effectKey))) {
        if (entry === undefined) {
          if (await this.#isKnownElsewhere(effectKey)) return { state: "undecidable" };
          await this.#makeRoom(log);
        }
        log.append(ledgerDrafts.tombstone(effectKey));
        entry = log.entries.get(effectKey)!;
        this.#notStarted.delete(effectKey);
      }
      await this.#flush(log);
      return await this.#stateOf(log, entry);
    });
  }

  /** Looks at a key, and changes nothing: only what is durable is said. */
  look(effectKey: string): Promise<EffectState> {
    return this.#inTurn(async () => {
      if (this.#running.has(effectKey)) return { state: "running" };
      const log = await this.#opened();
      const entry = log.entries.get(effectKey);
      if (entry === undefined || this.#notStarted.has(effectKey)) return { state: "unseen" };
      if (!log.isDurable(entry)) return { state: entry.kind === "finished" ? "running" : "unseen" };
      return await this.#stateOf(log, entry);
    });
  }

  /** Whether it knows a key; `null` while its log is not open. For the ledgers of other tokens. */
  knows(effectKey: string): boolean | null {
    if (this.#running.has(effectKey) || this.#notStarted.has(effectKey)) return true;
    return this.#log === null ? null : this.#log.entries.has(effectKey);
  }

  /** Waits for the end of a command, so long at most. One that does not run is not waited for. */
  async ended(effectKey: string, waitMs: number): Promise<void> {
    const running = this.#running.get(effectKey);
    if (running === undefined || waitMs <= 0) return;
    const late = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.schedule(waitMs, late.resolve);
    await Promise.race([running.ended, late.promise]);
    cancel();
  }

  /** Ends the command of a key and everything it started. Its outcome says so. @returns whether it runs */
  cancel(effectKey: string): boolean {
    const running = this.#running.get(effectKey);
    running?.controller.abort(new DOMException("The command was cancelled", "AbortError"));
    return running !== undefined;
  }

  /**
   * Lets commands go on for so long, in milliseconds, ends the rest, writes down how they ended, and gives the log free. Nothing is
   * started from now on.
   *
   * @param signal ends the commands at once
   */
  async close(deadlineMs = 0, signal?: AbortSignal): Promise<void> {
    this.#isClosing = true;
    // Whoever was about to start something has done so when our turn comes, and nobody does afterwards.
    await this.#inTurn(() => Promise.resolve());
    const allEnded = Promise.all([...this.#running.values()].map(({ ended }) => ended));
    const end = () => {
      for (const { controller } of this.#running.values()) controller.abort(closed());
    };
    const cancel = deadlineMs > 0 ? this.#parts.clock.schedule(deadlineMs, end) : null;
    if (cancel === null || signal?.aborted) end();
    signal?.addEventListener("abort", end);
    await allEnded;
    signal?.removeEventListener("abort", end);
    cancel?.();
    await this.#inTurn(async () => {
      const log = this.#log;
      this.#log = null;
      await log?.close();
    });
  }

  #start(effectKey: string, bodyDigest: string, run: (signal: AbortSignal) => Promise<JsonObject>): void {
    const controller = new AbortController();
    const ended = this.#run(effectKey, run, controller.signal);
    this.#running.set(effectKey, { bodyDigest, controller, ended, outcome: null });
  }

  async #run(effectKey: string, run: (signal: AbortSignal) => Promise<JsonObject>, signal: AbortSignal): Promise<void> {
    let outcome: JsonObject;
    try {
      // One tick later, so that `#running` knows it.
      await null;
      outcome = { ended: await run(signal) };
    } catch (error) {
      if (!hasCode(error, "SANDBOX_UNAVAILABLE")) this.#report(error);
      outcome = failed(error);
    }
    const running = this.#running.get(effectKey)!;
    running.outcome = outcome;
    await this.#inTurn(() => this.#record(effectKey, running)).catch((error) => this.#report(error));
  }

  /** Makes an outcome durable. Repeated until it is, by whoever asks next. */
  async #record(effectKey: string, running: Running): Promise<void> {
    // Another one was faster.
    if (this.#running.get(effectKey) !== running) return;
    const log = await this.#opened();
    if (log.entries.get(effectKey)?.kind !== "finished") {
      log.append(ledgerDrafts.finished(effectKey, running.bodyDigest, await this.#keep(log, running.outcome!)));
    }
    await this.#flush(log);
    this.#running.delete(effectKey);
  }

  async #keep(log: LedgerLog, outcome: JsonObject) {
    try {
      return await log.keep(outcome);
    } catch (error) {
      await this.#dropFailed(log);
      throw error;
    }
  }

  async #stateOfRunning(effectKey: string, running: Running): Promise<EffectState> {
    if (running.outcome === null) return { state: "running" };
    await this.#record(effectKey, running);
    const log = await this.#opened();
    return await this.#stateOf(log, log.entries.get(effectKey)!);
  }

  async #stateOf(log: LedgerLog, entry: LedgerEntry): Promise<EffectState> {
    switch (entry.kind) {
      case "tombstone":
        return { state: "absent" };
      case "forgotten":
        return { state: "forgotten" };
      case "started":
        return { state: "undecidable" };
      case "finished":
        return stateOfOutcome(await log.outcomeOf(entry.outcome));
    }
  }

  async #makeRoom(log: LedgerLog): Promise<void> {
    const { keysMax = LEDGER_KEYS_MAX } = this.#parts;
    if (log.entries.size >= keysMax) {
      throw new Refusal(507, "LEDGER_FULL", `Cannot take another effect key: the ledger knows ${keysMax} for good`);
    }
    await log.makeRoom();
  }

  async #isKnownElsewhere(effectKey: string): Promise<boolean> {
    return await this.#parts.isKnownElsewhere?.(effectKey) ?? false;
  }

  async #opened(): Promise<LedgerLog> {
    if (this.#isClosing && this.#log === null && this.#running.size === 0) throw closed();
    return this.#log ??= await LedgerLog.open(this.#parts);
  }

  /** A log that has become read-only is left; what is durable in it is read again by the next who asks. */
  async #flush(log: LedgerLog): Promise<void> {
    try {
      await log.flush();
    } catch (error) {
      await this.#dropFailed(log);
      throw error;
    }
  }

  async #dropFailed(log: LedgerLog): Promise<void> {
    if (!log.hasFailed) return;
    this.#log = null;
    await log.close().catch(() => {});
  }

  /** One thing after another. How many wait is bounded by how many requests of a token are worked on. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    return mine;
  }

  #report(error: unknown): void {
    this.#parts.report?.(error);
  }
}

function checkSame(effectKey: string, known: string, bodyDigest: string): void {
  if (known === bodyDigest) return;
  throw new Refusal(
    422,
    "IDEMPOTENCY_MISMATCH",
    `Cannot run effect "${effectKey}": this key came with another command before`,
  );
}

/** What is written down of a command that did not end in the ordinary way. */
function failed(error: unknown): JsonObject {
  if (hasCode(error, "SANDBOX_UNAVAILABLE")) {
    return { refused: { code: "SANDBOX_UNAVAILABLE", message: (error as Error).message } };
  }
  // Nobody knows how far it came.
  return { undecidable: true };
}

function stateOfOutcome(outcome: JsonObject): EffectState {
  if ("ended" in outcome) return { state: "finished", outcome: outcome["ended"] as JsonObject };
  if ("refused" in outcome) {
    return { state: "refused", refusal: outcome["refused"] as unknown as { code: string; message: string } };
  }
  return { state: "undecidable" };
}

function closed(): Refusal {
  return new Refusal(503, "DRAINING", "Cannot use the sandbox: the server is going down");
}
