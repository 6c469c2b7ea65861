/**
 * Has logs that came out of a browser judged by the command: `holdfast verify FILE…`.
 *
 * @module
 */
import { repositoryDir } from "../../support/paths.ts";

/** The part of a verdict that the browser tests look at. */
export interface LogVerdict {
  readonly id: string;
  readonly version: number;
  readonly encoding: string;
  readonly events: number;
  readonly torn: unknown;
  readonly damage: unknown;
  readonly open: unknown;
  readonly closers: readonly unknown[];
}

/**
 * Verifies the logs, all with one start of the command.
 *
 * @param logs name (for messages) → bytes
 * @throws {Error} when one is not what `verify` calls fine, or is torn
 */
export async function verifyLogs(logs: ReadonlyMap<string, Uint8Array>): Promise<LogVerdict[]> {
  if (logs.size === 0) return [];
  const folder = await Deno.makeTempDir({ prefix: "holdfast-verify-" });
  try {
    const names = [...logs.keys()];
    const paths = names.map((_, index) => `${folder}/${index}.session.v3.jsonl.zstd`);
    for (const [index, path] of paths.entries()) await Deno.writeFile(path, logs.get(names[index]!)!);
    const verdicts = await runVerify(paths);
    for (const [index, verdict] of verdicts.entries()) {
      const isFine = verdict.damage === null && verdict.torn === null;
      if (!isFine) throw new Error(`verify finds in ${names[index]}: ${JSON.stringify(verdict)}`);
    }
    return verdicts;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** `holdfast verify --json` on files. @throws {Error} when it exits with another code than 0 */
export async function runVerify(paths: readonly string[]): Promise<LogVerdict[]> {
  const config = `${repositoryDir}/deno.json`;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", config, `${repositoryDir}/src/cli/main.ts`, "verify", "--json", ...paths],
    stdin: "null",
    env: { NO_COLOR: "1" },
  }).output();
  const said = new TextDecoder().decode(stdout);
  if (code !== 0) throw new Error(`verify exits with ${code}: ${said} ${new TextDecoder().decode(stderr)}`);
  return JSON.parse(said);
}
