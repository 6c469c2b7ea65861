import { assertEquals } from "@std/assert";
import { type FaultReport, faultTable, FaultyEngine } from "./run_faults.ts";
import { SEEDED_FAULTS } from "./seeded_faults.ts";

const SEED = 1;
/** How many states may pass before a fault must be found. */
const STATES_MAX = 60_000;

Deno.test("every seeded fault is found", async () => {
  await using engine = await FaultyEngine.create();
  const reports: FaultReport[] = [];
  for (const fault of SEEDED_FAULTS) {
    const report = await engine.look(fault, SEED, STATES_MAX);
    console.log(faultTable([report]));
    reports.push(report);
  }
  console.log(faultTable(reports));
  assertEquals(reports.filter(({ foundBy }) => foundBy === null).map(({ name }) => name), []);
});
