/**
 * Nested calls: calls a tool makes itself, logged as `tool/ptc-dispatch-start` and `tool/ptc-dispatch`.
 *
 * @module
 */
import type { JsonObject, SessionEvent } from "../event/mod.ts";

/** Whether a `tool/ptc-dispatch` says that its call succeeded. What says nothing proves nothing. */
export function isSuccess(event: SessionEvent): boolean {
  const { data } = event;
  return typeof data === "object" && data !== null && !Array.isArray(data) && (data as JsonObject).isError === false;
}

/** The `subCallId` a `tool/ptc-dispatch` settles. Its data is opaque to this build, so it may be missing. */
export function subCallIdOf(event: SessionEvent): string | null {
  const { data } = event;
  if (typeof data !== "object" || data === null || Array.isArray(data)) return null;
  const { subCallId } = data as JsonObject;
  return typeof subCallId === "string" ? subCallId : null;
}
