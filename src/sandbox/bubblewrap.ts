/**
 * Bubblewrap: a view of the file system of its own, made of mounts, in namespaces of its own.
 *
 * A mount that is read-only keeps nobody from writing to a pipe in it, so inside of it the launcher of Landlock closes that too,
 * where the kernel has it. Without it the report says so.
 *
 * @see man 1 bwrap
 * @module
 */
import {
  findLauncher,
  innerLandlockArguments,
  type Launcher,
  type LauncherOptions,
  partInReach,
  partsInTmp,
} from "./launcher.ts";
import type { ResolvedPolicy } from "./policy.ts";
import { measuredGaps, PIPES, type ProviderHost, type SandboxProvider, type Wrapped } from "./provider.ts";
import type { Gap } from "./report.ts";
import { socketFilter } from "./seccomp.ts";

/** What differs between hosts. */
export interface BubblewrapOptions {
  /** The program. Default: `bwrap`, looked for in the folders of the system only, never on the server's own PATH. */
  readonly program?: string;
  /** The machine, as `uname -m` says. Default: this one. */
  readonly machine?: string;
  /** The launcher of Landlock. Default: the one of this system; `null` = do without. */
  readonly launcher?: LauncherOptions | null;
}

/**
 * Makes the provider for bubblewrap.
 *
 * @example
 * ```ts
 * import { bubblewrap } from "./bubblewrap.ts";
 *
 * if (bubblewrap().name !== "bubblewrap") throw new Error("unreachable");
 * ```
 */
export function bubblewrap(options: BubblewrapOptions = {}): SandboxProvider {
  const machine = options.machine ?? Deno.build.arch;
  let program = options.program ?? "bwrap";
  let lacks: readonly string[] = [];
  let launcher: Launcher | null = null;
  return {
    name: "bubblewrap",
    denialSignatures: ["read-only file system", "operation not permitted", "permission denied"],
    // Its own two, and the threads of the launcher before it becomes the command.
    ownTasks: 40,
    hasSocketFilter: socketFilter(machine, "internet") !== null,
    // Limits are counted per user namespace.
    countsOwnProcesses: true,
    async prepare(host: ProviderHost) {
      const { shell } = host;
      // An absolute path: the command line is built for a server whose PATH may hold a folder that commands can write.
      if (!program.startsWith("/")) program = (await shell('command -v "$1"', [program])).trim();
      const help = await shell('"$1" --help 2>&1', [program]);
      lacks = NEWER_OPTIONS.filter((option) => !help.includes(option));
      // A kernel without Landlock is no reason to do without bubblewrap.
      launcher = options.launcher === null ? null : await findLauncher(host, options.launcher).catch(() => null);
    },
    wrap(argv, policy) {
      const inner = launcher !== null && partInReach(launcher, policy) === null ? launcher : null;
      return wrap(argv, policy, { program, machine, lacks, inner });
    },
    gaps(facts, policy) {
      const gaps = [...measuredGaps(facts, policy), ...lacks.map((option) => GAPS_OF_OLD[option]!)];
      // The probe's workspace held no part of the launcher; this one may.
      const hasLost = facts.refusesPipes && launcher !== null && partInReach(launcher, policy) !== null;
      return hasLost ? [...gaps, PIPES] : gaps;
    },
  };
}

/** What older versions of the program do not know, and what is missing without it. */
const GAPS_OF_OLD: Readonly<Record<string, Gap>> = {
  "--disable-userns": { dimension: "processes", what: "user namespaces can be made (bubblewrap older than 0.8)" },
  "--size": { dimension: "processes", what: "files in memory have no bound of their own (bubblewrap older than 0.6)" },
};
const NEWER_OPTIONS = Object.keys(GAPS_OF_OLD);

interface Bubblewrap {
  readonly program: string;
  readonly machine: string;
  /** Of NEWER_OPTIONS. */
  readonly lacks: readonly string[];
  /** What gives up rights inside; `null` = nothing does. */
  readonly inner: Launcher | null;
}

function wrap(argv: readonly string[], policy: ResolvedPolicy, parts: Bubblewrap): Wrapped {
  const { program, machine, lacks, inner } = parts;
  const filter = socketFilter(machine, "internet");
  const command = inner === null ? argv : [...inner.launcher, ...innerLandlockArguments(argv, policy)];
  const args = bubblewrapArguments(command, policy, {
    lacks,
    keptInTmp: inner === null ? [] : partsInTmp(inner),
    ...(filter === null ? {} : { filterFd: 3 }),
  });
  return {
    // fd 3 carries the filter to bwrap, which closes it. Nothing of it reaches the command.
    argv: filter === null
      ? [program, ...args]
      : ["/bin/sh", "-c", 'exec 3<&0 </dev/null; exec "$@"', "bwrap", program, ...args],
    input: filter,
    holdsInput: false,
    environment: inner?.environment ?? policy.environment,
  };
}

/**
 * The arguments of `bwrap`. Order matters: a later mount covers an earlier one, so the private /tmp comes before a workspace
 * inside of /tmp, and what is protected or hidden comes last.
 *
 * @param options.filterFd where it reads the filter for system calls
 * @param options.lacks options that this version does not know
 * @param options.keptInTmp what stays visible, and cannot be written, below the private /tmp
 *
 * @example
 * ```ts
 * import { bubblewrapArguments } from "./bubblewrap.ts";
 * import type { ResolvedPolicy } from "./policy.ts";
 *
 * function hasNetwork(policy: ResolvedPolicy): boolean {
 *   return !bubblewrapArguments(["true"], policy).includes("--unshare-net");
 * }
 * ```
 */
export function bubblewrapArguments(
  argv: readonly string[],
  policy: ResolvedPolicy,
  options: {
    readonly filterFd?: number;
    readonly lacks?: readonly string[];
    readonly keptInTmp?: readonly string[];
  } = {},
): string[] {
  const { filterFd, lacks = [], keptInTmp = [] } = options;
  const { mode, workspace, cwd, network, protectedPaths, hidden, limits } = policy;
  const sized = (bytes: number) => lacks.includes("--size") ? [] : ["--size", String(bytes)];
  const args = ["--ro-bind", "/", "/", "--dev", "/dev"];
  // The fresh /dev is a file system in memory: only /dev/shm stays writable, and that has a size.
  args.push(...sized(limits.tmpBytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev");
  args.push("--unshare-pid", "--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try");
  if (network === "off") args.push("--unshare-net");
  // Settings of the kernel belong to root whatever its capabilities, and not all of them to a namespace.
  args.push("--proc", "/proc", "--remount-ro", "/proc", "--die-with-parent", "--new-session");
  // bwrap leaves root its capabilities unless told otherwise, and with them any mount could be made writable again.
  args.push("--cap-drop", "ALL");
  if (!lacks.includes("--disable-userns")) args.push("--disable-userns");
  if (mode === "workspace-write") {
    args.push(...sized(limits.tmpBytes), "--tmpfs", "/tmp");
    for (const path of keptInTmp) args.push("--ro-bind", path, path);
    args.push("--bind", workspace, workspace);
    for (const path of protectedPaths) args.push("--ro-bind", path, path);
  }
  for (const { path, isFolder } of hidden) {
    if (isFolder) args.push(...sized(4096), "--tmpfs", path, "--remount-ro", path);
    else args.push("--ro-bind", "/dev/null", path);
  }
  if (filterFd !== undefined) args.push("--seccomp", String(filterFd));
  args.push("--chdir", cwd, "--", ...argv);
  return args;
}
