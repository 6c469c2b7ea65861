/**
 * Cases about a medium that is really full: a small tmpfs, and a process that may not write large files.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openFileStorage } from "../../../src/adapters/file/mod.ts";
import { publish } from "../../../src/storage/storage_port.ts";
import { checkEquals, type ContractCase } from "../../../src/testing/check.ts";
import { bytesOf } from "../../../src/testing/storage_contract.ts";
import type { FileContext } from "./file_context.ts";

/** The file size limit in bytes; `ulimit -f` counts in KiB. */
const LIMIT_KIB = 32;

interface FillReport {
  /** The code of the append that did not fit. */
  readonly code: string;
  readonly acknowledgedBytes: number;
  readonly sizeBytesAfterFailure: number;
  /** What a publish said while it was full. */
  readonly publishCode: string | null;
  /** What the same file said after room was made, or for a smaller piece. */
  readonly codeAfterwards: string | null;
  readonly isTextWhole: boolean;
}

export const fileFullCases: readonly ContractCase<FileContext>[] = [
  {
    name: "field/A04 a full tmpfs: STORAGE_FULL, the file is as it was acknowledged, and goes on when there is room",
    skip: () =>
      unshared("true").status === 0 ? null : "mounting a tmpfs is not permitted here; the injected case covers it",
    run: async ({ root, selfCommand }) => {
      mkdirSync(root);
      const script = `mount -t tmpfs -o size=128k tmpfs "$0" && exec "$@"`;
      const report = await parse(unshared("sh", "-c", script, root, ...selfCommand, "--fill", root));
      checkEquals(report.code, "STORAGE_FULL");
      checkEquals(report.sizeBytesAfterFailure, report.acknowledgedBytes);
      checkEquals(report.publishCode, "STORAGE_FULL");
      checkEquals([report.codeAfterwards, report.isTextWhole], [null, true]);
    },
  },
  {
    name:
      "field/A04 RLIMIT_FSIZE with SIGXFSZ ignored: STORAGE_FULL, the file is as it was acknowledged, and takes what fits",
    skip: () => spawnSync("bash", ["-c", "ulimit -f"]).status === 0 ? null : "no shell that can set a file size limit",
    run: async ({ root, selfCommand }) => {
      const script = `trap "" XFSZ; ulimit -f ${LIMIT_KIB}; exec "$@"`;
      const report = await parse(spawnSync("bash", ["-c", script, "bash", ...selfCommand, "--fill", root]));
      checkEquals(report.code, "STORAGE_FULL");
      checkEquals(report.sizeBytesAfterFailure, report.acknowledgedBytes);
      checkEquals([report.codeAfterwards, report.isTextWhole], [null, true]);
    },
  },
];

/** Writes until the medium is full, makes room, writes on, and prints a {@linkcode FillReport}. */
export async function fill(root: string): Promise<void> {
  await using storage = openFileStorage({ root });
  const lock = await storage.lock("a/session.lock");
  const ballast = join(root, "ballast");
  writeFileSync(ballast, new Uint8Array(20_000));
  await publish(storage, "a/log", bytesOf("start;"), lock);
  const file = await storage.open("a/log", lock);
  let text = "start;";
  let code: string | null = null;
  for (let index = 0; code === null; index++) {
    const piece = `${index}:${"x".repeat(3_000)};`;
    code = await codeOfAppend(file, piece);
    if (code === null) text += piece;
  }
  const acknowledgedBytes = text.length;
  const { sizeBytes = -1 } = await storage.stat("a/log") ?? {};
  const publishCode = await publish(storage, "a/side", new Uint8Array(60_000).fill(1), lock).then(() => null, codeOf);
  if (existsSync(ballast)) unlinkSync(ballast);
  const codeAfterwards = await codeOfAppend(file, "end;");
  text += "end;";
  const isTextWhole = readFileSync(join(root, "a/log"), "utf8") === text;
  const report: FillReport = {
    code,
    acknowledgedBytes,
    sizeBytesAfterFailure: sizeBytes,
    publishCode,
    codeAfterwards,
    isTextWhole,
  };
  console.log(JSON.stringify(report));
}

async function codeOfAppend(
  file: { append(bytes: Uint8Array): Promise<void>; sync(): Promise<void> },
  piece: string,
): Promise<string | null> {
  try {
    await file.append(bytesOf(piece));
    await file.sync();
    return null;
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error);
}

/** Runs a command where it may mount something that nobody else sees. */
function unshared(...command: string[]) {
  return spawnSync("unshare", ["--mount", "--map-root-user", "--", ...command]);
}

// deno-lint-ignore require-await -- a rejection is easier to read than a throw inside of a case
async function parse(result: { status: number | null; stdout: Uint8Array; stderr: Uint8Array }): Promise<FillReport> {
  const [out, err] = [new TextDecoder().decode(result.stdout), new TextDecoder().decode(result.stderr)];
  if (result.status !== 0) throw new Error(`the filling process ended with ${result.status}: ${err}`);
  return JSON.parse(out);
}
