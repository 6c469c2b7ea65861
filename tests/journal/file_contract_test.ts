import { sessionStoreContract } from "../../src/testing/session_store_contract.ts";
import { PipedProcess } from "../adapters/file/other_process.ts";
import { fileContext, selfCommand } from "./file_suite_main.ts";

// One test with a step for each case, because they share the other process.
Deno.test("the journal over files in Deno keeps the session store contract", async (t) => {
  const other = new PipedProcess([...selfCommand(), "--other"]);
  for (const { name, run } of sessionStoreContract) {
    const { context, end } = fileContext(other);
    await t.step({ name, sanitizeOps: false, sanitizeResources: false, fn: () => run(context) });
    await end();
  }
  await other.kill();
});
