/**
 * Who is refused: strangers' pages, other names, wrong tokens, odd ids, large and malformed requests.
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { knownToken, newToken, tokenOf } from "../../src/server/auth.ts";
import { serve } from "../../src/server/deno.ts";
import {
  BODY_SIZE_BYTES_MAX,
  HEADERS_LENGTH_MAX,
  IMPORT_SIZE_BYTES_MAX,
  REQUESTS_MAX,
  REQUESTS_PER_TOKEN_MAX,
} from "../../src/server/limits.ts";
import { readBody } from "../../src/server/body.ts";
import { Refusal } from "../../src/server/problem.ts";
import { Slots } from "../../src/server/slots.ts";
import { tokenOfRoot } from "../../src/server/token_file.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { scriptedModel, startServer, type TestServer, TOKEN } from "./server_support.ts";

/** How long a server may be silent that waits for the rest of a request, in milliseconds. */
const SILENCE_MS = 500;

/**
 * Sends bytes as they are and reads the answer, until the connection ends or nothing more comes. A first word is waited for, unless
 * none need come.
 */
async function raw(server: TestServer, text: string, { mayBeSilent = false } = {}): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.serving.port });
  const reader = connection.readable.pipeThrough(new TextDecoderStream()).getReader();
  try {
    await connection.write(new TextEncoder().encode(text));
    let answer = "";
    for (;;) {
      let timer;
      const silence = new Promise<null>((resolve) => timer = setTimeout(() => resolve(null), SILENCE_MS));
      const reading = reader.read().catch(() => null);
      const next = answer === "" && !mayBeSilent ? await reading : await Promise.race([reading, silence]);
      clearTimeout(timer);
      if (next === null || next.done) return answer;
      answer += next.value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}

/** A request line by line. */
function request(lines: readonly string[], body = ""): string {
  return [...lines, "connection: close", "", body].join("\r\n");
}

const AUTH = `authorization: Bearer ${TOKEN}`;

Deno.test("DNS rebinding: only our own names are answered, in the header and in the request line", async () => {
  await using server = await startServer();
  const { port } = server.serving;
  const get = (host: string, target = "/v1/sessions") =>
    raw(server, request([`GET ${target} HTTP/1.1`, `host: ${host}`, AUTH]));
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
    assertEquals(statusOf(await get(host)), 200, host);
  }
  const strangers = [
    `evil.example:${port}`,
    "evil.example",
    "127.0.0.1",
    `127.0.0.1:${port + 1}`,
    `localhost.evil.example:${port}`,
    `127.0.0.1:${port}.evil.example`,
    `user@127.0.0.1:${port}`,
    "",
  ];
  for (const host of strangers) assert([400, 421].includes(statusOf(await get(host))), `${host}: ${await get(host)}`);
  // An address in the request line must agree with the header.
  const absolute = await get(`127.0.0.1:${port}`, `http://evil.example:${port}/v1/sessions`);
  assert([400, 421].includes(statusOf(absolute)), absolute);
  const twice = request(["GET /v1/sessions HTTP/1.1", `host: 127.0.0.1:${port}`, `host: evil.example:${port}`, AUTH]);
  assert([400, 421].includes(statusOf(await raw(server, twice))));
  // Nobody under another name even learns whether we are there.
  assertEquals(statusOf(await get(`evil.example:${port}`, "/healthz")), 421);
});

