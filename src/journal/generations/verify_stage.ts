/**
 * Checks a migrated log before it gets its name: decodes it whole, as strictly as a reader does that will build on it.
 *
 * @see session-format §10.1
 * @module
 */
import { CorruptLogError } from "../../errors.ts";
import type { SessionEvent } from "../../event/mod.ts";
import type { ZstdCodec } from "../../frame/mod.ts";
import type { ByteSource } from "../byte_source.ts";
import { withEventLean } from "../checked_log.ts";
import { CURRENT_DIALECT, type Dialect } from "../dialect.ts";
import { errorOf } from "../finding.ts";
import type { LogEncoding } from "../layout.ts";
import type { JournalLimits } from "../limits.ts";
import { startScan } from "../start_scan.ts";
import { streamProblem } from "./stream_problem.ts";

/** What is checked. */
export interface StagedLog {
  /** The name it will get. */
  readonly name: string;
  readonly sizeBytes: number;
  readonly encoding: LogEncoding;
}

/** What a staged log was found to be. */
export interface StagedFacts {
  readonly id: string;
  readonly events: number;
  readonly inheritedEventCount: number;
}

/**
 * Decodes a staged log whole and says what it is.
 *
 * A function of its own, so that a runtime with threads can do it on another one.
 *
 * @throws {CorruptLogError|CorruptFrameError} when anything in it would not open
 */
export type StageVerifier = (
  staged: StagedLog,
  read: ByteSource["read"],
  limits: JournalLimits,
) => Promise<StagedFacts>;

/** Version 3, without the texts of the surface: a log is looked through here, and not kept. */
const LEAN_DIALECT: Dialect<SessionEvent> = {
  ...CURRENT_DIALECT,
  accept: (log, event, header) => streamProblem(event) ?? withEventLean(log, event, header),
};

/** The verifier that runs where it is called. */
export function verifyHere(codec: ZstdCodec): StageVerifier {
  return async ({ name, sizeBytes, encoding }, read, limits) => {
    const scan = startScan({ encoding, codec, limits, dialect: LEAN_DIALECT });
    await scan.advance({ name, read }, sizeBytes);
    const what = `publish "${name}"`;
    if (scan.finding !== null) throw errorOf(scan.finding, what);
    if (scan.endBytes !== sizeBytes) {
      throw new CorruptLogError(`Cannot ${what}: only ${scan.endBytes} of its ${sizeBytes} bytes are a log`);
    }
    const { log: { nextSeq, inheritedEventCount }, header } = scan;
    return { id: header!.id, events: nextSeq, inheritedEventCount };
  };
}
