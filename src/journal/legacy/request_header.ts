/**
 * What older versions write into a request header and version 3 leaves out.
 *
 * @see session-format §10.4
 * @module
 */
import { isRecord, type JsonRecord } from "../../event/checks.ts";

/** A request header without empty lists of tools and empty defaults. Its other members keep their order. */
export function currentHeader(header: JsonRecord): JsonRecord {
  const kept = Object.entries(header).filter(([key, value]) => !isEmptyMember(key, value));
  return Object.fromEntries(kept);
}

function isEmptyMember(key: string, value: unknown): boolean {
  if (key === "tools") return Array.isArray(value) && value.length === 0;
  return key === "adapterDefaults" && isRecord(value) && Object.keys(value).length === 0;
}
