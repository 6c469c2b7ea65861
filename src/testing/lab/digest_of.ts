/**
 * A short name for arguments, to tell equal ones from others in a ledger.
 *
 * @module
 */

/** FNV-1a, 32 bits, of a text, as 8 hex digits. */
export function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
