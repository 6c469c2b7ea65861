/**
 * Sessions over HTTP: the typed client, the document, and what is answered when something is not there.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { hc } from "hono/client";
import type { JsonObject } from "../../src/event/mod.ts";
import { encodeZstdFrame } from "../../src/entry/file.ts";
import type { ServerApp } from "../../src/server/app.ts";
import { IMPORT_CONTENT_LENGTH_MAX, IMPORT_SIZE_BYTES_MAX } from "../../src/server/limits.ts";
import { openApi, OPERATIONS } from "../../src/server/openapi.ts";
import { ANSWERS } from "../../src/server/schemas.ts";
import { compileSchema } from "../../src/tool/mod.ts";
import { nameProblems, reachable } from "../support/layers.ts";
import { readModuleGraph, sourceFiles } from "../support/module_graph.ts";
import { repositoryDir } from "../support/paths.ts";
import { openStep } from "../tool/tool_support.ts";
import { EventStream, payStep, payTool, scriptedModel, startServer, storeOf, TOKEN } from "./server_support.ts";

Deno.test("hc<ServerApp>: a typed client does everything a person needs, and asks everything that can be asked", async () => {
  const { tool, keys } = payTool();
  await using server = await startServer({ model: scriptedModel([payStep(), [{ text: "Paid." }]]), tools: [tool] });
  const asked = new Set<string>();
  const client = hc<ServerApp>(server.origin, {
    headers: { authorization: `Bearer ${TOKEN}` },
    fetch(input: string | URL | Request, init?: RequestInit) {
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      const path = pathname.replace(/(sessions)\/(?!import$)[^/]+/, "$1/{id}").replace(
        /(approvals)\/.+/,
        "$1/{question}",
      ).replace(/(events)\/.+/, "$1/{seq}");
      asked.add(`${init?.method?.toLowerCase()} ${path}`);
      return fetch(input, init);
    },
  });
  assertEquals((await (await client.healthz.$get()).json()).status, "ok");
  assertEquals((await (await client.readyz.$get()).json()).status, "ready");
  assertEquals((JSON.parse(await (await client["openapi.json"].$get()).text())).openapi, "3.1.0");
  const created = await client.v1.sessions.$post({ json: { id: "a" } });
  assertEquals(created.status, 201);
  assertEquals((await created.json()).nextSeq, 0);
  const param = { id: "a" };
  await using stream = await EventStream.open(server, "a");
  const input = await client.v1.sessions[":id"].inputs.$post({ param, json: { text: "pay alice" } });
  assertEquals(input.status, 202);
  assertEquals((await input.json()).repeated, false);
  await stream.event("approval/bound");

  const { questions: [question] } = await (await client.v1.sessions[":id"].approvals.$get({ param })).json();
  assertEquals([question?.toolName, question?.arguments], ["pay", '{"to":"alice"}']);
  const argumentsDigest = question!.argumentsDigest!;
  const decided = await client.v1.sessions[":id"].approvals[":question"].$post({
    param: { id: "a", question: question!.id },
    json: { decision: "allowed-once", argumentsDigest },
  });
  assertEquals((await decided.json()).outcome, "allowed-once");
  const end = await stream.event("turn/end");
  assertEquals(end.data.reason.kind, "completed");
  assertEquals(keys.length, 1);

  const { sessions } = await (await client.v1.sessions.$get({ query: { limit: "10" } })).json();
  assertEquals(sessions.map(({ id, state, status }) => [id, state, status]), [["a", "ok", "idle"]]);
  const detail = await (await client.v1.sessions[":id"].$get({ param })).json();
  assertEquals(detail.unresolved, []);
  const events = await client.v1.sessions[":id"].events.$get({ param, query: { from: "0", limit: "3" } });
  assertEquals(JSON.parse(await events.text()).nextFrom, 3);
  const event = await client.v1.sessions[":id"].events[":seq"].$get({ param: { id: "a", seq: "2" } });
  assertEquals(JSON.parse(await event.text()).seq, 2);
  const settled = await client.v1.sessions[":id"].settle.$post({ param, json: { callSeq: 0, verdict: "absent" } });
  assertEquals(settled.status as number, 404);
  await settled.body?.cancel();
  const log = await (await client.v1.sessions[":id"].export.$get({ param, query: { to: "jsonl" } })).text();
  const imported = await client.v1.sessions.import.$post({ query: { id: "b" } }, {
    init: { body: log },
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/x-ndjson" },
  });
  assertEquals([imported.status, (await imported.json()).id], [201, "b"]);
  const compacted = await client.v1.sessions[":id"].compact.$post({ param, json: {} });
  assertEquals((await compacted.json()).compacted, null);
  const cancelled = await client.v1.sessions[":id"].cancel.$post({ param, json: {} });
  assertEquals((await cancelled.json()).status, "idle");
  assertEquals((await client.v1.sessions[":id"].$delete({ param, query: {} })).status, 204);
  const gone = await client.v1.sessions[":id"].$get({ param });
  assertEquals(gone.status as number, 404);
  await gone.body?.cancel();
  assertEquals([...asked].sort(), OPERATIONS.map(({ method, path }) => `${method} ${path}`).sort());
});

Deno.test("openApi() describes every route and no other, and its answers are what is answered", async () => {
  await using server = await startServer({ model: scriptedModel([[{ text: "Done." }]]) });
  const document = await server.json("/openapi.json", { headers: {} });
  assertEquals(document, JSON.parse(JSON.stringify(openApi())));
  const { createServerApp } = await import("../../src/server/app.ts");
  const { app } = createServerApp({
    clock: { now: () => 0, schedule: () => () => {} },
    tokens: [],
    tenantFor: () => {
      throw new Error("nobody asks");
    },
    isHost: () => true,
  });
  const routes = app.routes.filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
  assertEquals(
    [...new Set(routes)].sort(),
    OPERATIONS.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort(),
  );

  const fits = async (name: string, value: unknown) => {
    const text = JSON.stringify(ANSWERS[name]).replace(/\{"\$ref":"#\/components\/schemas\/(\w+)"\}/g, (_, inner) => {
      return JSON.stringify(ANSWERS[inner]);
    });
    const found = await compileSchema(JSON.parse(text) as JsonObject, name).check(value);
    assert(found.ok, `${name}: ${JSON.stringify(found)} in ${JSON.stringify(value)}`);
  };
  await fits("SessionDetail", await server.json("/v1/sessions", { body: { id: "a" }, status: 201 }));
  await fits("Input", await server.json("/v1/sessions/a/inputs", { body: { text: "x" }, status: 202 }));
  await fits("SessionList", await server.json("/v1/sessions"));
  await fits("SessionDetail", await server.json("/v1/sessions/a"));
  await fits("EventPage", await server.json("/v1/sessions/a/events"));
  await fits("QuestionList", await server.json("/v1/sessions/a/approvals"));
  await fits("Status", await server.json("/v1/sessions/a/cancel", { body: {}, status: 202 }));
  await fits("Health", await server.json("/healthz"));
  await fits("Health", await server.json("/readyz"));
  const log = await (await server.ask("/v1/sessions/a/export")).text();
  const imported = await importLog(server.origin, log, "?id=b");
  await fits("Imported", imported.document);
  await fits("Problem", await server.json("/v1/sessions/none", { status: 404 }));
});

Deno.test("problems are RFC 9457 with our codes, and name what was found", async () => {
  await using server = await startServer();
  const response = await server.ask("/v1/sessions/none");
  assertEquals(response.headers.get("content-type"), "application/problem+json");
  assertEquals(await response.json(), {
    type: "urn:holdfast:problem:NOT_FOUND",
    title: "Not Found",
    status: 404,
    code: "NOT_FOUND",
    detail: 'Cannot find session "none": there is none',
  });
  const body = { id: "a", more: 1 };
  const wrong = await server.json("/v1/sessions", { body, status: 400 });
  assertEquals(wrong.code, "INVALID_REQUEST");
  assert(wrong.problems.length > 0);
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  assertEquals((await server.json("/v1/sessions", { body: { id: "a" }, status: 409 })).code, "ALREADY_EXISTS");
  for (const path of ["inputs", "settle", "cancel", "compact", "approvals/q"]) {
    const bodies: Record<string, unknown> = {
      inputs: { text: "x" },
      settle: { callSeq: 1, verdict: "absent" },
      cancel: {},
      compact: {},
      "approvals/q": { decision: "rejected" },
    };
    assertEquals(
      (await server.json(`/v1/sessions/none/${path}`, { body: bodies[path], status: 404 })).code,
      "NOT_FOUND",
    );
  }
  for (const path of ["", "/events", "/approvals", "/export"]) {
    assertEquals((await server.json(`/v1/sessions/none${path}`, { status: 404 })).code, "NOT_FOUND");
  }
  const stream = await server.ask("/v1/sessions/none/events", { headers: { accept: "text/event-stream" } });
  assertEquals([stream.status, (await stream.json()).code], [404, "NOT_FOUND"]);
  const settled = await server.json("/v1/sessions/a/settle", { body: { callSeq: 1, verdict: "absent" }, status: 404 });
  assertStringIncludes(settled.detail, "unknown outcomes are none");
  const method = await server.ask("/v1/sessions/a/inputs", { method: "DELETE" });
  assertEquals([method.status, method.headers.get("allow")], [405, "POST"]);
  await method.body?.cancel();
  assertEquals((await server.json("/nothing", { status: 404 })).code, "NOT_FOUND");
});

async function importLog(origin: string, log: string | Uint8Array<ArrayBuffer>, query = "") {
  const response = await fetch(`${origin}/v1/sessions/import${query}`, {
    method: "POST",
    body: log,
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/octet-stream" },
  });
  return { status: response.status, document: await response.json() };
}

Deno.test("export, import: what comes back is the same log, in both encodings; a damaged one is not taken in", async () => {
  await using server = await startServer({ model: scriptedModel([[{ text: "Done." }]]) });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  {
    await using stream = await EventStream.open(server, "a");
    await server.json("/v1/sessions/a/inputs", { body: { text: "hello" }, status: 202 });
    await stream.event("turn/end");
  }
  const text = await (await server.ask("/v1/sessions/a/export")).text();
  const zstd = await (await server.ask("/v1/sessions/a/export?to=zstd")).bytes();
  assertEquals([...zstd.subarray(0, 4)], [0x28, 0xb5, 0x2f, 0xfd]);
  for (const [id, log] of [["b", text], ["c", zstd]] as const) {
    assertEquals((await importLog(server.origin, log, `?id=${id}`)).status, 201);
    const again = await (await server.ask(`/v1/sessions/${id}/export`)).text();
    assertEquals(again.replace(`"id":"${id}"`, '"id":"a"'), text);
  }
  assertEquals((await importLog(server.origin, text)).document.code, "ALREADY_EXISTS");
  const lines = text.split("\n");
  const damaged = [
    ["nothing", ""],
    ["no log", "hello"],
    ["a gap", [...lines.slice(0, 3), ...lines.slice(4)].join("\n")],
    ["an odd id", text.replace('"id":"a"', '"id":"../x"')],
    ["a torn frame", zstd.slice(0, -3)],
  ] as const;
  for (const [what, log] of damaged) {
    const { status, document } = await importLog(server.origin, log);
    assert(status === 422 || status === 400 || status === 409, `${what}: ${status} ${JSON.stringify(document)}`);
  }
  const { sessions } = await server.json("/v1/sessions");
  assertEquals(sessions.map(({ id }: { id: string }) => id), ["a", "b", "c"]);
  for await (const entry of Deno.readDir(`${server.root}/imports`)) throw new Error(`${entry.name} was left`);
});

Deno.test("import of a few bytes that stand for very many is refused before anything is written", async () => {
  const lengthMax = 8 * 1024 * 1024;
  await using server = await startServer({ model: scriptedModel([]) }, { importLengthMax: lengthMax });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  const [header] = (await (await server.ask("/v1/sessions/a/export")).text()).split("\n");
  const note = "x".repeat(1024 * 1024);
  const frames = [encodeZstdFrame([header!])];
  for (let seq = 0; seq * note.length <= lengthMax; seq++) {
    frames.push(
      encodeZstdFrame([JSON.stringify({ type: "test/note", seq, time: 0, data: { note }, ignorable: true })]),
    );
  }
  const log = await new Blob(frames as Uint8Array<ArrayBuffer>[]).bytes();
  assert(log.length < 64 * 1024, `${log.length} bytes`);
  const { status, document } = await importLog(server.origin, log, "?id=bomb");
  assertEquals([status, document.code], [413, "TOO_LARGE"], JSON.stringify(document));
  assertEquals((await server.json("/v1/sessions")).sessions.map(({ id }: { id: string }) => id), ["a"]);
  // Half of it is a log like any other.
  const half = await new Blob(frames.slice(0, 5) as Uint8Array<ArrayBuffer>[]).bytes();
  assertEquals((await importLog(server.origin, half, "?id=half")).status, 201);
  assert(IMPORT_CONTENT_LENGTH_MAX <= 4 * IMPORT_SIZE_BYTES_MAX);
});

Deno.test("an imported log with an open turn says so, and is closed when somebody goes on", async () => {
  const { store, session } = await openStep();
  await session.flush();
  const { encodeHeader, encodeRow } = await import("../../src/event/mod.ts");
  const { events } = await session.history();
  const log = [encodeHeader(session.header), ...events.map(encodeRow)].join("\n") + "\n";
  await session.close();
  await store.close();
  await using server = await startServer({ model: scriptedModel([[{ text: "Done." }]]) });
  assertEquals((await importLog(server.origin, log, "?id=a")).status, 201);
  assertEquals((await server.json("/v1/sessions/a")).state, "open");
  await server.json("/v1/sessions/a/inputs", { body: { text: "go on" }, status: 202 });
  await using stream = await EventStream.open(server, "a");
  await stream.event("turn/end", ({ data }) => data.reason.kind === "interrupted");
  await stream.event("turn/end", ({ data }) => data.reason.kind === "completed");
});

Deno.test("GET sessions gives pages that join without a gap", async () => {
  await using server = await startServer();
  const wanted = Array.from({ length: 7 }, (_, index) => `s${index}`);
  for (const id of wanted) await server.json("/v1/sessions", { body: { id }, status: 201 });
  const seen: string[] = [];
  for (let after: string | null = ""; after !== null;) {
    const page: { sessions: { id: string }[]; nextAfter: string | null } = await server.json(
      `/v1/sessions?limit=3${after === "" ? "" : `&after=${after}`}`,
    );
    seen.push(...page.sessions.map(({ id }) => id));
    after = page.nextAfter;
  }
  assertEquals(seen, wanted);
});

Deno.test("DELETE refuses while a turn runs, and while an outcome is unknown unless it is forced", async () => {
  const root = await Deno.makeTempDir();
  try {
    const gate = Promise.withResolvers<string>();
    const started = Promise.withResolvers<void>();
    const { defineTool } = await import("../../src/tool/mod.ts");
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      parameters: {},
      execute: () => (started.resolve(), gate.promise),
    });
    {
      await using server = await startServer({
        model: scriptedModel([payStep(), [{ text: "Done." }]]),
        tools: [pay],
        approvers: [() => "allowed-once"],
      }, { root });
      await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
      await server.json("/v1/sessions/a/inputs", { body: { text: "pay" }, status: 202 });
      await started.promise;
      const refused = await server.json("/v1/sessions/a", { method: "DELETE", status: 409 });
      assertEquals(refused.code, "SESSION_RUNNING");
      const copied = await new Deno.Command("cp", { args: ["-r", `${root}/tokens`, `${root}/killed`] }).output();
      assert(copied.success);
      gate.resolve("paid");
    }
    await Deno.mkdir(`${root}/after`);
    await Deno.rename(`${root}/killed`, `${root}/after/tokens`);
    await using server = await startServer({}, { root: `${root}/after` });
    const detail = await server.json("/v1/sessions/a");
    assertEquals(detail.unresolved.length, 1);
    assertEquals((await server.json("/v1/sessions/a", { method: "DELETE", status: 409 })).code, "OUTCOME_UNRESOLVED");
    const { callSeq } = detail.unresolved[0];
    const settled = await server.json("/v1/sessions/a/settle", {
      body: { callSeq, verdict: "happened", note: "seen" },
    });
    assertEquals(settled.verdict, "happened");
    assertEquals((await server.json("/v1/sessions/a")).unresolved, []);
    await server.json("/v1/sessions/a", { method: "DELETE", status: 204 });
    await server.json("/v1/sessions/a", { status: 404 });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("open sessions stay within their bound: the idle one that was used longest ago makes room", async () => {
  await using server = await startServer(
    { model: scriptedModel([[{ hang: true }], [{ hang: true }]]) },
    { hostedSessionsMax: 2 } as never,
  );
  for (const id of ["a", "b", "c"]) await server.json("/v1/sessions", { body: { id }, status: 201 });
  assertEquals(server.serving.counts().sessions, 2);
  const statuses = async () => {
    const { sessions } = await server.json("/v1/sessions");
    return sessions.map(({ status }: { status: string | null }) => status);
  };
  assertEquals(await statuses(), [null, "idle", "idle"]);
  for (const id of ["a", "b"]) {
    await server.json(`/v1/sessions/${id}/inputs`, { body: { text: "x" }, status: 202 });
  }
  assertEquals(await statuses(), ["running", "running", null]);
  const refused = await server.ask("/v1/sessions/c/inputs", { body: { text: "x" } });
  assertEquals([refused.status, refused.headers.get("retry-after")], [429, "1"]);
  await refused.body?.cancel();
});

Deno.test("each token has a root of its own and sees nothing of the others", async () => {
  const other = "another-token-of-20-characters";
  await using server = await startServer({}, { tokens: [TOKEN, other] });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  await server.json("/v1/sessions/a", { token: other, status: 404 });
  assertEquals((await server.json("/v1/sessions", { token: other })).sessions, []);
  await server.json("/v1/sessions", { token: other, body: { id: "a" }, status: 201 });
  const roots: string[] = [];
  for await (const { name } of Deno.readDir(`${server.root}/tokens`)) roots.push(name);
  assertEquals(roots.length, 2);
  assert(roots.every((name) => /^[0-9a-f]{16}$/.test(name)));
});

Deno.test("app.ts and what it reaches in src/server names no runtime", async () => {
  const { graph } = await readModuleGraph(sourceFiles("src"));
  const files = [...reachable(graph, "src/server/app.ts").keys()];
  assert(files.length > 20 && !files.includes("src/server/deno.ts"));
  for (const file of files) {
    assert(!file.startsWith("node:"), `app.ts reaches ${file}`);
    if (!file.startsWith("src/server/")) continue;
    assertEquals(nameProblems(file, await Deno.readTextFile(`${repositoryDir}/${file}`), "portable"), []);
  }
});

Deno.test("a session whose writer is another process is refused as locked, and can be read", async () => {
  const root = await Deno.makeTempDir();
  try {
    {
      await using server = await startServer({}, { root });
      await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
    }
    const store = await storeOf(root);
    const writer = await store.open("a", "write");
    await using server = await startServer({}, { root });
    assertEquals((await server.json("/v1/sessions/a/inputs", { body: { text: "x" }, status: 423 })).code, "LOCK_HELD");
    assertEquals((await server.json("/v1/sessions/a")).live, true);
    await writer.close();
    await store.close();
    await server.json("/v1/sessions/a/inputs", { body: { text: "x" }, status: 202 });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
