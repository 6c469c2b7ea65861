import { assertEquals } from "@std/assert";
import { halfOf, selectRange } from "../../src/compaction/mod.ts";
import { balancedCuts } from "../../src/fold/mod.ts";
import { LogBuilder } from "../fold/log_builder.ts";

/** A surface from a word, every node priced 100: `s` the system message, `u` a prompt, `aN` an answer with N calls, `r` a result. */
function mapOf(word: string) {
  const log = new LogBuilder();
  log.startTurn();
  log.startStep();
  const waiting: string[] = [];
  let calls = 0;
  for (const [token] of word.matchAll(/s|u|a\d?|r/g)) {
    if (token === "s") log.system("be kind");
    else if (token === "u") log.user("hello");
    else if (token === "r") log.result(waiting.shift()!);
    else {
      const ids = Array.from({ length: Number(token[1] ?? 0) }, () => `c${++calls}`);
      waiting.push(...ids);
      log.assistant(ids, "text");
    }
  }
  const nodes = log.folds().surface.nodes.toArray();
  return { nodes, prices: nodes.map(() => 100), cuts: balancedCuts(nodes), first: word.startsWith("s") ? 1 : 0 };
}

function range(word: string, retainTokens: number, keptFrom?: number): string | null {
  const found = selectRange(mapOf(word), { retainTokens, keptFrom });
  return found === null ? null : `${found.first}..${found.last}`;
}

Deno.test("compaction/C-57: the smallest tail that reaches the budget is kept", () => {
  assertEquals(range("uuuuuu", 250), "0..2");
  assertEquals(range("uuu", 0), "0..1");
  assertEquals(range("uuuuuu", 300), "0..2");
  assertEquals(range("uuuuuu", 301), "0..1");
});

Deno.test("compaction/C-58: a cut moves head-ward over a batch of calls", () => {
  assertEquals(range("uu a2 r r", 100), "0..1");
  assertEquals(range("uu a2 r r", 200), "0..1");
  assertEquals(range("uuu a1 r a1 r a1 r a1 r", 250), "0..6");
  assertEquals(range("uu a2 r", 0), "0..1");
});

Deno.test("compaction/C-59: a single pair, a single message and nothing at all decline", () => {
  assertEquals(range("a1 r", 0), null);
  assertEquals(range("u", 0), null);
  assertEquals(range("", 0), null);
  assertEquals(range("u a1 r", 0), "0..0");
  assertEquals(range("uuu", 1000), null);
});

Deno.test("a range begins behind the pinned system message, and keeps what nobody has read", () => {
  assertEquals(range("s u u u", 0), "1..2");
  assertEquals(range("s u", 0), null);
  assertEquals(range("s a1 r", 0), null);
  assertEquals(range("uuuuuu", 0, 3), "0..2");
  assertEquals(range("uu a1 r u", 0, 3), "0..1");
});

Deno.test("halfOf() halves by price at a cut that parts nothing, until nothing can be halved", () => {
  const map = mapOf("u a2 r r u u u u");
  const halves: string[] = [];
  for (let half = halfOf(map, { first: 0, last: 7 }); half !== null; half = halfOf(map, half)) {
    halves.push(`${half.first}..${half.last}`);
  }
  assertEquals(halves, ["0..3", "0..0"]);
  assertEquals(halfOf({ ...map, prices: [900, 1, 1, 1, 1, 1, 1, 1] }, { first: 0, last: 7 }), null);
});
