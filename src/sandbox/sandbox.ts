/**
 * The sandbox of a host: picks the first provider that works, confines commands with it, and runs them.
 *
 * @see execution §6
 * @module
 */
import { bubblewrap } from "./bubblewrap.ts";
import { type CgroupBase, findCgroups } from "./cgroups.ts";
import { environmentOf, systemVariable } from "./environment.ts";
import { landlock } from "./landlock.ts";
import { limitsOf, type ResolvedPolicy, type SandboxPolicy } from "./policy.ts";
import { planFor, unavailable } from "./plan.ts";
import { probe } from "./probe.ts";
import { PROTECTED_NAMES, systemFiles } from "./protected_paths.ts";
import type { ProbeFacts, SandboxProvider } from "./provider.ts";
import { enforcementOf, type EnforcementReport, UNCONFINED } from "./report.ts";
import { absolutePath, type HostView, resolvePolicy } from "./resolve_policy.ts";
import {
  NotSpawnedError,
  type ProcessEnd,
  type ProcessOptions,
  type ProcessPlan,
  runProcess,
  runShell,
} from "./run_process.ts";
import { seatbelt } from "./seatbelt.ts";

/** How a sandbox is made. All of it has a default for this host. */
export interface SandboxOptions {
  /** Tried in this order. Default: those of the platform. */
  readonly providers?: readonly SandboxProvider[];
  /** The platform: "linux", "darwin", or anything else, which has no provider. */
  readonly platform?: string;
  /** File system and variables of the host. */
  readonly host?: HostView;
  /** Runs a process. */
  readonly runProcess?: typeof runProcess;
  /** Runs a shell script of ours. */
  readonly runShell?: typeof runShell;
}

/** A command line that confines another, and what it enforces. */
export interface Confinement {
  /** What is to be spawned, whole. */
  readonly argv: readonly string[];
  /** What is enforced. */
  readonly report: EnforcementReport;
  /** What commands print when they are refused, in lower case. */
  readonly denialSignatures: readonly string[];
  /** Everything the process needs beside its command line. */
  readonly plan: ProcessPlan;
}

/** How a command ended. */
export interface CommandEnd extends ProcessEnd {
  /** What it ran under. */
  readonly report: EnforcementReport;
  /** Whether it failed and said what commands say when the sandbox refuses: a guess from its words, beside the exit code. */
  readonly isDenied: boolean;
  /** Protected names that were not there before it and are now: they could not be held, so look at them. */
  readonly appeared: readonly string[];
}

/** A provider that was probed. */
interface Chosen {
  readonly provider: SandboxProvider;
  readonly facts: ProbeFacts;
  readonly cgroups: readonly CgroupBase[];
}

/**
 * Confines and runs commands.
 *
 * @example
 * ```ts
 * import { Sandbox } from "./sandbox.ts";
 *
 * const sandbox = new Sandbox({ platform: "browser" });
 * const found = await sandbox.describe({ workspace: "/srv/ws" });
 * if (!("reason" in found)) throw new Error("unreachable");
 * ```
 */
export class Sandbox {
  readonly #providers: readonly SandboxProvider[];
  readonly #host: HostView;
  readonly #runProcess: typeof runProcess;
  readonly #runShell: typeof runShell;
  readonly #whyNone: string;
  /** A provider that works; forgotten when its runner fails. That there is none is never remembered. */
  #chosen: Promise<Chosen> | null = null;

  /** Probes nothing yet. */
  constructor(options: SandboxOptions = {}) {
    const platform = options.platform ?? thisPlatform();
    this.#providers = options.providers ?? providersFor(platform);
    this.#host = options.host ?? { files: systemFiles, variable: systemVariable };
    this.#runProcess = options.runProcess ?? runProcess;
    this.#runShell = options.runShell ?? runShell;
    this.#whyNone = platform === "browser"
      ? "this platform cannot start processes"
      : `there is no sandbox for this platform (${platform})`;
  }

