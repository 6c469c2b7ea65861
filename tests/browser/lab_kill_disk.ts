/**
 * What a session of the lab left on the disk of a browser, read without the browser.
 *
 * Names are not in the files of a profile. A log is known by its header, and the copy of a torn tail by what is in it: the test has
 * seen every tail that a kill left.
 *
 * @module
 */
import { zstdDecompressSync } from "node:zlib";
import { type Snapshot, snapshotOf } from "../kill/lab_snapshot.ts";
import { readRaw } from "../kill/raw_log.ts";
import { filesOnDisk, readLogOnDisk } from "./support/disk_logs.ts";

/** A tail that a kill left behind the last whole frame. */
export interface KnownTail {
  readonly offsetBytes: number;
  readonly tail: Uint8Array;
}

/** Reads a session. A tail that is torn now is added to `tails`. `null` when nothing of it is there. */
export function snapshotOnDisk(profile: string, sessionId: string, tails: KnownTail[]): Snapshot | null {
  const log = readLogOnDisk(profile, sessionId);
  if (log === null) return null;
  const { tornBytes } = readRaw(log);
  const known = tails.filter(({ offsetBytes }) => offsetBytes === log.length - tornBytes);
  const copies = known.flatMap(({ offsetBytes, tail }) => {
    const copy = filesOnDisk(profile).find((bytes) => isCopyOf(bytes, tail));
    return copy === undefined ? [] : [{ offsetBytes, bytes: copy }];
  });
  if (tornBytes > 0) tails.push({ offsetBytes: log.length - tornBytes, tail: log.slice(log.length - tornBytes) });
  return snapshotOf(log, copies);
}

function isCopyOf(file: Uint8Array, tail: Uint8Array): boolean {
  let content: Uint8Array;
  try {
    content = zstdDecompressSync(file);
  } catch {
    return false;
  }
  return content.length === tail.length && content.every((byte, index) => byte === tail[index]);
}
