import { assertEquals, assertMatch } from "@std/assert";
import {
  createAgent,
  hasCode,
  isEvent,
  type LookupAnswer,
  scripted,
  type SessionEvent,
  type ToolCall,
} from "../../mod.ts";
import { MemoryStorage, openMemoryStore } from "../../src/entry/memory.ts";
import { sandboxTool, type SandboxToolOptions } from "../../src/tools/mod.ts";
import {
  CountingRunner,
  endOf,
  keyOf,
  type SandboxServer,
  sandboxServer,
  TOKEN,
} from "../server/sandbox/sandbox_support.ts";

const ENDPOINT = "http://sandbox.test/v1/sandbox/exec";

function toolFor(server: SandboxServer, change: Partial<SandboxToolOptions> = {}) {
  const pause = () => Promise.resolve();
  return sandboxTool({ endpoint: ENDPOINT, token: TOKEN, fetch: server.fetch, pause, ...change });
}

function callOf(key: number, signal = new AbortController().signal): ToolCall {
  return { effectKey: keyOf(key), sessionId: "s", signal, effect: "keyed" } as ToolCall;
}

async function textOf(answer: unknown): Promise<string> {
  const { content } = await answer as { content: { text: string }[] };
  return content[0]!.text;
}

const failureOf = (answer: unknown) =>
  Promise.resolve(answer).then(() => null, (error) => error as Error & { code?: string });

/** What a tool is asked about an effect of a log. */
const lookupOf = (key: number) => ({
  effectKey: keyOf(key),
  args: { command: "make" },
  effect: "keyed" as const,
  callSeq: 1,
});
const reconcile = async (tool: ReturnType<typeof sandboxTool>, key: number) =>
  await tool.reconcile!({ ...lookupOf(key), signal: new AbortController().signal }) as LookupAnswer<string>;

Deno.test("the tool asks, is keyed, and its command runs in the server's sandbox once", async () => {
  const server = await sandboxServer();
  const tool = toolFor(server);
  const args = { command: "make" };
  assertEquals(tool.effectOf(args), "keyed");
  assertEquals((await tool.permissionFor(args, "keyed")).decision, "ask");
  assertMatch(await textOf(tool.execute(args, callOf(1))), /^exit code 0\n[^]*ran make$/);
  assertMatch(await textOf(tool.execute(args, callOf(1))), /ran make$/);
  assertEquals(server.runner.started.map(({ argv, mode, network }) => ({ argv, mode, network })), [
    { argv: ["/bin/sh", "-c", "make"], mode: "read-only", network: "off" },
  ]);
  await server.endpoint.close();
});

Deno.test("what the server never gives is refused before anybody is asked; a server that does not say is asked with the command", async () => {
  const server = await sandboxServer();
  const escalation = (mode: string) => ({
    command: "make",
    sandbox_permissions: mode,
    justification: "it writes the build folder",
  });
  const tool = toolFor(server);
  const wide = await failureOf(tool.permissionFor(escalation("danger-full-access"), "keyed"));
  assertEquals(wide?.code, "MODE_REFUSED");
  const network = { command: "make", sandbox_network: "on", justification: "it fetches" };
  assertEquals((await failureOf(tool.permissionFor(network, "keyed")))?.code, "MODE_REFUSED");
  assertEquals((await tool.permissionFor(escalation("workspace-write"), "keyed")).decision, "ask");

  const silent: (typeof fetch)[] = [
    () => Promise.reject(new TypeError("connection refused")),
    () => Promise.resolve(new Response("<p>not found</p>", { status: 404 })),
    () => Promise.resolve(Response.json({ modeMax: "everything", allowNetwork: true })),
    () => Promise.resolve(Response.json(null)),
    (input, init) => server.fetch(input, { ...init, headers: {} }),
  ];
  for (const fetch of silent) {
    const { decision } = await toolFor(server, { fetch }).permissionFor(escalation("danger-full-access"), "keyed");
    assertEquals(decision, "ask");
  }
  assertEquals(server.runner.started, []);
  await server.endpoint.close();
});

