/**
 * A log of 1 GB is migrated in less than 200 MB of memory, with a line that says how far it is.
 *
 * @module
 */
import { assert } from "@std/assert";
import { describeLarge, migrateLarge } from "./large_migration.ts";

/** How much text the rows of the log have, in bytes. */
const SIZE_BYTES = 1_000_000_000;

/** How much memory the process may have had resident, in bytes. */
const PEAK_BYTES_MAX = 200_000_000;

Deno.test("a log of 1 GB is migrated in less than 200 MB of memory", async () => {
  const found = await migrateLarge(SIZE_BYTES, "none");
  console.log(describeLarge(found));
  console.log(found.progress.join("\n"));
  assert(found.peakBytes > 0 && found.peakBytes < PEAK_BYTES_MAX, `${found.peakBytes} bytes`);
  assert(found.progress.length > 0, "no line said how far it was");
});
