/**
 * Confines commands: files, network, processes and environment, and says how much of each it really does.
 *
 * Only the server imports this. It needs Deno, and of its permissions: to run `/bin/sh` (everything else is started by it), to read
 * the workspace and what is to be hidden, and to read the variables that are passed on. On Linux bubblewrap confines, with Landlock
 * inside of it where the kernel has that; without bubblewrap Landlock alone; without both nothing runs. What a provider promises on
 * a host is measured by trying what is forbidden, before the first command and again after each failure of its runner.
 *
 * @module
 */
export { type CommandEnd, type Confinement, providersFor, Sandbox, type SandboxOptions } from "./sandbox.ts";
export {
  DEFAULT_LIMITS,
  isWider,
  SANDBOX_MODES,
  type SandboxLimits,
  type SandboxMode,
  type SandboxPolicy,
} from "./policy.ts";
export { type Dimension, DIMENSIONS, type Enforcement, type EnforcementReport, type Gap } from "./report.ts";
export {
  NotSpawnedError,
  type ProcessEnd,
  type ProcessOptions,
  type ProcessPlan,
  runProcess,
  runShell,
} from "./run_process.ts";
export type { OutputChunk } from "./bounded_output.ts";
export { type HostView, resolvePolicy } from "./resolve_policy.ts";
export type { Cgroup } from "./cgroups.ts";
export type { ProviderHost } from "./provider.ts";
export type { FileView } from "./protected_paths.ts";
export type { ResolvedPolicy } from "./policy.ts";
export { KEPT_BYTES, type KeptOutput } from "./kept_output.ts";
export { PROTECTED_NAMES } from "./protected_paths.ts";
export { type ProbeFacts, type SandboxProvider, type Wrapped } from "./provider.ts";
export { bubblewrap, type BubblewrapOptions } from "./bubblewrap.ts";
export { type LauncherOptions } from "./launcher.ts";
export { landlock } from "./landlock.ts";
export { seatbelt } from "./seatbelt.ts";
