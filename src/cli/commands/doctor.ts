/**
 * `holdfast doctor`: what this runtime and this medium promise, and what looks wrong.
 *
 * @module
 */
import process from "node:process";
import type { StorageTraits } from "../../../mod.ts";
import { commandDoor, type SandboxState, stateText } from "../../server/door.ts";
import type { Command } from "../command.ts";
import { DELETIONS_NAME, readDeletions } from "../deletions.ts";
import { diskUse } from "../disk_use.ts";
import { columns, counted, humanSize, shellWord } from "../format.ts";
import { SYNC_SAMPLES, syncLatency } from "../sync_latency.ts";

/** How many loose modes are printed one by one. */
const LOOSE_SHOWN_MAX = 20;

/** The modes that confine; the third one never does. */
const CONFINED_MODES = ["read-only", "workspace-write"] as const;

/**
 * Prints promises, sync latency, disk use, session states, file modes, and what confines a command here. Exit code 1 when a mode is
 * too loose or a session damaged. Leaves nothing: a scratch file has no name any more while it is measured, and the sandbox is
 * tried in a temporary folder.
 */
export const doctor: Command = {
  spec: {
    name: "doctor",
    positionals: "",
    help: "what this runtime, medium and sandbox promise, measured; disk use, loose file modes",
    flags: {},
    count: [0, 0],
  },
  async run({ out, root, cwd, openStore }) {
    await using store = await openStore();
    using line = out.progress("looking at the sessions");
    const sessions: Record<string, number> = {};
    for await (const row of store.list()) sessions[row.state] = (sessions[row.state] ?? 0) + 1;
    line.report("measuring the disk");
    const { files, sizeBytes, isComplete, unreadable, loose } = diskUse(root);
    const sync = syncLatency(root);
    line.report("trying the sandbox");
    const report = {
      runtime: runtimeName(),
      root,
      traits: store.traits,
      promise: promiseOf(store.traits),
      sync,
      disk: { files, sizeBytes, isComplete, unreadable },
      sessions,
      deletions: readDeletions(root).filter(({ state }) => state === "deleted").length,
      looseModes: loose,
      sandbox: await sandboxStates(cwd, root),
    };
    line[Symbol.dispose]();
    out.json(report);
    for (const text of columns(rowsOf(report))) out.line(text);
    for (const { name, mode, wanted } of loose.slice(0, LOOSE_SHOWN_MAX)) {
      out.note(`Loose mode: ${name} is ${mode}, wanted ${wanted}`);
    }
    if (loose.length > 0) {
      out.note(`${counted(loose.length, "loose mode")}; to close them: chmod -R go= ${shellWord(root)}`);
    }
    for (const { name, reason } of unreadable) out.note(`Not readable: ${name}: ${reason}`);
    return loose.length === 0 && unreadable.length === 0 && !("damaged" in sessions) ? 0 : 1;
  },
};

/** What would confine a command that works in this folder, one answer for each mode. */
async function sandboxStates(workspace: string, root: string): Promise<readonly SandboxState[]> {
  const door = commandDoor({ workspace, hidden: [root] });
  const states: SandboxState[] = [];
  for (const mode of CONFINED_MODES) states.push(await door.state(mode));
  return states;
}

type Report = {
  readonly runtime: string;
  readonly root: string;
  readonly traits: StorageTraits;
  readonly promise: string;
  readonly sync: ReturnType<typeof syncLatency>;
  readonly disk: Omit<ReturnType<typeof diskUse>, "loose">;
  readonly sessions: Readonly<Record<string, number>>;
  readonly deletions: number;
  readonly sandbox: readonly SandboxState[];
};

function rowsOf({ runtime, root, traits, promise, sync, disk, sessions, deletions, sandbox }: Report): string[][] {
  const latency = sync === null
    ? "not measured: neither the root's file system nor the temporary folder can be written"
    : `p50 ${sync.p50Ms.toFixed(2)} ms, p99 ${sync.p99Ms.toFixed(2)} ms (${SYNC_SAMPLES} × 200 B, ${sync.where})`;
  return [
    ["runtime", runtime],
    ["root", root],
    ...Object.entries(traits).map(([name, value]) => [name, String(value)]),
    ["promise", promise],
    ["sync latency", latency],
    [
      "disk use",
      `${humanSize(disk.sizeBytes)} in ${counted(disk.files, "file")}${disk.isComplete ? "" : ", not all counted"}`,
    ],
    ["sessions", Object.entries(sessions).map(([state, count]) => `${count} ${state}`).join(", ") || "none"],
    ["deletions", deletions === 0 ? "none recorded" : `${deletions} recorded in ${DELETIONS_NAME}`],
    ...sandbox.map((state) => [`sandbox, ${state.mode}`, stateText(state)]),
  ];
}

function promiseOf(traits: StorageTraits): string {
  if (traits.sync !== "device") {
    return "classes after a crash follow the conservative rules: this medium does not acknowledge durability";
  }
  const names = traits.names === "synced" ? "" : "; a new file's name may take longer";
  return `an acknowledged event survives kill -9, and power loss as far as the disk tells the truth${names}`;
}

function runtimeName(): string {
  const { versions, platform, arch } = process;
  const runtime = versions["deno"] === undefined ? `Node ${versions.node}` : `Deno ${versions["deno"]}`;
  return `${runtime}, ${platform} ${arch}`;
}
