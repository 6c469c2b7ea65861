/**
 * `holdfast import`: a log, or an archive of a log and its blobs, as a session of this root.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isEvent, NotFoundError, type SessionEvent, StorageLostError } from "../../../mod.ts";
import { openFileLogs } from "../../entry/file.ts";
import type { Command } from "../command.ts";

/**
 * Takes a file in, byte for byte, under the id in its header. What was exported can have gone on elsewhere, so the log says from
 * then on that it came from outside, and every call before that is classed by the conservative rules. Exit code 1 when the log has
 * a fault: it is kept, and can be read up to it.
 */
export const importCommand: Command = {
  spec: {
    name: "import",
    positionals: "FILE",
    help: "take a log file, or a .zip of a log and its long results, in as a session",
    flags: {},
    count: [1, 1],
  },
  async run({ args, out, cwd, root, openStore }) {
    const file = args.positionals[0]!;
    const logs = openFileLogs({ root });
    const { id, fault } = await logs.take(file, bytesOf(resolve(cwd, file), file));
    if (fault === null) {
      await using store = openStore();
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
    out.json({ id, damage: fault });
    out.line(`Session ${id} was taken in`);
    if (fault !== null) out.note(`It can be read up to the damage: ${fault.code}: ${fault.message}`);
    return fault === null ? 0 : 1;
  },
};

function bytesOf(path: string, file: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(readFileSync(path));
  } catch (cause) {
    const { code, message } = cause as Error & { readonly code?: unknown };
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new NotFoundError(`Cannot import file "${file}": there is no such file`, { cause });
    }
    throw new StorageLostError(`Cannot import file "${file}": ${message}`, { cause });
  }
}