  /**
   * What confines a command under a policy, and how much of it is enforced. Spawns nothing of it.
   *
   * @param argv a list, not a shell string
   * @throws {TypeError} for an empty command line, or `danger-full-access`, which is never confined
   * @throws {RangeError} for a workspace that is too wide, and everything else that {@linkcode resolvePolicy} refuses
   * @throws {SandboxUnavailableError} when no provider works on this host, with the reason of each
   */
  async confine(argv: readonly string[], policy: SandboxPolicy): Promise<Confinement> {
    checkArgv(argv);
    // A caller's mistake is told as one also where there is no sandbox, except where nothing can be looked at.
    if (this.#providers.length === 0) throw unavailable(argv, this.#whyNone);
    const resolved = resolvePolicy(policy, this.#host);
    const { provider, facts, cgroups } = await this.#choose(argv);
    let plan: ProcessPlan;
    try {
      plan = planFor(argv, resolved, provider, cgroups);
    } catch (cause) {
      throw unavailable(argv, `${provider.name}: ${messageOf(cause)}`, cause);
    }
    const gaps = provider.gaps(facts, resolved);
    const enforcement = enforcementOf(gaps, resolved.network === "on" ? ["network"] : []);
    const report = Object.freeze({ mode: resolved.mode, provider: provider.name, enforcement, gaps });
    return { argv: plan.argv, report, denialSignatures: provider.denialSignatures, plan };
  }

  /**
   * Runs a command under a policy. Resolves when it and everything it started has ended.
   *
   * In `danger-full-access` the command line is spawned as it is, with the variables of the allow-list and the bounds on time and
   * output, and the report says that nothing is enforced.
   *
   * @throws as {@linkcode confine}; {@linkcode SandboxUnavailableError} also when the runner started and refused. The command was
   * not started then, and the next one is probed for anew
   */
  async run(argv: readonly string[], policy: SandboxPolicy, options: ProcessOptions = {}): Promise<CommandEnd> {
    if (policy.mode === "danger-full-access") return await this.#runUnconfined(argv, policy, options);
    const { report, plan, denialSignatures } = await this.confine(argv, policy);
    const before = this.#missingNames(policy);
    let ended: ProcessEnd;
    try {
      ended = await this.#runProcess(plan, options);
    } catch (cause) {
      this.#chosen = null;
      // Only this says that nothing ran.
      if (!(cause instanceof NotSpawnedError)) throw cause;
      throw unavailable(argv, `${report.provider} could not be started: ${cause.message}`, cause);
    }
    if (!ended.hasStarted && ended.ending === "exited") {
      this.#chosen = null;
      const said = ended.runnerMessage || `it ended with ${ended.exitCode ?? ended.signal}`;
      throw unavailable(argv, `${report.provider} refused: ${said}`);
    }
    const after = new Set(this.#missingNames(policy));
    const appeared = before.filter((name) => !after.has(name));
    return { ...ended, report, isDenied: isDenial(ended, denialSignatures), appeared };
  }

  /** What would be enforced under a policy, or why nothing can be: for `doctor`. Never rejects. */
  async describe(policy: SandboxPolicy): Promise<{ readonly report: EnforcementReport } | { readonly reason: string }> {
    try {
      return { report: (await this.confine(["true"], policy)).report };
    } catch (error) {
      return { reason: messageOf(error) };
    }
  }

  async #runUnconfined(argv: readonly string[], policy: SandboxPolicy, options: ProcessOptions): Promise<CommandEnd> {
    checkArgv(argv);
    const { timeMs, outputBytes } = limitsOf(policy.limits);
    const environment = environmentOf(this.#host.variable, policy.environment);
    const cwd = absolutePath(policy.cwd ?? ".", policy.workspace);
    const bare = { input: null, holdsInput: false, startToken: null, cgroups: [] };
    const ended = await this.#runProcess({ argv, environment, cwd, timeMs, outputBytes, ...bare }, options);
    return { ...ended, report: UNCONFINED, isDenied: false, appeared: [] };
  }

  async #choose(argv: readonly string[]): Promise<Chosen> {
    const choice = this.#chosen ??= this.#probeAll(argv);
    try {
      return await choice;
    } catch (error) {
      if (this.#chosen === choice) this.#chosen = null;
      throw error;
    }
  }

  async #probeAll(argv: readonly string[]): Promise<Chosen> {
    const place = { shell: this.#runShell };
    const cgroups = await findCgroups(place);
    const reasons: string[] = [];
    for (const provider of this.#providers) {
      try {
        await provider.prepare?.(place);
        const runConfined = (probed: readonly string[], policy: ResolvedPolicy) =>
          this.#runProcess(planFor(probed, policy, provider, cgroups));
        return { provider, facts: await probe(provider, { ...place, runConfined }), cgroups };
      } catch (error) {
        reasons.push(`${provider.name}: ${messageOf(error)}`);
      }
    }
    throw unavailable(argv, reasons.join("; "));
  }

  /** Which protected names are not in the workspace. */
  #missingNames({ workspace, mode }: SandboxPolicy): readonly string[] {
    if (mode !== "workspace-write") return [];
    return PROTECTED_NAMES.filter((name) => this.#host.files.kindOf(`${workspace}/${name}`) === null);
  }
}

/**
 * The providers of a platform, best first.
 *
 * @example
 * ```ts
 * import { providersFor } from "./sandbox.ts";
 *
 * if (providersFor("linux")[0]?.name !== "bubblewrap" || providersFor("windows").length !== 0) throw new Error("unreachable");
 * ```
 */
export function providersFor(platform: string): readonly SandboxProvider[] {
  switch (platform) {
    case "linux":
      return [bubblewrap(), landlock()];
    case "darwin":
      return [seatbelt()];
    default:
      return [];
  }
}

function thisPlatform(): string {
  return "Deno" in globalThis ? Deno.build.os : "browser";
}

/** A failing exit and the words of a refusal. Whether the runner itself failed is known by then, and comes first. */
function isDenial({ exitCode, ending, stderr }: ProcessEnd, signatures: readonly string[]): boolean {
  if (ending !== "exited" || exitCode === null || exitCode === 0) return false;
  const said = stderr.text.toLowerCase();
  return signatures.some((signature) => said.includes(signature));
}

function checkArgv(argv: readonly string[]): void {
  const isFine = argv.length > 0 && argv[0] !== "" &&
    argv.every((each) => typeof each === "string" && !each.includes("\0"));
  if (!isFine) throw new TypeError(`Cannot run command "${argv[0] ?? ""}": it is no list of texts`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
