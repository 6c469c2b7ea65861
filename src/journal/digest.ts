/**
 * SHA-256, as the names of blobs and torn-tail copies carry it.
 *
 * @module
 */

/** SHA-256 of some bytes: 64 lower-case hex digits. */
export async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
