import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { holdfast as run } from "./cli.ts";

const here = { cwd: "." };

Deno.test("lab --json says what it tried, and nothing else", async () => {
  const { code, stdout } = await run(["lab", "--states", "40", "--seed", "3", "--json"], here);
  assertEquals(code, 0, stdout);
  const { states, exhaustiveStates, violations, seed, seconds, refused } = JSON.parse(stdout);
  assert(states >= 40);
  assertEquals([exhaustiveStates, violations, seed], [0, [], 3]);
  assert(seconds > 0 && refused >= 0);
});

Deno.test("lab --replay tries one unit again, or one state of it, and says what was done and said", async () => {
  const unit = "fault:posix:none:pay:20.sync-drops";
  const whole = await run(["lab", "--seed", "3", "--replay", unit], here);
  assertEquals(whole.code, 0);
  assertMatch(whole.stdout, /^\d+ states, 0 with a violation\n$/);
  const one = await run(["lab", "--seed", "3", "--replay", `${unit}#0`], here);
  assertStringIncludes(one.stdout, `--seed 3 --replay ${unit}#0`);
  assertStringIncludes(one.stdout, "process 0: pay, a keyed call, asked about, with a lookup");
  assertStringIncludes(one.stdout, "call 20 of the medium fails: sync-drops");
  assertMatch(one.stdout, /process 0 crashes at step \d+/);
});

Deno.test("lab refuses what is no unit, no such state and no number of threads", async () => {
  for (const args of [["--replay", "nonsense"], ["--replay", "all:posix:none:say#x"], ["--threads", "0"]]) {
    const { code, stderr } = await run(["lab", ...args], here);
    assertEquals(code, 2, args.join(" "));
    assertStringIncludes(stderr, `Cannot ${args[0] === "--replay" && args[1] === "nonsense" ? "read" : "use"}`);
  }
  const { code } = await run(["lab", "--replay", "fault:posix:none:say:3.EIO#99"], here);
  assertEquals(code, 2);
});

Deno.test("lab --units says what can be typed behind --replay, and its example can be", async () => {
  const { code, stdout } = await run(["lab", "--units"], here);
  assertEquals(code, 0);
  assertStringIncludes(stdout, "all|random|fault:posix|opfs");
  assertStringIncludes(stdout, "a keyed call, asked about, with a lookup");
  const [, example] = /--replay (\S+)\n$/.exec(stdout)!;
  const { code: again } = await run(["lab", "--seed", "1", "--replay", example!], here);
  assertEquals(again, 0);
});

Deno.test("lab refuses to try nothing, and what a replay would ignore", async () => {
  for (const args of [["--states", "0"], ["--replay", "all:posix:none:say", "--exhaustive"]]) {
    const { code, stderr } = await run(["lab", ...args], here);
    assertEquals(code, 2, args.join(" "));
    assertStringIncludes(stderr, "Cannot use --");
  }
});
