/**
 * A session whose results have 200 MB: it is opened, gone on with, read from and compacted by a process with little memory.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";

/** The memory that JavaScript gets, in MiB: much less than the results have. */
const HEAP_MIB = 96;
/** The most the whole process may take, runtime included, in MiB. */
const PEAK_MIB_MAX = 320;

async function child(what: string, root: string) {
  const flags = ["run", "-A", "--frozen", `--v8-flags=--max-old-space-size=${HEAP_MIB}`];
  const path = new URL("./large_session.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args: [...flags, path, what, root] })
    .output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("a session with 200 MB of spilled results opens and compacts in bounded memory", async () => {
  const root = await Deno.makeTempDir({ prefix: "holdfast-large-" });
  try {
    const built = await child("build", root);
    console.log(`built: ${JSON.stringify(built)}`);
    assertEquals([built.reason, built.spilled], ["completed", 200]);
    assert(built.bytes > 100e6, "what is on the disk is compressed to less than half");
    const compacted = await child("compact", root);
    console.log(`opened, went on, compacted: ${JSON.stringify(compacted)}`);
    assertEquals(compacted.reason, "completed");
    assert(compacted.shadowed > 200 && compacted.nodes < 10);
    for (const { peakMiB } of [built, compacted]) assert(peakMiB === null || peakMiB < PEAK_MIB_MAX, `${peakMiB} MiB`);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
