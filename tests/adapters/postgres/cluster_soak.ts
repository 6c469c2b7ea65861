import { assert, assertEquals } from "@std/assert";
import { startPostgres } from "../../support/postgres.ts";
import { inWords, runCluster } from "./cluster.ts";

const isOurs = (Deno.env.get("DATABASE_URL") ?? "") === "";

/** How long, in seconds. */
const SECONDS = Number(Deno.env.get("HOLDFAST_CLUSTER_SECONDS") ?? 300);
/** One for each half minute. */
const RESTARTS = Math.max(1, Math.round(SECONDS / 30));
/** A kill is due every two seconds; one is owed until two servers listen, so on a slow machine there are fewer. */
const KILLS_MIN = Math.floor(SECONDS / 3);

Deno.test({
  name:
    `four servers and 50 sessions over one database, a kill every 2 s for ${SECONDS} s, the database started anew ${RESTARTS} times${
      isOurs ? "" : " (not run: the database of DATABASE_URL is not started anew)"
    }`,
  ignore: !isOurs,
  async fn() {
    const server = await startPostgres();
    try {
      const size = { servers: 4, sessions: 50, seconds: SECONDS, killEveryMs: 2000, restarts: RESTARTS, leaseMs: 5000 };
      const report = await runCluster(server, size);
      console.log(inWords(report));
      const { lost, duplicates, forks, keyedTwice, opaqueRepeats, restarts, failedStarts } = report;
      assertEquals({ lost, duplicates, forks, keyedTwice, opaqueRepeats, restarts, failedStarts }, {
        ...{ lost: 0, duplicates: 0, forks: 0, keyedTwice: 0, opaqueRepeats: 0, restarts: RESTARTS, failedStarts: 0 },
      });
      assert(report.kills >= KILLS_MIN, `${report.kills} kills, wanted ${KILLS_MIN}`);
      // Kills that met nothing in the middle would have shown nothing.
      const { acknowledgedInputs, keyedRepeats, outcomes, takeoversMs } = report;
      assert(acknowledgedInputs > 0 && outcomes.done! > 0, "it did nothing");
      assert(outcomes.unknown! > 0, "no opaque effect was under way when its server was killed");
      assert(keyedRepeats > 0, "no keyed effect was asked for again");
      assert(takeoversMs.length > 0, "no session was taken over");
    } finally {
      await server.stop();
    }
  },
});
