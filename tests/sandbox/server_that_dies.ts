/**
 * A program: runs a command in a sandbox and says what the command says. The test kills it.
 *
 * Arguments: the way, the workspace, the script.
 *
 * @module
 */
import { bubblewrap, landlock, Sandbox } from "../../src/sandbox/mod.ts";

const [way, workspace, script] = Deno.args;
const sandbox = new Sandbox({ providers: [way === "in Landlock" ? landlock() : bubblewrap()] });
await sandbox.run(["/bin/sh", "-c", script!], { mode: "workspace-write", workspace: workspace! }, {
  onOutput: ({ bytes }) => void Deno.stdout.writeSync(bytes),
});
