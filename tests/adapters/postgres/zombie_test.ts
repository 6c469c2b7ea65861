import { assertEquals } from "@std/assert";
import { startPostgres } from "../../support/postgres.ts";
import { zombieTrials } from "./zombie.ts";

const TRIALS = 10;

Deno.test({
  name: "an owner that was stopped past its lease is fenced, and what it may have done is unknown",
  ignore: Deno.build.os !== "linux",
  async fn(t) {
    const server = await startPostgres();
    try {
      for (const stopAt of ["before", "inside"] as const) {
        await t.step(`stopped ${stopAt} the commit of its barrier: fenced, and the body does not run`, async () => {
          assertEquals((await zombieTrials(server, stopAt, TRIALS)).fenced, TRIALS);
        });
      }
      for (const stopAt of ["after", "body"] as const) {
        const where = stopAt === "after" ? "after the commit of its barrier" : "in the body";
        await t.step(`stopped ${where}: the new owner says unknown, never absent`, async () => {
          assertEquals((await zombieTrials(server, stopAt, TRIALS)).unknown, TRIALS);
        });
      }
    } finally {
      await server.stop();
    }
  },
});
