/**
 * `flock(2)` in Node, which has no call for it: the `flock` command locks the descriptor it inherits from us as number 3.
 *
 * The lock belongs to the open file, not to the process that asked, so it stays when the command ends and goes with our
 * descriptor.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { StorageLostError } from "../../errors.ts";
import { codeOf } from "./errno.ts";
import { FLAGS, identityOf } from "./file_system.ts";
import type { Guard, KernelLock } from "./guard.ts";

/** How long the command may take, in ms; it only makes one system call. */
const COMMAND_TIMEOUT_MS = 5_000;

/** The lock of Node. */
export const nodeKernelLock: KernelLock = {
  unusable: null,

  acquire(path: string): Guard | null {
    const descriptor = openSync(path, FLAGS.read);
    try {
      if (flock(descriptor, "-x", path)) {
        return { identity: identityOf(fstatSync(descriptor)), release: () => closeSync(descriptor) };
      }
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    closeSync(descriptor);
    return null;
  },

  probe(path: string): boolean {
    const descriptor = openSync(path, FLAGS.read);
    try {
      return isInLockTable(descriptor) || !flock(descriptor, "-s", path);
    } finally {
      closeSync(descriptor);
    }
  },
};

/** Locks a descriptor; false when somebody else has it. Only the exit codes that util-linux and BusyBox share are read. */
function flock(descriptor: number, mode: "-x" | "-s", path: string): boolean {
  const { status, error, stderr } = spawnSync("flock", ["-n", mode, "3"], {
    stdio: ["ignore", "ignore", "pipe", descriptor],
    timeout: COMMAND_TIMEOUT_MS,
  });
  const said = stderr?.toString().trim() ?? "";
  if (status === 0) return true;
  if (status === 1 && said === "") return false;
  if (codeOf(error) === "ENOENT") {
    throw new StorageLostError(
      `Cannot lock "${path}": Node has no file lock of its own and the command "flock" (util-linux) is not installed`,
      { cause: error },
    );
  }
  throw new StorageLostError(`Cannot lock "${path}": "flock" ended with ${status ?? error}: ${said}`, { cause: error });
}

/**
 * A cheap look before starting a command. The table does not show everything (holders in another container, file systems
 * that give inodes two numbers), so "no" is no answer.
 *
 * @see man 5 proc_locks
 */
function isInLockTable(descriptor: number): boolean {
  let table: string;
  try {
    table = readFileSync("/proc/locks", "utf8");
  } catch {
    return false;
  }
  const { dev, ino } = fstatSync(descriptor, { bigint: true });
  const [major, minor] = [(dev >> 8n) & 0xfffn, (dev & 0xffn) | ((dev >> 12n) & 0xfff00n)];
  const hex = (number: bigint) => number.toString(16).padStart(2, "0");
  const file = `${hex(major)}:${hex(minor)}:${ino}`;
  return table.split("\n").some((line) =>
    line.includes("FLOCK") && line.includes("WRITE") && line.includes(` ${file} `)
  );
}
