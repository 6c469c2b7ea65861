/**
 * Ending everything that a command started.
 *
 * A shell does it: reading /proc is more than a server with narrow permissions may do, and the shell is there anyway.
 *
 * @module
 */

import { SYSTEM_PATH } from "./environment.ts";

/** How often the tree is walked before we give up. Each time everything that was found is stopped, then killed. */
export const WALKS_MAX = 100;

/**
 * Ends the processes below a process, those of its session, and then itself; nothing that is stopped can start another.
 *
 * Arguments: the process; `below` = all but itself; then cgroup folders, whose members are ended too.
 */
export const KILL_TREE = `
root=$1 scope=$2; shift 2
walk() {
  found=" $root "; grew=1
  while [ "$grew" = 1 ]; do
    grew=0
    for file in /proc/[0-9]*/stat; do
      pid=\${file#/proc/}; pid=\${pid%/stat}
      case "$found" in *" $pid "*) continue ;; esac
      [ "$pid" = $$ ] && continue
      { read -r line <"$file"; } 2>/dev/null || continue
      set -- \${line##*) }
      [ "$1" = Z ] && continue
      case "$found" in *" $2 "*) ;; *) [ "$4" = "$root" ] && [ "$scope" != below ] || continue ;; esac
      found="$found$pid "; grew=1
    done
  done
  found=\${found#" $root "}
}
walks=0
while [ $walks -lt ${WALKS_MAX} ]; do
  walks=$((walks + 1)); walk
  for folder in "$@"; do
    while read -r pid; do found="$found $pid"; done <"$folder/cgroup.procs" 2>/dev/null
  done
  [ -z "\${found#"\${found%%[! ]*}"}" ] && break
  kill -STOP $found 2>/dev/null
  kill -KILL $found 2>/dev/null
done
if [ "$scope" != below ]; then
  kill -KILL "$root" 2>/dev/null
  kill -KILL "-$root" 2>/dev/null
fi
exit 0
`;

/**
 * Ends a process and everything below it. Never rejects: what is left after WALKS_MAX walks cannot be ended by us.
 *
 * @param pid the leader of a session of its own
 * @param cgroups folders whose members belong to the tree
 *
 * @example
 * ```ts
 * import { killTree } from "./process_tree.ts";
 *
 * async function end(child: Deno.ChildProcess): Promise<void> {
 *   await killTree(child.pid);
 *   await child.status;
 * }
 * ```
 */
export async function killTree(pid: number, cgroups: readonly string[] = []): Promise<void> {
  try {
    await new Deno.Command("/bin/sh", {
      args: ["-c", KILL_TREE, "kill_tree", String(pid), "all", ...cgroups],
      env: { PATH: SYSTEM_PATH },
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
  } catch {
    // No shell can be started (the process table is full): the leader at least is ours to end.
    try {
      Deno.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}
