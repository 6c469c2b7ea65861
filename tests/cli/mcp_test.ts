import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { wordsOf } from "../../src/cli/mcp_servers.ts";
import { UsageError } from "../../src/cli/usage.ts";
import { processEndpoint, ServerLog } from "../mcp/mcp_support.ts";
import { document, FakeTerminal, holdfast, TempFolder } from "./cli.ts";

/** The flag that starts the test's server of tools, and the environment it needs. */
function bankFlag(log: ServerLog, list = "usual") {
  const { command, args } = processEndpoint(log, list) as { command: string; args: string[] };
  return { flag: `bank=${command} ${args.map((word) => `'${word}'`).join(" ")}`, env: { HOME: "/" } };
}

function script(folder: TempFolder): string {
  const steps = [[{ call: { name: "bank__pay", arguments: { to: "alice" } } }], [{ text: "Done." }]];
  Deno.writeTextFileSync(`${folder.path}/script.json`, JSON.stringify(steps));
  return "scripted:script.json";
}

Deno.test("run --mcp offers the tools of a server, and asks a person before each call", async () => {
  await using folder = new TempFolder();
  await using log = await ServerLog.make();
  const { flag, env } = bankFlag(log, "usual");
  const terminal = new FakeTerminal("pay alice", "y", "");
  const args = ["run", "--sandbox", "off", "--model", script(folder), "--mcp", flag];
  const { code, stderr, stdout } = await holdfast(args, { cwd: folder.path, env, terminal });
  assertEquals(code, 0, stderr + stdout);
  assertEquals(log.calls(), ["pay"]);
  assertStringIncludes(stdout + stderr, `call "pay" of the MCP server "bank"`);
  assertMatch(stderr, /MCP server bank: \d+ tools; each call asks first/);
});

Deno.test("run --mcp without anybody to ask sends nothing, and names the tools that are left out", async () => {
  await using folder = new TempFolder();
  await using log = await ServerLog.make();
  const { flag, env } = bankFlag(log);
  const args = ["run", "pay", "--sandbox", "off", "--model", script(folder), "--mcp", flag];
  const { code, stderr } = await holdfast(args, { cwd: folder.path, env });
  assertEquals([code, log.calls()], [1, []], stderr);
  const odd = bankFlag(log, "odd");
  const { stderr: said } = await holdfast(["run", "pay", "--sandbox", "off", "--mcp", odd.flag], {
    cwd: folder.path,
    env,
  });
  assertStringIncludes(said, 'MCP server bank: "get.user" is left out: 2 tools of the server would be called');
});

Deno.test("run --mcp with a flag that is written wrong is usage, and a server that is not there is an error", async () => {
  await using folder = new TempFolder();
  for (const flag of ["bank", "=x", "bank=", "bank='x", "a__b=/bin/true"]) {
    const { code, stderr } = await holdfast(["run", "hi", "--mcp", flag], { cwd: folder.path });
    assertEquals(code, 2, `${flag}: ${stderr}`);
  }
  const missing = ["run", "hi", "--mcp", "b=/bin/true", "--mcp-env", "NOT_THERE"];
  assertEquals((await holdfast(missing, { cwd: folder.path })).code, 2);
  const gone = await holdfast(["run", "hi", "--json", "--mcp", "bank=/no/such/program"], { cwd: folder.path });
  assertEquals([gone.code, JSON.parse(gone.stdout).error.code], [1, "MCP_UNAVAILABLE"]);
  assertEquals((await document(["ls"], { cwd: folder.path })).json, []);
});

Deno.test("serve --mcp connects before it listens, and ends the server's process when it goes down", async () => {
  await using folder = new TempFolder();
  await using log = await ServerLog.make();
  const { flag, env } = bankFlag(log);
  const interrupt = Promise.withResolvers<() => void>();
  const listening = Promise.withResolvers<void>();
  const served = holdfast(["serve", "--port", "0", "--sandbox", "off", "--mcp", flag], {
    ...{ cwd: folder.path, env, onListening: interrupt.resolve },
    onOutput: (text) => text.includes("Serving on") && listening.resolve(),
  });
  await listening.promise;
  (await interrupt.promise)();
  const { code, stderr } = await served;
  assertEquals(code, 0, stderr);
  assertMatch(stderr, /MCP server bank: 10 tools; each call asks first/);
  assertEquals((await holdfast(["serve", "--mcp", "bank"], { cwd: folder.path })).code, 2);
});

Deno.test("wordsOf() parts words as quotes say, and replaces nothing", () => {
  assertEquals(wordsOf(`node  'my bank.mjs' --to="a b"c $HOME ''`), ["node", "my bank.mjs", "--to=a bc", "$HOME", ""]);
  assertEquals(wordsOf("  "), []);
  assertThrows(() => wordsOf(`node 'a`), UsageError, "quote");
});
