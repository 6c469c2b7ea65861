import { sessionStoreContract } from "../../../src/testing/session_store_contract.ts";
import { PipedProcess } from "../file/other_process.ts";
import { selfCommand, sqliteContext } from "./suite_main.ts";

for (const { name, run } of sessionStoreContract) {
  Deno.test(`sqlite: ${name}`, async () => {
    const other = new PipedProcess([...selfCommand(), "--other"]);
    const { context, end } = sqliteContext(other);
    try {
      await run(context);
    } finally {
      await end();
      await other.kill();
    }
  });
}