Deno.test("cross-origin: a page of a stranger is refused, with and without a preflight; one on the list is answered", async () => {
  const friend = "https://friend.example";
  await using server = await startServer({}, { allowOrigins: [friend] });
  for (
    const origin of [
      "https://evil.example",
      "null",
      `${friend}.evil.example`,
      "http://friend.example",
      server.origin + "0",
    ]
  ) {
    const get = await server.ask("/v1/sessions", { headers: { origin } });
    assertEquals([get.status, (await get.json()).code], [403, "ORIGIN_REFUSED"], origin);
    assertEquals(get.headers.get("access-control-allow-origin"), null);
    const preflight = await server.ask("/v1/sessions", {
      method: "OPTIONS",
      token: null,
      headers: { origin, "access-control-request-method": "POST" },
    });
    assertEquals(preflight.status, 403);
    await preflight.body?.cancel();
    // What a form can send without asking first.
    const simple = await server.ask("/v1/sessions", {
      method: "POST",
      token: null,
      headers: { origin, "content-type": "text/plain" },
    });
    assertEquals(simple.status, 403);
    await simple.body?.cancel();
  }
  const site = await server.ask("/v1/sessions", { headers: { "sec-fetch-site": "cross-site" } });
  assertEquals(site.status, 403);
  await site.body?.cancel();

  const preflight = await server.ask("/v1/sessions", { method: "OPTIONS", token: null, headers: { origin: friend } });
  assertEquals(preflight.status, 204);
  assertEquals(preflight.headers.get("access-control-allow-origin"), friend);
  assertEquals(preflight.headers.get("access-control-allow-credentials"), null);
  const get = await server.ask("/v1/sessions", { headers: { origin: friend } });
  assertEquals([get.status, get.headers.get("access-control-allow-origin")], [200, friend]);
  assertMatch(get.headers.get("vary") ?? "", /origin/i);
  await get.body?.cancel();
  const own = await server.ask("/v1/sessions", { headers: { origin: server.origin } });
  assertEquals(own.status, 200);
  await own.body?.cancel();
  const alone = await server.ask("/v1/sessions", { method: "OPTIONS", token: null });
  assertEquals(alone.status, 403);
  await alone.body?.cancel();
});

Deno.test("a wrong token is refused on every route, and says nothing about what is there", async () => {
  await using server = await startServer();
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  const wrong = [
    null,
    "",
    "x",
    TOKEN.slice(0, -1),
    TOKEN + "x",
    TOKEN.toUpperCase(),
    `${TOKEN}, Bearer ${TOKEN}`,
  ];
  const answers = new Set<string>();
  for (const token of wrong) {
    for (
      const path of ["/v1/sessions", "/v1/sessions/a", "/v1/sessions/none", "/v1/sessions/a/events", "/v1/nothing"]
    ) {
      const response = await server.ask(path, { token });
      assertEquals(response.status, 401, `${token} ${path}`);
      assertEquals(response.headers.get("www-authenticate"), 'Bearer realm="holdfast"');
      answers.add(await response.text());
    }
  }
  assertEquals(answers.size, 1);
  for (const header of [`Basic ${btoa(`a:${TOKEN}`)}`, TOKEN, `Bearer  ${TOKEN}`, `Token ${TOKEN}`]) {
    const response = await fetch(`${server.origin}/v1/sessions`, { headers: { authorization: header } });
    assertEquals(response.status, 401, header);
    await response.body?.cancel();
  }
  // Not in the address: addresses are logged.
  const inQuery = await server.ask(`/v1/sessions?token=${TOKEN}`, { token: null });
  assertEquals(inQuery.status, 401);
  await inQuery.body?.cancel();
});

Deno.test("tokenOf() compares whole digests, and a token too short to be one is refused", async () => {
  const known = [await knownToken(TOKEN), await knownToken("another-token-of-20-characters")];
  assertEquals(await tokenOf(`bearer ${TOKEN}`, known), known[0]!.id);
  assertEquals(await tokenOf(null, known), null);
  assert(known[0]!.id !== known[1]!.id && !TOKEN.includes(known[0]!.id));
  const error = await assertRejects(() => knownToken("short"), RangeError);
  assert(!error.message.includes("short"));
  await assertRejects(() => knownToken("a token with spaces in it"), RangeError);
  let drawn = 0;
  const token = newToken({
    bytes: (sizeBytes) => (drawn += sizeBytes, crypto.getRandomValues(new Uint8Array(sizeBytes))),
  });
  assertEquals([drawn, token.length], [32, 43]);
});

