/**
 * What a migration and the thread that checks its result say to each other.
 *
 * @module
 */
import type { JournalLimits, StagedFacts, StagedLog } from "../journal/mod.ts";

/** To the checking thread: what to check, then the bytes it asked for. */
export type VerifyOrder =
  | { readonly kind: "check"; readonly staged: StagedLog; readonly limits: JournalLimits }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "failed"; readonly message: string };

/** From it: which bytes it wants, or what it found. */
export type VerifyAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "read"; readonly startBytes: number; readonly endBytes: number }
  | { readonly kind: "done"; readonly facts: StagedFacts }
  | { readonly kind: "refused"; readonly code: string | null; readonly message: string };
