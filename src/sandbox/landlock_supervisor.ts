/**
 * A program: runs another one, adopts whatever that leaves behind, and ends it all when the program or the server ends.
 *
 * Arguments: `--private-tmp FOLDER`, if the program gets a temporary folder of its own; the program's command line. Standard input
 * stays open as long as the server lives.
 *
 * @module
 */
import { openLibc } from "./libc.ts";
import { SYSTEM_PATH } from "./environment.ts";
import { PRIVATE_TMP, REMOVE_FOLDER } from "./private_tmp.ts";
import { KILL_TREE } from "./process_tree.ts";

const PR_SET_CHILD_SUBREAPER = 36;
/** What shells use for "could not be started". The launcher uses it too. */
const EXIT_REFUSED = 125;

if (import.meta.main) {
  if (Deno.args[0] === PRIVATE_TMP) await supervise(Deno.args.slice(2), Deno.args[1]!);
  else await supervise(Deno.args, null);
}

async function supervise([program, ...args]: readonly string[], privateTmp: string | null): Promise<never> {
  const libc = openLibc();
  // From here on orphans below this process become its children, whatever session they are in.
  if (libc.prctl(PR_SET_CHILD_SUBREAPER, 1n) !== 0) refuse(`prctl failed with errno ${libc.errno()}`);
  let child: Deno.ChildProcess;
  try {
    // Refuses whatever has the name already, a link too.
    if (privateTmp !== null) Deno.mkdirSync(privateTmp, { mode: 0o700 });
    child = new Deno.Command(program!, { args: [...args], stdin: "null", stdout: "inherit", stderr: "inherit" })
      .spawn();
  } catch (error) {
    refuse(error instanceof Error ? error.message : String(error));
  }
  const serverEnded = (async () => {
    const buffer = new Uint8Array(64);
    while (await Deno.stdin.read(buffer) !== null);
    return null;
  })();
  const status = await Promise.race([child.status, serverEnded]);
  await runShell(KILL_TREE, String(Deno.pid), "below");
  // Behind that, so that nobody changes a folder into a link on the way.
  if (privateTmp !== null) await runShell(REMOVE_FOLDER, privateTmp);
  Deno.exit(status === null ? EXIT_REFUSED : status.code);
}

/** When no process can be started, whoever bounds their number ends them. */
async function runShell(script: string, ...args: string[]): Promise<void> {
  await new Deno.Command("/bin/sh", {
    args: ["-c", script, "sh", ...args],
    env: { PATH: SYSTEM_PATH },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output().catch(() => {});
}

function refuse(reason: string): never {
  console.error(`landlock-run: ${reason}`);
  Deno.exit(EXIT_REFUSED);
}
