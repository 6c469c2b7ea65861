/**
 * The `holdfast` command.
 *
 * @module
 */
import { resolve as resolvePath } from "node:path";
import process from "node:process";
import type { Command, CommandContext, ExitCode } from "./command.ts";
import { bench } from "./commands/bench.ts";
import { compact } from "./commands/compact.ts";
import { copy } from "./commands/copy.ts";
import { doctor } from "./commands/doctor.ts";
import { exportCommand } from "./commands/export.ts";
import { fork } from "./commands/fork.ts";
import { importCommand } from "./commands/import.ts";
import { lab } from "./commands/lab.ts";
import { ls } from "./commands/ls.ts";
import { migrate } from "./commands/migrate.ts";
import { repair } from "./commands/repair.ts";
import { resolve } from "./commands/resolve.ts";
import { rm } from "./commands/rm.ts";
import { run } from "./commands/run.ts";
import { salvage } from "./commands/salvage.ts";
import { serveCommand } from "./commands/serve.ts";
import { show } from "./commands/show.ts";
import { tail } from "./commands/tail.ts";
import { verify } from "./commands/verify.ts";
import { columns } from "./format.ts";
import { type Host, processHost } from "./host.ts";
import { HUNG_UP_EXIT_CODE } from "./interrupt.ts";
import type { Output } from "./output.ts";
import { openPlace, parsePlace, placeName } from "./place.ts";
import { report } from "./report.ts";
import { asksForJson, commandHelp, parseCommand, UsageError } from "./usage.ts";
import { tellVersion } from "./version.ts";

const COMMANDS: readonly Command[] = [
  run,
  serveCommand,
  ls,
  show,
  verify,
  repair,
  salvage,
  resolve,
  tail,
  fork,
  compact,
  copy,
  migrate,
  rm,
  exportCommand,
  importCommand,
  doctor,
  bench,
  lab,
];

/** Runs one command line. Never throws; whatever goes wrong is told on standard error and in the exit code. */
export async function main(argv: readonly string[], host: Host): Promise<ExitCode> {
  const out = host.output(asksForJson(argv));
  try {
    const code = await dispatch(argv, host, out);
    // Nothing leaves this process for a terminal that is closed.
    if (code !== HUNG_UP_EXIT_CODE) await out.settled();
    return code;
  } catch (error) {
    return report(error, out);
  }
}

async function dispatch(argv: readonly string[], host: Host, out: Output): Promise<ExitCode> {
  const [name, ...rest] = argv;
  if (name === undefined) {
    out.note(help());
    throw new UsageError("Cannot run: there is no command");
  }
  if (name === "--version") {
    tellVersion(out);
    return 0;
  }
  if (name === "help" || name === "--help" || name === "-h") return showHelp(rest[0], out);
  const command = commandOf(name);
  const args = parseCommand(command.spec, rest);
  if (args.has("help")) return showHelp(name, out);
  return await command.run(contextOf(args, host, out));
}

function contextOf(args: CommandContext["args"], host: Host, out: Output): CommandContext {
  const { env, cwd } = host;
  const folder = args.text("root") ?? env["HOLDFAST_ROOT"] ?? ".holdfast";
  // What was meant to hold a folder and is empty must not mean another one.
  if (folder === "") throw new UsageError("Cannot use $HOLDFAST_ROOT: found an empty value");
  const root = resolvePath(cwd, folder);
  // A root that is asked for by name is meant, whatever the environment says.
  const spec = args.text("store") ?? (args.has("root") ? undefined : storeOfEnvironment(env));
  const openStore = () => openPlace(spec === undefined ? { kind: "folder", root } : parsePlace(spec, cwd));
  return { args, out, host, root, cwd, env, openStore, ...namesOf(spec, cwd) };
}

/** `undefined` also where this process may not ask: `deno task serve` has leave for what it needs and no more. */
function storeOfEnvironment(env: Host["env"]): string | undefined {
  try {
    return env["HOLDFAST_STORE"];
  } catch (error) {
    if (error instanceof Error && /^(NotCapable|PermissionDenied)$/.test(error.name)) return undefined;
    throw error;
  }
}

function namesOf(spec: string | undefined, cwd: string): Pick<CommandContext, "storeName" | "storeFile"> {
  if (spec === undefined) return { storeName: null, storeFile: null };
  const place = parsePlace(spec, cwd);
  return { storeName: placeName(place), storeFile: place.kind === "sqlite" ? place.path : null };
}

function commandOf(name: string): Command {
  const command = COMMANDS.find((candidate) => candidate.spec.name === name);
  if (command !== undefined) return command;
  const found = name.startsWith("-")
    ? "the command comes first"
    : "there is no such command (holdfast help lists them)";
  throw new UsageError(`Cannot run "${name}": ${found}`);
}

function showHelp(name: string | undefined, out: Output): ExitCode {
  const text = name === undefined || name.startsWith("-") ? help() : commandHelp(commandOf(name).spec);
  out.line(text);
  out.json({ help: text });
  return 0;
}

function help(): string {
  const rows = COMMANDS.map(({ spec }) => [`  ${spec.name} ${spec.positionals}`.trimEnd(), spec.help]);
  return [
    "holdfast: a durable runtime for AI-agent sessions",
    "",
    "  Every intent is on disk before its side effect. After a crash the next start says what is true.",
    "",
    ...columns(rows),
    "",
    "  Every command takes --root DIR, --store STORE, --json and --help; --version stands alone. Exit code: 0 fine, 1 not fine, 2 usage.",
    '  With --json an error is {"error": {"code", "message"}}; the code of a usage error is USAGE.',
    "  An ID may be cut as long as one session fits. $HOLDFAST_ROOT stands for --root; a header value $secret:NAME in a",
    "  request of the agent is filled from $HOLDFAST_SECRET_NAME.",
  ].join("\n");
}

if (import.meta.main) {
  // Not process.exit(): standard output may be a pipe that is not drained yet.
  process.exitCode = await main(process.argv.slice(2), processHost());
}
