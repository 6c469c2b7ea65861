/**
 * Opening a log by a snapshot: whether one beside it stands for the beginning of just this log, and a scan that goes on behind it.
 *
 * @module
 */
import { KEPT_FOLDS_VERSION, type KeptFolds, readKept } from "../../fold/mod.ts";
import type { StoragePort } from "../../storage/storage_port.ts";
import { type ByteSource, fileSource } from "../byte_source.ts";
import { sha256Hex } from "../digest.ts";
import { snapshotOf } from "../layout.ts";
import { SNAPSHOT_BYTES_MAX, SNAPSHOT_COMPARED_BYTES, SNAPSHOT_LAST_FRAME_BYTES_MAX } from "../limits.ts";
import type { LogScan, ScanOptions } from "../scan.ts";
import { startScan } from "../start_scan.ts";
import { decodeSnapshot, type Snapshot } from "./snapshot.ts";

/** Which log. */
export interface SnapshotPlace {
  /** The session's folder, with its `/`. */
  readonly folder: string;
  /** The log's whole name. */
  readonly log: string;
}

/** A scan that stands where a snapshot ends. */
export interface Resumed {
  readonly scan: LogScan;
  readonly snapshot: Snapshot;
  readonly kept: KeptFolds;
}

/** What became of the snapshots beside a log: one that fits, or why none does; `null` when there are none. */
export type Found = Resumed | { readonly refused: string } | null;

/** The names of the snapshots beside a log, the one that covers most first. */
export async function snapshotNames(storage: StoragePort, { folder, log }: SnapshotPlace): Promise<string[]> {
  return (await storage.list(folder))
    .map((entry) => entry.kind === "file" ? snapshotOf(log, entry.name) : null)
    .filter((found) => found !== null)
    .sort((a, b) => b.coveredBytes - a.coveredBytes)
    .map(({ name }) => name);
}

/**
 * Looks for a snapshot and at what it says of the log: its length, its header, the end of what is covered, and, while the log has not
 * grown since, the medium's word for the file. Nothing that is wrong with a snapshot is an error.
 *
 * @param sizeBytes how long the log is now
 */
export async function resumeBySnapshot(
  context: Omit<ScanOptions, "encoding"> & { readonly storage: StoragePort },
  place: SnapshotPlace & Pick<ScanOptions, "encoding">,
  sizeBytes: number,
  signal: AbortSignal | undefined,
): Promise<Found> {
  const { storage } = context;
  let refused: string | null = null;
  try {
    for (const name of await snapshotNames(storage, place)) {
      const snapshot = await readSnapshot(storage, name);
      const resumed = snapshot === null
        ? "it is damaged, or of another program"
        : await resumeAtEnd(context, place, snapshot, sizeBytes, signal);
      if (typeof resumed !== "string") return resumed;
      refused ??= `${name.slice(place.folder.length)}: ${resumed}`;
    }
  } catch (error) {
    signal?.throwIfAborted();
    // What is in the way of reading the log itself is met again, by whoever reads it whole.
    refused = `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
  return refused === null ? null : { refused };
}

async function readSnapshot(storage: StoragePort, name: string): Promise<Snapshot | null> {
  const stat = await storage.stat(name);
  if (stat === null || stat.sizeBytes > SNAPSHOT_BYTES_MAX) return null;
  return await decodeSnapshot(await storage.read(name));
}

/** A scan behind the covered bytes, or what the snapshot has wrong about the log. */
async function resumeAtEnd(
  context: Omit<ScanOptions, "encoding"> & { readonly storage: StoragePort },
  { log, encoding }: SnapshotPlace & Pick<ScanOptions, "encoding">,
  snapshot: Snapshot,
  sizeBytes: number,
  signal: AbortSignal | undefined,
): Promise<Resumed | string> {
  const { coveredBytes, lastStartBytes, headerEndBytes, frames, places } = snapshot;
  if (snapshot.foldsVersion !== KEPT_FOLDS_VERSION) return "its folds are of another version";
  if (snapshot.encoding !== encoding) return "it is of a log in the other encoding";
  if (coveredBytes > sizeBytes) return `it stands for ${coveredBytes} bytes, and the log has ${sizeBytes}`;
  const lastBytes = coveredBytes - lastStartBytes;
  if (!(lastBytes > 0 && lastBytes <= SNAPSHOT_LAST_FRAME_BYTES_MAX)) return "its last frame has no size it could have";
  if (coveredBytes === sizeBytes && (await context.storage.stat(log))?.revision !== snapshot.revision) {
    return "the log is another file, or was written since";
  }
  const source = fileSource(context.storage, log);
  if (await digestOf(source, 0, headerEndBytes) !== snapshot.headerDigest) return "the log has another header";
  if (await endDigestOf(source, lastStartBytes, coveredBytes) !== snapshot.endDigest) {
    return "the end of what it stands for is another one in the log";
  }

  const scan = startScan({ ...context, encoding });
  await scan.advance(source, headerEndBytes, { signal });
  if (scan.header === null || scan.stop !== null || scan.objection !== null || scan.endBytes !== headerEndBytes) {
    return "the header of the log cannot be read by itself";
  }
  const kept = readKept(snapshot.kept);
  const { surface, nextSeq } = kept.folds;
  if (surface.fault !== null) return "it is of a damaged log";
  const { inheritedEventCount, hasInheritedSeed } = snapshot;
  const checked = { nextSeq, surface, inheritedEventCount, hasInheritedSeed };
  scan.resumeAt({ log: checked, places, frames, endBytes: coveredBytes, lastStartBytes });
  return { scan, snapshot, kept };
}

/** SHA-256 of a range of a file. */
export async function digestOf(source: ByteSource, startBytes: number, endBytes: number): Promise<string> {
  return await sha256Hex(await source.read(startBytes, endBytes));
}

/** SHA-256 of the last covered frame and of what is before it, as far as it is compared. */
export async function endDigestOf(source: ByteSource, lastStartBytes: number, coveredBytes: number): Promise<string> {
  const startBytes = Math.max(0, Math.min(lastStartBytes, coveredBytes - SNAPSHOT_COMPARED_BYTES));
  return await digestOf(source, startBytes, coveredBytes);
}
