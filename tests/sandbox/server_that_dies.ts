/**
 * A program: runs a command in a sandbox and says what the command says. The test kills it.
 *
 * Arguments: the way, the workspace, the script; where the launcher of Landlock is, if it is not ours.
 *
 * @module
 */
import { bubblewrap, landlock, Sandbox } from "../../src/sandbox/mod.ts";

const [way, workspace, script, folder] = Deno.args;
const modules = folder === undefined
  ? undefined
  : { supervisor: `${folder}/landlock_supervisor.ts`, launcher: `${folder}/landlock_launcher.ts` };
const sandbox = new Sandbox({ providers: [way === "in Landlock" ? landlock({ modules }) : bubblewrap()] });
await sandbox.run(["/bin/sh", "-c", script!], { mode: "workspace-write", workspace: workspace! }, {
  onOutput: ({ bytes }) => void Deno.stdout.writeSync(bytes),
});
