/**
 * A program: runs another one, adopts whatever that leaves behind, and ends it all when the program or the server ends.
 *
 * Arguments: the program's command line. Standard input stays open as long as the server lives.
 *
 * @module
 */
import { openLibc } from "./libc.ts";
import { KILL_TREE } from "./process_tree.ts";

const PR_SET_CHILD_SUBREAPER = 36;
/** What shells use for "could not be started". The launcher uses it too. */
const EXIT_REFUSED = 125;

if (import.meta.main) await supervise(Deno.args);

async function supervise([program, ...args]: readonly string[]): Promise<never> {
  const libc = openLibc();
  // From here on orphans below this process become its children, whatever session they are in.
  if (libc.prctl(PR_SET_CHILD_SUBREAPER, 1n) !== 0) refuse(`prctl failed with errno ${libc.errno()}`);
  let child: Deno.ChildProcess;
  try {
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
  await new Deno.Command("/bin/sh", {
    args: ["-c", KILL_TREE, "kill_tree", String(Deno.pid), "below"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output().catch(() => {/* No process can be started: whoever bounds their number ends them. */});
  Deno.exit(status === null ? EXIT_REFUSED : status.code);
}

function refuse(reason: string): never {
  console.error(`landlock-run: ${reason}`);
  Deno.exit(EXIT_REFUSED);
}