Deno.test("a lost answer: the same request is sent again, and the command has run once", async () => {
  const server = await sandboxServer();
  let requests = 0;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await server.fetch(input, init);
    if (++requests > 2) return response;
    await response.body?.cancel();
    throw new TypeError("connection reset");
  };
  assertMatch(await textOf(toolFor(server, { fetch }).execute({ command: "make" }, callOf(1))), /ran make$/);
  assertEquals([requests, server.runner.started.length], [3, 1]);
  await server.endpoint.close();
});

Deno.test("no answer at all: the outcome is unknown, and afterwards the ledger tells it", async () => {
  const server = await sandboxServer();
  const lost: typeof fetch = async (input, init) => {
    await (await server.fetch(input, init)).body?.cancel();
    throw new TypeError("connection reset");
  };
  const failure = await failureOf(toolFor(server, { fetch: lost }).execute({ command: "make" }, callOf(1)));
  assertEquals(failure?.code, "TOOL_OUTCOME_UNKNOWN");
  const found = await reconcile(toolFor(server), 1);
  assertEquals(found.verdict, "happened");
  assertMatch((found as { readonly result?: string }).result ?? "", /ran make$/);
  assertEquals(server.runner.started.length, 1);
  await server.endpoint.close();
});

Deno.test("a request that never arrived: the ledger says absent, and when it arrives after all it does not run", async () => {
  const server = await sandboxServer();
  let late: (() => Promise<Response>) | null = null;
  const slow: typeof fetch = (input, init) => {
    late ??= () => server.fetch(input, init);
    return Promise.reject(new TypeError("connection reset"));
  };
  const failure = await failureOf(toolFor(server, { fetch: slow }).execute({ command: "make" }, callOf(1)));
  assertEquals(failure?.code, "TOOL_OUTCOME_UNKNOWN");
  assertEquals((await reconcile(toolFor(server), 1)).verdict, "absent");
  const arrived = await late!();
  assertEquals(arrived.status, 410);
  await arrived.body?.cancel();
  const again = await failureOf(toolFor(server).execute({ command: "make" }, callOf(1)));
  assertEquals(again?.code, "EFFECT_GONE");
  assertEquals(server.runner.started.length, 0);
  await server.endpoint.close();
});

Deno.test("a server that nobody can reach: nothing was sent, and the model reads so", async () => {
  const server = await sandboxServer();
  const fetch = () =>
    Promise.reject(
      new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) }),
    );
  const failure = await failureOf(toolFor(server, { fetch }).execute({ command: "make" }, callOf(1)));
  assertEquals(failure?.code, "SANDBOX_UNREACHABLE");
  await server.endpoint.close();
});

Deno.test("a wrong token, a full ledger, no sandbox: the command did not run, each with its code", async () => {
  const server = await sandboxServer({ parts: { limits: { keysMax: 1 } } });
  const args = { command: "make" };
  const strange = await failureOf(toolFor(server, { token: "no-token-of-this-server" }).execute(args, callOf(1)));
  assertEquals(strange?.code, "UNAUTHORIZED");
  await toolFor(server, { token: () => Promise.resolve(TOKEN) }).execute(args, callOf(1));
  assertEquals((await failureOf(toolFor(server).execute(args, callOf(2))))?.code, "LEDGER_FULL");
  const another = await failureOf(toolFor(server).execute({ command: "make all" }, callOf(1)));
  assertEquals(another?.code, "IDEMPOTENCY_MISMATCH");
  await server.endpoint.close();

  const bare = await sandboxServer();
  bare.runner.check = () => Promise.reject(Object.assign(new Error("x"), { code: "SANDBOX_UNAVAILABLE" }));
  const { SandboxUnavailableError } = await import("../../mod.ts");
  bare.runner.check = () =>
    Promise.reject(new SandboxUnavailableError('Cannot confine command "/bin/sh": there is none'));
  assertEquals(hasCode(await failureOf(toolFor(bare).execute(args, callOf(1))), "SANDBOX_UNAVAILABLE"), true);
  assertEquals([server.runner.started.length, bare.runner.started.length], [1, 0]);
  await bare.endpoint.close();
});

