import { assert, assertEquals } from "@std/assert";
import { repositoryDir } from "../support/paths.ts";
import { allPlans, inProcess, type Plan, type RunPlan, runPlans } from "./lanes.ts";
import { killParts, type Part } from "./test_part.ts";

const ALL_GREEN: Omit<Part, "name"> = { passed: 2, failed: 0, ignored: 0, notRun: [] };

/** Plans that are made up: each says its lines, and comes to its part. */
function madeUp(found: Readonly<Record<string, { readonly lines: readonly string[]; readonly part?: Part }>>) {
  const plans = Object.keys(found).map((name): Plan => ({ name, args: [] }));
  const run: RunPlan = async ({ name }, show) => {
    for (const line of found[name]!.lines) {
      show(line);
      await Promise.resolve(); // The other lane says its next line here.
    }
    const { part } = found[name]!;
    if (part === undefined) throw new Error(`no process for ${name}`);
    return part;
  };
  return { plans, run };
}

Deno.test("runPlans() shows the lines of a file together, and what failed when everything is over", async () => {
  const { plans, run } = madeUp({
    one: {
      lines: [
        "running 1 test from a",
        "a says",
        "a ... ok",
        "running 1 test from b",
        "b ... FAILED",
        " ERRORS ",
        "b: why",
      ],
      part: { name: "one", ...ALL_GREEN, failed: 1 },
    },
    two: {
      lines: ["running 1 test from c", "c says", "c ... ok", "ok | 2 passed | 0 failed (1s)"],
      part: { name: "two", ...ALL_GREEN },
    },
  });
  const shown: string[] = [];
  const parts = await runPlans(plans, run, (line) => shown.push(line), 2);
  assertEquals(parts.map(({ name, failed }) => [name, failed]), [["one", 1], ["two", 0]]);
  assertEquals(shown.slice(-3), ["\none:", " ERRORS ", "b: why"]);
  for (
    const block of [["running 1 test from a", "a says", "a ... ok"], ["running 1 test from c", "c says", "c ... ok"]]
  ) {
    const at = shown.indexOf(block[0]!);
    assertEquals(shown.slice(at, at + block.length), block);
  }
});

Deno.test("runPlans() runs so many at the same time and no more, and each plan once", async () => {
  const plans = ["a", "b", "c", "d", "e"].map((name): Plan => ({ name, args: [] }));
  let now = 0;
  const most: number[] = [];
  const run: RunPlan = async ({ name }) => {
    most.push(++now);
    for (let count = 0; count < 5; count++) await Promise.resolve();
    now--;
    return { name, ...ALL_GREEN };
  };
  const parts = await runPlans(plans, run, () => {}, 2);
  assertEquals(parts.map(({ name }) => name), ["a", "b", "c", "d", "e"]);
  assertEquals(Math.max(...most), 2);
});

Deno.test("runPlans() counts a plan that cannot be run as a failure, and runs the others", async () => {
  const { plans, run } = madeUp({
    broken: { lines: ["running 1 test from a"] },
    fine: { lines: [], part: { name: "fine", ...ALL_GREEN } },
  });
  const shown: string[] = [];
  const parts = await runPlans(plans, run, (line) => shown.push(line), 1);
  assertEquals(parts.map(({ passed, failed }) => [passed, failed]), [[0, 1], [2, 0]]);
  assert(shown.some((line) => line.includes("no process for broken")), shown.join("\n"));
});

Deno.test("a process that is killed in the middle is a failure of its lane; the other lane's tests count", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-lanes-" });
  try {
    await Deno.writeTextFile(`${folder}/dies_test.ts`, `Deno.test("dies", () => Deno.kill(Deno.pid, "SIGKILL"));`);
    await Deno.writeTextFile(`${folder}/fine_test.ts`, `Deno.test("fine", () => {});`);
    const plans = ["dies", "fine"].map((name) => ({ name, args: ["--no-config", `${folder}/${name}_test.ts`] }));
    const parts = await runPlans(plans, inProcess({}), () => {}, 2);
    assertEquals(parts.map(({ passed, failed }) => [passed, failed]), [[0, 1], [1, 0]]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("killParts() ends a test that would never end, and it counts as a failure", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-lanes-" });
  try {
    const file = `${folder}/hangs_test.ts`;
    await Deno.writeTextFile(
      file,
      `Deno.test("hangs", async () => { setInterval(() => {}, 1000); console.log("hanging"); await new Promise(() => {}); });`,
    );
    const run = inProcess({});
    const part = await run({ name: "hangs", args: ["--no-config", file] }, (line) => {
      if (line === "hanging") void killParts();
    });
    assertEquals([part.passed, part.failed], [0, 1]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("allPlans() names each folder once, and leaves all that it names out of the rest", async () => {
  const [rest, ...others] = allPlans().filter(({ name }) => name !== "documentation examples").reverse();
  const named = others.flatMap(({ args }) => args.filter((arg) => !arg.startsWith("--")));
  assertEquals(new Set(named).size, named.length);
  for (const path of named) assert((await Deno.stat(`${repositoryDir}/${path}`)).isDirectory, path);
  const inside = named.filter((path) => named.some((other) => path.startsWith(`${other}/`)));
  assertEquals(inside, [], "a folder in two parts");
  assertEquals(rest!.args.at(-1), "tests");
  const ignored = rest!.args.find((arg) => arg.startsWith("--ignore="))!.slice("--ignore=".length).split(",");
  assertEquals([...ignored].sort(), [...named].sort());
});
