import { assert, assertEquals, assertRejects } from "@std/assert";
import { defineTool, scripted } from "../../mod.ts";
import { crashLab, type CrashLabOptions, type CrashWorld } from "../../src/testing/mod.ts";
import { payTool } from "../../src/tools/pack/payment.ts";
import { repositoryDir } from "../support/paths.ts";

const PAY = [[{ call: { name: "pay", arguments: { to: "alice", amount: 10 } } }], [{ text: "Paid." }]];

function paying(tools: CrashLabOptions["tools"], more: Partial<CrashLabOptions> = {}): CrashLabOptions {
  return { tools, model: () => scripted(PAY), script: (session) => session.send("pay alice"), statesMax: 120, ...more };
}

/** A tool over a bank of its own, which keeps no keys; `isMarkedFirst` is what the runtime promises it. */
function bankTool(world: CrashWorld, lookUp: "nothing" | "guess"): ReturnType<typeof defineTool> {
  const paid = new Set<string>();
  return defineTool({
    name: "pay",
    description: "",
    parameters: {},
    effect: "opaque",
    execute: (_args, { effectKey, callId }) => {
      paid.add(effectKey);
      world.happened("pay", effectKey, callId);
      return "paid";
    },
    // Asked too early, and sure of itself: it found nothing, which proves nothing.
    ...(lookUp === "guess" ? { reconcile: () => ({ verdict: "absent" as const }) } : {}),
  });
}

Deno.test("crashLab() finds nothing wrong with an honest tool, and meets every class", async () => {
  const report = await crashLab(paying((world) => [payTool(world.target("pay"))]));
  assertEquals(report.violations, []);
  assertEquals(report.states, 120);
  assert(report.possibleStates > report.states);
  for (const said of ["not_dispatched", "outcome_unknown", "happened", "done"]) {
    assert((report.said[said] ?? 0) > 0, `nothing was ${said}: ${JSON.stringify(report.said)}`);
  }
});

Deno.test("crashLab() finds a lookup that calls absent what it merely did not find", async () => {
  const honest = await crashLab(
    paying((world) => [bankTool(world, "nothing")], { media: ["posix"], compression: "none" }),
  );
  assertEquals(honest.violations, []);
  const guessing = await crashLab(
    paying((world) => [bankTool(world, "guess")], { media: ["posix"], compression: "none" }),
  );
  assert(
    guessing.violations.some(({ checker }) => checker === "no-false-verdict"),
    JSON.stringify(guessing.violations),
  );
});

Deno.test("README: the test of one's own agent has at most 20 lines, and passes as it stands", async () => {
  const readme = await Deno.readTextFile(`${repositoryDir}/README.md`);
  const example = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!).find((code) => {
    return code.includes("crashLab(");
  });
  assert(example !== undefined, "there is no example");
  assert(example.trimEnd().split("\n").length <= 20, "the example is too long");
  const folder = await Deno.makeTempDir({ prefix: "holdfast-readme-" });
  try {
    await Deno.writeTextFile(`${folder}/example_test.ts`, example);
    const args = ["test", "-A", "--config", `${repositoryDir}/deno.json`, `${folder}/example_test.ts`];
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: folder }).output();
    assertEquals(code, 0, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("crashLab() goes on as it is told, under the agent's model", async () => {
  let calls = 0;
  const again = paying((world) => [payTool(world.target("pay"))], {
    ...{ media: ["opfs"], statesMax: 40 },
    afterwards: async (session) => {
      calls++;
      await session.send("pay alice, if that was not done");
    },
  });
  assertEquals((await crashLab(again)).violations, []);
  assert(calls > 0);
});

Deno.test("crashLab() throws what the script throws when nothing crashes, and says when it hangs", async () => {
  const broken = paying(() => [], { script: () => Promise.reject(new TypeError("my mistake")) });
  await assertRejects(() => crashLab(broken), TypeError, "my mistake");
  const hanging = paying(() => [], { script: () => new Promise(() => {}) });
  await assertRejects(() => crashLab(hanging), Error, "waits for something");
});
