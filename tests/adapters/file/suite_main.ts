/**
 * The program behind the tests of the file adapter, for Deno and, bundled, for Node.
 *
 * `--suite` runs every case and prints one JSON line each; `--other` is the contract's other process; `--fill ROOT` writes until
 * the medium is full.
 *
 * @module
 */

import process from "node:process";
import { fileURLToPath } from "node:url";
import type { ContractCase } from "../../../src/testing/check.ts";
import { storageContract, storageFaultCases } from "../../../src/testing/storage_contract.ts";
import { fileClaimCases } from "./claim_cases.ts";
import { fileFullCases, fill } from "./full_cases.ts";
import { createFileContext, type FileContext } from "./file_context.ts";
import { fileLockCases } from "./lock_cases.ts";
import { PipedProcess, serveOther } from "./other_process.ts";
import { fileTreeCases } from "./tree_cases.ts";

/** Every case of the file adapter: the contract, and what only files have. */
export const fileSuite: readonly ContractCase<FileContext>[] = [
  ...storageContract,
  ...storageFaultCases,
  ...fileTreeCases,
  ...fileClaimCases,
  ...fileLockCases,
  ...fileFullCases,
];

/** How a case went: `skipped` says why. */
export interface CaseResult {
  readonly name: string;
  readonly skipped: string | null;
  readonly error: string | null;
}

/** What starts this program. In Node this file is part of a bundle, which is then what is started. */
export function selfCommand(): string[] {
  const flags = "Deno" in globalThis ? ["run", "--quiet", "--allow-all"] : [];
  return [process.execPath, ...flags, fileURLToPath(import.meta.url)];
}

/** Runs the cases one after the other; `heard` is called with each result. */
export async function runFileSuite(heard: (result: CaseResult) => void): Promise<void> {
  const command = selfCommand();
  const other = new PipedProcess([...command, "--other"]);
  for (const { name, run, skip } of fileSuite) {
    const context = createFileContext(other, command);
    const skipped = skip?.(context.storage.traits) ?? null;
    let error: string | null = null;
    try {
      if (skipped === null) await run(context);
    } catch (caught) {
      error = caught instanceof Error ? `${caught.stack}\n${caught.cause ?? ""}` : String(caught);
    }
    await context.end();
    heard({ name, skipped, error });
  }
  await other.kill();
}

const [mode, argument = ""] = process.argv.slice(2);
if (mode === "--other") await serveOther();
if (mode === "--fill") await fill(argument);
if (mode === "--suite") await runFileSuite((result) => console.log(JSON.stringify(result)));
