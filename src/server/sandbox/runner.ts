/**
 * Commands of the endpoint, run in the sandbox of this host.
 *
 * @module
 */
import type { Sandbox, SandboxLimits, SandboxMode, SandboxPolicy } from "../../sandbox/mod.ts";
import { overLimits } from "../../tools/mod.ts";
import { Refusal } from "../problem.ts";
import type { AskedCommand, CommandRunner } from "./command.ts";

/** What commands may do on this host. */
export interface SandboxRunnerOptions {
  readonly sandbox: Sandbox;
  /** The folder that commands work in. Absolute. */
  readonly workspace: string;
  /** What they must not read: where tokens and sessions are kept. Absolute. */
  readonly hidden?: readonly string[];
  /** The widest mode that is run. Default "workspace-write". */
  readonly modeMax?: SandboxMode;
  /** Whether a command may have the network when it asks for it. Default false. */
  readonly allowNetwork?: boolean;
  /** Bounds of each command, beside its time. */
  readonly limits?: Partial<Omit<SandboxLimits, "timeMs">>;
}

/**
 * Runs commands in a sandbox.
 *
 * @example
 * ```ts
 * import { Sandbox } from "../../sandbox/mod.ts";
 * import { sandboxRunner } from "./runner.ts";
 *
 * const runner = sandboxRunner({ sandbox: new Sandbox({ platform: "browser" }), workspace: "/srv/ws" });
 * const command = { argv: ["ls"], mode: "read-only", network: "off", cwd: null, timeoutMs: 1000 } as const;
 * const refused = await runner.check(command).then(() => false, () => true);
 * if (!refused) throw new Error("unreachable");
 * ```
 */
export function sandboxRunner(options: SandboxRunnerOptions): CommandRunner {
  const { sandbox, modeMax = "workspace-write", allowNetwork = false } = options;
  const limits = { modeMax, allowNetwork };
  return {
    limits,
    async check(command) {
      const { argv, mode } = command;
      const refused = overLimits(command, limits);
      if (refused !== null) throw new Refusal(403, "MODE_REFUSED", refused);
      if (mode === "danger-full-access") return;
      try {
        await sandbox.confine(argv, policyOf(command, options));
      } catch (error) {
        if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
        throw new Refusal(400, "INVALID_REQUEST", error.message);
      }
    },
    run: (command, signal) => sandbox.run(command.argv, policyOf(command, options), { signal }),
  };
}

function policyOf({ mode, network, cwd, timeoutMs }: AskedCommand, options: SandboxRunnerOptions): SandboxPolicy {
  const { workspace, hidden, limits } = options;
  const where = cwd === null ? { workspace } : { workspace, cwd };
  return { ...where, mode, network, hidden, limits: { ...limits, timeMs: timeoutMs } };
}