Deno.test("a cancelled call ends the command on the server, and its outcome counts as unknown", async () => {
  const server = await sandboxServer();
  server.runner.hold();
  const abort = new AbortController();
  const running = failureOf(toolFor(server).execute({ command: "make" }, callOf(1, abort.signal)));
  await server.runner.hasStarted(1);
  abort.abort();
  assertEquals((await running)?.code, "TOOL_OUTCOME_UNKNOWN");
  // It ran and was cut short: nobody can say how much of it happened.
  assertEquals((await reconcile(toolFor(server), 1)).verdict, "undecidable");
  await server.endpoint.close();
});

Deno.test("reconcile: running, ended early, refused, and a server that went down", async () => {
  const storage = new MemoryStorage({ simulate: "disk" });
  const server = await sandboxServer({ storage });
  const release = server.runner.hold();
  await server.exec(1, "make");
  const whileRunning = reconcile(toolFor(server), 1);
  release();
  assertEquals((await whileRunning).verdict, "happened");
  server.runner.end = () => Promise.resolve(endOf("", { exitCode: null, signal: "SIGKILL", ending: "timed-out" }));
  await server.exec(2, "make", { waitMs: 1000 });
  assertEquals((await reconcile(toolFor(server), 2)).verdict, "undecidable");
  server.runner.end = () => Promise.resolve(endOf("", { hasStarted: false, ending: "cancelled", exitCode: null }));
  await server.exec(3, "make", { waitMs: 1000 });
  assertEquals((await reconcile(toolFor(server), 3)).verdict, "absent");
  server.runner.hold();
  await server.exec(4, "make");
  const again = await sandboxServer({ storage: storage.crash(), runner: new CountingRunner() });
  assertEquals((await reconcile(toolFor(again), 4)).verdict, "undecidable");
  assertEquals(again.runner.started.length, 0);
  await again.endpoint.close();
});

for (const when of ["before the request was sent", "while the command runs", "after it ended"] as const) {
  Deno.test(`the page dies ${when}: the next one settles the call from the ledger, and it ran at most once`, async () => {
    const server = await sandboxServer();
    const release = server.runner.hold();
    const disk = new MemoryStorage({ simulate: "disk" });
    const sent = Promise.withResolvers<void>();
    // The page is gone: no answer ever reaches it.
    const fetch: typeof globalThis.fetch = async (input, init) => {
      if (when !== "before the request was sent") {
        const answered = server.fetch(input, init);
        await server.runner.hasStarted(1);
        if (when === "after it ended") {
          release();
          await (await answered).body?.cancel();
        } else answered.then((response) => response.body?.cancel());
      }
      sent.resolve();
      return await new Promise<never>(() => {});
    };
    const model = () => scripted([[{ call: { name: "shell", arguments: { command: "make" } } }], [{ text: "Done." }]]);
    const agentOn = (storage: MemoryStorage, sender: typeof globalThis.fetch) =>
      createAgent({
        store: openMemoryStore({ storage }),
        model: model(),
        tools: [toolFor(server, { fetch: sender })],
        approvers: [() => "allowed-once"],
      });
    const session = await agentOn(disk, fetch).create({ id: "page" });
    session.followup("make it");
    await sent.promise;

    const reopened = agentOn(disk.crash(), server.fetch);
    if (when === "while the command runs") queueMicrotask(release);
    const next = await reopened.resume("page");
    const verdicts = next.resumed!.verdicts.filter((event) => isEvent(event, "effect/reconciled"));
    const ran = when !== "before the request was sent";
    assertEquals(verdicts.map((event: SessionEvent) => (event.data as { verdict?: string }).verdict), [
      ran ? "happened" : "absent",
    ]);
    assertEquals(next.resumed!.unresolved, []);
    const { events } = await next.session.history();
    const result = events.find((event) => isEvent(event, "tool/result"))!;
    assertMatch(JSON.stringify(result.data), ran ? /ran make/ : /TOOL_NOT_STARTED/);
    assertEquals(server.runner.started.length, ran ? 1 : 0);
    await next.close();
    await server.endpoint.close();
  });
}
