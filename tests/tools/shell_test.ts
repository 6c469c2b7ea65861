import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { SandboxUnavailableError } from "../../src/errors.ts";
import type { ApprovalOutcome, JsonValue } from "../../src/event/mod.ts";
import { Sandbox } from "../../src/sandbox/mod.ts";
import { callTool, INVALID_ARGS, ToolError } from "../../src/tool/mod.ts";
import {
  COMMAND_TIMEOUT_MS,
  COMMAND_TIMEOUT_MS_MAX,
  MODE_REFUSED,
  noSandbox,
  type SandboxDoor,
  type ShellCommand,
  type ShellEnd,
  type ShellMode,
  type ShellOptions,
  shellTool,
} from "../../src/tools/mod.ts";
import { canBubblewrap, canLandlock } from "../sandbox/host.ts";
import { Workspace } from "../sandbox/workspace.ts";
import { bodyCall, openStep, run } from "../tool/tool_support.ts";

const nothing = { text: "", sizeBytes: 0, isCut: false };
const ENDED: ShellEnd = {
  exitCode: 0,
  signal: null,
  ending: "exited",
  hasStarted: true,
  stdout: { text: "fine\n", sizeBytes: 5, isCut: false },
  stderr: nothing,
  isDenied: false,
  appeared: [],
  report: {
    mode: "read-only",
    provider: "made up",
    enforcement: { files: "full", network: "full", processes: "full", environment: "full" },
    gaps: [],
  },
};

/** A door that keeps what it was asked and answers with one end. */
function fakeDoor(end: Partial<ShellEnd> = {}) {
  const asked: ShellCommand[] = [];
  const door: SandboxDoor = {
    runCommand(command) {
      asked.push(command);
      return Promise.resolve({ ...ENDED, ...end });
    },
  };
  return { asked, door };
}

/** The door that a server makes: its sandbox, its workspace. */
function doorTo(sandbox: Sandbox, workspace: string): SandboxDoor {
  return {
    async runCommand({ argv, mode, network, cwd, timeMs }, watch) {
      const policy = { mode, network, workspace, cwd, limits: { timeMs } };
      try {
        if (mode !== "danger-full-access") await sandbox.confine(argv, policy);
      } catch (error) {
        // Whoever asks for what cannot be is told so; nothing has run.
        if (error instanceof RangeError || error instanceof TypeError) throw new ToolError(INVALID_ARGS, error.message);
        throw error;
      }
      return await sandbox.run(argv, policy, watch);
    },
  };
}

function textOf(content: readonly { readonly type: string }[]): string {
  return content.map((block) => "text" in block ? String(block.text) : "").join("");
}

async function execute(
  options: ShellOptions,
  args: JsonValue,
  facts: Parameters<typeof bodyCall>[0] = {},
): Promise<string> {
  const output = await shellTool(options).execute(args, bodyCall(facts));
  return textOf((output as { content: { type: string }[] }).content);
}

const ESCALATION = {
  command: "make install",
  sandbox_permissions: "workspace-write",
  justification: "it writes the build folder",
};

Deno.test("shell passes one script to the shell, in the mode that holds, with the key of the call", async () => {
  const { asked, door } = fakeDoor();
  assertEquals(await execute({ run: door }, { command: "ls 'a b'", cwd: "src" }), "exit code 0\nfine");
  assertEquals(asked, [{
    argv: ["/bin/sh", "-c", "ls 'a b'"],
    mode: "read-only",
    network: "off",
    cwd: "src",
    timeMs: COMMAND_TIMEOUT_MS,
    sessionId: "s1",
    effectKey: "0123456789abcdef0123456789abcdef",
  }]);
});

