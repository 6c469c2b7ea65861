/**
 * Puts faults into a copy of the engine, one at a time, and lets their finders look.
 *
 * @module
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SeededFault } from "./seeded_faults.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** What a faulty engine is made of. */
const PARTS = ["src", "mod.ts", "deno.json", "deno.lock", "tests"];
/** How long one fault may take. A finder that does not end has found nothing. */
const FAULT_MS_MAX = 1_800_000;

/** What became of one fault. */
export interface FaultReport {
  readonly name: string;
  readonly says: string;
  /** The checker, or the test, that found it; `null` = nobody did. */
  readonly foundBy: string | null;
  /** How many states were tried until then; `null` where tests are the finder. */
  readonly states: number | null;
  readonly message: string;
}

/** What the lab said. */
interface Explored {
  readonly states: number;
  readonly violation: { readonly checker: string; readonly message: string; readonly replay: string } | null;
}

/** A copy of the repository in which one fault after the other is put. */
export class FaultyEngine implements AsyncDisposable {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  /** Copies what is needed. */
  static async create(): Promise<FaultyEngine> {
    const root = await Deno.makeTempDir({ prefix: "holdfast-faults-" });
    for (const part of PARTS) await cp(join(ROOT, part), join(root, part), { recursive: true });
    return new FaultyEngine(root);
  }

  /** Puts a fault in, lets its finder look, and takes it out again. Without a fault: what the lab says of the engine as it is. */
  async look(fault: SeededFault | null, seed: number, statesMax: number): Promise<FaultReport> {
    const restore = await this.#put(fault);
    try {
      const { name, says, finder } = fault ?? { name: "none", says: "the engine as it is", finder: "lab" };
      return finder === "lab"
        ? { name, says, ...await this.#explore(seed, statesMax) }
        : { name, says, ...await this.#test(finder.tests) };
    } finally {
      await restore();
    }
  }

  async #put(fault: SeededFault | null): Promise<() => Promise<void>> {
    const originals = new Map<string, string>();
    for (const { file, find, replace } of fault?.edits ?? []) {
      const path = join(this.#root, file);
      const text = await Deno.readTextFile(path);
      if (!originals.has(path)) originals.set(path, text);
      const count = text.split(find).length - 1;
      if (count !== 1) throw new Error(`Cannot put in "${fault!.name}": its text is in ${file} ${count} times`);
      await Deno.writeTextFile(path, text.replace(find, () => replace));
    }
    return async () => {
      for (const [path, text] of originals) await Deno.writeTextFile(path, text);
    };
  }

  async #explore(seed: number, statesMax: number) {
    const { code, isTooLong, stdout, stderr } = await this.#run([
      ...["run", "-A", "--no-check", "--frozen", "--quiet"],
      join(this.#root, "tests/lab/faults/explore.ts"),
      ...[String(seed), String(statesMax)],
    ]);
    const line = stdout.trim().split("\n").at(-1) ?? "";
    if (isTooLong) return { foundBy: null, states: null, message: `not found within ${FAULT_MS_MAX / 60_000} min` };
    if (code !== 0) return { foundBy: "the lab could not go on", states: null, message: stderr.trim().slice(-600) };
    const { states, violation } = JSON.parse(line) as Explored;
    return violation === null
      ? { foundBy: null, states, message: "" }
      : { foundBy: violation.checker, states, message: `${violation.replay}: ${violation.message}` };
  }

  async #test(file: string) {
    const { code, isTooLong, stdout } = await this.#run(["test", "-A", "--no-check", "--frozen", "--quiet", file]);
    if (isTooLong) return { foundBy: null, states: null, message: `${file} did not end` };
    const failed = /^(.*) \.\.\. .*FAILED/m.exec(stdout)?.[1] ?? "";
    return { foundBy: code === 0 ? null : `${file}: ${failed}`, states: null, message: "" };
  }

  async #run(args: string[]): Promise<{ code: number; isTooLong: boolean; stdout: string; stderr: string }> {
    const tooLong = AbortSignal.timeout(FAULT_MS_MAX);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args,
      cwd: this.#root,
      stdin: "null",
      env: { NO_COLOR: "1" },
      signal: tooLong,
    }).output();
    return {
      code,
      isTooLong: tooLong.aborted,
      stdout: new TextDecoder().decode(stdout),
      stderr: new TextDecoder().decode(stderr),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#root, { recursive: true });
  }
}

/** The table of what was found, for people. */
export function faultTable(reports: readonly FaultReport[]): string {
  const rows = reports.map((
    { name, foundBy, states, says },
  ) => [name, foundBy ?? "NOBODY", String(states ?? "–"), says]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")).join("\n");
}
