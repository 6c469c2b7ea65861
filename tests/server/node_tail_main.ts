/**
 * A program for Node: the server's app behind `node:http`, and clients of its event stream that leave or never read.
 *
 * Prints what was seen, as JSON. Whoever hosts the app elsewhere than on Deno writes an adapter such as this one.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createAgent, defineTool, scripted } from "../../mod.ts";
import { openMemoryStore, systemClock } from "../../src/entry/memory.ts";
import { createServerApp } from "../../src/server/app.ts";
import { knownToken } from "../../src/server/auth.ts";

const TOKEN = "correct-horse-battery-staple";

/** Answers one request of Node's. A client that goes ends the body of the answer. */
async function answer(
  fetch: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const { method, url, headers } = incoming;
  const response = await fetch(
    new Request(`http://${headers.host}${url}`, {
      method,
      headers: Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]),
      ...(chunks.length === 0 ? {} : { body: await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer() }),
    }),
  );
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void outgoing.end();
  const reader = response.body.getReader();
  outgoing.on("close", () => void reader.cancel().catch(() => {}));
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return void outgoing.end();
    if (!outgoing.write(value) && !outgoing.destroyed) await drained(outgoing);
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    outgoing.once("drain", resolve);
    outgoing.once("close", resolve);
  });
}

async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((next) => setTimeout(next, 2));
}

const store = openMemoryStore({ simulate: "disk" });
const look = defineTool({
  name: "look",
  description: "Looks.",
  parameters: { type: "object" },
  effect: "none",
  execute: () => "x".repeat(2000),
});
const steps = Array.from({ length: 200 }, () => [{ call: { name: "look", arguments: {} } }]);
const model = scripted([...steps, [{ text: "Done." }], [{ text: "Done." }]], { clock: systemClock });
const hosts = new Set<string>();
const server = createServerApp({
  clock: systemClock,
  tokens: [await knownToken(TOKEN)],
  tenantFor: () => ({
    store,
    agentWith: (approver) => createAgent({ store, model, tools: [look], approvers: [approver] }),
    withLog: () => Promise.reject(new Error("nothing is imported here")),
  }),
  isHost: (host) => hosts.has(host),
});
const http = createServer((incoming, outgoing) => void answer(server.fetch, incoming, outgoing));
await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
const host = `127.0.0.1:${(http.address() as AddressInfo).port}`;
hosts.add(host);

const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
const post = async (path: string, body: unknown) =>
  (await fetch(`http://${host}${path}`, { method: "POST", headers, body: JSON.stringify(body) })).status;

/** A client of the stream, which reads only when it is asked to. */
async function follow() {
  const controller = new AbortController();
  const response = await fetch(`http://${host}/v1/sessions/a/events`, {
    headers: { ...headers, accept: "text/event-stream" },
    signal: controller.signal,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const seqs = () => [...text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
  async function until(part: string, count: number): Promise<void> {
    while (text.split(part).length <= count) {
      const { value, done } = await reader.read();
      if (done) throw new Error("the stream ended");
      text += value;
    }
  }
  return { leave: () => controller.abort(), until, seqs };
}

const created = await post("/v1/sessions", { id: "a" });
const [leaving, never, reading] = [await follow(), await follow(), await follow()];
const tails = [server.counts().tails];
leaving.leave();
await eventually(() => server.counts().tails === 2);
const said = await post("/v1/sessions/a/inputs", { text: "hello" });
await reading.until('"type":"turn/end"', 1);
const seqs = reading.seqs();
tails.push(server.counts().tails);
never.leave();
await eventually(() => server.counts().tails === 1);
await post("/v1/sessions/a/inputs", { text: "more" });
await reading.until('"type":"turn/end"', 2);
reading.leave();
await eventually(() => server.counts().tails === 0);
const isClean = await server.shutdown(1000);
http.closeAllConnections();
await new Promise((resolve) => http.close(resolve));
const isWhole = seqs.every((seq, index) => seq === index);
console.log(JSON.stringify({ created, said, tails, events: seqs.length, isWhole, isClean }));
