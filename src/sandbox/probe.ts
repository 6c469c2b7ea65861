/**
 * Whether a provider does on this host what it says: it is made to confine forbidden acts, and what happened is looked at from
 * outside.
 *
 * @module
 */
import { environmentOf } from "./environment.ts";
import { DEFAULT_LIMITS, type ResolvedPolicy } from "./policy.ts";
import type { ProbeFacts, ProviderHost, SandboxProvider } from "./provider.ts";
import type { ProcessEnd } from "./run_process.ts";

/** How long each run of the probe may take, in milliseconds. */
export const PROBE_TIMEOUT_MS = 20_000;
/** The bound on processes that the probe runs under, and how many it tries to start. */
const PROCESSES = { bound: 24, tried: 128 };
const MEMORY_BYTES = 1024 * 1024 * 1024;

/** What a probe needs. */
export interface ProbePlace extends ProviderHost {
  /** Runs a command as the provider wraps it, with all limits, and with its groups. */
  readonly runConfined: (argv: readonly string[], policy: ResolvedPolicy) => Promise<ProcessEnd>;
}

/** Not in /tmp: that is hidden or open by design, and would show nothing. */
const STAGE = `
folder=$(mktemp -d /var/tmp/holdfast-probe-XXXXXX 2>/dev/null) || folder=$(mktemp -d)
cd "$folder" && mkdir -p ws/.git out/hidden && echo kept >ws/.git/config && echo kept >out/kept && echo secret >out/hidden/x && mkfifo out/pipe
chmod 600 out/kept
pwd -P
readlink /proc/self/ns/pid /proc/self/ns/net || true
`;

const ATTEMPTS = `
ws=$1 out=$2 mark=$3 tried=$4 outsider=$5
{
  echo x >"$ws/allowed"
  echo x >"$out/made"; echo x >>"$out/kept"; rm -f "$out/kept"; mv "$out/kept" "$out/moved"; ln -s / "$out/link"
  chmod 777 "$out/kept"
  echo x >>"$ws/.git/config"; mkdir "$ws/.git/hooks"
  echo x >"/tmp/$mark"
  # Both ways: a pipe that nobody reads would keep a writer waiting.
  (exec 3<>"$out/pipe" && echo pipe=)
  (value=$(cat /proc/sys/vm/swappiness) && echo "$value" >/proc/sys/vm/swappiness && echo kernel=)
} 2>/dev/null
cat /dev/null && echo ran=
cat "$out/hidden/x" 2>/dev/null | sed 's/^/hidden=/'
echo "pid=$(readlink /proc/self/ns/pid)"
echo "net=$(readlink /proc/self/ns/net)"
sed -n 's/^\\(CapEff\\|NoNewPrivs\\|Seccomp\\):[[:space:]]*/\\1=/p' /proc/self/status 2>/dev/null
kill -0 "$outsider" 2>/dev/null && echo signal=
echo "memory=$(ulimit -d)"
env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/variable=\\1/p'
bash -c 'exec 3<>/dev/tcp/127.0.0.1/1' 2>&1 | sed 's/^/connection=/'
(count=0; while [ $count -lt "$tried" ]; do sleep 5 </dev/null >/dev/null 2>&1 & echo started=; count=$((count + 1)); done) 2>/dev/null
echo done=
exit 0
`;

const INSPECT = `
cd "$1" || exit 1
[ -e ws/allowed ] && echo allowed
[ -e out/made ] || [ -e out/moved ] || [ -L out/link ] || [ "$(cat out/kept)" != kept ] && echo outside
[ -x out/kept ] && echo metadata
[ -e ws/.git/hooks ] || [ "$(cat ws/.git/config)" != kept ] && echo protected
[ -e "/tmp/$2" ] && echo tmp && rm -f "/tmp/$2"
exit 0
`;

const CLEAN = 'rm -rf -- "$1"';

/**
 * Probes a provider: a run that may write to its workspace, and one that may write nowhere.
 *
 * @throws {Error} with the reason when it does not confine: its runner refuses, what is allowed fails, or what is forbidden works
 *
 * @example
 * ```ts
 * import { probe, type ProbePlace } from "./probe.ts";
 * import type { SandboxProvider } from "./provider.ts";
 *
 * async function holdsFiles(provider: SandboxProvider, place: ProbePlace): Promise<boolean> {
 *   return (await probe(provider, place)).refusesOutside;
 * }
 * ```
 */
