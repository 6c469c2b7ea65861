import { assert, assertEquals, assertMatch } from "@std/assert";
import { hc } from "hono/client";
import { compileSchema, SandboxUnavailableError } from "../../../mod.ts";
import { MemoryStorage, openMemoryStore } from "../../../src/entry/memory.ts";
import { Refusal } from "../../../src/server/problem.ts";
import type { SandboxApp } from "../../../src/server/sandbox/routes.ts";
import { brief, CountingRunner, endOf, keyOf, OTHER_TOKEN, sandboxServer, TOKEN } from "./sandbox_support.ts";

const WAIT = { waitMs: 30_000 };

Deno.test("POST exec runs a command once, and a repeat returns what was recorded", async () => {
  const { runner, endpoint, exec, look } = await sandboxServer();
  assertEquals(brief(await look(1)), "200 unseen");
  const first = await exec(1, "make", WAIT);
  assertEquals(brief(first), "200 finished");
  assertEquals(first.body.outcome.stdout.text, "ran make");
  assertEquals((await exec(1, "make", WAIT)).body, first.body);
  assertEquals((await look(1)).body, first.body);
  assertEquals(runner.started.map(({ argv }) => argv), [["/bin/sh", "-c", "make"]]);
  await endpoint.close();
});

Deno.test("POST exec of a running command says so, and its end is there for who waits", async () => {
  const { runner, endpoint, exec, look, settle } = await sandboxServer();
  const release = runner.hold();
  assertEquals(brief(await exec(1, "make")), "202 running");
  assertEquals(brief(await exec(1, "make")), "202 running");
  assertEquals(brief(await look(1)), "200 running");
  assertEquals(brief(await settle(1)), "200 running");
  const [waiting, settled] = [exec(1, "make", WAIT), settle(1, 30_000)];
  release();
  assertEquals([brief(await waiting), brief(await settled)], ["200 finished", "200 finished"]);
  assertEquals(runner.started.length, 1);
  await endpoint.close();
});

Deno.test("POST exec, twice at once and sixteen times, runs once", async () => {
  const { runner, endpoint, exec } = await sandboxServer();
  const answers = await Promise.all(Array.from({ length: 16 }, () => exec(1, "make", WAIT)));
  assertEquals(new Set(answers.map(brief)), new Set(["200 finished"]));
  assertEquals(runner.started.length, 1);
  await endpoint.close();
});

Deno.test("POST exec refuses another command under a key with 422, while it runs, afterwards and after a restart", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { runner, endpoint, exec } = await sandboxServer({ storage });
  const release = runner.hold();
  await exec(1, "make");
  for (const more of [{}, { mode: "workspace-write" }, { network: "on" }, { cwd: "src" }, { timeoutMs: 5 }]) {
    const script = Object.keys(more).length === 0 ? "make all" : "make";
    assertEquals(brief(await exec(1, script, more)), "422 IDEMPOTENCY_MISMATCH");
  }
  release();
  assertEquals(brief(await exec(1, "make", WAIT)), "200 finished");
  assertEquals(brief(await exec(1, "make all")), "422 IDEMPOTENCY_MISMATCH");
  await endpoint.close();

  const again = await sandboxServer({ storage: storage.crash() });
  assertEquals(brief(await again.exec(1, "make all")), "422 IDEMPOTENCY_MISMATCH");
  assertEquals(brief(await again.exec(1, "make")), "200 finished");
  assertEquals([runner.started.length, again.runner.started.length], [1, 0]);
  await again.endpoint.close();
});

Deno.test("POST settle of a key that never came says absent, and the key never runs, also after a restart", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { runner, endpoint, exec, settle, look } = await sandboxServer({ storage });
  assertEquals(brief(await settle(1)), "200 absent");
  assertEquals(brief(await look(1)), "200 absent");
  assertEquals(brief(await exec(1, "make")), "410 EFFECT_GONE");
  // A power cut, not a good end: what was said must be on the disk.
  const again = await sandboxServer({ storage: storage.crash(), runner });
  assertEquals(brief(await again.exec(1, "make")), "410 EFFECT_GONE");
  assertEquals(brief(await again.settle(1)), "200 absent");
  assertEquals(runner.started.length, 0);
  await endpoint.close();
  await again.endpoint.close();
});

