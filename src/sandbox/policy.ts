/**
 * What a command may do, as a caller asks for it and as a provider gets it.
 *
 * @module
 */

/** From the narrowest to the widest. */
export const SANDBOX_MODES = ["read-only", "workspace-write", "danger-full-access"] as const;

/** How much a command may change. `danger-full-access` is never confined and always says so. */
export type SandboxMode = typeof SANDBOX_MODES[number];

/** The bounds of one command. */
export interface SandboxLimits {
  /** How long it may run, in milliseconds. */
  readonly timeMs: number;
  /** How much it may write to standard output and standard error together. */
  readonly outputBytes: number;
  /** How many processes and threads it may have at once. */
  readonly processes: number;
  /** How much memory it may have: of all its processes together where the host has a cgroup for it, else of each. */
  readonly memoryBytes: number;
  /** The size of the private /tmp, where there is one. */
  readonly tmpBytes: number;
}

/** The bounds when a policy sets none. */
export const DEFAULT_LIMITS: SandboxLimits = {
  timeMs: 120_000,
  outputBytes: 16 * 1024 * 1024,
  processes: 512,
  memoryBytes: 4 * 1024 * 1024 * 1024,
  tmpBytes: 512 * 1024 * 1024,
};

/** The longest time a command may be given: what a timer can hold. */
export const TIME_MS_MAX = 2_147_483_647;

/** What a caller asks for. */
export interface SandboxPolicy {
  /** Default "read-only". */
  readonly mode?: SandboxMode;
  /** The folder that `workspace-write` opens, and the working folder. Absolute. */
  readonly workspace: string;
  /** A folder inside the workspace to start in, absolute or from the workspace. Default: the workspace. */
  readonly cwd?: string;
  /** A switch of its own, whatever the mode. Default "off". */
  readonly network?: "off" | "on";
  /** Files and folders that must not be read either: where tokens and sessions are kept. Absolute. */
  readonly hidden?: readonly string[];
  /** Variables the command gets beside the allow-list. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Default: DEFAULT_LIMITS, each. */
  readonly limits?: Partial<SandboxLimits>;
}

/** A policy whose paths are real and whose members are all there. What providers work with. */
export interface ResolvedPolicy {
  /** Never `danger-full-access`: that is not confined. */
  readonly mode: "read-only" | "workspace-write";
  /** The real path, links resolved. */
  readonly workspace: string;
  /** The real path, inside the workspace. */
  readonly cwd: string;
  /** Whether sockets are of any use. */
  readonly network: "off" | "on";
  /** What is inside the workspace and must stay as it is. */
  readonly protectedPaths: readonly string[];
  /** What is inside the workspace, should stay as it is, and cannot be held: links, which can be replaced. */
  readonly unprotectable: readonly string[];
  /** Whether all folders that could hold a repository of their own were looked into. */
  readonly isScanned: boolean;
  /** What must not be read. */
  readonly hidden: readonly { readonly path: string; readonly isFolder: boolean }[];
  /** All the variables the command will have. */
  readonly environment: Readonly<Record<string, string>>;
  /** Its bounds. */
  readonly limits: SandboxLimits;
}

/**
 * Whether a mode allows more than another.
 *
 * @example
 * ```ts
 * import { isWider } from "./policy.ts";
 *
 * if (!isWider("workspace-write", "read-only") || isWider("read-only", "read-only")) throw new Error("unreachable");
 * ```
 */
export function isWider(mode: SandboxMode, than: SandboxMode): boolean {
  return SANDBOX_MODES.indexOf(mode) > SANDBOX_MODES.indexOf(than);
}

/**
 * The bounds of a command, with the default where none is set.
 *
 * @throws {RangeError} for a bound that is not a whole number above 0, or that no timer can hold
 *
 * @example
 * ```ts
 * import { limitsOf } from "./policy.ts";
 *
 * if (limitsOf({ timeMs: 5 }).timeMs !== 5 || limitsOf().processes < 1) throw new Error("unreachable");
 * ```
 */
export function limitsOf(given: Partial<SandboxLimits> = {}): SandboxLimits {
  const limits = { ...DEFAULT_LIMITS, ...Object.fromEntries(Object.entries(given).filter(([, v]) => v !== undefined)) };
  for (const [name, value] of Object.entries(limits)) {
    const isFine = Number.isSafeInteger(value) && value > 0 && (name !== "timeMs" || value <= TIME_MS_MAX);
    if (!isFine) throw new RangeError(`Cannot confine with limit "${name}": found ${value}`);
  }
  return limits;
}
