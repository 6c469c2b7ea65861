/**
 * The sandbox endpoint of a server on Deno: its ledgers in files, its commands in the sandbox of this machine.
 *
 * ```
 * <root>/sandbox/<id of the token>/     the ledger of one token
 * ```
 *
 * It lies apart from `<root>/tokens/<id>/`, because sessions can be deleted by whoever has the token, and a ledger never.
 *
 * @module
 */
import { openFileStore, systemClock } from "../../entry/file.ts";
import { SandboxUnavailableError } from "../../../mod.ts";
import { Sandbox, type SandboxMode } from "../../sandbox/mod.ts";
import type { CommandRunner } from "./command.ts";
import { type SandboxEndpoint, sandboxEndpoint } from "./routes.ts";
import { sandboxRunner } from "./runner.ts";

/** How the endpoint of a host is made. */
export interface HostSandboxOptions {
  /** The folder everything of the server is kept in, absolute. No command can read it. */
  readonly root: string;
  /** The folder that commands work in, absolute. */
  readonly workspace: string;
  /** The widest mode that is run. Default "workspace-write". */
  readonly modeMax?: SandboxMode;
  /** Whether a command may have the network when it asks for it. Default false. */
  readonly allowNetwork?: boolean;
  /** Default: that of this machine. */
  readonly sandbox?: Sandbox;
  /** Why no command runs at all. What ran earlier can be asked about all the same. Default: commands run. */
  readonly whyOff?: string | null;
  /** Told what failed where no request waits for it. */
  readonly report?: (error: unknown) => void;
}

/**
 * Makes the endpoint of this machine. Nothing is probed or opened before the first command.
 *
 * @example
 * ```ts
 * import { hostSandbox } from "./host.ts";
 *
 * const endpoint = hostSandbox({ root: "/srv/holdfast", workspace: "/srv/workspace" });
 * if (endpoint.routes.routes.length === 0) throw new Error("unreachable");
 * await endpoint.close(0);
 * ```
 */
export function hostSandbox(options: HostSandboxOptions): SandboxEndpoint {
  const { root, workspace, modeMax, allowNetwork, sandbox = new Sandbox(), report } = options;
  const { whyOff = null } = options;
  const runner = whyOff === null
    ? sandboxRunner({ sandbox, workspace, hidden: [root], modeMax, allowNetwork })
    : refusing(whyOff, { modeMax: "read-only", allowNetwork: false });
  return sandboxEndpoint({
    clock: systemClock,
    storeFor: (tokenId) => openFileStore({ root: `${root}/sandbox/${tokenId}` }),
    tokensWithLedger: () => foldersIn(`${root}/sandbox`),
    runnerFor: () => runner,
    report,
  });
}

function refusing(why: string, limits: CommandRunner["limits"]): CommandRunner {
  const refuse = ({ argv }: { readonly argv: readonly string[] }) =>
    Promise.reject(new SandboxUnavailableError(`Cannot confine command "${argv[0]}": ${why}`));
  return { limits, check: refuse, run: refuse };
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder))).filter((entry) => entry.isDirectory).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