Deno.test("shell is opaque and asks, unless its host says otherwise; what is not confined always asks", async () => {
  const { door } = fakeDoor();
  const asking = shellTool({ run: door });
  assertEquals(asking.effectOf({ command: "ls" }), "opaque");
  assertEquals(await asking.permissionFor({ command: "ls" }, "opaque"), {
    decision: "ask",
    reason: "run in read-only: ls",
  });
  assertEquals(shellTool({ run: door, effect: "keyed" }).effectOf({ command: "ls" }), "keyed");
  const allowing = (mode: ShellMode) => shellTool({ run: door, inside: "allow", mode });
  assertEquals(await allowing("workspace-write").permissionFor({ command: "ls" }, "opaque"), { decision: "allow" });
  assertEquals(await allowing("danger-full-access").permissionFor({ command: "ls" }, "opaque"), {
    decision: "ask",
    reason: "run in danger-full-access: ls",
  });
});

Deno.test("exec/S14: the approver is told the target mode and the justification; the grant widens this call only", async () => {
  const { session } = await openStep();
  const { asked, door } = fakeDoor();
  const shell = shellTool({ run: door, inside: "allow" });
  const reasons: (string | undefined)[] = [];
  const approvers = [({ reason }: { reason?: string }) => (reasons.push(reason), "allowed-once" as const)];
  const call = (args: JsonValue) =>
    run(session, [shell], { name: "shell", arguments: JSON.stringify(args) }, { approvers });
  assertEquals((await call(ESCALATION)).outcome.isError, false);
  assertEquals((await call({ command: "make install" })).outcome.isError, false);
  assertEquals(asked.map(({ mode }) => mode), ["workspace-write", "read-only"]);
  assertEquals(reasons, [
    "run with workspace-write instead of read-only, because: it writes the build folder: make install",
  ]);
});

Deno.test("exec/S14: the question and its answer are durable before the command runs", async () => {
  const { store, session } = await openStep();
  let durable: string[] = [];
  const door: SandboxDoor = {
    runCommand() {
      durable = store.events("s1").map(({ type }) => type);
      return Promise.resolve(ENDED);
    },
  };
  const shell = shellTool({ run: door });
  await run(session, [shell], { name: "shell", arguments: JSON.stringify(ESCALATION) }, {
    approvers: [() => "allowed-once"],
  });
  assertEquals(durable.slice(-5), [
    "tool/call",
    "approval/asked",
    "approval/bound",
    "approval/decided",
    "effect/dispatched",
  ]);
});

Deno.test("exec/S14: the network has a switch of its own, asked about in the same way", async () => {
  const { asked, door } = fakeDoor();
  const shell = shellTool({ run: door, inside: "allow" });
  const args = { command: "curl x", sandbox_network: "on", justification: "it fetches" };
  const permission = await shell.permissionFor(args, "opaque");
  assertEquals(permission, {
    decision: "ask",
    reason: "run with the network on instead of off, because: it fetches: curl x",
  });
  await shell.execute(args, bodyCall());
  assertEquals(asked.map(({ mode, network }) => [mode, network]), [["read-only", "on"]]);
});

Deno.test("exec/S15: no approver, no agent, rejected, cancelled, unavailable: five distinct errors, and nothing runs", async () => {
  const { asked, door } = fakeDoor();
  const shell = shellTool({ run: door, inside: "allow" });
  const refusals: string[] = [];
  const answers: (ApprovalOutcome | null)[] = [null, "rejected", "cancelled", "unavailable"];
  for (const answer of answers) {
    const { session } = await openStep();
    const approvers = answer === null ? [] : [() => answer];
    const end = await run(session, [shell], { name: "shell", arguments: JSON.stringify(ESCALATION) }, { approvers });
    assert(end.outcome.isError);
    refusals.push(textOf(end.outcome.content));
  }
  const runtime = {
    clock: { now: () => 0, schedule: () => () => {} },
    random: { bytes: (size: number) => new Uint8Array(size) },
  };
  refusals.push(textOf((await callTool(shell, ESCALATION, runtime)).content));
  assertEquals(new Set(refusals).size, 5, refusals.join("\n"));
  const said = [
    "no approver is connected",
    "the user said no",
    "question was cancelled",
    "nobody could be asked",
    "outside of a session",
  ];
  for (const [index, words] of said.entries()) assertStringIncludes(refusals[index]!, words);
  assertEquals(asked, []);
});

