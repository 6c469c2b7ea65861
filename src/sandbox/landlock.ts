/**
 * Landlock: a process gives up rights for itself and all its children, by system calls, with no mounts and no namespaces.
 *
 * The server never does that to itself: it would be for ever. It starts a supervisor, which starts the launcher, which gives
 * up the rights and becomes the command. The supervisor adopts everything that the command leaves behind and ends it.
 *
 * @see man 7 landlock
 * @module
 */
import {
  findLauncher,
  landlockArguments,
  type Launcher,
  type LauncherOptions,
  partInReach,
  partsInTmp,
} from "./launcher.ts";
import type { ResolvedPolicy } from "./policy.ts";
import { measuredGaps, type ProviderHost, type SandboxProvider, type Wrapped } from "./provider.ts";
import type { Gap } from "./report.ts";
import { PRIVATE_TMP, privateTmpIn } from "./private_tmp.ts";
import { socketFilter } from "./seccomp.ts";

/**
 * Makes the provider for Landlock.
 *
 * @example
 * ```ts
 * import { landlock } from "./landlock.ts";
 *
 * if (landlock({ deno: "/usr/bin/deno", variable: () => undefined }).name !== "landlock") throw new Error("unreachable");
 * ```
 */
export function landlock(options: LauncherOptions = {}): SandboxProvider {
  let found: Launcher | null = null;
  return {
    name: "landlock",
    denialSignatures: ["permission denied", "operation not permitted"],
    // Two Deno processes and their threads, one of which becomes the command.
    ownTasks: 64,
    hasSocketFilter: socketFilter(Deno.build.arch, "none") !== null,
    countsOwnProcesses: false,
    async prepare(host: ProviderHost) {
      found = await findLauncher(host, options);
    },
    wrap(argv, policy) {
      if (found === null) throw new Error("the launcher was not looked for");
      return wrap(argv, policy, found);
    },
    gaps: (facts, policy) => [...measuredGaps(facts, policy), ...gapsOfAbi(found?.abi ?? 0)],
  };
}

/** What the kernel's interface lacks, by its version. */
function gapsOfAbi(abi: number): readonly Gap[] {
  const gaps: Gap[] = [];
  if (abi < 3) gaps.push({ dimension: "files", what: "files outside of the workspace can be cut" });
  if (abi < 5) gaps.push({ dimension: "files", what: "devices can be controlled" });
  if (abi < 6) gaps.push({ dimension: "processes", what: "this kernel cannot keep signals inside" });
  return gaps;
}

function wrap(argv: readonly string[], policy: ResolvedPolicy, found: Launcher): Wrapped {
  const part = partInReach(found, policy);
  if (part !== null) throw new Error(`${part} is part of the sandbox itself, and the command could change it`);
  // A command that could write all of /tmp could change what lies in it; it gets a folder of its own there.
  const hasOwnTmp = policy.mode === "workspace-write" && partsInTmp(found).length > 0;
  const privateTmp = hasOwnTmp ? privateTmpIn(found.tmp) : null;
  const makesTmp = privateTmp === null ? [] : [PRIVATE_TMP, privateTmp];
  return {
    argv: [...found.supervisor, ...makesTmp, ...found.launcher, ...landlockArguments(argv, policy, privateTmp)],
    input: null,
    holdsInput: true,
    environment: found.environment,
    removes: privateTmp,
  };
}
