/**
 * `holdfast --version`: what this is, and what runs it.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import type { Output } from "./output.ts";

/** Prints the version of deno.json and the runtime; with `--json` `{version, runtime, platform, architecture}`. */
export function tellVersion(out: Output): void {
  const { version } = JSON.parse(readFileSync(new URL("../../deno.json", import.meta.url), "utf8"));
  const { deno, node } = process.versions;
  const runtime = deno === undefined ? `node ${node}` : `deno ${deno}`;
  const { platform, arch: architecture } = process;
  out.line(`holdfast ${version} (${runtime}, ${platform} ${architecture})`);
  out.json({ version, runtime, platform, architecture });
}
