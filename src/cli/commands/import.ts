/**
 * `holdfast import`: a log, an archive of a log and its blobs, or the log of another program, as a session of this root.
 *
 * @module
 */
import { readFileSync, type Stats, statSync } from "node:fs";
import { resolve } from "node:path";
import {
  isEvent,
  type LogReader,
  NotFoundError,
  type SessionEvent,
  StorageLostError,
  TooLargeError,
} from "../../../mod.ts";
import { openFileLogs, openLogFile } from "../../entry/file.ts";
import { RAW_LOG_BYTES_MAX } from "../../entry/raw_logs.ts";
import { UsageError } from "../usage.ts";
import type { Command } from "../command.ts";
import { importForeignLog } from "../foreign_import.ts";
import { counted } from "../format.ts";
import { isWhole, lossLines, lossText, spilledMember } from "../spilled_report.ts";

/**
 * Takes a file in, byte for byte, under the id in its header. What was exported can have gone on elsewhere, so the log says from
 * then on that it came from outside, and every call before that is classed by the conservative rules.
 *
 * Long results come out of an archive, or, for a bare log, out of the folder `blobs` beside it. A log whose long results did not
 * come with it is taken in all the same: everything else of it can be read, and what is missing is said. Exit code 1 then, and
 * when the log has a fault: it is kept, and can be read up to it.
 */
export const importCommand: Command = {
  spec: {
    name: "import",
    positionals: "FILE",
    help:
      "take a log file, a .zip of a log and its long results, or a log of Claude Code, Codex or pi, in as a session",
    flags: {},
    count: [1, 1],
  },
  async run({ args, out, cwd, root, storeName, openStore }) {
    if (storeName !== null) {
      throw new UsageError(`Cannot import into ${storeName}: import below a root, and copy the session from there`);
    }
    const file = args.positionals[0]!;
    const path = resolve(cwd, file);
    const logs = openFileLogs({ root });
    const bytes = bytesOf(path, file);
    if (await importForeignLog(file, bytes, { out, root })) return 0;
    const beside = besideOf(path);
    const { id, fault, spilled } = await logs.take(file, bytes, beside).finally(() => beside.close());
    if (fault === null) {
      await using store = await openStore();
      const salvaged: SessionEvent[] = [];
      const visit = (event: SessionEvent) => {
        if (isEvent(event, "log/salvaged")) salvaged.push(event);
      };
      const log = await store.open(id, "write", { visit });
      try {
        await logs.admit(log, salvaged);
      } finally {
        await log.close();
      }
    }
    out.json({ id, damage: fault, ...spilledMember(spilled) });
    out.line(`Session ${id} was taken in`);
    if (isWhole(spilled) && spilled.count > 0) out.line(`  with ${counted(spilled.count, "long result")} beside it`);
    if (!isWhole(spilled)) {
      out.note(`Without all of its long results: ${lossText(spilled)}. A .zip of holdfast export brings them along`);
      for (const line of lossLines(spilled)) out.note(`  ${line}`);
    }
    if (fault !== null) out.note(`It can be read up to the damage: ${fault.code}: ${fault.message}`);
    return fault === null && isWhole(spilled) ? 0 : 1;
  },
};

/** Looked at before it is read: a file that is too large is refused, and does not fill the memory first. */
function bytesOf(path: string, file: string): Uint8Array<ArrayBuffer> {
  const stat: Stats = worded(file, () => statSync(path));
  if (!stat.isFile()) throw new StorageLostError(`Cannot import file "${file}": it is not a regular file`);
  if (stat.size > RAW_LOG_BYTES_MAX) {
    throw new TooLargeError(`Cannot import file "${file}": ${stat.size} bytes are more than ${RAW_LOG_BYTES_MAX}`);
  }
  const { buffer, byteOffset, byteLength } = worded(file, () => readFileSync(path));
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}

function worded<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    const { code, message } = cause as Error & { readonly code?: unknown };
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new NotFoundError(`Cannot import file "${file}": there is no such file`, { cause });
    }
    throw new StorageLostError(`Cannot import file "${file}": ${message}`, { cause });
  }
}

/** What lies beside a bare log. It is opened with the first blob that is asked for; most logs name none. */
function besideOf(path: string): Pick<LogReader, "getBlob" | "close"> {
  let opened: Promise<LogReader> | null = null;
  return {
    getBlob: async (digest) => await (await (opened ??= openLogFile(path))).getBlob(digest),
    close: async () => await (await opened)?.close(),
  };
}