Deno.test("exec/S15: under the policy never, and after a cancel of the turn, nothing is asked and nothing runs", async () => {
  const { asked, door } = fakeDoor();
  const shell = shellTool({ run: door });
  const { session } = await openStep();
  const call = { name: "shell", arguments: JSON.stringify(ESCALATION) };
  const never = await run(session, [shell], call, { approvers: [() => "allowed-once"], policy: "never" });
  assertStringIncludes(textOf(never.outcome.content), "never to ask");
  const controller = new AbortController();
  const cancelled = await run(session, [shell], call, {
    signal: controller.signal,
    approvers: [() => (controller.abort(), "allowed-once" as const)],
  });
  assertEquals(cancelled.outcome.error?.code, "ABORTED_BEFORE_DISPATCH");
  assertEquals(asked, []);
});

Deno.test("what the host of the door never gives is refused before anybody is asked, and nothing is dispatched", async () => {
  const { session, store } = await openStep();
  const { asked, door } = fakeDoor();
  let looks = 0;
  const limits = { modeMax: "workspace-write" as const, allowNetwork: false };
  const shell = shellTool({ run: { ...door, limits: () => (looks++, Promise.resolve(limits)) }, inside: "allow" });
  let questions = 0;
  const call = (args: JsonValue) =>
    run(session, [shell], { name: "shell", arguments: JSON.stringify(args) }, {
      approvers: [() => (questions++, "allowed-once" as const)],
    });
  const wide = await call({ ...ESCALATION, sandbox_permissions: "danger-full-access" });
  assertEquals(wide.outcome.error?.code, MODE_REFUSED);
  assertStringIncludes(textOf(wide.outcome.content), "this host allows workspace-write at most");
  const network = await call({ command: "curl x", sandbox_network: "on", justification: "it fetches" });
  assertEquals(network.outcome.error?.code, MODE_REFUSED);
  assertStringIncludes(textOf(network.outcome.content), "no command the network");
  assertEquals([questions, looks, asked], [0, 2, []]);
  await session.flush();
  const types = store.events("s1").map(({ type }) => type);
  assertEquals(types.filter((type) => type.startsWith("approval/") || type === "effect/dispatched"), []);

  // What it may give is asked about, and without an escalation nobody looks.
  assertEquals((await call(ESCALATION)).outcome.isError, false);
  assertEquals((await call({ command: "ls" })).outcome.isError, false);
  assertEquals([questions, looks, asked.map(({ mode }) => mode)], [1, 3, ["workspace-write", "read-only"]]);

  // Limits that are not known refuse nothing: the door does.
  const unknown = shellTool({ run: { ...door, limits: () => null } });
  const { decision } = await unknown.permissionFor(
    { ...ESCALATION, sandbox_permissions: "danger-full-access" },
    "opaque",
  );
  assertEquals(decision, "ask");
});

