/**
 * The programs that Landlock needs: where they are, how they are started, and who must not be able to write them.
 *
 * @module
 */
import { systemVariable } from "./environment.ts";
import type { ResolvedPolicy } from "./policy.ts";
import type { ProviderHost } from "./provider.ts";
import { isInside } from "./resolve_policy.ts";

/** What differs between hosts. */
export interface LauncherOptions {
  /** The Deno program. Default: the one that runs this. */
  readonly deno?: string;
  /** The two modules. Default: the files beside this one. */
  readonly modules?: { readonly supervisor: string; readonly launcher: string };
  /** Reads one variable of the server: Deno needs to find its cache. */
  readonly variable?: (name: string) => string | undefined;
}

/** A launcher that was found, and works. */
export interface Launcher {
  /** The command line that starts the supervisor, before the command line that it starts. */
  readonly supervisor: readonly string[];
  /** The command line that starts the launcher, before its arguments. */
  readonly launcher: readonly string[];
  /** The variables both get: where Deno finds its cache, and nothing else. */
  readonly environment: Readonly<Record<string, string>>;
  /** The version of the kernel's interface. */
  readonly abi: number;
  /** Files and folders of which all this is made. */
  readonly parts: readonly string[];
}

const RUNNER_VARIABLES = ["HOME", "DENO_DIR", "XDG_CACHE_HOME"];

/**
 * Finds the launcher and asks the kernel through it.
 *
 * @throws {Error} when it cannot be started, or the kernel has no Landlock
 *
 * @example
 * ```ts
 * import { findLauncher } from "./launcher.ts";
 *
 * const shell = () => Promise.resolve("7\n");
 * if ((await findLauncher({ shell }, { deno: "/usr/bin/deno" })).abi !== 7) throw new Error("unreachable");
 * ```
 */
export async function findLauncher({ shell }: ProviderHost, options: LauncherOptions = {}): Promise<Launcher> {
  const { variable = systemVariable } = options;
  const modules = options.modules ?? {
    supervisor: modulePath("landlock_supervisor.ts"),
    launcher: modulePath("landlock_launcher.ts"),
  };
  // The shell is our child. Asked in this way, the server needs no permission to read where Deno is.
  const deno = options.deno ?? (await shell("readlink /proc/$PPID/exe", [])).trim();
  const local = modules.launcher.startsWith("/") ? "--no-remote" : "--cached-only";
  const run = [deno, "run", "--quiet", "--no-config", "--no-lock", local, "--no-npm", "--no-code-cache", "-A"];
  const abi = Number(await shell('exec "$@"', [...run, modules.launcher, "--abi"]));
  if (!(abi >= 1)) throw new Error("this kernel has no Landlock");

  const environment: Record<string, string> = { NO_COLOR: "1" };
  for (const name of RUNNER_VARIABLES) {
    const value = variable(name);
    if (value !== undefined) environment[name] = value;
  }
  const { HOME = "", DENO_DIR, XDG_CACHE_HOME } = environment;
  const cache = DENO_DIR ?? `${XDG_CACHE_HOME ?? `${HOME}/.cache`}/deno`;
  return {
    supervisor: [...run, modules.supervisor],
    launcher: [...run, modules.launcher],
    environment,
    abi,
    parts: [deno, folderOf(modules.supervisor), folderOf(modules.launcher), cache],
  };
}

/**
 * The part of the launcher that a command could change in its workspace, so that the next one would run without it; `null` when
 * there is none. Those in /tmp are kept out of reach otherwise: see {@link partsInTmp}.
 *
 * @example
 * ```ts
 * import { type Launcher, partInReach } from "./launcher.ts";
 * import type { ResolvedPolicy } from "./policy.ts";
 *
 * function isSafe(launcher: Launcher, policy: ResolvedPolicy): boolean {
 *   return partInReach(launcher, policy) === null;
 * }
 * ```
 */
export function partInReach({ parts }: Launcher, { mode, workspace }: ResolvedPolicy): string | null {
  if (mode === "read-only") return null;
  return parts.find((path) => isInside(path, workspace) || (path.startsWith("/") && isInside(workspace, path))) ?? null;
}

/**
 * The parts of the launcher that lie in /tmp, so that a command must not be able to write all of it.
 *
 * @example
 * ```ts
 * import { type Launcher, partsInTmp } from "./launcher.ts";
 *
 * function mayShareTmp(launcher: Launcher): boolean {
 *   return partsInTmp(launcher).length === 0;
 * }
 * ```
 */
export function partsInTmp({ parts }: Launcher): readonly string[] {
  return [...new Set(parts.filter((path) => isInside(path, "/tmp")))];
}

/**
 * The arguments of the launcher, as the only sandbox.
 *
 * @param options.sharesTmp whether the command may write the host's /tmp. Default: true
 *
 * @example
 * ```ts
 * import { landlockArguments } from "./launcher.ts";
 * import type { ResolvedPolicy } from "./policy.ts";
 *
 * function canWriteTmp(policy: ResolvedPolicy): boolean {
 *   return landlockArguments(["true"], policy).includes("/tmp");
 * }
 * ```
 */
export function landlockArguments(
  argv: readonly string[],
  policy: ResolvedPolicy,
  { sharesTmp = true }: { readonly sharesTmp?: boolean } = {},
): string[] {
  const { mode, workspace, cwd, network, environment } = policy;
  const args = ["--ro", "/", "--rw", "/dev/null"];
  if (mode === "workspace-write" && sharesTmp) args.push("--rw", "/tmp");
  if (mode === "workspace-write") args.push("--rw", workspace);
  args.push("--network", network);
  for (const [name, value] of Object.entries(environment)) args.push("--env", `${name}=${value}`);
  args.push("--cwd", cwd, "--", ...argv);
  return args;
}

/**
 * The arguments of the launcher inside of another sandbox, which has a /dev, a /tmp and a network of its own. What is left to it is
 * what no mount refuses: writing to the pipes of the host, and signals.
 *
 * @example
 * ```ts
 * import { innerLandlockArguments } from "./launcher.ts";
 * import type { ResolvedPolicy } from "./policy.ts";
 *
 * function startsIn(policy: ResolvedPolicy): boolean {
 *   return innerLandlockArguments(["true"], policy).includes(policy.cwd);
 * }
 * ```
 */
export function innerLandlockArguments(argv: readonly string[], policy: ResolvedPolicy): string[] {
  const { mode, workspace, cwd, environment } = policy;
  const args = ["--ro", "/", "--rw", "/dev"];
  if (mode === "workspace-write") args.push("--rw", "/tmp", "--rw", workspace);
  args.push("--network", "on");
  for (const [name, value] of Object.entries(environment)) args.push("--env", `${name}=${value}`);
  args.push("--cwd", cwd, "--", ...argv);
  return args;
}

/** A module's folder holds what the module imports. */
function folderOf(module: string): string {
  return module.replace(/\/[^/]*$/, "");
}

function modulePath(name: string): string {
  const url = new URL(name, import.meta.url);
  return url.protocol === "file:" ? decodeURIComponent(url.pathname) : url.href;
}
