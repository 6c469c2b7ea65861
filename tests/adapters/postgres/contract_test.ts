import { sessionStoreContract } from "../../../src/testing/session_store_contract.ts";
import { startPostgres } from "../../support/postgres.ts";
import { PipedProcess } from "../file/other_process.ts";
import { otherCommand, postgresContext } from "./context.ts";

// One test with a step for each case, because they share the server and the other process.
Deno.test("PostgreSQL keeps the session store contract", async (t) => {
  const server = await startPostgres();
  const other = new PipedProcess(otherCommand());
  try {
    for (const { name, run } of sessionStoreContract) {
      const { context, end } = postgresContext(server.url, other);
      await t.step({ name, sanitizeOps: false, sanitizeResources: false, fn: () => run(context) });
      await end();
    }
  } finally {
    await other.kill();
    await server.stop();
  }
});
