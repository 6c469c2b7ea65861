/**
 * The port that a kind of sandbox implements: words for the command line, and what it can promise.
 *
 * Neither touches the host. Whether the promise holds on this host is measured by the probe, with the same words.
 *
 * @module
 */
import type { ResolvedPolicy } from "./policy.ts";
import type { Dimension, Gap } from "./report.ts";

/** A command line that confines another. */
export interface Wrapped {
  /** What is spawned. */
  readonly argv: readonly string[];
  /** What its runner reads from standard input before it starts the command; `null` = nothing. */
  readonly input: Uint8Array | null;
  /** Whether standard input must stay open while the command runs: the runner takes its end for the end of the server. */
  readonly holdsInput: boolean;
  /** The variables the runner itself gets; the command gets those of the policy. */
  readonly environment: Readonly<Record<string, string>>;
  /** A folder that its runner makes for the command, and that must be gone when everything has ended. Default: there is none. */
  readonly removes?: string | null;
}

/** What the probe saw on this host. */
export interface ProbeFacts {
  /** Whether a file beside the workspace, a write-protected one and a removal were all refused. */
  readonly refusesOutside: boolean;
  /** Whether protected paths inside the workspace stayed as they were. */
  readonly keepsProtected: boolean;
  /** Whether a pipe with a name outside of the workspace cannot be written to: whoever reads it would get it. */
  readonly refusesPipes: boolean;
  /** Whether what is written to /tmp stays inside. */
  readonly hasPrivateTmp: boolean;
  /** Whether what is hidden could not be read. */
  readonly hides: boolean;
  /** Whether a change of mode and times outside was refused. */
  readonly keepsMetadata: boolean;
  /** Whether a connection to a listener of the host was refused. */
  readonly refusesConnections: boolean;
  /** Whether sockets of other families (local, virtual machine) are refused by the kernel's filter. */
  readonly filtersSockets: boolean;
  /** Whether the process list is private. */
  readonly hasPrivateProcesses: boolean;
  /** Whether a process of the host cannot be signalled. */
  readonly refusesSignals: boolean;
  /** Whether no capability is left and none can be gained. */
  readonly hasNoPrivileges: boolean;
  /** Whether the number of processes is bounded. */
  readonly boundsProcesses: boolean;
  /** Whether the memory is bounded. */
  readonly boundsMemory: boolean;
  /** Whether only the variables of the policy were there. */
  readonly hasCleanEnvironment: boolean;
}

/** One kind of sandbox. */
export interface SandboxProvider {
  /** How it is named in reports. */
  readonly name: string;
  /** Finds what it needs on this host, before it is probed. @throws {Error} with the reason when it is not there. */
  readonly prepare?: (host: ProviderHost) => Promise<void>;
  /**
   * The command line for a command under a policy.
   *
   * @throws {Error} when this provider cannot confine under this policy at all
   */
  readonly wrap: (argv: readonly string[], policy: ResolvedPolicy) => Wrapped;
  /** What is not enforced under a policy, given what the probe saw. A dimension with no gap is enforced in full. */
  readonly gaps: (facts: ProbeFacts, policy: ResolvedPolicy) => readonly Gap[];
  /** What commands print when they are refused, in lower case. Together with a failing exit: "denied". */
  readonly denialSignatures: readonly string[];
  /** How many tasks its runner needs beside those of the command. */
  readonly ownTasks: number;
  /** Whether its command line carries a filter for sockets. */
  readonly hasSocketFilter: boolean;
  /** Whether a limit of the user's processes counts those inside alone. */
  readonly countsOwnProcesses: boolean;
}

/** What a provider may ask of the host. */
export interface ProviderHost {
  /** Runs a shell script of ours, not confined, with the system's PATH, and returns what it printed. @throws {Error} when it fails. */
  readonly shell: (script: string, args: readonly string[]) => Promise<string>;
}

/** A gap that mounts leave. */
export const PIPES: Gap = { dimension: "files", what: "pipes of the host that have a name can be written to" };

/**
 * The gaps that follow from what was seen alone, the same for every provider.
 *
 * @example
 * ```ts
 * import { measuredGaps, type ProbeFacts } from "./provider.ts";
 * import type { ResolvedPolicy } from "./policy.ts";
 *
 * function hasOpenFiles(facts: ProbeFacts, policy: ResolvedPolicy): boolean {
 *   return measuredGaps(facts, policy).some(({ dimension }) => dimension === "files");
 * }
 * ```
 */
export function measuredGaps(facts: ProbeFacts, policy: ResolvedPolicy): Gap[] {
  const isWritable = policy.mode === "workspace-write";
  const isOff = policy.network === "off";
  const rows: [applies: boolean, dimension: Dimension, what: string][] = [
    [!facts.refusesOutside, "files", "files outside of the workspace can be changed"],
    [
      isWritable && !facts.keepsProtected && policy.protectedPaths.length > 0,
      "files",
      `can be changed inside the workspace: ${policy.protectedPaths.join(", ")}`,
    ],
    [
      isWritable && policy.unprotectable.length > 0,
      "files",
      `are links and can be replaced: ${policy.unprotectable.join(", ")}`,
    ],
    [isWritable && !policy.isScanned, "files", "the workspace has too many folders to find every repository in it"],
    [isWritable && !facts.hasPrivateTmp, "files", "/tmp is the host's and can be written"],
    [!facts.hides && policy.hidden.length > 0, "files", "what should be hidden can be read"],
    [!facts.refusesPipes, PIPES.dimension, PIPES.what],
    [!facts.keepsMetadata, "files", "modes and times of files outside of the workspace can be changed"],
    [!isOff, "network", "the policy leaves the network on"],
    [isOff && !facts.refusesConnections, "network", "connections are possible"],
    [isOff && !facts.filtersSockets, "network", "local sockets of the host can be reached"],
    [!facts.hasPrivateProcesses, "processes", "processes of the host can be seen"],
    [!facts.refusesSignals, "processes", "processes of the host can be signalled"],
    [!facts.hasNoPrivileges, "processes", "privileges are left"],
    [!facts.boundsProcesses, "processes", "the number of processes is not bounded"],
    [!facts.boundsMemory, "processes", "the memory is not bounded"],
    [!facts.hasCleanEnvironment, "environment", "variables of the server can be seen"],
  ];
  return rows.filter(([applies]) => applies).map(([, dimension, what]) => ({ dimension, what }));
}
