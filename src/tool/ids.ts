/**
 * Ids and keys that nobody can guess or repeat.
 *
 * @module
 */
import type { Random } from "../runtime/runtime.ts";

/**
 * Draws an effect key: 128 random bits in hex. Never derived: seqs and ids are shared by copies of a log and can be used
 * again after a lost tail, and two effects must never share a key.
 *
 * @example
 * ```ts
 * import { newEffectKey } from "./ids.ts";
 *
 * if (newEffectKey({ bytes: (size) => new Uint8Array(size) }).length !== 32) throw new Error("unreachable");
 * ```
 */
export function newEffectKey(random: Random): string {
  return hex(random.bytes(16));
}

/**
 * Draws the id of a message.
 *
 * @see RFC 9562 §5.4, UUID version 4
 *
 * @example
 * ```ts
 * import { newMessageId } from "./ids.ts";
 *
 * const id = newMessageId({ bytes: (size) => new Uint8Array(size) });
 * if (id !== "00000000-0000-4000-8000-000000000000") throw new Error("unreachable");
 * ```
 */
export function newMessageId(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = bytes[6]! & 0x0f | 0x40;
  bytes[8] = bytes[8]! & 0x3f | 0x80;
  return hex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
