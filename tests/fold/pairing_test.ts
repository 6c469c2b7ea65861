import { assertEquals } from "@std/assert";
import { balancedCuts, pairingProblem, replacementProblem } from "../../src/fold/mod.ts";
import { isEvent } from "../../src/event/mod.ts";
import { LogBuilder } from "./log_builder.ts";

/** A log from a word: `u` a prompt, `aN` an answer with N calls, `r` the result of the next call that waits, `s` the system message. */
function logOf(word: string): LogBuilder {
  const log = new LogBuilder();
  log.startTurn();
  log.startStep();
  const waiting: string[] = [];
  let calls = 0;
  for (const [token] of word.matchAll(/s|u|a\d?|r/g)) {
    if (token === "s") log.system("be kind");
    else if (token === "u") log.user("hello");
    else if (token === "r") log.result(waiting.shift() ?? "nobody");
    else {
      const ids = Array.from({ length: Number(token[1] ?? 0) }, () => `c${++calls}`);
      waiting.push(...ids);
      log.assistant(ids, "text");
    }
  }
  return log;
}

const nodesOf = (log: LogBuilder) => log.folds().surface.nodes.toArray();
const cutsOf = (word: string) =>
  balancedCuts(nodesOf(logOf(word))).map((isBalanced) => isBalanced ? "|" : ".").join("");

Deno.test("balancedCuts() keeps calls with their results, the whole batch of one answer included", () => {
  assertEquals(cutsOf(""), "|");
  assertEquals(cutsOf("uu"), "|||");
  assertEquals(cutsOf("u a1 r u"), "||.||");
  assertEquals(cutsOf("u a2 r r u"), "||..||");
});

Deno.test("balancedCuts() keeps a call that still waits, and not one that a later answer left behind", () => {
  assertEquals(cutsOf("u a2 r"), "||..");
  assertEquals(cutsOf("u a1 u"), "||..");
  assertEquals(cutsOf("u a1 u a u"), "||||||");
});

Deno.test("field/B04: no cut parts a call from a result that comes late", () => {
  const log = logOf("u a1 u a u");
  log.result("c1");
  assertEquals(balancedCuts(nodesOf(log)), [true, true, false, false, false, false, true]);
});

Deno.test("pairingProblem() goes by id: not by count, and over the whole surface", () => {
  assertEquals(pairingProblem(nodesOf(logOf("s u a2 r r u a1 r a1"))), null);
  const twice = logOf("u a1 r");
  twice.assistant(["c1"]);
  assertEquals(pairingProblem(nodesOf(twice)), 'call "c1" of seq 5 stands on the surface twice');
  const stray = logOf("u a1");
  stray.result("other");
  const problem = 'the result at seq 4 answers call "other", which is not on the surface';
  assertEquals(pairingProblem(nodesOf(stray)), problem);
  const second = logOf("u a1 r");
  second.result("c1");
  assertEquals(pairingProblem(nodesOf(second)), 'the result at seq 5 is the second one of call "c1"');
});

Deno.test("replacementProblem() refuses a replacement that parts a pair or repeats an id, wherever it begins and ends", () => {
  for (const word of ["u a1 r u", "u a2 r r u a1 r", "u u a1 r a2 r", "a1 r a1 r"]) {
    const nodes = nodesOf(logOf(word));
    for (let first = 0; first < nodes.length; first++) {
      for (let last = first; last < nodes.length; last++) {
        const log = logOf(word);
        const seqs = nodes.slice(first, last + 1).map(({ seq }) => seq);
        const { surface } = log.folds();
        log.checkpoint(seqs[0]!, seqs.at(-1)!, seqs);
        const problem = replacementProblem(surface, log.events.at(-1)!);
        const cuts = balancedCuts(nodes);
        assertEquals(problem === null, cuts[first]! && cuts[last + 1]!, `${word} ${first}..${last}: ${problem}`);
        if (problem === null) assertEquals(pairingProblem(nodesOf(log)), null);
      }
    }
  }
});

Deno.test("replacementProblem() leaves appends, pruned results and system messages alone", () => {
  const log = logOf("s u a1 r");
  const { surface } = log.folds();
  for (const event of log.events) assertEquals(replacementProblem(surface, event), null);
  const result = log.events.findLast((event) => isEvent(event, "tool/result"))!;
  const pruned = {
    ...result,
    seq: log.events.length,
    surfaceOp: { op: "replace" as const, startSeq: result.seq, endSeq: result.seq },
    sourceEventSeqs: [result.seq],
  };
  assertEquals(replacementProblem(surface, pruned), null);
});