export async function probe(provider: SandboxProvider, place: ProbePlace): Promise<ProbeFacts> {
  const [folder = "", hostPid = "", hostNet = ""] = (await place.shell(STAGE, [])).split("\n");
  if (!folder.startsWith("/")) throw new Error("there is no folder to probe in");
  try {
    const mark = folder.slice(folder.lastIndexOf("/") + 1);
    const policy = policyFor(folder);
    const writing = await attempt(policy, folder, mark, place);
    const seen = await inspected(folder, mark, place);
    if (!seen.has("allowed")) throw new Error("a write to the workspace was refused too");

    await place.shell('rm -f "$1/ws/allowed"', [folder]);
    await attempt({ ...policy, mode: "read-only" }, folder, mark, place);
    const seenReadOnly = await inspected(folder, mark, place);
    if (seenReadOnly.has("allowed")) throw new Error("a write to the workspace was not refused in read-only");
    if (seen.has("outside") || seenReadOnly.has("outside")) {
      throw new Error("a write outside of the workspace was not refused");
    }

    const known = new Set([...Object.keys(policy.environment), "PWD", "OLDPWD", "SHLVL", "_"]);
    const connection = writing.connection?.join(" ") ?? "";
    const isOtherNet = isOther(writing.net, hostNet);
    return Object.freeze({
      refusesOutside: true,
      keepsProtected: !seen.has("protected"),
      refusesPipes: writing.pipe === undefined,
      hasPrivateTmp: !seen.has("tmp"),
      hides: writing.hidden === undefined,
      keepsMetadata: !seen.has("metadata"),
      refusesConnections: isOtherNet || /not permitted|not supported|denied/i.test(connection),
      filtersSockets: provider.hasSocketFilter && (writing.Seccomp?.[0] === "2" || hostNet === ""),
      hasPrivateProcesses: isOther(writing.pid, hostPid),
      // In a process list of its own the number belongs to nobody, or to one of its own.
      refusesSignals: isOther(writing.pid, hostPid) || writing.signal === undefined,
      hasNoPrivileges: /^0+$/.test(writing.CapEff?.[0] ?? "x") && writing.NoNewPrivs?.[0] === "1" &&
        writing.kernel === undefined,
      boundsProcesses: (writing.started?.length ?? 0) < PROCESSES.tried,
      boundsMemory: writing.memory?.[0] === String(MEMORY_BYTES / 1024),
      hasCleanEnvironment: (writing.variable ?? []).every((name) => known.has(name)),
    });
  } finally {
    await place.shell(CLEAN, [folder]).catch(() => {});
  }
}

function policyFor(folder: string): ResolvedPolicy {
  return {
    mode: "workspace-write",
    workspace: `${folder}/ws`,
    cwd: `${folder}/ws`,
    network: "off",
    protectedPaths: [`${folder}/ws/.git`],
    unprotectable: [],
    isScanned: true,
    hidden: [{ path: `${folder}/out/hidden`, isFolder: true }],
    environment: environmentOf(() => undefined),
    limits: { ...DEFAULT_LIMITS, processes: PROCESSES.bound, memoryBytes: MEMORY_BYTES, timeMs: PROBE_TIMEOUT_MS },
  };
}

/** What the attempts printed: each key with all its values. */
type Printed = Readonly<Record<string, readonly string[] | undefined>>;

async function attempt(policy: ResolvedPolicy, folder: string, mark: string, place: ProbePlace): Promise<Printed> {
  const { workspace } = policy;
  // Starting processes is slow on some hosts, and once is enough.
  const tried = policy.mode === "read-only" ? 0 : PROCESSES.tried;
  const argv = [
    "/bin/sh",
    "-c",
    ATTEMPTS,
    "attempts",
    workspace,
    `${folder}/out`,
    mark,
    String(tried),
    String(Deno.pid),
  ];
  const ended = await place.runConfined(argv, policy);
  if (!ended.hasStarted) {
    throw new Error(ended.runnerMessage || `its runner ended with ${ended.exitCode ?? ended.signal}`);
  }
  if (ended.ending !== "exited") throw new Error(`the probe did not end: ${ended.ending}`);
  const printed: Record<string, string[]> = {};
  for (const line of ended.stdout.text.split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) (printed[line.slice(0, at)] ??= []).push(line.slice(at + 1));
  }
  // What was not even tried was not refused.
  if (printed.ran === undefined || printed.done === undefined) {
    throw new Error(`the probe could not try everything: ${ended.stderr.text.trim() || "it ended early"}`);
  }
  return printed;
}

async function inspected(folder: string, mark: string, place: ProbePlace): Promise<ReadonlySet<string>> {
  return new Set((await place.shell(INSPECT, [folder, mark])).split("\n"));
}

function isOther(inside: readonly string[] | undefined, host: string): boolean {
  const [found = ""] = inside ?? [];
  return found !== "" && host !== "" && found !== host;
}
