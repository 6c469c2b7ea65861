import { assert, assertEquals } from "@std/assert";
import type { FinishReason, StreamChunk } from "../../../src/event/mod.ts";
import type { Model } from "../../../src/model/model.ts";
import { modelContract } from "../../../src/testing/model_contract.ts";
import { bundleForNode, findNode } from "../../support/node.ts";
import { endpointContext } from "./chat_endpoint.ts";
import { contractModels } from "./contract_models.ts";

for (const [name, modelAt] of Object.entries(contractModels)) {
  Deno.test(`${name} keeps the contract of models`, async (t) => {
    for (const { name, run } of modelContract) await t.step(name, () => run(endpointContext(modelAt)));
  });
}

Deno.test("all models keep the contract in Node", async () => {
  const node = await findNode();
  const bundle = await bundleForNode("tests/agent/models/node_suite.ts");
  try {
    const { success, stdout, stderr } = await new Deno.Command(node, { args: [bundle] }).output();
    assert(success, new TextDecoder().decode(stderr));
    const cases = Object.keys(contractModels).length * modelContract.length;
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)), { cases, failures: [] });
  } finally {
    await Deno.remove(bundle.replace(/\/[^/]*$/, ""), { recursive: true });
  }
});

/** Our own client with its chunks changed, or asked in another way. */
function broken(stream: (model: Model, ...args: Parameters<Model["stream"]>) => AsyncIterable<StreamChunk>) {
  return (baseUrl: string): Model => {
    const model = contractModels.openAiCompatible!(baseUrl);
    return { ...model, stream: (request, signal) => stream(model, request, signal) };
  };
}

function mapped(change: (chunk: StreamChunk) => StreamChunk[]) {
  return broken(async function* (model, request, signal) {
    for await (const chunk of model.stream(request, signal)) yield* change(chunk);
  });
}

const finishAs = (from: string, reason: FinishReason) =>
  mapped((chunk) => {
    const isFrom = chunk.type === "finish" &&
      (chunk.reason.kind === from || (chunk.reason.kind === "error" && chunk.reason.failure.code === from));
    return [isFrom ? { type: "finish", reason } : chunk];
  });

const BROKEN: Readonly<Record<string, (baseUrl: string) => Model>> = {
  "asks twice": broken(async function* (model, request, signal) {
    for await (const _ of model.stream(request, signal));
    yield* model.stream(request, signal);
  }),
  "asks before the first pull": broken((model, request, signal) => {
    const first = Array.fromAsync(model.stream(request, signal)).catch(() => []);
    return (async function* () {
      yield* await first;
    })();
  }),
  "takes a cut-off answer for a whole one": finishAs("STREAM_CLOSED", { kind: "stop" }),
  "takes a broken connection for a whole answer": finishAs("TRANSPORT", { kind: "stop" }),
  "takes nothing for an answer": finishAs("EMPTY_RESPONSE", { kind: "stop" }),
  "goes on after the ceiling": finishAs("max-tokens", { kind: "stop" }),
  "forgets how long to wait": mapped((chunk) => {
    if (chunk.type !== "finish" || chunk.reason.kind !== "error") return [chunk];
    const { providerRetryAfterMs: _, ...failure } = chunk.reason.failure;
    return [{ type: "finish", reason: { kind: "error", failure } }];
  }),
  "loses the usage": mapped((chunk) => chunk.type === "usage" ? [] : [chunk]),
  "loses blocks": mapped((chunk) => chunk.type === "block-end" ? [] : [chunk]),
  "loses deltas": mapped((chunk) => chunk.type === "text-delta" ? [] : [chunk]),
  "ends twice": mapped((chunk) => chunk.type === "finish" ? [chunk, chunk] : [chunk]),
};

for (const [name, modelAt] of Object.entries(BROKEN)) {
  Deno.test(`the contract finds a model that ${name}`, async () => {
    const failed: string[] = [];
    // What waits for a reader to leave would wait for ever here.
    for (const { name, run } of modelContract.filter(({ name }) => !name.includes("leaves"))) {
      await run(endpointContext(modelAt)).catch(() => failed.push(name));
    }
    assert(failed.length > 0, "every case passed");
    assert(failed.length < modelContract.length, "every case failed");
  });
}
