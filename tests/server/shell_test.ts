/**
 * The shell of a hosted agent: asked about from anywhere, run in the sandbox of the server.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { demo, type Tool } from "../../mod.ts";
import { Sandbox } from "../../src/sandbox/mod.ts";
import { commandDoor } from "../../src/server/door.ts";
import { type SandboxDoor, type ShellCommand, shellTool } from "../../src/tools/mod.ts";
import { canBubblewrap, canLandlock } from "../sandbox/host.ts";
import { Workspace } from "../sandbox/workspace.ts";
import { type AgentParts, EventStream, startServer, type TestServer } from "./server_support.ts";

const ESCALATION = "run echo x >made in workspace-write because the test wants the file";

/** A shell whose commands are counted and never run. */
function countedShell(): { readonly tool: Tool; readonly asked: ShellCommand[] } {
  const asked: ShellCommand[] = [];
  const door: SandboxDoor = {
    runCommand(command) {
      asked.push(command);
      return Promise.reject(new Error("nothing should have run"));
    },
  };
  return { tool: shellTool({ run: door, inside: "allow" }), asked };
}

/** Answers the question that is open. */
async function decide(server: TestServer, stream: EventStream, decision: string): Promise<{ reason: string }> {
  await stream.event("approval/bound");
  const { questions: [question] } = await server.json("/v1/sessions/a/approvals");
  const { id, argumentsDigest } = question;
  await server.json(`/v1/sessions/a/approvals/${id}`, { body: { decision, argumentsDigest } });
  return question;
}

/** The text of the next result, as every client reads it. */
async function resultOf(stream: EventStream): Promise<string> {
  const { data } = await stream.event("tool/result");
  return JSON.stringify(data.message.content);
}

Deno.test("exec/S15: over HTTP each refusal of an escalation reads differently to every client, and nothing runs", async () => {
  const cases: {
    readonly said: string;
    readonly agent?: AgentParts;
    readonly deadlineMs?: number;
    readonly then?: (server: TestServer, stream: EventStream) => Promise<unknown>;
  }[] = [
    { said: "nobody could be asked, because no approver is connected", agent: { approvers: [] } },
    { said: "the approval policy is never to ask", agent: { approvalPolicy: "never" } },
    { said: "the user said no", then: (server, stream) => decide(server, stream, "rejected") },
    { said: "it needs approval, and nobody could be asked", deadlineMs: 1 },
    { said: "the question was cancelled", agent: { approvers: [() => "cancelled"] } },
    {
      said: "ABORTED_BEFORE_DISPATCH",
      async then(server, stream) {
        await stream.event("approval/bound");
        await server.json("/v1/sessions/a/cancel", { body: {}, status: 202 });
      },
    },
  ];
  const shown = new Set<string>();
  for (const { said, agent = {}, deadlineMs = null, then } of cases) {
    const { tool, asked } = countedShell();
    const parts = { model: demo(), tools: [tool], ...agent };
    await using server = await startServer(parts, { approvalDeadlineMs: deadlineMs });
    await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
    await using stream = await EventStream.open(server, "a");
    await server.json("/v1/sessions/a/inputs", { body: { text: ESCALATION }, status: 202 });
    await then?.(server, stream);
    const { data } = await stream.event("tool/result");
    const text = JSON.stringify(data);
    assertStringIncludes(text, said);
    shown.add(JSON.stringify(data.message.content));
    assertEquals(asked, [], said);
  }
  assertEquals(shown.size, cases.length);
});

Deno.test("a hosted agent on a machine without a sandbox: SANDBOX_UNAVAILABLE with the reason, and the effect is known not to be", async () => {
  const door = commandDoor({ sandbox: new Sandbox({ platform: "plan9" }), workspace: "/srv" });
  await using server = await startServer({ model: demo(), tools: [shellTool({ run: door, inside: "allow" })] });
  await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
  await using stream = await EventStream.open(server, "a");
  await server.json("/v1/sessions/a/inputs", { body: { text: "run ls" }, status: 202 });
  const { data } = await stream.event("tool/result");
  assertStringIncludes(JSON.stringify(data), '"code":"SANDBOX_UNAVAILABLE"');
  assertStringIncludes(JSON.stringify(data), "there is no sandbox for this platform (plan9)");
});

Deno.test({
  name: "a hosted agent: the grant comes over HTTP, widens one command, and the report of the sandbox is in the log",
  ignore: !canBubblewrap && !canLandlock,
  async fn() {
    await using workspace = await Workspace.make();
    const door = commandDoor({ workspace: workspace.root, modeMax: "workspace-write", allowNetwork: false });
    await using server = await startServer({ model: demo(), tools: [shellTool({ run: door })] });
    await server.json("/v1/sessions", { body: { id: "a" }, status: 201 });
    await using stream = await EventStream.open(server, "a");
    const run = async (text: string) => {
      await server.json("/v1/sessions/a/inputs", { body: { text }, status: 202 });
      const { reason } = await decide(server, stream, "allowed-once");
      return { reason, result: await resultOf(stream) };
    };
    const refused = await run("run echo x >file");
    assertEquals(refused.reason, "run in read-only: echo x >file");
    assertStringIncludes(refused.result, "the sandbox (read-only) seems to have refused something");
    assert(!workspace.has("ws/file"));

    const granted = await run("run echo x >file in workspace-write because it is wanted");
    assertStringIncludes(granted.reason, "workspace-write instead of read-only, because: it is wanted");
    assertStringIncludes(granted.result, "exit code 0");
    assert(workspace.has("ws/file"));

    // Nobody is asked for what this host never gives.
    const text = "run echo x >../beside/file in danger-full-access because why not";
    await server.json("/v1/sessions/a/inputs", { body: { text }, status: 202 });
    const { data } = await stream.event("tool/result");
    assertStringIncludes(JSON.stringify(data), '"code":"MODE_REFUSED"');
    assertStringIncludes(JSON.stringify(data), "this host allows workspace-write at most");
    assertEquals(stream.durable.filter(({ row }) => JSON.parse(row).type === "approval/asked").length, 2);
    assert(!workspace.has("beside/file"));

    const { events } = await server.json("/v1/sessions/a/events?limit=1000");
    // deno-lint-ignore no-explicit-any -- events as they are sent
    const reports = events.filter(({ type }: any) => type === "tool/result").map(({ data }: any) =>
      JSON.stringify(data).match(/"mode":"[\w-]+"/)?.[0]
    );
    assertEquals(reports.slice(0, 2), ['"mode":"read-only"', '"mode":"workspace-write"']);
  },
});