Deno.test("an escalation that is no wider, unknown or without a justification is an error, and nobody is asked", async () => {
  const { session } = await openStep();
  const { asked, door } = fakeDoor();
  const shell = shellTool({ run: door, mode: "workspace-write", network: "on" });
  let questions = 0;
  const approvers = [() => (questions++, "allowed-once" as const)];
  const cases: [args: JsonValue, said: string][] = [
    [{ ...ESCALATION }, "not wider"],
    [{ command: "x", sandbox_permissions: "danger-full-access" }, "come together"],
    [{ command: "x", sandbox_permissions: "danger-full-access", justification: " \n" }, "come together"],
    [{ command: "x", justification: "because" }, "come together"],
    [{ command: "x", sandbox_network: "on", justification: "because" }, "on already"],
    [{ command: "x", sandbox_permissions: "read-only", justification: "because" }, "sandbox_permissions"],
    [{ command: "x", sandbox_permissions: "root", justification: "because" }, "sandbox_permissions"],
    [{ command: " " }, "command"],
    [{ command: "x", timeout_ms: 0 }, "timeout_ms"],
    [{ command: "x", timeout_ms: COMMAND_TIMEOUT_MS_MAX + 1 }, "timeout_ms"],
    [{ command: "x", timeout_ms: 1.5 }, "timeout_ms"],
  ];
  for (const [args, said] of cases) {
    const { outcome } = await run(session, [shell], { name: "shell", arguments: JSON.stringify(args) }, { approvers });
    assert(outcome.isError, JSON.stringify(args));
    assertStringIncludes(textOf(outcome.content), said);
  }
  assertEquals([questions, asked], [0, []]);
});

Deno.test("a body checks again: a listener that lets a broken escalation pass does not run it", async () => {
  const { asked, door } = fakeDoor();
  const body = () =>
    shellTool({ run: door }).execute({ command: "x", sandbox_permissions: "root", justification: "y" }, bodyCall());
  await assertRejects(async () => await body(), ToolError, "sandbox_permissions");
  assertThrows(() => shellTool({ run: door }).permissionFor({ command: "x", justification: "y" }, "opaque"), ToolError);
  assertEquals(asked, []);
});

Deno.test("a command that ran out of time is TOOL_TIMEOUT, and its effect counts as unknown", async () => {
  const { session } = await openStep();
  const { door } = fakeDoor({ ending: "timed-out", exitCode: null, signal: "SIGKILL" });
  const shell = shellTool({ run: door, inside: "allow" });
  const { outcome } = await run(session, [shell], { name: "shell", arguments: '{"command":"make","timeout_ms":50}' });
  assertEquals(outcome.error, { name: "ToolTimeoutError", code: "TOOL_TIMEOUT" });
  assertStringIncludes(textOf(outcome.content), "within 50 ms");
  assertStringIncludes(textOf(outcome.content), "unknown");
  assertStringIncludes(textOf(outcome.content), "fine");
  assertEquals(session.folds.unresolved.effects.map(({ name }) => name), ["shell"]);
});

Deno.test("a command that was cancelled while it ran has an unknown outcome; one that never started has none", async () => {
  const cut = { ending: "cancelled", exitCode: null, signal: "SIGKILL" } as const;
  const started = await assertRejects(() => execute({ run: fakeDoor(cut).door }, { command: "make" }), ToolError);
  assertEquals(started.code, "TOOL_OUTCOME_UNKNOWN");
  const never = fakeDoor({ ...cut, hasStarted: false }).door;
  const error = await assertRejects(() => execute({ run: never }, { command: "make" }), Error, "not started");
  assert(!(error instanceof ToolError));
});

Deno.test("a door that breaks leaves the outcome unknown, unless it says that nothing ran", async () => {
  const { session } = await openStep();
  const ending = async (error: unknown) => {
    const shell = shellTool({ run: { runCommand: () => Promise.reject(error) }, inside: "allow" });
    return (await run(session, [shell], { name: "shell", arguments: '{"command":"make"}' })).outcome.error?.code;
  };
  assertEquals(await ending(new SandboxUnavailableError("no")), "SANDBOX_UNAVAILABLE");
  assertEquals(await ending(new ToolError(INVALID_ARGS, "no such folder")), "INVALID_ARGS");
  assertEquals(session.folds.unresolved.effects.length, 0);
  assertEquals(await ending(new TypeError("error sending request")), "TOOL_OUTCOME_UNKNOWN");
  assertEquals(session.folds.unresolved.effects.length, 1);
});

