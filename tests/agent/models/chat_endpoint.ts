/**
 * A local endpoint for the contract of models, the same in Deno and in Node: real sockets, each piece a write of its own.
 *
 * @module
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "../../../src/event/mod.ts";
import type { Model } from "../../../src/model/model.ts";
import type { EndpointAnswer, ModelContractContext, ServedModel } from "../../../src/testing/model_contract.ts";

/** A context whose endpoint is asked by the model that `modelAt` makes for its address. */
export function endpointContext(modelAt: (baseUrl: string) => Model): ModelContractContext {
  return { serve: (...answers) => serve(answers, modelAt) };
}

async function serve(
  answers: readonly EndpointAnswer[],
  modelAt: (baseUrl: string) => Model,
): Promise<ServedModel> {
  const requests: JsonObject[] = [];
  const left = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    // A reader that left makes writes fail; that is what these tests are about.
    response.on("error", () => {});
    response.on("close", () => {
      if (!response.writableFinished) left.resolve();
    });
    let body = "";
    for await (const text of request.setEncoding("utf8")) body += text;
    requests.push(JSON.parse(body));
    await give(answers[Math.min(requests.length, answers.length) - 1]!, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    model: modelAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`),
    requests,
    left: left.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function give(answer: EndpointAnswer, response: ServerResponse): Promise<void> {
  const { status = 200, headers = { "content-type": "text/event-stream" }, pieces = [], then = "end" } = answer;
  // Nothing at all is said before a break that comes first.
  if (pieces.length === 0 && then === "break") return void response.socket?.destroy();
  response.writeHead(status, headers);
  response.flushHeaders();
  for (const piece of pieces) {
    if (response.destroyed) return;
    await new Promise<void>((resolve) => response.write(piece, () => resolve()));
    // A turn of the event loop, so that the pieces leave as separate writes.
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (then === "end") response.end();
  // Not a hurried reset: what was written arrives, and then the connection is gone in the middle of the body.
  if (then === "break") response.socket?.end();
}
