/**
 * `deno task bench`: finds the runtimes as the tests do, fetching what is missing, and runs the benchmarks in them.
 *
 * @module
 */

import { requireDeno } from "../../src/cli/deno_version.ts";
import { benchMain } from "../../bench/main.ts";
import { findChromium } from "../support/browser/chromium.ts";
import { findNode } from "../support/node.ts";

requireDeno("bench");

const variables: Record<string, string | undefined> = Deno.env.toObject();
// What is not found is reported by the benchmark, as not measured.
await findNode().then((path) => variables.HOLDFAST_NODE = path, () => {});
await findChromium().then(({ executablePath, env }) => {
  variables.CHROMIUM = executablePath;
  variables.HOLDFAST_CHROMIUM_LIBRARIES = env.LD_LIBRARY_PATH;
}, () => {});

Deno.exit(await benchMain(Deno.args, variables));
