import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import type { EffectClass, JsonValue } from "../../src/event/mod.ts";
import type { ToolCall, ToolError } from "../../src/tool/mod.ts";
import { bodyCall } from "../tool/tool_support.ts";
import { ANSWER_SIZE_BYTES_MAX, type HttpRequestOptions, httpRequestTool } from "../../src/tools/mod.ts";

function call(signal: AbortSignal = new AbortController().signal, effect: EffectClass = "opaque"): ToolCall {
  const key = "0123456789abcdef0123456789abcdef";
  return bodyCall({ effectKey: key, effect, signal });
}

/** A server that keeps what it was asked. */
function serve(answer: (request: Request) => Response | Promise<Response>) {
  const asked: { method: string; path: string; headers: Headers; body: string }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { method, url, headers } = request;
    asked.push({ method, path: new URL(url).pathname, headers, body: await request.text() });
    return await answer(request);
  });
  const origin = `http://127.0.0.1:${server.addr.port}`;
  return { asked, origin, [Symbol.asyncDispose]: () => server.shutdown() };
}

async function run(args: JsonValue, options: Partial<HttpRequestOptions> = {}, signal?: AbortSignal): Promise<string> {
  return await httpRequestTool({ fetch, ...options }).execute(args, call(signal)) as string;
}

const SECRETS = { secret: (name: string) => name === "BANK" ? "s3cr3t-value" : undefined };

Deno.test("http_request returns status, the headers that matter and the body", async () => {
  await using server = serve(() => Response.json({ balance: 10 }, { status: 201 }));
  const found = await run({ url: `${server.origin}/x` });
  assertEquals(found, 'HTTP 201 Created\ncontent-type: application/json\n\n{"balance":10}');
  assertEquals(server.asked[0]?.headers.has("idempotency-key"), false);
  assertEquals(
    await run({ url: `${server.origin}/x`, method: "head" }),
    "HTTP 201 Created\ncontent-type: application/json",
  );
});

Deno.test("http_request forwards the effect key with everything that may have an effect", async () => {
  await using server = serve(() => new Response("ok"));
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    await run({ url: server.origin, method, body: "x", headers: { "X-Own": "1" } });
  }
  assertEquals(server.asked.map(({ method, headers, body }) => [method, headers.get("idempotency-key"), body]), [
    ["POST", call().effectKey, "x"],
    ["PUT", call().effectKey, "x"],
    ["PATCH", call().effectKey, "x"],
    ["DELETE", call().effectKey, "x"],
  ]);
  assertEquals(server.asked[0]?.headers.get("x-own"), "1");
});

Deno.test("the class is none for GET and HEAD, keyed for a keyed origin, else opaque", () => {
  const tool = httpRequestTool({ fetch, keyedOrigins: ["https://bank.example/", "http://127.0.0.1:8080"] });
  const classOf = (method: string | undefined, url: string) => tool.effectOf({ url, ...(method ? { method } : {}) });
  assertEquals(classOf(undefined, "https://bank.example/pay"), "none");
  assertEquals(classOf("HEAD", "https://other.example/"), "none");
  assertEquals(classOf("POST", "https://bank.example/pay"), "keyed");
  assertEquals(classOf("POST", "http://127.0.0.1:8080/pay"), "keyed");
  assertEquals(classOf("POST", "http://127.0.0.1:8081/pay"), "opaque");
  assertEquals(classOf("POST", "http://bank.example/pay"), "opaque");
  assertEquals(classOf("BREW", "https://bank.example/"), "opaque");
  for (const origin of ["bank.example", "https://bank.example/path", ""]) {
    assertThrows(() => httpRequestTool({ fetch, keyedOrigins: [origin] }), TypeError, "scheme://host");
  }
});

Deno.test("reading runs unasked; an effect or a secret asks, naming target and secret and never its value", () => {
  const tool = httpRequestTool({ fetch, ...SECRETS });
  assertEquals(tool.permissionFor({ url: "http://a.example/x" }, "none"), { decision: "allow" });
  assertEquals(tool.permissionFor({ url: "http://a.example/x", method: "POST" }, "opaque"), {
    decision: "ask",
    reason: "POST http://a.example/x",
  });
  const secret = { url: "http://a.example:81/x", headers: { authorization: "Bearer $secret:BANK" } };
  assertEquals(tool.permissionFor(secret, "none"), {
    decision: "ask",
    reason: "GET http://a.example:81/x, with the secret BANK sent to a.example:81",
  });
});

Deno.test("a secret goes into the request only, and is taken out of an answer that repeats it", async () => {
  await using server = serve((request) => new Response(`you sent ${request.headers.get("authorization")}`));
  const args = { url: server.origin, headers: { authorization: "Bearer $secret:BANK", "x-plain": "$secret" } };
  const found = await run(args, SECRETS);
  assertEquals(server.asked[0]?.headers.get("authorization"), "Bearer s3cr3t-value");
  assertEquals(server.asked[0]?.headers.get("x-plain"), "$secret");
  assertStringIncludes(found, "you sent Bearer $secret:BANK");
  assertEquals(found.includes("s3cr3t-value"), false);
});

