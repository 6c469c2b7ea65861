/**
 * What the portable core costs whoever loads it: bundled and minified as our own page is, compressed with gzip.
 *
 * The core is what an agent over any store brings along: everything reached from `createAgent`, `defineTool`, `createSession` and
 * `openSession`, which is events, folds, hooks, write-behind, sessions, barriers, approval, tools, compaction, the loop. Not in it:
 * codecs (zstd comes with a store), stores, models, and the package that checks JSON Schemas, which is counted beside it.
 */
import { assert } from "@std/assert";
import { gzipSync } from "node:zlib";
import { repositoryDir } from "../support/paths.ts";

/** How large the portable core may be, in bytes after gzip. */
const CORE_GZIP_BYTES_MAX: number = 60 * 1024;

const CORE = "export { createAgent, createSession, defineTool, openSession } from";

Deno.test("the portable core has at most 60 KiB after gzip", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-size-" });
  try {
    const entry = async (name: string, text: string) => {
      await Deno.writeTextFile(`${folder}/${name}`, text);
      return `${folder}/${name}`;
    };
    const core = await entry("core.ts", `${CORE} "${repositoryDir}/mod.ts";`);
    const withStore = await entry(
      "with_store.ts",
      `${CORE} "${repositoryDir}/mod.ts"; export { openOpfsStore } from "${repositoryDir}/src/entry/opfs.ts";`,
    );
    const sizes: [string, number][] = [
      ["portable core", await gzipBytes(core, folder, ["@cfworker/json-schema"])],
      ["with the check of JSON Schemas", await gzipBytes(core, folder)],
      ["all of mod.ts, whoever uses it", await gzipBytes(`${repositoryDir}/mod.ts`, folder)],
      ["core, schemas, OPFS store and zstd", await gzipBytes(withStore, folder)],
      ["what a page loads beside its worker (./client)", await gzipBytes(`${repositoryDir}/web/client.ts`, folder)],
    ];
    for (const [what, bytes] of sizes) console.log(`${(bytes / 1024).toFixed(1).padStart(7)} KiB gzip: ${what}`);
    const [[, coreBytes], [, wholeBytes]] = sizes as [[string, number], [string, number]];
    assert(coreBytes <= CORE_GZIP_BYTES_MAX, `the core has ${coreBytes} bytes, ${CORE_GZIP_BYTES_MAX} are allowed`);
    // The package is left out of the first and in the second: neither is an empty bundle.
    assert(coreBytes > 20 * 1024 && wholeBytes > coreBytes, `${coreBytes} of ${wholeBytes} bytes`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function gzipBytes(entry: string, folder: string, external: readonly string[] = []): Promise<number> {
  const output = `${folder}/out.js`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--minify", "--platform", "browser", "--config", `${repositoryDir}/deno.json`],
      ...external.flatMap((name) => ["--external", name]),
      ...["--output", output, entry],
    ],
    cwd: repositoryDir,
    stdin: "null",
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return gzipSync(await Deno.readFile(output), { level: 9 }).length;
}
