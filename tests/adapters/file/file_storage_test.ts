import { createFileContext } from "./file_context.ts";
import { PipedProcess } from "./other_process.ts";
import { fileSuite, selfCommand } from "./suite_main.ts";

// One test with a step for each case, because they share the other process.
Deno.test("the file adapter in Deno keeps the storage contract", async (t) => {
  const command = selfCommand();
  const other = new PipedProcess([...command, "--other"]);
  for (const { name, run, skip } of fileSuite) {
    const context = createFileContext(other, command);
    const reason = skip?.(context.storage.traits) ?? null;
    await t.step({
      name: reason === null ? name : `${name} (not run: ${reason})`,
      ignore: reason !== null,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: () => run(context),
    });
    await context.end();
  }
  await other.kill();
});
