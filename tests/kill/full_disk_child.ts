/**
 * The script of the full disk in a process of its own, below a limit or inside of a small tmpfs.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { unlinkSync, writeFileSync } from "node:fs";
import process from "node:process";
import { openFileStore } from "../../src/entry/file.ts";
import { fillInTheMiddle, type FullDiskFiles, type Point } from "./full_disk.ts";

/** What it shall do. */
export interface FullDiskOrder {
  readonly root: string;
  readonly point: Point;
  readonly files: FullDiskFiles;
  /** `tmpfs`: the root lies on one. `limit`: this process may not write files beyond a size that `ballast` exceeds. */
  readonly medium: "tmpfs" | "limit";
  readonly ballast: number;
}

/** More than any disk of these tests has. */
const FILL_BYTES_MAX = 64 * 1024 * 1024;

const { root, point, files, medium, ballast } = JSON.parse(process.argv[2] ?? "") as FullDiskOrder;
const filler = `${root}/filler`;

function fillTmpfs(): void {
  const piece = new Uint8Array(4096).fill(1);
  for (let bytes = 0; bytes < FILL_BYTES_MAX; bytes += piece.length) {
    try {
      writeFileSync(filler, piece, { flag: "a" });
    } catch {
      return;
    }
  }
  throw new Error("The disk does not get full");
}

/** The soft limit of a running process may be raised to its hard one. */
function liftLimit(): boolean {
  return spawnSync("prlimit", ["--pid", String(process.pid), "--fsize=unlimited"]).status === 0;
}

const report = await fillInTheMiddle(
  {
    store: openFileStore({ root }),
    ballast,
    fill: () => {
      if (medium === "tmpfs") fillTmpfs();
    },
    free: () => {
      if (medium === "limit") return liftLimit();
      unlinkSync(filler);
      return true;
    },
  },
  point,
  files,
);
console.log(JSON.stringify(report));