Deno.test("a command that ran while the server died is undecidable: not run again, not called absent", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { runner, exec } = await sandboxServer({ storage });
  runner.hold();
  assertEquals(brief(await exec(1, "make")), "202 running");
  for (const keepUnsynced of ["none", "all"] as const) {
    const again = await sandboxServer({ storage: storage.crash({ keepUnsynced }) });
    assertEquals(brief(await again.look(1)), "200 undecidable");
    assertEquals(brief(await again.settle(1, 5)), "200 undecidable");
    assertEquals(brief(await again.exec(1, "make", WAIT)), "409 OUTCOME_UNRESOLVED");
    assertEquals(brief(await again.exec(1, "other")), "422 IDEMPOTENCY_MISMATCH");
    assertEquals(again.runner.started.length, 0);
    await again.endpoint.close();
  }
});

Deno.test("POST cancel ends a command; its outcome says so and is recorded", async () => {
  const { runner, endpoint, ask, exec, settle } = await sandboxServer();
  runner.hold();
  await exec(1, "make");
  const cancelled = await ask(`/${keyOf(1)}/cancel`, {});
  assertEquals(cancelled.status, 202);
  await cancelled.body?.cancel();
  const { said, body } = await settle(1, 30_000);
  assertEquals([said, body.outcome.ending], ["finished", "cancelled"]);
  assertEquals(runner.started.length, 1);
  await endpoint.close();
});

Deno.test("close() ends what runs, and the next server knows how it ended", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { runner, endpoint, exec } = await sandboxServer({ storage });
  runner.hold();
  await exec(1, "make");
  await endpoint.close();
  assertEquals(brief(await exec(2, "make")), "503 DRAINING");
  const again = await sandboxServer({ storage: storage.crash() });
  assertEquals((await again.settle(1)).body.outcome.ending, "cancelled");
  await again.endpoint.close();
});

Deno.test("a sandbox that is not there: refused before anything is recorded, or recorded as never run", async () => {
  const { runner, endpoint, exec, look, settle } = await sandboxServer();
  const unavailable = () =>
    Promise.reject(new SandboxUnavailableError('Cannot confine command "/bin/sh": there is none'));
  runner.check = unavailable;
  assertEquals(brief(await exec(1, "make")), "503 SANDBOX_UNAVAILABLE");
  assertEquals(brief(await look(1)), "200 unseen");
  runner.check = () => Promise.resolve();
  runner.end = unavailable;
  assertEquals(brief(await exec(2, "make", WAIT)), "503 SANDBOX_UNAVAILABLE");
  assertEquals(brief(await exec(2, "make", WAIT)), "503 SANDBOX_UNAVAILABLE");
  assertEquals(brief(await settle(2)), "200 refused");
  assertEquals(runner.started.length, 1);
  await endpoint.close();
});

Deno.test("a runner that fails in a way nobody foresaw leaves the outcome undecidable, and tells nobody why", async () => {
  const reported: unknown[] = [];
  const { runner, endpoint, exec, settle } = await sandboxServer({
    parts: { report: (error) => reported.push(error) },
  });
  runner.end = () => Promise.reject(new Error("the key is hunter2"));
  const answer = await exec(1, "make", WAIT);
  assertEquals(brief(answer), "409 OUTCOME_UNRESOLVED");
  assertEquals(JSON.stringify(answer.body).includes("hunter2"), false);
  assertEquals(brief(await settle(1)), "200 undecidable");
  assertEquals(reported.length, 1);
  await endpoint.close();
});

