/**
 * What a judge gets to see of one crash: bytes, what the processes did, what the world saw, and what was said afterwards.
 *
 * One trace is about one session and one crash. A run with several crashes gives one trace for each, and one more for its end,
 * with nothing lost between `image` and the last append. Every trace of a run holds the ledger of the whole run, because a
 * promise about a key is about what comes later too. Steps are the lab's own clock: one counter for the whole run, which every
 * operation of the medium and every event of the world takes one from, so that two of them never share a step.
 *
 * @module
 */

/** The contents of a medium: full name → bytes. */
export type Files = ReadonlyMap<string, Uint8Array>;

/** One crash, from every side. */
export interface LabTrace {
  /** The full name of the session's log, whether it is there or not: `--p--/<id>/session.v3.jsonl.zstd`. */
  readonly log: string;
  readonly medium: "posix" | "opfs";
  readonly compression: "none" | "zstd";
  /**
   * `false`: the medium makes names durable in its own time, and had not made the log's durable yet, or somebody removed it. Where
   * the crash then took the whole log nobody has lied, and nothing can be asked of what it held. Left out: the name was durable.
   */
  readonly isNameDurable?: boolean;
  /**
   * The full names of files and folders that this crash, or one before it, took, because a medium that defers names had not made
   * theirs durable. Default: none.
   */
  readonly lostNames?: readonly string[];
  /** The process that crashed. Processes of a run are counted from 0; one that dies while it recovers is one of them too. */
  readonly incarnation: number;
  /** The step of the crash. */
  readonly crashedAtStep: number;
  /** All files right after the crash, before anybody opened the session again. */
  readonly image: Files;
  /**
   * All files after the session was opened for writing and repaired, before anything new was appended but what a resume itself
   * writes. With a refusal in {@linkcode liveness}: all files after the attempt, which must have changed nothing.
   */
  readonly recovered?: Files;
  /** The same image recovered on other ways, which must say the same. */
  readonly recoveredAgain?: readonly AnotherRecovery[];
  /** Everything that was handed to the store, of all processes up to this crash, in the order of time. */
  readonly appended: readonly AppendedBatch[];
  /** The highest seq that anybody was told is durable before the crash, by an append, a flush or a resume; −1 when none was. */
  readonly acknowledgedThroughSeq: number;
  /** When the marker and the result of each call were flushed. */
  readonly calls: readonly CallSteps[];
  /** The world's ledger: what took effect, in the order it did, over the whole run, requests that landed after a crash included. */
  readonly effects: readonly LedgerEntry[];
  /** Tools whose success means that the ledger holds an effect of their call. Others may succeed without one. */
  readonly ledgerTools: readonly string[];
  /**
   * What the public API said about each call after the recovery. A call that nothing was said about is simply not listed. With
   * {@linkcode unresolved} every call that waited for its answer is.
   */
  readonly reports: readonly CallReport[];
  /** What the public API listed as still unknown after the recovery: the seqs of `tool/call`s, and which part of it said so. */
  readonly unresolved?: readonly { readonly by: string; readonly callSeqs: readonly number[] }[];
  /** The model requests derived from the log after the recovery, in order. */
  readonly requests: readonly RequestOfTrace[];
  /** Who held the session's lock, and when it wrote, over the whole run up to the recovery. */
  readonly writers: readonly WriterInterval[];
  /** How the opening after the crash ended: another turn was run to its end, it was refused, or neither came. */
  readonly liveness: "went-on" | { readonly refused: string } | "stuck";
  /** For a damaged image: what `salvage` made of it. Left out when nobody asked. */
  readonly salvaged?: { readonly log: string; readonly files: Files; readonly wentOn: boolean };
}

/** Another way from the same image to a recovered session. */
export interface AnotherRecovery {
  /**
   * `reopened`: opened a second time after `recovered`, with nothing in between: it must add nothing.
   * `crashed`: recovered from the image again, and that recovery crashed on its way, at least once, before one went through.
   */
  readonly kind: "reopened" | "crashed";
  /** For a person: "crash at operation 7 of the recovery, sync lost". */
  readonly how: string;
  /** All files at its end; `null` when it was refused. */
  readonly files: Files | null;
  /** For `crashed`: the full names of files that the crash inside of the recovery took, their names not being durable yet. */
  readonly lostNames?: readonly string[];
}

