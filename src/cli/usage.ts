/**
 * Usage: what a person may type, and the error when it is something else.
 *
 * @module
 */
import { parseArgs } from "node:util";

/** The command line or the environment is wrong. Exit code 2; nothing was written. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** One flag: `--name VALUE` or, when `value` is absent, a switch. */
export interface Flag {
  readonly value?: string;
  readonly help: string;
  readonly many?: boolean;
}

/** One subcommand as a person sees it. */
export interface CommandSpec {
  readonly name: string;
  /** What comes after the name, for the usage line. */
  readonly positionals: string;
  readonly help: string;
  readonly flags: Readonly<Record<string, Flag>>;
  /** How many positionals may follow: inclusive. */
  readonly count: readonly [number, number];
}

/** The parsed command line of one subcommand. */
export interface Parsed {
  readonly positionals: readonly string[];
  /** The value of a flag, or `undefined`. Never empty. */
  text(name: string): string | undefined;
  /** Every value of a repeatable flag. */
  texts(name: string): readonly string[];
  has(name: string): boolean;
  /** A non-negative safe integer. */
  count(name: string): number | undefined;
}

const COMMON_FLAGS: Readonly<Record<string, Flag>> = {
  root: { value: "DIR", help: "where sessions are kept (else $HOLDFAST_ROOT, else ./.holdfast)" },
  store: { value: "STORE", help: "sqlite:FILE or postgres://… instead of the root (else $HOLDFAST_STORE)" },
  json: { help: "print one JSON document on standard output and nothing else" },
  help: { help: "show this" },
};

/** Whether `--json` is asked for. Needed before anything can be wrong: errors are a document too then. */
export function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end === -1 ? argv : argv.slice(0, end)).includes("--json");
}

/** Parses what follows the subcommand's name. Throws {@linkcode UsageError}. */
export function parseCommand(spec: CommandSpec, args: readonly string[]): Parsed {
  const flags = { ...COMMON_FLAGS, ...spec.flags };
  const { positionals, given } = parse(spec, flags, args);
  for (const [name, values] of given) {
    if (values.length > 1 && flags[name]!.many !== true) throw new UsageError(`Cannot use --${name} twice`);
    if (values.includes("")) throw new UsageError(`Cannot use --${name}: found an empty value`);
  }
  const [least, most] = spec.count;
  const isHelp = given.has("help");
  if (!isHelp && (positionals.length < least || positionals.length > most)) {
    const wanted = least === most ? String(least) : most === Infinity ? `at least ${least}` : `${least} to ${most}`;
    throw new UsageError(
      `Cannot run "${spec.name}": found ${positionals.length} argument(s), wanted ${wanted}: ${usageLine(spec)}`,
    );
  }
  const texts = (name: string) => (given.get(name) ?? []) as string[];
  return {
    positionals,
    text: (name) => texts(name)[0],
    texts,
    has: (name) => given.has(name),
    count: (name) => texts(name)[0] === undefined ? undefined : parseCount(`--${name}`, texts(name)[0]!),
  };
}

/** Every flag with its values in order: texts, or `true` for a switch. */
type Given = Map<string, (string | true)[]>;

function parse(
  spec: CommandSpec,
  flags: Readonly<Record<string, Flag>>,
  args: readonly string[],
): { positionals: string[]; given: Given } {
  const options: Record<string, { type: "string" | "boolean"; short?: string }> = {};
  for (const [name, { value }] of Object.entries(flags)) {
    options[name] = { type: value === undefined ? "boolean" : "string", ...(name === "help" ? { short: "h" } : {}) };
  }
  try {
    const { positionals, tokens } = parseArgs({ args: [...args], options, allowPositionals: true, tokens: true });
    const given: Given = new Map();
    for (const token of tokens) {
      if (token.kind === "option") given.set(token.name, [...given.get(token.name) ?? [], token.value ?? true]);
    }
    return { positionals, given };
  } catch (error) {
    throw new UsageError(mistakeIn((error as Error).message, spec.name));
  }
}

/** What the parser found, in our words. */
function mistakeIn(found: string, command: string): string {
  const option = /'(-[^' ]*)/.exec(found)?.[1] ?? "";
  const flag = option.split("=")[0];
  if (found.startsWith("Unknown option")) {
    const advice = `holdfast ${command} --help lists them; put -- before a word that begins with "-"`;
    return `Cannot run "${command}": there is no option "${option}" (${advice})`;
  }
  if (found.includes("ambiguous")) {
    return `Cannot use ${flag}: there is no value (one that begins with "-" is written ${flag}=-…)`;
  }
  if (found.includes("argument missing")) return `Cannot use ${flag}: there is no value`;
  if (found.includes("does not take an argument")) return `Cannot use ${flag}: it takes no value`;
  return `Cannot read the command line: ${found.replace(/\s+/g, " ")}`;
}

/** Parses a non-negative safe integer. `name` is how the message calls it. */
export function parseCount(name: string, value: string): number {
  const number = Number(value);
  if (!/^\d{1,16}$/.test(value) || !Number.isSafeInteger(number)) {
    throw new UsageError(`Cannot use ${name} "${value}": wanted a whole number from 0`);
  }
  return number;
}

/** Parses an age such as `30d`, `12h`, `45m`, `10s` into milliseconds. */
export function parseAge(name: string, value: string): number {
  const match = /^(\d{1,9})(s|m|h|d)$/.exec(value);
  if (match === null) {
    throw new UsageError(`Cannot use ${name} "${value}": wanted a number and s, m, h or d, such as 30d`);
  }
  const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match[2] as "s" | "m" | "h" | "d"];
  return Number(match[1]) * unitMs;
}

/** The help text of one subcommand. */
export function commandHelp(spec: CommandSpec): string {
  const flags = Object.entries({ ...spec.flags, ...COMMON_FLAGS }).map(([name, flag]) => {
    const left = flag.value === undefined ? `--${name}` : `--${name} ${flag.value}`;
    return `  ${left.padEnd(26)} ${flag.help}${flag.many === true ? " (may be repeated)" : ""}`;
  });
  return [usageLine(spec), "", `  ${spec.help}`, "", ...flags].join("\n");
}

function usageLine(spec: CommandSpec): string {
  return `holdfast ${spec.name} ${spec.positionals}`.trimEnd();
}
