/**
 * What every part of one journal shares.
 *
 * @module
 */
import type { ZstdCodec } from "../frame/mod.ts";
import type { Clock, Random } from "../runtime/runtime.ts";
import type { StoragePort } from "../storage/storage_port.ts";
import type { Bells } from "./bells.ts";
import type { LogEncoding } from "./layout.ts";
import type { StageVerifier } from "./generations/verify_stage.ts";
import type { JournalLimits } from "./limits.ts";

/** The wiring of one store. */
export interface JournalContext {
  readonly storage: StoragePort;
  readonly codec: ZstdCodec;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: JournalLimits;
  /** How new sessions are stored. Existing ones keep what they have. */
  readonly compression: LogEncoding;
  readonly bells: Bells;
  /** Checks a migrated log before it is published. Default: where it is called. */
  readonly verifyStage?: StageVerifier;
}
