import { assertEquals, assertRejects } from "@std/assert";
import type { Refusal } from "../../../src/server/problem.ts";
import type { AskedCommand } from "../../../src/server/sandbox/command.ts";
import { hostSandbox } from "../../../src/server/sandbox/host.ts";
import { sandboxRunner } from "../../../src/server/sandbox/runner.ts";
import { Sandbox } from "../../../src/sandbox/mod.ts";
import { brief, sandboxServer } from "./sandbox_support.ts";

function command(change: Partial<AskedCommand> = {}): AskedCommand {
  return { argv: ["true"], mode: "read-only", network: "off", cwd: null, timeoutMs: 10_000, ...change };
}

async function folders(): Promise<{ readonly root: string; readonly workspace: string; remove(): Promise<void> }> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast-endpoint-" });
  for (const name of ["root", "workspace"]) await Deno.mkdir(`${folder}/${name}`);
  return {
    root: `${folder}/root`,
    workspace: `${folder}/workspace`,
    remove: () => Deno.remove(folder, { recursive: true }),
  };
}

Deno.test("check() refuses what the host does not allow, and what no command can be", async () => {
  const { root, workspace, remove } = await folders();
  const sandbox = new Sandbox();
  const runner = sandboxRunner({ sandbox, workspace, hidden: [root] });
  const codeOf = async (asked: AskedCommand) => (await assertRejects(() => runner.check(asked)) as Refusal).code;
  assertEquals(await codeOf(command({ mode: "danger-full-access" })), "MODE_REFUSED");
  assertEquals(await codeOf(command({ network: "on" })), "MODE_REFUSED");
  assertEquals(await codeOf(command({ cwd: "/etc" })), "INVALID_REQUEST");
  assertEquals(await codeOf(command({ cwd: "../root" })), "INVALID_REQUEST");
  await runner.check(command({ mode: "workspace-write" }));
  const wide = sandboxRunner({ sandbox, workspace, modeMax: "danger-full-access", allowNetwork: true });
  await wide.check(command({ mode: "danger-full-access", network: "on" }));
  const narrow = sandboxRunner({ sandbox, workspace, modeMax: "read-only" });
  const refused = await assertRejects(() => narrow.check(command({ mode: "workspace-write" }))) as Refusal;
  assertEquals(refused.code, "MODE_REFUSED");
  await remove();
});

Deno.test("the endpoint of a host: a real command, confined, once, its ledger in files that it cannot read", async () => {
  const { root, workspace, remove } = await folders();
  await Deno.writeTextFile(`${root}/server-token`, "correct-horse");
  const endpoint = hostSandbox({ root, workspace });
  const first = await sandboxServer({ endpoint });
  const script = `echo x >> runs; cat ${root}/server-token; echo y > /etc/holdfast-was-here; ls ${root}`;
  const done = await first.exec(1, script, { mode: "workspace-write", waitMs: 30_000 });
  assertEquals(brief(done), "200 finished");
  assertEquals(done.body.outcome.stdout.text.includes("correct-horse"), false);
  assertEquals(done.body.outcome.report.mode, "workspace-write");
  assertEquals(await Deno.stat("/etc/holdfast-was-here").then(() => true, () => false), false);
  await endpoint.close();

  const next = hostSandbox({ root, workspace });
  const again = await sandboxServer({ endpoint: next });
  assertEquals((await again.exec(1, script, { mode: "workspace-write", waitMs: 30_000 })).body, done.body);
  assertEquals(await Deno.readTextFile(`${workspace}/runs`), "x\n");
  await next.close();
  await remove();
});