Deno.test("a secret that an answer repeats in another encoding is taken out, also from its headers", async () => {
  await using server = serve((request) => {
    const [, secret] = request.headers.get("authorization")!.split(" ");
    const location = `/login?token=${encodeURIComponent(secret!)}`;
    return Response.json({ basic: btoa(`me:${secret}`), upper: secret!.toUpperCase() }, {
      status: 401,
      headers: { location },
    });
  });
  const secret = () => "pa/ss+w=rd&<x>\n"; // As a file that ends in a line end gives it.
  const found = await run({ url: server.origin, headers: { authorization: "Bearer $secret:BANK" } }, { secret });
  assertStringIncludes(found, "location: /login?token=$secret:BANK\n");
  assertStringIncludes(found, '"upper":"$secret:BANK"');
  assertEquals(/cGEvc3|L3Nz|vc3MrdzX|pa.ss/i.test(found), false, found);
  await assertRejects(
    () => run({ url: server.origin, headers: { a: "$secret:X" } }, { secret: () => " " }),
    Error,
    "no secret",
  );
});

Deno.test("an error never holds a secret", async () => {
  const args = { url: "http://127.0.0.1:9/", headers: { a: "$secret:BANK" } };
  const broken = (options: Partial<HttpRequestOptions>) => assertRejects(() => run(args, options), Error);
  const unsendable = await broken({ secret: () => "line\nbreak s3cr3t-value" });
  assertEquals(unsendable.message.includes("s3cr3t-value"), false);
  const echoing = () => Promise.reject(new TypeError("refused header s3cr3t-value"));
  assertEquals((await broken({ ...SECRETS, fetch: echoing })).message.includes("s3cr3t-value"), false);
  assertStringIncludes((await broken({})).message, "no secret named BANK");
});

Deno.test("arguments that make no request are refused before anybody is asked", () => {
  const tool = httpRequestTool({ fetch });
  const bad: [Record<string, JsonValue>, string][] = [
    [{}, "url must be a string"],
    [{ url: "nowhere" }, "not a URL"],
    [{ url: "file:///etc/passwd" }, "http: or https:"],
    [{ url: "http://user:pw@a.example/" }, "user or a password"],
    [{ url: "http://a.example/", method: "BREW" }, "method must be one of"],
    [{ url: "http://a.example/", body: "x" }, "has no body"],
    [{ url: "http://a.example/", headers: { a: 1 } }, 'header "a" must be a string'],
    [{ url: "http://a.example/", headers: { "a b": "1" } }, "not a header name"],
    [{ url: "http://a.example/", headers: { "Idempotency-Key": "mine" } }, "set by the tool itself"],
    [{ url: "http://a.example/", headers: { Host: "b.example" } }, "set by the tool itself"],
  ];
  for (const [args, words] of bad) assertThrows(() => tool.permissionFor(args, "opaque"), Error, words);
});

Deno.test("GET follows redirects, but not for ever; what has an effect follows none", async () => {
  await using server = serve((request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/end") return new Response("found");
    return new Response(null, { status: 302, headers: { location: pathname === "/loop" ? "/loop" : "/end" } });
  });
  assertStringIncludes(await run({ url: `${server.origin}/start` }), "found");
  assertStringIncludes(await run({ url: `${server.origin}/loop` }), "HTTP 302");
  assertEquals(server.asked.filter(({ path }) => path === "/loop").length, 6);
  const posted = await run({ url: `${server.origin}/start`, method: "POST" });
  assertStringIncludes(posted, "HTTP 302");
  assertStringIncludes(posted, "location: /end");
  assertEquals(server.asked.filter(({ method }) => method === "POST").length, 1);
});

Deno.test("a redirect to another origin is followed only without headers of the model's, and only to http", async () => {
  await using other = serve(() => new Response("elsewhere"));
  await using server = serve((request) => {
    const location = new URL(request.url).pathname === "/file" ? "file:///etc/passwd" : other.origin;
    return new Response(null, { status: 307, headers: { location } });
  });
  assertStringIncludes(await run({ url: server.origin }), "elsewhere");
  const secret = { url: server.origin, headers: { authorization: "$secret:BANK" } };
  assertStringIncludes(await run(secret, SECRETS), "HTTP 307");
  assertEquals(other.asked.length, 1);
  assertStringIncludes(await run({ url: `${server.origin}/file` }), "HTTP 307");
});

Deno.test("a redirect to an address with a user or a password is not followed, wherever in the chain it comes", async () => {
  for (const userinfo of ["u:p@", "u@", ":p@"]) {
    await using server = serve((request) => {
      const { pathname, host } = new URL(request.url);
      const location = pathname === "/first" ? "/second" : `http://${userinfo}${host}/third`;
      return new Response(null, { status: 302, headers: { location } });
    });
    for (const path of ["/first", "/second"]) {
      assertStringIncludes(await run({ url: server.origin + path }), "HTTP 302");
    }
    assertEquals(server.asked.map(({ path }) => path), ["/first", "/second", "/second"]);
    assertEquals(server.asked.some(({ headers }) => headers.has("authorization")), false);
  }
});

