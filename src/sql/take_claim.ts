/**
 * Taking the right to write, or waiting for it.
 *
 * @module
 */
import type { Clock } from "../runtime/runtime.ts";
import { type HoldWait, whenFree } from "../store/when_free.ts";
import { CLAIM_POLL_MS_MAX, CLAIM_POLL_MS_MIN } from "./limits.ts";
import type { SqlClaim, SqlPort } from "./sql_port.ts";

/**
 * Claims a session, trying again with back-off for as long as it is told.
 *
 * @param what what it is for, for the message: `open session "a" for writing`
 * @throws {LockHeldError} when another writer is alive
 */
export function takeClaim(
  sql: SqlPort,
  key: string,
  what: string,
  clock: Clock,
  wait: HoldWait = {},
): Promise<SqlClaim> {
  const tries = { what, clock, pollMsMin: CLAIM_POLL_MS_MIN, pollMsMax: CLAIM_POLL_MS_MAX };
  return whenFree(() => sql.claim(key), tries, wait);
}
