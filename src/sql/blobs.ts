/**
 * Bytes beside a log, under their SHA-256: attachments and long results.
 *
 * @module
 */
import { CorruptFrameError, NotFoundError, TooLargeError } from "../errors.ts";
import { CONTENT_SIZE_BYTES_MAX } from "./limits.ts";
import type { SqlPort, SqlTransaction } from "./sql_port.ts";

/** Throws {@link TooLargeError} for more bytes than a column may hold. */
export function checkBlobSize(bytes: Uint8Array): void {
  if (bytes.length <= CONTENT_SIZE_BYTES_MAX) return;
  throw new TooLargeError(`Cannot keep a blob: it has ${bytes.length} bytes, the limit is ${CONTENT_SIZE_BYTES_MAX}`);
}

/** Puts bytes under their digest, in place of what may be there: nothing but these bytes belongs under it. */
export async function putBlobRow(
  transaction: SqlTransaction,
  key: string,
  incarnation: string,
  digest: string,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<void> {
  await transaction.run(
    "INSERT INTO blob (session_id, incarnation, digest, content) VALUES ($1, $2, $3, $4) " +
      "ON CONFLICT (session_id, incarnation, digest) DO UPDATE SET content = excluded.content",
    ...[key, incarnation, digest, bytes],
  );
}

/**
 * @throws {TypeError} when `digest` is not 64 lower-case hex digits
 * @throws {NotFoundError}
 * @throws {CorruptFrameError} when what is there is not what was kept
 */
export async function getBlob(
  sql: SqlPort,
  key: string,
  incarnation: string,
  digest: string,
): Promise<Uint8Array<ArrayBuffer>> {
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new TypeError(`Cannot read blob "${digest}": not 64 lower-case hex digits`);
  const [row] = await sql.read((transaction) =>
    transaction.all(
      "SELECT content FROM blob WHERE session_id = $1 AND incarnation = $2 AND digest = $3",
      ...[key, incarnation, digest],
    )
  );
  if (row === undefined) throw new NotFoundError(`Cannot read blob "${digest}": there is no such blob`);
  const bytes = row.content as Uint8Array<ArrayBuffer>;
  if (await sha256Hex(bytes) === digest) return bytes;
  throw new CorruptFrameError(`Cannot read blob "${digest}": what is there has another SHA-256`);
}

/** SHA-256 of some bytes: 64 lower-case hex digits. */
export async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** Bytes as lower-case hex digits. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
