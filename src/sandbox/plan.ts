/**
 * How a confined command is spawned: its limits and its token inside of the provider's command line, its groups around it.
 *
 * @module
 */
import { SandboxUnavailableError } from "../errors.ts";
import type { Cgroup, CgroupBase } from "./cgroups.ts";
import type { ResolvedPolicy } from "./policy.ts";
import type { SandboxProvider } from "./provider.ts";
import type { ProcessPlan } from "./run_process.ts";
import { START } from "./start.ts";

/**
 * The plan for a command.
 *
 * @throws {Error} when the provider cannot confine under this policy
 *
 * @example
 * ```ts
 * import { planFor } from "./plan.ts";
 * import type { ResolvedPolicy } from "./policy.ts";
 * import type { SandboxProvider } from "./provider.ts";
 *
 * function programOf(provider: SandboxProvider, policy: ResolvedPolicy): string | undefined {
 *   return planFor(["true"], policy, provider, []).argv[0];
 * }
 * ```
 */
export function planFor(
  argv: readonly string[],
  policy: ResolvedPolicy,
  provider: SandboxProvider,
  bases: readonly CgroupBase[],
): ProcessPlan {
  const { limits } = policy;
  const startToken = `start-${crypto.randomUUID()}\n`;
  const cgroups = cgroupsFor(policy, provider, bases);
  const isCounted = cgroups.some(({ file }) => file === "pids.max");
  const processes = provider.countsOwnProcesses && !isCounted ? limits.processes : 0;
  const memoryKib = Math.ceil(limits.memoryBytes / 1024);
  const start = ["/bin/sh", "-c", START, "start", startToken, String(memoryKib), String(processes)];
  const wrapped = provider.wrap([...start, ...argv], policy);
  return { ...wrapped, cwd: "/", startToken, cgroups, timeMs: limits.timeMs, outputBytes: limits.outputBytes };
}

function cgroupsFor(
  { limits }: ResolvedPolicy,
  provider: SandboxProvider,
  bases: readonly CgroupBase[],
): readonly Cgroup[] {
  const name = `holdfast-${Deno.pid}-${crypto.randomUUID().slice(0, 8)}`;
  return bases.map(({ controller, folder, file }) => ({
    folder: `${folder}/${name}`,
    file,
    value: controller === "pids" ? limits.processes + provider.ownTasks : limits.memoryBytes,
  }));
}

/**
 * The refusal of a command that nothing can confine.
 *
 * @example
 * ```ts
 * import { unavailable } from "./plan.ts";
 *
 * if (unavailable(["ls"], "no provider").code !== "SANDBOX_UNAVAILABLE") throw new Error("unreachable");
 * ```
 */
export function unavailable(argv: readonly string[], reason: string, cause?: unknown): SandboxUnavailableError {
  return new SandboxUnavailableError(`Cannot confine command "${argv[0]}": ${reason}`, { cause });
}
