/**
 * Bytes beside a log, under their SHA-256: attachments and long results.
 *
 * @module
 */
import { CorruptFrameError, hasCode, NotFoundError, TooLargeError } from "../errors.ts";
import type { ZstdCodec } from "../frame/mod.ts";
import { publish, type StorageLock, type StoragePort } from "../storage/storage_port.ts";
import { sha256Hex } from "./digest.ts";
import type { JournalLimits } from "./limits.ts";

/** Where the blobs of one session lie: `blobs/` in its folder, each one zstd frame. */
export interface Blobs {
  readonly storage: StoragePort;
  readonly codec: ZstdCodec;
  readonly limits: JournalLimits;
  /** The session's folder, with its `/`. */
  readonly folder: string;
}

/**
 * Keeps bytes, durable when it resolves. Bytes that are there already are not written again.
 *
 * @throws {TooLargeError}
 */
export async function putBlob(blobs: Blobs, bytes: Uint8Array<ArrayBuffer>, lock: StorageLock): Promise<string> {
  const { storage, codec, limits } = blobs;
  if (bytes.length > limits.contentSizeBytesMax) {
    throw new TooLargeError(
      `Cannot keep a blob: it has ${bytes.length} bytes, the limit is ${limits.contentSizeBytesMax}`,
    );
  }
  const digest = await sha256Hex(bytes);
  const name = blobName(blobs, digest);
  const frame = codec.compress(bytes);
  try {
    await publish(storage, name, frame, lock);
    return digest;
  } catch (error) {
    if (!hasCode(error, "ALREADY_EXISTS")) throw error;
  }
  // The name may be of a writer that died before it was durable, and a damaged copy helps nobody: nothing but these bytes can
  // belong under this name, so what is there is replaced unless it reads back right and was synced.
  const isGood = await getBlob(blobs, digest).then(() => true, () => false);
  if (isGood) {
    const file = await storage.open(name, lock);
    await file.sync().finally(() => file.close());
    return digest;
  }
  await storage.remove(name, lock);
  await publish(storage, name, frame, lock);
  return digest;
}

/**
 * @throws {TypeError} when `digest` is not 64 lower-case hex digits
 * @throws {NotFoundError}
 * @throws {CorruptFrameError} when what is there is not what was kept
 */
export async function getBlob(blobs: Blobs, digest: string): Promise<Uint8Array<ArrayBuffer>> {
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new TypeError(`Cannot read blob "${digest}": not 64 lower-case hex digits`);
  const { storage, codec, limits } = blobs;
  const name = blobName(blobs, digest);
  const stat = await storage.stat(name);
  if (stat === null) throw new NotFoundError(`Cannot read blob "${digest}": there is no such blob`);
  if (stat.sizeBytes > limits.frameSizeBytesMax) {
    throw new TooLargeError(
      `Cannot read blob "${digest}": it has ${stat.sizeBytes} bytes, the limit is ${limits.frameSizeBytesMax}`,
    );
  }
  const bytes = codec.decompress(await storage.read(name), limits.contentSizeBytesMax);
  if (await sha256Hex(bytes) === digest) return bytes;
  throw new CorruptFrameError(`Cannot read blob "${digest}": what is there has another SHA-256`);
}

function blobName({ folder }: Blobs, digest: string): string {
  return `${folder}blobs/${digest}`;
}
