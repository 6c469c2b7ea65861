/**
 * The same suites as in Deno and Node, in Bun: both codecs, the file adapter, the journal over files.
 */
import { assert, assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { codecContract } from "../../src/testing/codec_contract.ts";
import type { CaseResult } from "../adapters/file/suite_main.ts";
import { findBun } from "../support/bun.ts";
import { bundleForNode } from "../support/node.ts";

const bun = await findBun().catch((error: Error) => {
  console.log(`3 cases not run: ${error.message} (the suites in Bun)`);
  return null;
});

Deno.test({
  name: "codec contract on Bun: both codecs pass every case",
  ignore: bun === null,
  fn: async () => {
    const [line] = await linesOf("tests/frame/node_suite.ts");
    assertEquals(JSON.parse(line!), { cases: 2 * codecContract.length, failures: [] });
  },
});

for (
  const [what, entry] of [
    ["the file adapter in Bun keeps the storage contract", "tests/adapters/file/suite_main.ts"],
    ["the journal over files in Bun keeps the session store contract", "tests/journal/file_suite_main.ts"],
  ] as const
) {
  Deno.test({
    name: what,
    ignore: bun === null,
    fn: async (t) => {
      const results = (await linesOf(entry)).map((line) => JSON.parse(line) as CaseResult);
      assert(results.length > 0, "the suite has no case");
      for (const { name, skipped, error } of results) {
        await t.step({
          name: skipped === null ? name : `${name} (not run: ${skipped})`,
          ignore: skipped !== null,
          fn: () => {
            if (error !== null) throw new Error(error);
          },
        });
      }
    },
  });
}

/** What a suite prints, which is over when it ends well. */
async function linesOf(entry: string): Promise<string[]> {
  const bundle = await bundleForNode(entry);
  try {
    const { success, stdout } = await new Deno.Command(bun!, { args: [bundle, "--suite"], stderr: "inherit" }).output();
    const lines = new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
    assert(success, `the suite ended after ${lines.length} lines`);
    return lines;
  } finally {
    await Deno.remove(dirname(bundle), { recursive: true });
  }
}