Deno.test("the model reads exit code, both streams, and what is special about the run; the report is logged beside it", async () => {
  const said = (end: Partial<ShellEnd>) => execute({ run: fakeDoor(end).door }, { command: "x" });
  const stderr = { text: "no\n", sizeBytes: 3, isCut: false };
  assertEquals(
    await said({ exitCode: 1, stderr, isDenied: true }),
    "exit code 1\n[the sandbox (read-only) seems to have refused something]\nfine\nstandard error:\nno",
  );
  assertStringIncludes(await said({ exitCode: null, signal: "SIGSEGV" }), "ended by SIGSEGV");
  assertStringIncludes(await said({ ending: "output-limit" }), "printed too much");
  assertStringIncludes(await said({ appeared: [".git"] }), "obeyed outside of the sandbox: .git");
  const report = { mode: "danger-full-access", provider: null, enforcement: null, gaps: [] } as const;
  assertStringIncludes(await said({ report }), "[not confined: danger-full-access]");
  const output = await shellTool({ run: fakeDoor().door }).execute({ command: "x" }, bodyCall()) as { meta: JsonValue };
  assertEquals((output.meta as { sandbox: unknown }).sandbox, ENDED.report);
});

Deno.test("exec/S21: in a page without a server, a command ends with SANDBOX_UNAVAILABLE and its effect is known not to be", async () => {
  const { session } = await openStep();
  const shell = shellTool({ run: noSandbox("a browser cannot start processes"), inside: "allow" });
  const { outcome } = await run(session, [shell], { name: "shell", arguments: '{"command":"ls"}' });
  assertEquals(outcome.error?.code, "SANDBOX_UNAVAILABLE");
  assertStringIncludes(textOf(outcome.content), "cannot start processes");
  assertEquals(session.folds.unresolved.effects, []);
});

Deno.test({
  name: "exec/S12, exec/S17: through the whole pipeline: confined, granted more, and refused where nothing confines",
  ignore: !canBubblewrap && !canLandlock,
  async fn() {
    await using workspace = await Workspace.make();
    const { session } = await openStep();
    const seen: string[] = [];
    const shell = shellTool({
      run: doorTo(new Sandbox(), workspace.root),
      inside: "allow",
      onOutput: ({ stream, bytes }, { callId }) => void seen.push(`${callId} ${stream} ${bytes.length > 0}`),
    });
    const approvers = [() => "allowed-once" as const];
    const call = async (args: JsonValue, tool = shell) =>
      (await run(session, [tool], { name: "shell", arguments: JSON.stringify(args) }, { approvers })).outcome;

    const refused = await call({ command: "echo x >file" });
    assertStringIncludes(textOf(refused.content), "the sandbox (read-only) seems to have refused something");
    assert(!workspace.has("ws/file") && seen.length > 0 && seen.every((line) => line.includes("stderr true")));

    const why = { justification: "the test" };
    await call({ command: "echo x >file; echo x >../beside/file", sandbox_permissions: "workspace-write", ...why });
    assert(workspace.has("ws/file") && !workspace.has("beside/file"));

    const free = await call({ command: "echo x >../beside/file", sandbox_permissions: "danger-full-access", ...why });
    assertStringIncludes(textOf(free.content), "[not confined: danger-full-access]");
    assert(workspace.has("beside/file"));
    const { sandbox } = free.meta as { sandbox: { mode: string; enforcement: null } };
    assertEquals([sandbox.mode, sandbox.enforcement], ["danger-full-access", null]);

    const outside = await call({ command: "echo x >file", cwd: "../beside" });
    assertEquals(outside.error?.code, "INVALID_ARGS");

    const none = shellTool({ run: doorTo(new Sandbox({ providers: [] }), workspace.root), inside: "allow" });
    const unavailable = await call({ command: "echo x >never" }, none);
    assertEquals(unavailable.error?.code, "SANDBOX_UNAVAILABLE");
    assertEquals(session.folds.unresolved.effects, []);
  },
});
