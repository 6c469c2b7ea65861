/**
 * A policy as it was asked for, checked and completed: paths that are real, roots that are not too wide, variables on the list.
 *
 * @module
 */
import { environmentOf } from "./environment.ts";
import { limitsOf, type ResolvedPolicy, SANDBOX_MODES, type SandboxPolicy } from "./policy.ts";
import { type FileView, findProtected } from "./protected_paths.ts";

/** What is known about the host. */
export interface HostView {
  /** Its file system. */
  readonly files: FileView;
  /** Reads one variable of the server. */
  readonly variable: (name: string) => string | undefined;
}

/** A workspace that holds one of these would open it: the later bind of the workspace covers every earlier mount. */
const NEVER_INSIDE = [
  "/bin",
  "/boot",
  "/dev",
  "/etc",
  "/home",
  "/lib",
  "/proc",
  "/root",
  "/run",
  "/sbin",
  "/sys",
  "/tmp",
  "/usr",
  "/var",
  "/Users",
  "/private",
];
/** A workspace inside of one of these is none. */
const NEVER_AROUND = ["/boot", "/dev", "/etc", "/proc", "/sys"];

/**
 * Paths and mode of a policy, checked, and everything it leaves to a default filled in.
 *
 * @throws {TypeError} for a mode that does not exist, a path that is not absolute, or `danger-full-access`, which nobody confines
 * @throws {RangeError} for a workspace that is not there or too wide, a `cwd` outside of it, or a bound out of its range
 *
 * @example
 * ```ts
 * import { resolvePolicy } from "./resolve_policy.ts";
 *
 * const files = { realPath: (path: string) => path, kindOf: () => "folder" as const, foldersIn: () => [] };
 * const host = { files, variable: () => undefined };
 * if (resolvePolicy({ workspace: "/srv/ws" }, host).network !== "off") throw new Error("unreachable");
 * ```
 */
export function resolvePolicy(policy: SandboxPolicy, host: HostView): ResolvedPolicy {
  const { mode = "read-only", network = "off" } = policy;
  if (!SANDBOX_MODES.includes(mode)) throw new TypeError(`Cannot confine in mode "${mode}": there is no such mode`);
  if (mode === "danger-full-access") throw new TypeError(`Cannot confine in mode "${mode}": it is never confined`);
  if (network !== "off" && network !== "on") {
    throw new TypeError(`Cannot confine with network "${network}": not off or on`);
  }
  const workspace = realFolder(policy.workspace, host.files);
  if (mode === "workspace-write") checkWidth(workspace, host);
  const cwd = policy.cwd === undefined ? workspace : realFolder(absolutePath(policy.cwd, workspace), host.files);
  if (!isInside(cwd, workspace)) {
    throw new RangeError(`Cannot start in "${policy.cwd}": it lies outside of the workspace "${workspace}"`);
  }
  return Object.freeze({
    mode,
    workspace,
    cwd,
    network,
    ...findProtected(workspace, host.files),
    hidden: (policy.hidden ?? []).flatMap((path) => hiddenPath(path, workspace, host.files)),
    environment: environmentOf(host.variable, policy.environment),
    limits: limitsOf(policy.limits),
  });
}

/**
 * Whether a path is another or lies below it. Both without links.
 *
 * @example
 * ```ts
 * import { isInside } from "./resolve_policy.ts";
 *
 * if (!isInside("/a/b", "/a") || !isInside("/a", "/") || isInside("/ab", "/a")) throw new Error("unreachable");
 * ```
 */
export function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/**
 * A path as it is meant from a folder.
 *
 * @example
 * ```ts
 * import { absolutePath } from "./resolve_policy.ts";
 *
 * if (absolutePath("src", "/ws") !== "/ws/src" || absolutePath("/a", "/ws") !== "/a") throw new Error("unreachable");
 * ```
 */
export function absolutePath(path: string, folder: string): string {
  return path.startsWith("/") ? path : `${folder}/${path}`;
}

function realFolder(path: string, files: FileView): string {
  checkPath(path);
  let real: string;
  try {
    real = files.realPath(path);
  } catch (cause) {
    throw new RangeError(`Cannot confine to workspace "${path}": there is no such folder`, { cause });
  }
  if (files.kindOf(real) !== "folder") throw new RangeError(`Cannot confine to workspace "${path}": it is no folder`);
  return real;
}

function checkPath(path: string): void {
  if (typeof path !== "string" || !path.startsWith("/") || path.includes("\0")) {
    throw new TypeError(`Cannot confine to path "${path}": it is not absolute`);
  }
}

function checkWidth(workspace: string, { files, variable }: HostView): void {
  const homes = [variable("HOME"), variable("TMPDIR")].filter((path) => path?.startsWith("/")) as string[];
  for (const path of [...NEVER_INSIDE, ...homes]) {
    const inside = [path, realOrSame(path, files)].find((each) => isInside(each, workspace));
    if (inside !== undefined) {
      throw new RangeError(
        `Cannot confine to workspace "${workspace}": it ${inside === workspace ? "is" : "holds"} ${inside}`,
      );
    }
  }
  const around = NEVER_AROUND.find((path) => isInside(workspace, path));
  if (around !== undefined) {
    throw new RangeError(`Cannot confine to workspace "${workspace}": it lies in ${around}`);
  }
}

function realOrSame(path: string, files: FileView): string {
  try {
    return files.realPath(path);
  } catch {
    return path;
  }
}

/** What is not there needs no hiding. */
function hiddenPath(path: string, workspace: string, files: FileView): ResolvedPolicy["hidden"] {
  checkPath(path);
  const real = realOrSame(path, files);
  const kind = files.kindOf(real);
  if (kind === null) return [];
  if (isInside(workspace, real)) {
    throw new RangeError(`Cannot hide "${path}": it holds the workspace "${workspace}"`);
  }
  return [{ path: real, isFolder: kind === "folder" }];
}
