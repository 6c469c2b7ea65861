import { assert, assertEquals } from "@std/assert";
import { startPostgres } from "../../support/postgres.ts";
import { inWords, runCluster } from "./cluster.ts";

const isOurs = (Deno.env.get("DATABASE_URL") ?? "") === "";

Deno.test({
  name: `four servers over one database, killed for 30 seconds: nothing lost, nothing twice${
    isOurs ? "" : " (the database is not started anew: it is that of DATABASE_URL)"
  }`,
  async fn() {
    const server = await startPostgres();
    try {
      const restarts = isOurs ? 2 : 0;
      const size = { servers: 4, sessions: 12, seconds: 30, killEveryMs: 2000, restarts, leaseMs: 3000 };
      const report = await runCluster(server, size);
      console.log(inWords(report));
      const { lost, duplicates, forks, keyedTwice, opaqueRepeats, failedStarts } = report;
      assertEquals({ lost, duplicates, forks, keyedTwice, opaqueRepeats, failedStarts, restarts: report.restarts }, {
        ...{ lost: 0, duplicates: 0, forks: 0, keyedTwice: 0, opaqueRepeats: 0, failedStarts: 0, restarts },
      });
      assert(report.kills > 0 && report.takeoversMs.length > 0, "nobody took over");
      assert(report.acknowledgedInputs > 0 && report.outcomes.done! > 0, "it did nothing");
    } finally {
      await server.stop();
    }
  },
});
