/**
 * The crash lab with snapshots beside the log: deleted, cut, changed and swapped between any two processes, they change nothing.
 */
import { assert, assertEquals } from "@std/assert";
import { zstdDecompressSync } from "node:zlib";
import { runLab } from "../../src/testing/mod.ts";

const decodeFrame = (frame: Uint8Array) => zstdDecompressSync(frame);

Deno.test("snapshots that are deleted, cut, changed, and swapped for those of other lives and moments: nothing false is said", async () => {
  const tally = await runLab({ seed: 2, snapshotStates: 1500, bench: { decodeFrame } });
  assertEquals(tally.violations, []);
  console.log(`${tally.states} states; ${JSON.stringify(tally.snapshots)}`);
  // Every kind of harm was met, snapshots were believed, and others were not.
  for (const kind of ["kept", "deleted", "cut", "changed", "swapped", "used", "refused"]) {
    assert((tally.snapshots[kind] ?? 0) > 50, `${kind}: ${tally.snapshots[kind]}`);
  }
});
