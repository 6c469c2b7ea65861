import { assert, assertEquals } from "@std/assert";
import { FRESH_SHARE_MIN } from "../../src/agent/mod.ts";
import { BREAKER_FAILURES_MAX, SUMMARY_HALVINGS_MAX } from "../../src/compaction/mod.ts";
import { isEvent } from "../../src/event/mod.ts";
import { priceOfMessage } from "../../src/fold/mod.ts";
import { defineTool } from "../../src/tool/mod.ts";
import { compactionsOf, logOf, sizeOf, stage, textOf, words } from "../compaction/compact_stage.ts";
import { seededRandom } from "../support/seeded_random.ts";

const STEPS = 400;
const WINDOW = 32_000;
/** A turn that ends in an overflow is followed by another prompt, so often. */
const TURNS_MAX = 40;
const PROMPT = "Count the stones on the beach, one by one, and touch nothing else.";

/** An agent that calls a tool for ever, whose summariser fails as `fails` says. */
async function endless(fails: (n: number) => boolean, resultTokens: (n: number) => number, cooldownMs: number) {
  let results = 0;
  const look = defineTool({
    name: "look",
    description: "",
    parameters: { type: "object" },
    effect: "none",
    execute: () => words(resultTokens(results++), `stone${results}`),
  });
  const failures: number[] = [];
  const on = await stage({
    contextWindow: WINDOW,
    limit: WINDOW,
    tools: [look],
    stepsPerTurnMax: STEPS,
    compaction: { cooldownMs },
    step: (_, n) => n >= STEPS ? [{ text: "That was the last one." }] : [{ call: { name: "look" } }],
    summary: (_, n) => {
      if (!fails(n)) return [{ text: `Counted ${results} stones.` }];
      failures.push(n);
      return [{ throws: "no connection" }];
    },
  });
  return { on, failures, results: () => results };
}

/**
 * How often a summariser may be asked. Between two compactions that land the breaker lets at most BREAKER_FAILURES_MAX fail; once it
 * is open, only a request that pruning cannot save asks, and where that fails too its turn is over. Each asks for at most
 * SUMMARY_HALVINGS_MAX halves more.
 */
function callsMax(landed: number, turns: number): number {
  return (landed + (landed + 1) * BREAKER_FAILURES_MAX + turns) * (1 + SUMMARY_HALVINGS_MAX);
}

/** How many may land: by pressure each needs so much that was never summarised; one more may redo it; overflows come on top. */
function landedMax(appendedTokens: number, refused: number): number {
  return 2 * (appendedTokens / (WINDOW * FRESH_SHARE_MIN) + 1) + refused;
}

for (
  const [name, fails, cooldownMs] of [
    ["every other time", (n: number) => n % 2 === 1, 300_000],
    ["at random", seeded(7), 300_000],
    ["at random, with a breaker that never rests", seeded(11), 0],
    ["always", () => true, 300_000],
  ] as const
) {
  Deno.test(`an endless loop of ${STEPS} steps in a window of ${WINDOW} tokens, the summariser failing ${name}`, async () => {
    const draw = seededRandom(3);
    const { on, failures, results } = await endless(fails, () => 100 + draw.below(3000), cooldownMs);
    const reasons: string[] = [];
    while (reasons.at(-1) !== "completed" && reasons.length < TURNS_MAX) {
      const { reason } = await on.session.send(reasons.length === 0 ? PROMPT : `${PROMPT} Go on (${reasons.length}).`);
      reasons.push(reason.kind === "error" ? reason.error.code : reason.kind);
    }
    const isHopeless = name === "always";
    assertEquals(new Set(reasons.slice(0, -1)), new Set(reasons.length > 1 ? ["CONTEXT_WINDOW_EXCEEDED"] : []));
    assertEquals(reasons.at(-1), isHopeless ? "CONTEXT_WINDOW_EXCEEDED" : "completed");

    // The newest prompt of its time stands in every request, once, word for word.
    const events = await logOf(on);
    const prompts = events.flatMap((event) => isEvent(event, "user/message") ? [event.data] : [])
      .filter(({ source }) => source.kind === "user").map(textOf);
    let newest = 0;
    for (const { messages } of on.requests) {
      const said = messages.map(textOf).join("\n");
      while (newest + 1 < prompts.length && said.includes(prompts[newest + 1]!)) newest++;
      assertEquals(said.split(prompts[newest]!).length - 1, 1, `${prompts[newest]} in ${said.slice(0, 2000)}`);
    }
    assertEquals(newest, prompts.length - 1);

    const kinds = compactionsOf(events);
    const landed = kinds.filter((kind) => kind === "checkpoint").length;
    const refused = on.requests.filter((request) => sizeOf(request) > WINDOW).length;
    const appendedTokens = events.reduce((sum, event) => {
      return isEvent(event, "tool/result") && event.surfaceOp === "append"
        ? sum + priceOfMessage(event.data.message)
        : sum;
    }, 0);
    // A breaker that never rests lets every step try, and try once more.
    const bound = cooldownMs === 0 ? 2 * on.requests.length : callsMax(landed, reasons.length);
    console.log(
      `  ${name}: ${on.requests.length} requests (${refused} too long) in ${reasons.length} turns, ${results()} results of ` +
        `${appendedTokens} tokens; ${on.summaries.length} summaries asked for, ${failures.length} failed, ${landed} landed; ` +
        `bound ${bound}`,
    );
    assert(on.summaries.length <= bound, `${on.summaries.length} summaries, ${bound} are the bound`);
    assert(landed <= landedMax(appendedTokens, refused), `${landed} landed`);
    assert(isHopeless || on.requests.length >= STEPS);
  });
}

function seeded(seed: number): (n: number) => boolean {
  const random = seededRandom(seed);
  return () => random.below(2) === 0;
}
