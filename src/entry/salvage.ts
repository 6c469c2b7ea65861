/**
 * What is wrong with a log, and what can be recovered of it, over whatever storage an entry opened.
 *
 * @module
 */
import { portableZstd } from "../frame/portable_zstd.ts";
import {
  diagnoseLog as diagnose,
  type JournalOptions,
  type LogBytes,
  type LogDiagnosis,
  planSalvage as plan,
  type Salvaged,
  salvageLog as salvage,
  type SalvageOptions,
  type SalvagePlan,
} from "../journal/mod.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { systemRuntime } from "./system.ts";

export {
  type BytePlace,
  DAMAGE_KINDS,
  type DamageKind,
  type Diagnosis,
  type DroppedPiece,
  FINDINGS_MAX,
  type LogBranch,
  type LogBytes,
  logBytes,
  type LogDiagnosis,
  type PlannedCopy,
  type Salvaged,
  type SalvagedSession,
  type SalvagePlan,
} from "../journal/mod.ts";

/** How a log is read. */
export interface DiagnoseOptions {
  /** Default: the portable one. */
  readonly codec?: JournalOptions["codec"];
  readonly limits?: JournalOptions["limits"];
  readonly signal?: AbortSignal;
}

/** Where the copies go. */
export interface SalvageOverOptions extends Omit<SalvageOptions, "codec" | "clock" | "random"> {
  /** Default: the portable one. */
  readonly codec?: JournalOptions["codec"];
  /** Default: the system's. */
  readonly runtime?: Runtime;
}

/**
 * Everything that is wrong with a log, behind damage too. Nothing is written.
 *
 * @example
 * ```ts
 * import { diagnoseLog, logBytes } from "./salvage.ts";
 *
 * const { findings } = await diagnoseLog(logBytes("a.jsonl", new Uint8Array(0)));
 * if (findings[0]?.kind !== "header-missing") throw new Error("unreachable");
 * ```
 */
export function diagnoseLog(source: LogBytes, options: DiagnoseOptions = {}): Promise<LogDiagnosis> {
  return diagnose(source, { codec: portableZstd(), ...options });
}

/**
 * What a salvage would keep, drop and infer. Nothing is written.
 *
 * @throws {CorruptLogError} when there is no event in it
 * @throws {UnsupportedFormatError} when its header names a version that this build does not read
 *
 * @example
 * ```ts
 * import { logBytes, planSalvage } from "./salvage.ts";
 *
 * const row = '{"type":"turn/start","seq":3,"time":1,"data":{"turn":1}}\n';
 * const { copies } = await planSalvage(logBytes("a.jsonl", new TextEncoder().encode(row)));
 * if (copies[0]?.kept[0]?.[0] !== 3) throw new Error("unreachable");
 * ```
 */
export function planSalvage(source: LogBytes, options: DiagnoseOptions = {}): Promise<SalvagePlan> {
  return plan(source, { codec: portableZstd(), ...options });
}

/**
 * Writes what can be recovered of a log as new sessions. The source is only read; the storage stays the caller's.
 *
 * @throws as `planSalvage()`, and {@link SourceDriftError} when the source changes meanwhile
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "./memory.ts";
 * import { logBytes, salvageLog } from "./salvage.ts";
 *
 * const row = '{"type":"turn/start","seq":3,"time":1,"data":{"turn":1}}\n';
 * const source = logBytes("a.jsonl", new TextEncoder().encode(row));
 * const { sessions } = await salvageLog(source, { storage: new MemoryStorage(), newId: () => "b" });
 * if (sessions[0]?.id !== "b") throw new Error("unreachable");
 * ```
 */
export function salvageLog(source: LogBytes, options: SalvageOverOptions): Promise<Salvaged> {
  const { runtime = systemRuntime, codec = portableZstd() } = options;
  return salvage(source, { ...options, ...runtime, codec });
}
