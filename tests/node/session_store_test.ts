import { dirname } from "node:path";
import type { CaseResult } from "../adapters/file/suite_main.ts";
import { bundleForNode, findNode } from "../support/node.ts";

// The same cases as in Deno, in a Node process of their own; only the lock differs.
Deno.test("the journal over files in Node keeps the session store contract", async (t) => {
  const bundle = await bundleForNode("tests/journal/file_suite_main.ts");
  try {
    const command = new Deno.Command(await findNode(), { args: [bundle, "--suite"], stderr: "inherit" });
    const { success, stdout } = await command.output();
    const lines = new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
    const results = lines.map((line) => JSON.parse(line) as CaseResult);
    for (const { name, error } of results) {
      await t.step(name, () => {
        if (error !== null) throw new Error(error);
      });
    }
    if (!success || results.length === 0) throw new Error(`the suite ended after ${results.length} cases`);
  } finally {
    await Deno.remove(dirname(bundle), { recursive: true });
  }
});