Deno.test("tokenOfRoot() makes the token once, for its owner alone, and refuses a file that others can read", async () => {
  const root = await Deno.makeTempDir();
  try {
    const made = await tokenOfRoot(`${root}/deep`);
    const path = `${root}/deep/server-token`;
    assertEquals(made.isNew, true);
    assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    assertEquals(await tokenOfRoot(`${root}/deep`), { token: made.token, isNew: false });
    await Deno.chmod(path, 0o640);
    const error = await assertRejects(() => tokenOfRoot(`${root}/deep`), Error, "its mode is 640");
    assert(!error.message.includes(made.token));
    await Deno.chmod(path, 0o600);
    await Deno.writeTextFile(path, "");
    await assertRejects(() => tokenOfRoot(`${root}/deep`), Error, "it is empty");
    await Deno.remove(path);
    await Deno.symlink("/etc/hostname", path);
    await assertRejects(() => tokenOfRoot(`${root}/deep`), Error, "it is no file");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("ids that are paths are refused, however they are written, and touch nothing", async () => {
  await using server = await startServer();
  const ids = [
    "..",
    ".",
    "%2e%2e",
    "..%2f..%2fetc",
    "%2e%2e%2f",
    "..%5c..",
    "a%00b",
    "%2Fetc%2Fpasswd",
    "a%0d%0ab",
    "%ff",
    "%E0%A4%A",
    "x".repeat(129),
    "a b",
    "a~b",
    "é",
  ];
  const before = await Array.fromAsync(Deno.readDir(server.root));
  for (const id of ids) {
    for (const rest of ["", "/events", "/export", "/approvals", "/approvals/q"]) {
      const answer = await raw(
        server,
        request([`GET /v1/sessions/${id}${rest} HTTP/1.1`, `host: 127.0.0.1:${server.serving.port}`, AUTH]),
      );
      const status = statusOf(answer);
      // The list and unknown paths are what a dot leads to when it is resolved on the way.
      assert([200, 400, 404, 405].includes(status), `${id}${rest}: ${answer}`);
      assert(!answer.includes("root:"), answer);
      if (status === 200) assertMatch(answer, /"sessions":\[\]/);
    }
  }
  for (const id of ["..", ".", "../x", "a/b", "a\\b", "", "a\u0000", "é", "~"]) {
    await server.json("/v1/sessions", { body: { id }, status: 400 });
  }
  assertEquals((await Array.fromAsync(Deno.readDir(server.root))).length <= before.length + 1, true);
});

Deno.test("bodies that are too large, too slow, of another kind or no JSON are refused", async () => {
  await using server = await startServer();
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  const post = (
    body: BodyInit,
    headers: Record<string, string> = { "content-type": "application/json" },
    path = "inputs",
  ) =>
    fetch(`${server.origin}/v1/sessions/a/${path}`, {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${TOKEN}`, ...headers },
    });
  const code = async (response: Response) => [response.status, (await response.json()).code];
  assertEquals(await code(await post("x".repeat(BODY_SIZE_BYTES_MAX + 1))), [413, "TOO_LARGE"]);
  // Without a length that is told first.
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)),
  });
  assertEquals(await code(await post(endless)), [413, "TOO_LARGE"]);
  assertEquals(await code(await post('{"text":"x"}', { "content-type": "text/plain" })), [
    415,
    "UNSUPPORTED_MEDIA_TYPE",
  ]);
  for (
    const body of [
      "{",
      "",
      "nul",
      '{"text":"\\ud800"}',
      '{"text":1}',
      "[]",
      '{"text":"x","__proto__":{}}',
      '{"text":""}',
    ]
  ) {
    assertEquals(await code(await post(body)), [400, "INVALID_REQUEST"], body);
  }
  assertEquals(await code(await post(new Uint8Array([0x22, 0xff, 0x22]))), [400, "INVALID_REQUEST"]);
  assertEquals(await code(await post("[".repeat(500_000))), [400, "INVALID_REQUEST"]);
  assertEquals(await code(await post(`${"[".repeat(200_000)}${"]".repeat(200_000)}`)), [400, "INVALID_REQUEST"]);
  assertEquals(await code(await post(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`)), [400, "INVALID_REQUEST"]);
  // What says that it is compressed is not unpacked.
  const packed = await new Response(new Blob(['{"text":"x"}']).stream().pipeThrough(new CompressionStream("gzip")))
    .bytes();
  const coded = { "content-type": "application/json", "content-encoding": "gzip" };
  assertEquals(await code(await post(packed, coded)), [400, "INVALID_REQUEST"]);
  const huge = await raw(
    server,
    request([
      "POST /v1/sessions/import HTTP/1.1",
      `host: 127.0.0.1:${server.serving.port}`,
      AUTH,
      "content-type: application/zstd",
      `content-length: ${IMPORT_SIZE_BYTES_MAX + 1}`,
    ]),
  );
  assertEquals(statusOf(huge), 413);

  const clock = new FakeClock();
  const slow = new Request("http://localhost", { method: "POST", body: new ReadableStream<Uint8Array>() });
  const waiting = assertRejects(() => readBody(slow, 10, clock), Refusal, "it took over");
  await clock.advance(30_000);
  await waiting;
});

Deno.test("header smuggling: two lengths, split lines and endless headers are refused, and nothing behind them is answered", async () => {
  await using server = await startServer();
  const host = `host: 127.0.0.1:${server.serving.port}`;
  const hidden = `GET /healthz HTTP/1.1\r\n${host}\r\n\r\n`;
  const post = ["POST /v1/sessions HTTP/1.1", host, AUTH, "content-type: application/json"];
  const cases: readonly [string, string][] = [
    ["both lengths", request([...post, "content-length: 4", "transfer-encoding: chunked"], `0\r\n\r\n${hidden}`)],
    ["two lengths", request([...post, "content-length: 2", "content-length: 40"], `{}${hidden}`)],
    ["a list of lengths", request([...post, "content-length: 2, 40"], `{}${hidden}`)],
    ["a negative length", request([...post, "content-length: -1"], `{}${hidden}`)],
    ["a signed length", request([...post, "content-length: +2"], `{}${hidden}`)],
    ["an odd coding", request([...post, "transfer-encoding: xchunked"], `2\r\n{}\r\n0\r\n\r\n${hidden}`)],
    ["a coding twice", request([...post, "transfer-encoding: chunked, identity"], `2\r\n{}\r\n0\r\n\r\n${hidden}`)],
    ["a space before the colon", request([...post, "content-length : 2"], `{}${hidden}`)],
    ["a folded line", request([...post, "x-a: b\r\n c: d", "content-length : 2"], "{}")],
    ["a bare line feed in a value", request([...post, "x-a: b\rc: d", "content-length: 2"], "{}")],
    ["a zero byte", request([...post, "x-a: b\0c", "content-length: 2"], "{}")],
  ];
  for (const [what, text] of cases) {
    const answer = await raw(server, text, { mayBeSilent: true });
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
    assert(statuses.length <= 1 && (statuses[0] ?? 400) >= 400 && (statuses[0] ?? 400) < 500, `${what}: ${answer}`);
  }
  assertEquals((await server.json("/v1/sessions")).sessions, []);

  const long = await server.ask("/v1/sessions", { headers: { "x-long": "x".repeat(HEADERS_LENGTH_MAX) } });
  assertEquals([long.status, (await long.json()).code], [431, "HEADERS_TOO_LARGE"]);
  for (const method of ["HEAD", "PUT", "PATCH", "TRACE", "CONNECT", "get"]) {
    const answer = await raw(server, request([`${method} /v1/sessions HTTP/1.1`, host, AUTH]));
    assert([400, 405].includes(statusOf(answer)), `${method}: ${answer}`);
  }
});

Deno.test("on an address that is no loopback one it listens only with TLS or when that is wanted", async () => {
  const agentWith = () => {
    throw new Error("nobody asks");
  };
  const options = { root: "/nowhere", tokens: [TOKEN], agentWith };
  for (const hostname of ["0.0.0.0", "::", "192.0.2.1", "example.com"]) {
    await assertRejects(() => serve({ ...options, hostname }), TypeError, "without TLS");
  }
  const serving = await serve({ ...options, hostname: "0.0.0.0", insecure: true, allowHosts: ["box.example"] });
  const url = `http://127.0.0.1:${serving.port}/healthz`;
  // Listening everywhere is no leave to be called anything.
  const refused = await fetch(url);
  assertEquals(refused.status, 421);
  await refused.body?.cancel();
  assertEquals(await serving.shutdown(0), true);
  await assertRejects(() => serve({ ...options, tokens: ["short"] }), RangeError);
});

Deno.test("Slots: at the bound a request is refused, and what is given back can be taken again", async () => {
  const slots = new Slots(2, "requests");
  const giveBack = slots.take();
  slots.take();
  assertEquals(
    (() => {
      try {
        slots.take();
        return null;
      } catch (error) {
        return (error as Refusal).status;
      }
    })(),
    429,
  );
  giveBack();
  giveBack();
  slots.take();
  assertEquals(slots.taken, 2);
  assert(REQUESTS_PER_TOKEN_MAX < REQUESTS_MAX);
  // In a server: every request gives its slots back, whatever it came to.
  await using server = await startServer({ model: scriptedModel([]) });
  for (const path of ["/v1/sessions", "/v1/sessions/none", "/nothing", "/healthz"]) {
    await (await server.ask(path)).body?.cancel();
    await (await server.ask(path, { token: null })).body?.cancel();
  }
  assertEquals(server.serving.counts().requests, 0);
});
