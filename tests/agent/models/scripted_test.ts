import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { parseScript, scripted, type ScriptStep } from "../../../src/agent/models/scripted.ts";
import type { StreamChunk } from "../../../src/event/mod.ts";
import type { ModelRequest } from "../../../src/model/model.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const REQUEST: ModelRequest = {
  sessionId: "s1",
  header: { config: { provider: "scripted", model: "scripted" } },
  messages: [],
};

function run(...steps: ScriptStep[]): Promise<StreamChunk[]> {
  return Array.fromAsync(scripted(steps).stream(REQUEST, new AbortController().signal));
}

Deno.test("scripted() says its parts in order, each block with its own index", async () => {
  const chunks = await run([
    { reasoning: "hm" },
    { text: ["a", "b"] },
    { call: { id: "c1", name: "read", arguments: { path: "x" } } },
    { call: { name: "raw", arguments: "{not json" } },
    { usage: { inputTokens: 1, outputTokens: 2 } },
  ]);
  assertEquals(chunks.filter((chunk) => chunk.type === "block-end"), [
    { type: "block-end", index: 0, block: { type: "reasoning", text: "hm" } },
    { type: "block-end", index: 1, block: { type: "text", text: "ab" } },
    { type: "block-end", index: 2, block: { type: "tool-call", id: "c1", name: "read", arguments: '{"path":"x"}' } },
    { type: "block-end", index: 3, block: { type: "tool-call", id: "call_1_2", name: "raw", arguments: "{not json" } },
  ]);
  assertEquals(chunks.at(-1), { type: "finish", reason: { kind: "tool-calls" } });
});

Deno.test("scripted() takes one step per request and fails beyond the last", async () => {
  const model = scripted([[{ text: "one" }], [{ cut: true }]]);
  const next = () => Array.fromAsync(model.stream(REQUEST, new AbortController().signal));
  assertEquals((await next()).at(-1), { type: "finish", reason: { kind: "stop" } });
  assertEquals(await next(), []);
  assertEquals(await next(), [
    { type: "finish", reason: { kind: "error", failure: { message: "the script has 2 steps", code: "SCRIPT_ENDED" } } },
  ]);
  assertEquals(model.requests.length, 3);
});

Deno.test("scripted() fails and throws where the script says so", async () => {
  const failure = { message: "no", code: "RATE_LIMIT" };
  assertEquals(await run([{ error: failure }, { text: "never" }]), [
    { type: "finish", reason: { kind: "error", failure } },
  ]);
  await assertRejects(() => run([{ throws: "broken" }]), Error, "broken");
  await assertRejects(() => run([{ delayMs: 1 }]), TypeError, "clock");
});

Deno.test("scripted() waits on the clock, and hangs until the request is aborted", async () => {
  const clock = new FakeClock();
  const controller = new AbortController();
  const model = scripted([[{ delayMs: 50 }, { text: "late" }, { hang: true }]], { clock });
  const texts: string[] = [];
  const done = (async () => {
    for await (const chunk of model.stream(REQUEST, controller.signal)) {
      if (chunk.type === "text-delta") texts.push(chunk.text);
    }
  })();
  await clock.advance(49);
  assertEquals(texts, []);
  await clock.advance(1);
  assertEquals(texts, ["late"]);
  controller.abort(new Error("enough"));
  await assertRejects(() => done, Error, "enough");
});

Deno.test("parseScript() names the place that is wrong", () => {
  assertEquals(parseScript([[{ text: "a" }, { call: { name: "x" } }, { finish: "stop" }]]).length, 1);
  for (
    const [script, place] of [
      [{}, "not an array of steps"],
      [[{}], "step 0 is not an array"],
      [[[{ text: "a" }, 7]], "step 0, part 1 is not an object"],
      [[[{ text: "a", reasoning: "b" }]], "step 0, part 0 needs exactly one key"],
      [[[{ run: 1 }]], "step 0, part 0 needs exactly one key"],
      [[[{ text: 7 }]], "step 0, part 0 has text 7"],
      [[[{ call: { name: 7 } }]], "has call"],
      [[[{ delayMs: -1 }]], "has delayMs -1"],
      [[[{ finish: "later" }]], 'has finish "later"'],
    ] as const
  ) assertThrows(() => parseScript(script), TypeError, place);
});
