/**
 * `deno task bench`: finds the runtimes and a PostgreSQL as the tests do, fetching what is missing, and runs the benchmarks in them.
 *
 * @module
 */

import { requireDeno } from "../../src/cli/deno_version.ts";
import { benchMain } from "../../bench/main.ts";
import { findChromium } from "../support/browser/chromium.ts";
import { findNode } from "../support/node.ts";
import { startPostgres } from "../support/postgres.ts";

requireDeno("bench");

const variables: Record<string, string | undefined> = Deno.env.toObject();
// What is not found is reported by the benchmark, as not measured.
await findNode().then((path) => variables.HOLDFAST_NODE = path, () => {});
await findChromium().then(({ executablePath, env }) => {
  variables.CHROMIUM = executablePath;
  variables.HOLDFAST_CHROMIUM_LIBRARIES = env.LD_LIBRARY_PATH;
}, () => {});

// Named to what measures as anybody's server is. Without one PostgreSQL is reported as not measured.
const database = isBarrierMeasured(Deno.args) ? await startPostgres().catch(notStarted) : null;
if (database !== null) Deno.env.set("DATABASE_URL", database.url);

let code: number;
try {
  code = await benchMain(Deno.args, variables);
} finally {
  await database?.stop();
}
Deno.exit(code);

/** Whether a chosen case compares stores; all of them are chosen when none is named. */
function isBarrierMeasured(args: readonly string[]): boolean {
  const named = args.flatMap((arg, index) =>
    arg.startsWith("--case=") ? [arg.slice(7)] : args[index - 1] === "--case" ? [arg] : []
  );
  return named.length === 0 || named.some((name) => name.startsWith("stores") || "stores".startsWith(name));
}

function notStarted(error: unknown): null {
  console.error(`PostgreSQL is not measured: ${(error as Error).message}`);
  return null;
}