/** One batch handed to the store. */
export interface AppendedBatch {
  readonly incarnation: number;
  readonly seqFrom: number;
  /** The highest seq that had been acknowledged to anybody when it was handed over; −1 when none was. */
  readonly acknowledgedThroughSeq?: number;
  /** The events as they lie in the log, `seq` included; they must not be changed afterwards. */
  readonly rows: readonly unknown[];
}

/**
 * When a call passed its flushes, by what the medium really did and not by what anybody was told; a step is absent when the
 * process did not get there. Bodies that have no marker by the rules, nested ones without an effect, are not listed.
 */
export interface CallSteps {
  readonly callId: string;
  readonly callSeq: number;
  readonly incarnation: number;
  readonly markerFlushStartedAtStep?: number;
  readonly markerFlushEndedAtStep?: number;
  readonly bodyStartedAtStep?: number;
  /** How often the body began; left out when it did not, or once. */
  readonly bodyStarts?: number;
  readonly resultFlushStartedAtStep?: number;
  readonly resultFlushEndedAtStep?: number;
}

/** One effect that the world let happen. */
export interface LedgerEntry {
  readonly effectKey: string;
  readonly tool: string;
  /** The call whose body asked for it: the id the body was given. */
  readonly callId: string;
  /** The process whose body asked for it, dead or not when the effect came. */
  readonly incarnation: number;
  readonly acceptedAtStep: number;
  readonly argsDigest: string;
  /** What the body was given, as JSON; left out where the world does not see it. */
  readonly arguments?: string;
  /** Whether a person was asked about this very call and allowed it, by the word of the person and not of the log. */
  readonly isGranted?: boolean;
}

/** What can be said about a call. `not_proposed`: its assistant message is not there either. */
export type CallClass = "not_proposed" | "not_started" | "not_dispatched" | "outcome_unknown" | "done";

/** How a lookup, or a person, settled an unknown. */
export type CallVerdict = "happened" | "absent" | "undecidable" | "retry";

/** What was said about one call. */
export interface CallReport {
  readonly callId: string;
  /** The seq of its `tool/call`, when one was said. */
  readonly callSeq?: number;
  /** The class by the evidence of the crash, before anything settled it. */
  readonly class: CallClass;
  /** The last verdict, when there is one. */
  readonly verdict?: CallVerdict;
  /** Who gave it. A person may be wrong; a lookup may not. Absent: a lookup. */
  readonly by?: "lookup" | "person";
  readonly effectKey?: string;
  /** The seq that was named as the evidence. */
  readonly evidenceSeq?: number;
  readonly saidAtStep?: number;
}

/** One request to the model. */
export interface RequestOfTrace {
  readonly messages: readonly unknown[];
}

/** One process that held the session's lock, as the medium knows it. */
export interface WriterInterval {
  readonly process: string;
  readonly heldFromStep: number;
  /** The step at which it released or lost the lock, or died and the medium let go; `null` when it still holds it. */
  readonly heldToStep: number | null;
  /** The steps at which bytes of this process reached the session's log. */
  readonly wroteAtSteps: readonly number[];
}

/** The checkers by name, in the order in which their findings are listed. */
export const CHECKERS = [
  "durable-intent",
  "no-false-class",
  "no-false-verdict",
  "unknown-window",
  "acknowledged-kept",
  "nothing-invented",
  "bytes-equal",
  "repair-idempotent",
  "well-formed-transcript",
  "lawful-compaction",
  "single-writer",
  "no-duplicate-effect",
  "liveness",
] as const;

/** The name of a checker. */
export type CheckerName = typeof CHECKERS[number];

/** One broken promise. */
export interface Violation {
  readonly checker: CheckerName;
  /** For a person: which call, which seq, what the bytes say, what was said. */
  readonly message: string;
}
