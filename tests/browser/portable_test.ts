/**
 * The tests of the portable layers once more, in a worker of a real browser.
 *
 * Which files: every one in these folders that reaches nothing a browser does not have. The others are named in the output.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import {
  findPortableTests,
  portableEntry,
  portableFolders,
  whyNot,
  writePortableConfig,
} from "../support/browser/portable_tests.ts";
import { testInWorker } from "../support/browser/run_in_worker.ts";

const FOLDERS = [
  "adapters/memory",
  "agent",
  "approval",
  "checkpoint",
  "compaction",
  "event",
  "fold",
  "frame",
  "hooks",
  "journal",
  "session",
  "storage",
  "support",
  "testing",
  "tool",
  "writer",
].map((folder) => `tests/${folder}`);

/** The suites that the durability of a browser session rests on: at least one file of each must run there. */
const MUST_RUN = ["journal", "writer", "checkpoint", "approval", "session", "frame", "agent", "compaction"];

/** So many workers share the files, each in a browser of its own. */
const WORKERS = 2;

const { files, others } = await findPortableTests(FOLDERS);
console.log(`${files.length} test files also run in a worker of Chromium. Not run there:`);
for (const [file, reason] of others) console.log(`  ${file}: ${reason}`);

const folder = await Deno.makeTempDir({ prefix: "holdfast-portable-" });
try {
  const config = await writePortableConfig(folder);
  await Promise.all(Array.from({ length: WORKERS }, async (_, worker) => {
    const entry = `${folder}/entry_${worker}.ts`;
    await Deno.writeTextFile(entry, portableEntry(files.filter((_, index) => index % WORKERS === worker)));
    await testInWorker({ label: "Chromium worker", entry, config, folders: portableFolders() });
  }));
} finally {
  await Deno.remove(folder, { recursive: true });
}

Deno.test("the suites of journal, writer, checkpoint, approval and repair are among those that run in the worker", () => {
  for (const suite of MUST_RUN) assert(files.some((file) => file.startsWith(`tests/${suite}/`)), suite);
  assert(files.includes("tests/session/repair_test.ts"));
  assert(files.includes("tests/journal/crash_test.ts"));
});

Deno.test("whyNot() names the first thing that a browser does not have, and looks behind other files", () => {
  const reason = (sources: Record<string, string>, imports: Record<string, string[]> = {}) => {
    const graph = new Map(
      Object.keys(sources).map((path) => [
        path,
        (imports[path] ?? []).map((target) => ({
          target: target.replace("type ", ""),
          isTypeOnly: /^type /.test(target),
        })),
      ]),
    );
    return whyNot(graph, "a.ts", (path) => sources[path]!);
  };
  assertEquals(reason({ "a.ts": "Deno.test(name, fn); Deno.readTextFileSync(path); // Deno.cwd()" }), null);
  assertEquals(reason({ "a.ts": "\nDeno.cwd()" }), "a.ts:2 uses Deno");
  assertEquals(
    reason({ "a.ts": "new Worker(new URL('x', import.meta.url))" }),
    "a.ts starts a worker from a source file",
  );
  assertEquals(reason({ "a.ts": "", "b.ts": "process.exit()" }, { "a.ts": ["b.ts"] }), "b.ts:1 uses process");
  assertEquals(reason({ "a.ts": "", "b.ts": "process.exit()" }, { "a.ts": ["type b.ts"] }), null);
  assertEquals(reason({ "a.ts": "" }, { "a.ts": ["node:fs"] }), "needs node:fs");
  assertEquals(reason({ "a.ts": "" }, { "a.ts": ["npm:hono@4.13.19"] }), "needs npm:hono@4.13.19");
  assertEquals(reason({ "a.ts": "" }, { "a.ts": ["npm:/fast-check@4.10.2", "jsr:@std/assert@^1.0.0"] }), null);
  assertEquals(reason({ "a.ts": "" }, { "a.ts": ["src/frame/node_zstd.ts"] }), null);
});
