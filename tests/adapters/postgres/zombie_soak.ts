import { assertEquals } from "@std/assert";
import { startPostgres } from "../../support/postgres.ts";
import { zombieTrials } from "./zombie.ts";

/** Of each kind: two kinds are stopped before the barrier has committed, two after. */
const TRIALS = 100;

Deno.test({
  name: "400 owners that were stopped past their lease",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const server = await startPostgres();
    try {
      let fenced = 0, unknown = 0;
      for (const stopAt of ["before", "inside", "after", "body"] as const) {
        const tally = await zombieTrials(server, stopAt, TRIALS);
        fenced += tally.fenced;
        unknown += tally.unknown;
        console.log(`stopped ${stopAt}: ${tally.fenced} fenced without a body, ${tally.unknown} unknown, of ${TRIALS}`);
      }
      console.log(
        `fenced and the body not run: ${fenced} of ${2 * TRIALS}; unknown, never absent: ${unknown} of ${2 * TRIALS}`,
      );
      assertEquals([fenced, unknown], [2 * TRIALS, 2 * TRIALS]);
    } finally {
      await server.stop();
    }
  },
});
