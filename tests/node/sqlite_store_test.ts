import { dirname } from "node:path";
import type { CaseResult } from "../adapters/file/suite_main.ts";
import { bundleForNode, findNode, findOldestNode } from "../support/node.ts";

// The same cases as in Deno, in a Node process of their own; only `node:sqlite` differs, and between two Nodes too.
for (const [what, find] of [["Node", findNode], ["the oldest Node it promises", findOldestNode]] as const) {
  Deno.test(`the store over SQLite in ${what} keeps the session store contract`, async (t) => {
    const bundle = await bundleForNode("tests/adapters/sqlite_node/suite_main.ts");
    try {
      const command = new Deno.Command(await find(), { args: [bundle, "--suite"], stderr: "null" });
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
}
