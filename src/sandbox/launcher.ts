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
  /** The variables both get: where Deno finds its cache, when it needs one, and nothing else. */
  readonly environment: Readonly<Record<string, string>>;
  /** The version of the kernel's interface. */
  readonly abi: number;
  /** Files and folders of which all this is made. Without links: who can write a link can put another in its place. */
  readonly parts: readonly string[];
  /** The host's /tmp, without links. */
  readonly tmp: string;
}

const RUNNER_VARIABLES = ["HOME", "DENO_DIR", "XDG_CACHE_HOME"];
/** No folder can be there. Modules that are files need no cache, and what is not kept nobody can change. */
const NO_CACHE = "/dev/null/none";

/**
 * Finds the launcher and asks the kernel through it.
 *
 * @throws {Error} when it cannot be started, or the kernel has no Landlock
 *
 * @example
 * ```ts
 * import { findLauncher } from "./launcher.ts";
 *
 * const shell = (_script: string, args: readonly string[]) =>
 *   Promise.resolve(args.includes("--abi") ? "7\n" : args.map((path) => `${path}\n`).join(""));
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
  const isLocal = modules.launcher.startsWith("/") && modules.supervisor.startsWith("/");
  const flags = ["--quiet", "--no-config", "--no-lock", "--no-npm", "--no-code-cache", "-A"];
  const cache = isLocal ? null : cacheOf(variable);
  const [tmp, realDeno, ...places] = await realPaths(shell, [
    "/tmp",
    deno,
    ...(cache === null ? [modules.supervisor, modules.launcher] : [cache.folder]),
  ]);
  const [supervisor, launcher] = cache === null ? places as [string, string] : [modules.supervisor, modules.launcher];
  const run = [realDeno!, "run", isLocal ? "--no-remote" : "--cached-only", ...flags];
  const environment = { NO_COLOR: "1", ...(cache === null ? { DENO_DIR: NO_CACHE } : cache.variables) };
  const asVariables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const abi = Number(await shell('exec env "$@"', [...asVariables, ...run, launcher, "--abi"]));
  if (!(abi >= 1)) throw new Error("this kernel has no Landlock");
  return {
    supervisor: [...run, supervisor],
    launcher: [...run, launcher],
    environment,
    abi,
    parts: [realDeno!, ...(cache === null ? places.map(folderOf) : places)],
    tmp: tmp!,
  };
}

/** Where Deno keeps modules that are no files. */
function cacheOf(variable: (name: string) => string | undefined) {
  const variables: Record<string, string> = {};
  for (const name of RUNNER_VARIABLES) {
    const value = variable(name);
    if (value !== undefined) variables[name] = value;
  }
  const { HOME = "", DENO_DIR, XDG_CACHE_HOME } = variables;
  return { variables, folder: DENO_DIR ?? `${XDG_CACHE_HOME ?? `${HOME}/.cache`}/deno` };
}

/** The paths without links, asked of a shell: the server may not be allowed to look. @throws {Error} when one leads nowhere */
async function realPaths(shell: ProviderHost["shell"], paths: readonly string[]): Promise<readonly string[]> {
  const script = 'for path; do readlink -f -- "$path" || { echo "there is no $path" >&2; exit 1; }; done';
  const lines = (await shell(script, paths)).split("\n").slice(0, -1);
  const isTold = lines.length === paths.length && lines.every((line) => line.startsWith("/"));
  if (!isTold) throw new Error("it cannot be told where the parts of the launcher lie");
  return lines;
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
export function partsInTmp({ parts, tmp }: Launcher): readonly string[] {
  return [...new Set(parts.filter((path) => isInside(path, tmp)))];
}

/**
 * The arguments of the launcher, as the only sandbox.
 *
 * @param privateTmp a folder of the command's own, which it may write instead of the host's /tmp; it becomes the `HOME` and `TMPDIR`
 * of a policy that names no others
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
  privateTmp: string | null = null,
): string[] {
  const { mode, workspace, cwd, network, environment } = policy;
  const args = ["--ro", "/", "--rw", "/dev/null"];
  if (mode === "workspace-write") args.push("--rw", privateTmp ?? "/tmp", "--rw", workspace);
  args.push("--network", network);
  for (const [name, value] of Object.entries(environment)) {
    const isTmp = value === "/tmp" && (name === "HOME" || name === "TMPDIR");
    args.push("--env", `${name}=${isTmp ? privateTmp ?? value : value}`);
  }
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
