/**
 * Which version a log's header claims, before anybody reads the rest.
 *
 * @module
 */
import { hasCode } from "../../errors.ts";
import { isRecord } from "../../event/checks.ts";
import { LineScanner, type ZstdCodec } from "../../frame/mod.ts";
import { type ByteSource, readChunks, readFrames } from "../byte_source.ts";
import type { LogEncoding } from "../layout.ts";
import type { JournalLimits } from "../limits.ts";

/** The version; `null` when the bytes hold no header that says one. */
export async function peekVersion(
  source: ByteSource,
  sizeBytes: number,
  encoding: LogEncoding,
  { codec, limits }: { readonly codec: ZstdCodec; readonly limits: JournalLimits },
): Promise<number | null> {
  const lines = new LineScanner(0, limits.contentSizeBytesMax);
  try {
    for await (const plain of plainText()) {
      for (const { text } of lines.feed(plain)) return versionIn(text);
    }
  } catch (error) {
    if (!hasCode(error, "CORRUPT_FRAME") && !hasCode(error, "TOO_LARGE")) throw error;
  }
  return null;

  async function* plainText(): AsyncGenerator<Uint8Array, void, undefined> {
    if (encoding === "none") return yield* readChunks(source, 0, sizeBytes);
    for await (const piece of readFrames(source, 0, sizeBytes, limits.frameSizeBytesMax)) {
      if (piece.kind !== "frame") return;
      yield codec.decompress(piece.frame.bytes, limits.contentSizeBytesMax);
    }
  }
}

function versionIn(line: string): number | null {
  try {
    const header: unknown = JSON.parse(line);
    return isRecord(header) && typeof header.version === "number" ? header.version : null;
  } catch {
    return null;
  }
}