Deno.test("a mode this host does not allow is refused before anything is recorded", async () => {
  const { runner, endpoint, exec, look } = await sandboxServer();
  runner.check = () => Promise.reject(new Refusal(403, "MODE_REFUSED", "Cannot run this here"));
  assertEquals(brief(await exec(1, "make", { mode: "danger-full-access" })), "403 MODE_REFUSED");
  assertEquals(brief(await look(1)), "200 unseen");
  assertEquals(runner.started.length, 0);
  await endpoint.close();
});

Deno.test("each token has its own ledger", async () => {
  const { runner, endpoint, ask, exec } = await sandboxServer();
  await exec(1, "make", WAIT);
  const other = await ask(`/${keyOf(1)}`, undefined, OTHER_TOKEN);
  assertEquals((await other.json()).state, "unseen");
  const without = await ask(`/${keyOf(1)}`, undefined, "no-token-of-this-server");
  assertEquals(without.status, 401);
  await without.body?.cancel();
  assertEquals(runner.started.length, 1);
  await endpoint.close();
});

Deno.test("a key that another token's ledger knows is not run here and not called absent, also when that token is gone", async () => {
  const old = new MemoryStorage({ simulate: "disk" });
  const first = await sandboxServer({ storage: old });
  await first.exec(1, "make", WAIT);
  await first.endpoint.close();
  const stores: Record<string, MemoryStorage> = { gone: old.crash() };
  const parts = {
    storeFor: (id: string) => openMemoryStore({ storage: stores[id] ??= new MemoryStorage({ simulate: "disk" }) }),
    tokensWithLedger: () => Promise.resolve(["gone"]),
  };
  const { runner, endpoint, ask, exec, settle } = await sandboxServer({ parts });
  assertEquals(brief(await exec(1, "make", WAIT)), "409 OUTCOME_UNRESOLVED");
  assertEquals(brief(await settle(1)), "200 undecidable");
  // The same between two tokens that are both valid now.
  assertEquals(brief(await settle(2)), "200 absent");
  const other = await ask("", { effectKey: keyOf(2), script: "make" }, OTHER_TOKEN);
  assertEquals((await other.json()).code, "OUTCOME_UNRESOLVED");
  assertEquals(brief(await exec(3, "make", WAIT)), "200 finished");
  assertEquals(runner.started.length, 1);
  await endpoint.close();
});

Deno.test("what does not fit the schema is refused and recorded nowhere", async () => {
  const { runner, endpoint, ask } = await sandboxServer();
  const effectKey = keyOf(1);
  for (
    const body of [
      {},
      { effectKey },
      { effectKey: "x", script: "ls" },
      { effectKey: effectKey.toUpperCase().replace("0", "A"), script: "ls" },
      { effectKey, script: "ls", argv: ["ls"] },
      { effectKey, argv: [] },
      { effectKey, argv: [""] },
      { effectKey, script: "a\0b" },
      { effectKey, script: "ls", mode: "root" },
      { effectKey, script: "ls", timeoutMs: 0 },
      { effectKey, script: "ls", waitMs: 1e9 },
      { effectKey, script: "ls", environment: {} },
    ]
  ) {
    const response = await ask("", body);
    assertEquals(response.status, 400, JSON.stringify(body));
    await response.body?.cancel();
  }
  const tooLong = await ask("", { effectKey, argv: Array.from({ length: 3 }, () => "x".repeat(100_000)) });
  assertEquals(tooLong.status, 413);
  await tooLong.body?.cancel();
  for (const path of ["/../x", "/%00", `/${effectKey}0`]) {
    const response = await ask(path);
    assertMatch(String(response.status), /^40[04]$/);
    await response.body?.cancel();
  }
  assertEquals(runner.started.length, 0);
  await endpoint.close();
});

