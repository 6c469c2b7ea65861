/**
 * A program with few permissions: runs a command in a sandbox, cancels another, and prints how it went.
 *
 * @module
 */
import { Sandbox } from "../../src/sandbox/mod.ts";

const sandbox = new Sandbox();
const policy = { mode: "workspace-write" as const, workspace: Deno.args[0]! };
const { exitCode, stdout, report } = await sandbox.run(["/bin/sh", "-c", "echo x >file && echo ran"], policy);
const controller = new AbortController();
const cancelled = await sandbox.run(["/bin/sh", "-c", "echo ready; sleep 600"], policy, {
  signal: controller.signal,
  onOutput: () => controller.abort(),
});
const isDead = cancelled.ending === "cancelled" && cancelled.hasStarted;
console.log(JSON.stringify({ exitCode, stdout: stdout.text, provider: report.provider, isDead }));
