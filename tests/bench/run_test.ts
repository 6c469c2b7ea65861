import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Budget } from "../../bench/bench_case.ts";
import { benchMain, readRuntimes } from "../../bench/main.ts";
import { runBench } from "../../bench/run.ts";
import type { RuntimeName, Variables } from "../../bench/runtimes.ts";
import { openPostgresStore } from "../../src/entry/postgres.ts";
import { holdfast } from "../cli/cli.ts";
import { compileNative } from "../../bench/native.ts";
import { findChromium } from "../support/browser/chromium.ts";
import { findNode } from "../support/node.ts";
import { startPostgres } from "../support/postgres.ts";

/** Enough to see every case run once. What is measured is not looked at. */
const TINY: Budget = { warmUpRounds: 1, rounds: 2, timeMaxMs: 60_000, streams: 1, streamMs: 20 };
const SQLITE = "node:sqlite WAL FULL";
const CASES = ["flush 200 B", "flush 64 KiB", "batching 1000/s"];

async function runTiny(runtime: RuntimeName, variables: Variables) {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-bench-test-" });
  try {
    const said: string[] = [];
    const report = (text: string) => said.push(text);
    const document = await runBench({ runtimes: [runtime], cases: CASES, budget: TINY, folder, variables, report });
    assertEquals([...Deno.readDirSync(folder)], [], "something was left behind");
    return { document, said };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What the table holds besides, where there is a C compiler. */
async function nativeLanes(): Promise<string[]> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-bench-test-" });
  try {
    return await compileNative(folder) === null ? [] : ["C write + fdatasync"];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function expectWhole(runtime: RuntimeName, variables: Variables, lanes: readonly string[]): Promise<void> {
  const { document, said } = await runTiny(runtime, variables);
  assertEquals(document.notRun, []);
  const [{ cases }] = document.runtimes as [typeof document.runtimes[number]];
  assertEquals(cases.map(({ name }) => name), CASES);
  for (const { series } of cases.slice(0, 2)) {
    assertEquals(series.map(({ lane, samples }) => [lane, samples.length]), lanes.map((lane) => [lane, 2]));
  }
  for (const { samples } of cases.flatMap(({ series }) => series)) {
    assert(samples.length > 0 && samples.every((sample) => sample > 0), samples.join());
  }
  assert(said.length > 1, "nothing was said while it ran");
}

Deno.test("runBench() measures in Deno over files, and leaves nothing behind", async () => {
  await expectWhole("deno", {}, ["holdfast", "append + fdatasync", "node:sqlite WAL FULL", ...await nativeLanes()]);
});

Deno.test("runBench() measures in Node over files, and leaves nothing behind", async () => {
  const variables = { HOLDFAST_NODE: await findNode() };
  const { document } = await runTiny("node", variables);
  assertEquals(document.notRun, []);
  const { runtime, cases, absent } = document.runtimes[0]!;
  assert(/^Node \d+\./.test(runtime), runtime);
  // A Node of our lowest version has no `node:sqlite` without a flag, and then says so.
  const hasSqlite = !absent.some(({ name }) => name === "node:sqlite WAL FULL");
  const lanes = ["holdfast", "append + fdatasync", ...(hasSqlite ? ["node:sqlite WAL FULL"] : [])];
  assertEquals(cases[0]!.series.map(({ lane }) => lane), [...lanes, ...await nativeLanes()]);
});

Deno.test("runBench() measures barriers of every store side by side, and leaves no session in the database", async () => {
  const server = await startPostgres();
  const folder = await Deno.makeTempDir({ prefix: "holdfast-bench-test-" });
  const before = Deno.env.get("DATABASE_URL");
  try {
    Deno.env.set("DATABASE_URL", server.url);
    const variables = { HOLDFAST_NODE: await findNode() };
    const parts = { cases: ["stores 200 B"], budget: TINY, folder, variables, report: () => {} };
    const { runtimes, notRun } = await runBench({ runtimes: ["deno", "node"], ...parts });
    assertEquals([notRun, runtimes.length], [[], 2]);
    for (const { cases: [barrier], absent } of runtimes) {
      const hasSqlite = !absent.some(({ name }) => name === SQLITE);
      const lanes = ["journal", ...(hasSqlite ? ["sqlite"] : []), "postgres"];
      assertEquals(barrier!.series.map(({ lane, samples }) => [lane, samples.length]), lanes.map((lane) => [lane, 2]));
    }
    await using store = await openPostgresStore({ url: server.url, schema: "holdfast_bench" });
    assertEquals(await Array.fromAsync(store.list()), []);
  } finally {
    if (before === undefined) Deno.env.delete("DATABASE_URL");
    else Deno.env.set("DATABASE_URL", before);
    await Deno.remove(folder, { recursive: true });
    await server.stop();
  }
});

Deno.test("runBench() measures in Chromium over OPFS, and leaves nothing behind", async () => {
  const { executablePath, env } = await findChromium();
  const variables = { CHROMIUM: executablePath, HOLDFAST_CHROMIUM_LIBRARIES: env.LD_LIBRARY_PATH };
  await expectWhole("chromium", variables, [
    "holdfast",
    "OPFS write + flush",
    "idb-keyval set (relaxed)",
    "IndexedDB add, strict",
    "sqlite-wasm OPFS, WAL FULL",
  ]);
});

Deno.test("runBench() tells of a runtime that is missing, and measures the others", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-bench-test-" });
  try {
    const { runtimes, notRun } = await runBench({
      runtimes: ["deno", "node", "chromium"],
      cases: ["flush 200 B"],
      budget: TINY,
      folder,
      variables: { HOLDFAST_NODE: `${folder}/no-node`, PATH: folder },
      report() {},
    });
    assertEquals(runtimes.map(({ runtime }) => runtime.split(" ")[0]), ["Deno"]);
    assertEquals(notRun.map(({ runtime }) => runtime), ["node", "chromium"]);
    assertStringIncludes(notRun[0]!.reason, "HOLDFAST_NODE names one");
    assertStringIncludes(notRun[1]!.reason, "CHROMIUM names one");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("runBench() ends what it began when it is interrupted, and cleans up", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-bench-test-" });
  const abort = new AbortController();
  try {
    const running = runBench({
      runtimes: ["deno"],
      cases: ["batching 10/s"],
      budget: { ...TINY, streamMs: 600_000 },
      folder,
      variables: {},
      signal: abort.signal,
      report: (text) => text.includes("stream 1") && abort.abort(new Error("stop it")),
    });
    await assertRejects(() => running, Error, "stop it");
    assertEquals([...Deno.readDirSync(folder)], []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("readRuntimes() keeps the order of measuring and refuses what there is not", async () => {
  assertEquals(readRuntimes("chromium,deno"), ["deno", "chromium"]);
  await assertRejects(async () => await readRuntimes("rhino"), RangeError, "rhino");
  await assertRejects(async () => await readRuntimes(","), RangeError);
  assertEquals(await benchMain(["--runtime", "rhino"], {}), 2);
  assertEquals(await benchMain(["--fast"], {}), 2);
});

Deno.test("holdfast bench prints the table, or one document, and refuses unknown names", async () => {
  const cwd = await Deno.makeTempDir({ prefix: "holdfast-bench-test-" });
  try {
    const args = ["bench", "--quick", "--runtime", "deno", "--case", "flush 200 B"];
    const table = await holdfast(args, { cwd });
    assertEquals(table.code, 0, table.stderr);
    // A slow machine is told that something goes on, and nothing else.
    assert(table.stderr.split("\n").every((line) => line === "" || /^(deno|Deno \S+): /.test(line)), table.stderr);
    assertStringIncludes(table.stdout, "append + fdatasync *");
    const document = await holdfast([...args, "--json"], { cwd });
    assertEquals(JSON.parse(document.stdout).runtimes[0].cases[0].series.length, 3 + (await nativeLanes()).length);
    for (const wrong of [["--case", "flsh"], ["--runtime", "rhino"]]) {
      const { code, stderr } = await holdfast(["bench", ...wrong], { cwd });
      assertEquals(code, 2);
      assertStringIncludes(stderr, wrong[1]!);
    }
    assertEquals([...Deno.readDirSync(cwd)], []);
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});
