/**
 * Connections that say nothing, or never finish what they say. Deno closes none of them; this is what they can do, and what not.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { demo } from "../../mod.ts";
import { EventStream, eventually, startServer, TOKEN } from "./server_support.ts";

const encoder = new TextEncoder();

/** Connections that begin a request and leave it there. */
async function silent(port: number, count: number): Promise<Deno.TcpConn[]> {
  const texts = ["", "GET /v1/sessions HTTP/1.1\r\nhost: x\r\n", "POST /v1/sessions HTTP/1.1\r\nhost: x\r\nx-a: b"];
  return await Promise.all(Array.from({ length: count }, async (_, index) => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(encoder.encode(texts[index % texts.length]!));
    return connection;
  }));
}

Deno.test("300 connections that say nothing or half a request keep nobody from an answer, take no slot, and do not hold up the end", async () => {
  await using server = await startServer({ model: demo() });
  const connections = await silent(server.serving.port, 300);
  try {
    for (let index = 0; index < 50; index++) {
      const response = await server.ask("/v1/sessions");
      assertEquals(response.status, 200);
      await response.body?.cancel();
    }
    assertEquals(server.serving.counts().requests, 0);
    assertEquals(await server.serving.shutdown(0), true);
  } finally {
    for (const connection of connections) connection.close();
  }
});

Deno.test({
  name:
    "a server that was left without descriptors listens again when there are some, and what it had accepted goes on",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const root = await Deno.makeTempDir({ prefix: "holdfast-connections-" });
    const child = new Deno.Command("/bin/sh", {
      args: [
        ...["-c", 'ulimit -n 100 && exec "$@"', "sh", Deno.execPath(), "run", "-A", "--no-check"],
        ...[new URL("connections_child.ts", import.meta.url).pathname, `${root}/data`],
      ],
      ...{ stdin: "null", stdout: "piped", stderr: "inherit" },
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let said = "";
    const until = async (part: string) => {
      while (!said.includes(part)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`it ended: ${said}`);
        said += value;
      }
    };
    await until("\n");
    const port = Number(/port (\d+)/.exec(said)![1]);
    const ask = (
      path: string,
      { body, ...init }: { body?: unknown; headers?: Readonly<Record<string, string>>; signal?: AbortSignal } = {},
    ) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        ...init,
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...init.headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    await (await ask("/v1/sessions", { body: { id: "a" } })).body?.cancel();
    const held: Deno.TcpConn[] = [];
    await using stream = await EventStream.open({ ask }, "a");
    try {
      for (let round = 1; round <= 2; round++) {
        // Until the system refuses, which is when it listens no more.
        for (;;) {
          try {
            held.push(...await silent(port, 1));
          } catch {
            break;
          }
          assert(held.length < 1000, "it has a limit of descriptors, and it was not reached");
        }
        if (round === 1) await until("report ");
        for (const connection of held.splice(0)) connection.close();
        await eventually(() =>
          ask("/healthz").then((response) => response.text(), () => "").then((text) => text !== "")
        );
        const input = await ask("/v1/sessions/a/inputs", { body: { text: "hello" } });
        assertEquals(input.status, 202);
        await input.body?.cancel();
        // Accepted before all that, and still followed.
        await stream.event("turn/end");
      }
      assertStringIncludes(said, "Too many open files");
      assertEquals(stream.durable.map(({ id }) => id), stream.durable.map((_, index) => index));
    } finally {
      for (const connection of held) connection.close();
      child.kill("SIGTERM");
    }
    assertEquals((await child.status).code, 0);
    await reader.cancel();
    await Deno.remove(root, { recursive: true });
  },
});

Deno.test("a flood of connections that are dropped at once leaves nothing behind", async () => {
  await using server = await startServer({ model: demo() });
  for (let round = 0; round < 5; round++) {
    for (const connection of await silent(server.serving.port, 100)) connection.close();
  }
  assertStringIncludes(await (await server.ask("/healthz")).text(), "ok");
  assertEquals(server.serving.counts(), { sessions: 0, tails: 0, requests: 0 });
});