Deno.test("a large answer is cut, and what is not text is not shown", async () => {
  await using server = serve((request) =>
    new URL(request.url).pathname === "/large"
      ? new Response("x".repeat(ANSWER_SIZE_BYTES_MAX + 10))
      : new Response(new Uint8Array([1, 0, 2]), { headers: { "content-type": "image/png" } })
  );
  const large = await run({ url: `${server.origin}/large` });
  assertStringIncludes(large, `[the answer goes on after ${ANSWER_SIZE_BYTES_MAX} bytes]`);
  assert(large.length < ANSWER_SIZE_BYTES_MAX + 200);
  assertStringIncludes(await run({ url: `${server.origin}/image` }), "[3 bytes, not text]");
});

/** Accepts one connection, reads the request, and closes it without an answer. */
function hangUp() {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const served = (async () => {
    for await (const connection of listener) {
      await connection.read(new Uint8Array(65_536));
      connection.close();
    }
  })();
  return {
    origin: `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`,
    async [Symbol.asyncDispose]() {
      listener.close();
      await served.catch(() => {});
    },
  };
}

async function codeOf(args: JsonValue, options: Partial<HttpRequestOptions> = {}, signal?: AbortSignal) {
  const error = await assertRejects(() => run(args, options, signal), Error) as ToolError;
  return [error.code, error.message] as const;
}

Deno.test("a request that was sent and not answered has an unknown outcome, unless it only reads", async () => {
  await using server = hangUp();
  const [code, message] = await codeOf({ url: server.origin, method: "POST", body: "x" });
  assertEquals(code, "TOOL_OUTCOME_UNKNOWN");
  assertStringIncludes(message, "check before repeating");
  assertEquals((await codeOf({ url: server.origin }))[0], undefined);
});

Deno.test("a request that never left has a known outcome", async () => {
  const refused = hangUp();
  await refused[Symbol.asyncDispose]();
  for (const method of ["POST", "GET"]) {
    const [code, message] = await codeOf({ url: refused.origin, method });
    assertEquals(code, undefined);
    assertStringIncludes(message, `Cannot reach ${refused.origin}`);
  }
  const node = Object.assign(new Error("x"), { code: "ENOTFOUND" });
  const failing = () => Promise.reject(new TypeError("fetch failed", { cause: node }));
  assertEquals((await codeOf({ url: "http://a.example", method: "POST" }, { fetch: failing }))[0], undefined);
});

Deno.test("a port that fetch blocks, and a handshake that fails, are known: nothing was sent", async () => {
  for (const port of [1, 6000]) {
    const [code, message] = await codeOf({ url: `http://127.0.0.1:${port}/`, method: "POST", body: "x" });
    assertEquals([code, message.startsWith(`Cannot reach http://127.0.0.1:${port}: `)], [undefined, true], message);
  }
  await using server = hangUp();
  const [code, message] = await codeOf({ url: server.origin.replace("http:", "https:"), method: "POST", body: "x" });
  assertEquals([code, message.startsWith("Cannot reach https://127.0.0.1")], [undefined, true], message);
});

Deno.test("a request that runs out of time or is cancelled says what is not known", async () => {
  const hanging: typeof fetch = (_, init) => {
    const { promise, reject } = Promise.withResolvers<Response>();
    if (init!.signal!.aborted) reject(init!.signal!.reason);
    init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason));
    return promise;
  };
  const options = { fetch: hanging, timeoutMs: 1 };
  const [code, message] = await codeOf({ url: "http://a.example", method: "POST" }, options);
  assertEquals(code, "TOOL_TIMEOUT");
  assertStringIncludes(message, "Whether it took effect is unknown");
  const [readCode, readMessage] = await codeOf({ url: "http://a.example" }, options);
  assertEquals([readCode, readMessage], ["TOOL_TIMEOUT", "no answer within 1 ms"]);

  const controller = new AbortController();
  const sent: typeof fetch = (
    url,
    init,
  ) => (queueMicrotask(() => controller.abort(new Error("stop"))), hanging(url, init));
  const cancelled = { fetch: sent };
  assertEquals(
    (await codeOf({ url: "http://a.example", method: "POST" }, cancelled, controller.signal))[0],
    "TOOL_OUTCOME_UNKNOWN",
  );
  assertEquals((await codeOf({ url: "http://a.example" }, cancelled, controller.signal))[1], "stop");
});

Deno.test("an answer that breaks after its status is an answer", async () => {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("half")),
    pull: (controller) => controller.error(new Error("cut")),
  });
  const found = await run({ url: "http://a.example", method: "POST" }, {
    fetch: () => Promise.resolve(new Response(body, { status: 200, headers: { "content-type": "text/plain" } })),
  });
  assertStringIncludes(found, "HTTP 200");
  assertStringIncludes(found, "half");
  assertStringIncludes(found, "broke before the end");
});