Deno.test("the OpenAPI document describes every route of the endpoint, and its schema lets through what is answered", async () => {
  const { endpoint, server, ask, exec, look, settle } = await sandboxServer();
  const routes = endpoint.routes.routes.filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => `${method} /v1${path.replace(/:(\w+)/g, "{$1}")}`);
  const described = endpoint.operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  assertEquals([...new Set(routes)].sort(), [...described].sort());
  const document = await (await server.fetch(new Request("http://sandbox.test/openapi.json"))).json();
  for (const { method, path } of endpoint.operations) assertEquals(typeof document.paths[path][method], "object");
  const { check } = compileSchema(document.components.schemas.Effect, "an effect");
  for (const { body } of [await look(1), await exec(1, "make", WAIT), await settle(1), await settle(2)]) {
    assertEquals((await check(body)).ok, true, JSON.stringify(body));
  }
  const limits = await (await ask("")).json();
  assertEquals(limits, { modeMax: "workspace-write", allowNetwork: false });
  const { check: checkLimits } = compileSchema(document.components.schemas.ShellLimits, "the limits");
  assertEquals((await checkLimits(limits)).ok, true);
  const put = new Request("http://sandbox.test/v1/sandbox/exec", {
    method: "DELETE",
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  assertEquals((await server.fetch(put)).status, 405);
  await endpoint.close();
});

Deno.test("hc<SandboxApp>: a typed client asks everything that can be asked of the endpoint", async () => {
  const { endpoint, fetch, runner } = await sandboxServer();
  const asked = new Set<string>();
  const client = hc<SandboxApp>("http://sandbox.test/v1", {
    headers: { authorization: `Bearer ${TOKEN}` },
    fetch: (input: string | URL | Request, init?: RequestInit) => {
      const path = new URL(input instanceof Request ? input.url : input).pathname;
      asked.add(`${init?.method?.toLowerCase()} ${path.replace(/[0-9a-f]{32}/, "{effectKey}")}`);
      return fetch(input, init);
    },
  });
  const { exec } = client.sandbox;
  const { modeMax, allowNetwork } = await (await exec.$get()).json();
  assertEquals([modeMax, allowNetwork], ["workspace-write", false]);
  const letGo = runner.hold();
  const started = await (await exec.$post({ json: { effectKey: keyOf(1), script: "make" } })).json();
  assertEquals([started.effectKey, started.state], [keyOf(1), "running"]);
  const param = { effectKey: keyOf(1) };
  assertEquals((await (await exec[":effectKey"].cancel.$post({ param, json: {} })).json()).state, "running");
  const settled = await (await exec[":effectKey"].settle.$post({ param, json: { waitMs: 20_000 } })).json();
  assert(settled.state === "finished");
  assertEquals(settled.outcome["ending"], "cancelled");
  letGo();
  assertEquals((await (await exec[":effectKey"].$get({ param })).json()).state, "finished");
  assertEquals([...asked].sort(), endpoint.operations.map(({ method, path }) => `${method} ${path}`).sort());
  await endpoint.close();
});

Deno.test("a medium that promises nothing runs nothing", async () => {
  const { runner, endpoint, exec } = await sandboxServer({ storage: new MemoryStorage() });
  assertEquals(brief(await exec(1, "make")), "503 CHECKPOINT_FAILED");
  assertEquals(runner.started.length, 0);
  await endpoint.close();
});

Deno.test("at the bound of running commands one more is refused, and nothing is recorded of it", async () => {
  const runner = new CountingRunner();
  const { endpoint, exec, look } = await sandboxServer({ runner, parts: { limits: { runningMax: 2 } } });
  const release = runner.hold();
  await exec(1, "a");
  await exec(2, "b");
  assertEquals(brief(await exec(3, "c")), "429 TOO_MANY_REQUESTS");
  assertEquals(brief(await look(3)), "200 unseen");
  release();
  await exec(1, "a", WAIT);
  assertEquals(brief(await exec(3, "c", WAIT)), "200 finished");
  await endpoint.close();
});

Deno.test("a long outcome is spilled, and is the same after a restart", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const { runner, endpoint, exec } = await sandboxServer({ storage });
  runner.end = () => Promise.resolve(endOf("é\u{1F600}\u0001".repeat(20_000)));
  const first = await exec(1, "make", WAIT);
  await endpoint.close();
  const again = await sandboxServer({ storage: storage.crash() });
  assertEquals((await again.settle(1)).body, first.body);
  await again.endpoint.close();
});
