/**
 * Bounds that the kernel counts for a whole group of processes, where the server may make such groups: in practice, as root.
 *
 * Root needs them: the limit on the processes of a user does not bind it.
 *
 * @see man 7 cgroups
 * @module
 */
import { SYSTEM_PATH } from "./environment.ts";
import type { ProviderHost } from "./provider.ts";

/** A folder in which groups can be made. */
export interface CgroupBase {
  /** What is counted there. */
  readonly controller: "pids" | "memory";
  /** The folder. */
  readonly folder: string;
  /** The file that takes the bound. */
  readonly file: string;
}

/** A group for one command. */
export interface Cgroup {
  /** Its folder. */
  readonly folder: string;
  /** The file that takes the bound. */
  readonly file: string;
  /** The bound. */
  readonly value: number;
}

/** Tries both versions, by making a group and putting a process into it; removes what servers that died have left behind. */
const FIND = `
[ "$(id -u)" = 0 ] || exit 0
own() { while IFS=: read -r id list path; do case ",$list," in *",$1,"*) echo "\${path%/}" ;; esac; done </proc/self/cgroup; }
try() {
  for old in "$2"/holdfast-*; do
    pid=\${old##*/holdfast-}; pid=\${pid%%-*}
    [ -d "/proc/$pid" ] || rmdir "$old"
  done
  folder=$2/holdfast-$$-probe
  mkdir "$folder" || return 0
  if echo "$4" >"$folder/$3" && /bin/sh -c 'echo $$ >"$1/cgroup.procs"' enter "$folder"; then echo "$1 $3 $2"; fi
  tries=0
  until rmdir "$folder" || [ $tries = 20 ]; do tries=$((tries + 1)); sleep 0.02; done
}
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  path=$(own ""); base=/sys/fs/cgroup\${path%/*}
  try pids "$base" pids.max 1000; try memory "$base" memory.max 1073741824
else
  try pids "/sys/fs/cgroup/pids$(own pids)" pids.max 1000
  try memory "/sys/fs/cgroup/memory$(own memory)" memory.limit_in_bytes 1073741824
fi
`;

/** Enters groups, which it makes, and becomes the command. Arguments: how many; folder, file and bound of each; the command. */
export const ENTER_CGROUPS = `
path=$PATH; PATH=${SYSTEM_PATH}
count=$1; shift
while [ "$count" -gt 0 ]; do
  { { [ -d "$1" ] || mkdir "$1"; } && echo "$3" >"$1/$2" && echo $$ >"$1/cgroup.procs"; } || {
    echo "enter: cannot use $1" >&2; exit 125
  }
  shift 3; count=$((count - 1))
done
PATH=$path; exec "$@"
`;

/** Ends what is left in groups and removes them. */
export const LEAVE_CGROUPS = `
for folder in "$@"; do
  tries=0
  until rmdir "$folder" 2>/dev/null || [ ! -d "$folder" ] || [ $tries = 100 ]; do
    tries=$((tries + 1))
    while read -r pid; do kill -KILL "$pid"; done <"$folder/cgroup.procs" 2>/dev/null
    [ $tries -gt 5 ] && sleep 0.02
  done
done
exit 0
`;

/**
 * Where groups can be made on this host; empty where none can.
 *
 * @example
 * ```ts
 * import { findCgroups } from "./cgroups.ts";
 *
 * const shell = () => Promise.resolve("pids pids.max /sys/fs/cgroup/pids\n");
 * const [base] = await findCgroups({ shell });
 * if (base?.folder !== "/sys/fs/cgroup/pids") throw new Error("unreachable");
 * ```
 */
export async function findCgroups({ shell }: ProviderHost): Promise<readonly CgroupBase[]> {
  const found: CgroupBase[] = [];
  let text: string;
  try {
    text = await shell(FIND, []);
  } catch {
    return found;
  }
  for (const line of text.split("\n")) {
    const match = /^(pids|memory) (\S+) (\/.*)$/.exec(line);
    if (match !== null) {
      found.push({ controller: match[1] as CgroupBase["controller"], file: match[2]!, folder: match[3]! });
    }
  }
  return found;
}
