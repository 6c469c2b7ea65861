import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { Sandbox } from "../../src/sandbox/mod.ts";
import { commandDoor, stateText } from "../../src/server/door.ts";
import { INVALID_ARGS, ToolError } from "../../src/tool/mod.ts";
import { MODE_REFUSED, type ShellCommand } from "../../src/tools/mod.ts";
import { canBubblewrap, canLandlock } from "../sandbox/host.ts";
import { Workspace } from "../sandbox/workspace.ts";

const WATCH = { signal: new AbortController().signal, onOutput: () => {} };

function command(script: string, more: Partial<ShellCommand> = {}): ShellCommand {
  return {
    argv: ["/bin/sh", "-c", script],
    mode: "read-only",
    network: "off",
    timeMs: 60_000,
    sessionId: "s",
    effectKey: "0".repeat(32),
    ...more,
  };
}

/** A sandbox that must not be reached. */
const untouched = new Sandbox({
  providers: [],
  runProcess: () => Promise.reject(new Error("something was started")),
  runShell: () => Promise.reject(new Error("something was started")),
});

Deno.test("a door refuses what its host does not allow, also when a person granted it, and starts nothing", async () => {
  const door = commandDoor({
    sandbox: untouched,
    workspace: "/srv",
    modeMax: "workspace-write",
    allowNetwork: false,
  });
  const refused = async (more: Partial<ShellCommand>) =>
    await assertRejects(() => door.runCommand(command("true", more), WATCH), ToolError);
  const wide = await refused({ mode: "danger-full-access" });
  assertEquals(wide.code, MODE_REFUSED);
  assertStringIncludes(wide.message, "did not run: this host allows workspace-write at most");
  const network = await refused({ network: "on" });
  assertEquals(network.code, MODE_REFUSED);
  assertStringIncludes(network.message, "no command the network");
});

Deno.test("a door says that there is no sandbox, with the reason, to the call and to whoever asks before", async () => {
  const door = commandDoor({ sandbox: new Sandbox({ platform: "plan9" }), workspace: "/srv" });
  const error = await assertRejects(() => door.runCommand(command("true"), WATCH), Error, "plan9");
  assertEquals((error as Error & { code?: string }).code, "SANDBOX_UNAVAILABLE");
  const state = await door.state("read-only");
  assertEquals([state.provider, state.enforcement, state.gaps], [null, null, []]);
  assertMatch(stateText(state), /^no command runs: .*plan9/);
});

Deno.test("what a person is told never claims more than was measured", () => {
  const enforcement = { files: "partial", network: "none", processes: "full", environment: "full" } as const;
  const gaps = [{ dimension: "files", what: "/tmp is the host's and can be written" }] as const;
  const state = { mode: "read-only", provider: "landlock", enforcement, gaps, reason: null } as const;
  assertEquals(
    stateText(state),
    "landlock: files partial, network none, processes full, environment full (/tmp is the host's and can be written)",
  );
  const free = { mode: "danger-full-access", provider: null, enforcement: null, gaps: [], reason: null } as const;
  assertEquals(stateText(free), "commands run as you: nothing confines them");
});

Deno.test({
  name: "a door runs commands in the sandbox of this machine, hides what it must, and says what is asked wrongly",
  ignore: !canBubblewrap && !canLandlock,
  async fn() {
    await using workspace = await Workspace.make();
    const hidden = `${workspace.root}/logs`;
    await Deno.mkdir(hidden);
    await Deno.writeTextFile(`${hidden}/token`, "a secret of the server");
    const door = commandDoor({ workspace: workspace.root, hidden: [hidden] });
    const ran = await door.runCommand(command("echo x >file; echo ran; cat logs/token"), WATCH);
    assertStringIncludes(ran.stdout.text, "ran");
    if (canBubblewrap) assert(!ran.stdout.text.includes("secret"));
    else assert(ran.report.gaps.some(({ what }) => what.includes("hidden")));
    assert(!workspace.has("ws/file"));
    await door.runCommand(command("echo x >file", { mode: "workspace-write" }), WATCH);
    assert(workspace.has("ws/file"));

    const outside = await assertRejects(() => door.runCommand(command("true", { cwd: ".." }), WATCH), ToolError);
    assertEquals(outside.code, INVALID_ARGS);
    assertStringIncludes(outside.message, "did not run");

    const { provider, enforcement, reason } = await door.state("read-only");
    assertEquals([provider, reason], [canBubblewrap ? "bubblewrap" : "landlock", null]);
    assertEquals(ran.report.enforcement, enforcement);
    const free = await door.runCommand(command("echo free", { mode: "danger-full-access" }), WATCH);
    assertEquals([free.stdout.text, free.report.enforcement], ["free\n", null]);
  },
});
