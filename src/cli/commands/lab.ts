/**
 * `holdfast lab`: the crash lab.
 *
 * @module
 */
import {
  ALPHABET,
  COMPRESSIONS,
  EXHAUSTIVE_LETTERS_MAX,
  type LabTally,
  lettersInWords,
  MEDIA,
  minimise,
  parseUnit,
  replayUnit,
  type Trial,
  type Unit,
  UNIT_FORM,
  unitText,
} from "../../testing/mod.ts";
import type { Command, CommandContext, ExitCode } from "../command.ts";
import { columns, counted } from "../format.ts";
import { judgesDecoder } from "../judges_decoder.ts";
import { runLabThreads } from "../lab_threads.ts";
import { UsageError } from "../usage.ts";

/** How many states are tried unless the command says otherwise. */
const STATES_DEFAULT = 20_000;
/** How many threads there may be. */
const THREADS_MAX = 64;
/** How many violations are shown whole, and made smaller. */
const VIOLATIONS_SHOWN_MAX = 5;
/** Flags that mean nothing to a replay: the unit says all of it. */
const FLAGS_OF_EXPLORING = ["states", "exhaustive", "threads"] as const;

/** Runs the lab. Exit code 1 when a promise was broken. Nothing is read from the root and nothing written. */
export const lab: Command = {
  spec: {
    name: "lab",
    positionals: "",
    help: "the crash lab: crash states of simulated media, each opened, repaired, gone on with and judged",
    flags: {
      states: {
        value: "N",
        help: `how many states to draw (default ${STATES_DEFAULT}); with --exhaustive beside all of those`,
      },
      seed: { value: "S", help: "which states are drawn (default 1); the same seed is the same run" },
      exhaustive: { help: `all states of all workloads of up to ${EXHAUSTIVE_LETTERS_MAX} batches: takes two hours` },
      threads: { value: "N", help: "how many threads (default 2)" },
      replay: { value: "UNIT[#STATE]", help: "try one unit again, or one state of it, as a violation names it" },
      units: { help: "say what a unit is made of: its parts, and the letters workloads are written with" },
    },
    count: [0, 0],
  },
  async run(context) {
    const seed = context.args.count("seed") ?? 1;
    const replay = context.args.text("replay");
    if (context.args.has("units")) return tellUnits(context);
    if (replay === undefined) return await explore(context, seed);
    const ignored = FLAGS_OF_EXPLORING.find((name) => context.args.has(name));
    if (ignored !== undefined) {
      throw new UsageError(`Cannot use --${ignored} with --replay: a unit has states of its own`);
    }
    return await again(context, seed, replay);
  },
};

async function explore({ args, out, host }: CommandContext, seed: number): Promise<ExitCode> {
  const isExhaustive = args.has("exhaustive");
  const states = args.count("states") ?? (isExhaustive ? 0 : STATES_DEFAULT);
  const threads = args.count("threads") ?? 2;
  if (threads < 1 || threads > THREADS_MAX) {
    throw new UsageError(`Cannot use --threads ${threads}: wanted 1 to ${THREADS_MAX}`);
  }
  if (states === 0 && !isExhaustive) throw new UsageError("Cannot use --states 0: wanted at least 1, or --exhaustive");
  const faultStates = Math.floor(states / 4);
  // Long conversations take ten times as long to try.
  const compactionStates = Math.floor(states / 16);
  const task = {
    ...{ seed, randomStates: states - faultStates - compactionStates, faultStates, compactionStates },
    exhaustive: isExhaustive ? Array.from({ length: EXHAUSTIVE_LETTERS_MAX }, (_, index) => index + 1) : [],
  };
  const startMs = performance.now();
  const seconds = () => (performance.now() - startMs) / 1000;
  const abort = new AbortController();
  const stopListening = host.onInterrupt(() => abort.abort(new Error("Cannot go on: interrupted")));
  try {
    using line = out.progress("preparing");
    const report = (sum: LabTally) => line.report(progressText(sum, seconds(), isExhaustive ? null : states));
    const tally = await runLabThreads(task, threads, report, abort.signal);
    line.report("making the violations smaller");
    const smaller = await smallest(tally);
    line[Symbol.dispose]();
    const { exhaustiveStates, violations, violationCount, media, classes, verdicts } = tally;
    const refused = media.posix.refused + media.opfs.refused;
    const document = { states: tally.states, exhaustiveStates, violations, seed, seconds: seconds() };
    out.json({
      ...document,
      compactionStates: tally.compactionStates,
      violationCount,
      refused,
      media,
      classes,
      verdicts,
      smallest: smaller,
    });
    for (const text of summary(tally, seconds())) out.line(text);
    for (const text of smaller) out.line(text);
    return violationCount === 0 ? 0 : 1;
  } finally {
    stopListening();
  }
}

function progressText(tally: LabTally, seconds: number, wanted: number | null): string {
  const { states, violationCount } = tally;
  const rate = states / seconds;
  // Of the exhaustive part it is known how many units there are, and about how many states each of them has.
  const total = wanted ?? states / tally.units * exhaustiveUnitCount();
  const leftSeconds = Math.max(0, (total - states) / rate);
  const left = Number.isFinite(leftSeconds) ? `, about ${duration(leftSeconds)} left` : "";
  return `${states} states, ${rate.toFixed(0)} a second${left}${
    violationCount > 0 ? `, ${violationCount} VIOLATIONS` : ""
  }`;
}

function exhaustiveUnitCount(): number {
  let count = 0;
  for (let letters = 1; letters <= EXHAUSTIVE_LETTERS_MAX; letters++) {
    count += ALPHABET.length ** letters * MEDIA.length * COMPRESSIONS.length;
  }
  return count;
}

/** What can be typed behind `--replay`. */
function tellUnits({ out }: CommandContext): ExitCode {
  const letters = lettersInWords();
  out.json({ unit: UNIT_FORM, letters: Object.fromEntries(letters) });
  const lines = [
    `A unit is ${UNIT_FORM}`,
    "",
    ...columns([
      ["all", "every state that a crash in the last letter can leave"],
      ["random", "a long run: some states of each life, and what follows from them; answers come late or never"],
      ["fault", "one call of the medium fails, the OPERATION-th from 0, once or (.sticky) for good"],
      ["posix, opfs", "the simulated medium"],
      ["none, zstd", "how the log is stored"],
      [
        "LETTERS",
        "what is done, joined by -, each letter one input; / is a crash, and another process goes on behind it",
      ],
    ]),
    "",
    ...columns(letters.map(([letter, words]) => [letter, words])),
    "",
    "deno task holdfast lab --seed 1 --replay all:posix:zstd:pay-say",
  ];
  for (const line of lines) out.line(line);
  return 0;
}

function duration(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
}

function summary(tally: LabTally, seconds: number): string[] {
  const { states, exhaustiveStates, randomStates, faultStates, compactionStates, nestedStates } = tally;
  const { media, violationCount } = tally;
  const said = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).sort().map(([name, times]) => `${times} ${name}`).join(", ") || "none";
  const percent = (part: number, whole: number) => `${part} (${(whole === 0 ? 0 : 100 * part / whole).toFixed(2)} %)`;
  return columns([
    ["states", `${states} in ${duration(seconds)}, ${(states / seconds).toFixed(0)} a second`],
    [
      "of them",
      `${exhaustiveStates} exhaustive, ${randomStates} random, ${faultStates} of failing calls, ` +
      `${compactionStates} with compactions; ${nestedStates} of all after an earlier crash`,
    ],
    ...Object.entries(media).map(([name, found]) => [
      name,
      `${found.states} states, refused as damage ${percent(found.refused, found.states)}, ` +
      `forgotten with its name ${percent(found.forgotten, found.states)}`,
    ]),
    ["classes", said(tally.classes)],
    ["verdicts", said(tally.verdicts)],
    ["violations", String(violationCount)],
  ]);
}

/** For the first violation of each checker: the smallest run that shows it. */
async function smallest({ violations }: LabTally): Promise<string[]> {
  const texts: string[] = [];
  const checkers = new Set(violations.map(({ checker }) => checker));
  for (const checker of [...checkers].slice(0, VIOLATIONS_SHOWN_MAX)) {
    const { seed, replay } = violations.find((violation) => violation.checker === checker)!;
    const trial = await minimise(parseUnit(replay.split("#")[0]!, seed), checker, { decodeFrame: judgesDecoder });
    if (trial !== null) texts.push("", ...script(trial));
  }
  return texts;
}

/** One state as a script for a person: what was done, when the crash came, what it left, what was said, what is wrong. */
function script({ unit, number, describe, tried, violations }: Trial): string[] {
  const { trace, refused } = tried;
  const reports = trace.reports.map(({ callId, class: said, verdict }) =>
    [callId, said, verdict].filter(Boolean).join(" ")
  );
  const ending = refused ?? (trace.liveness === "stuck" ? "it did not go on" : "it went on");
  return [
    `deno task holdfast lab --seed ${unit.seed} --replay ${unitText(unit)}#${number}`,
    ...unit.lives.flatMap((life, index) => life.map((letter) => `  process ${index}: ${letter}, ${wordsOf(letter)}`)),
    ...(unit.fault === undefined ? [] : [
      `  call ${unit.fault.operation} of the medium fails: ${unit.fault.kind}${
        unit.fault.isSticky ? ", for good" : ""
      }`,
    ]),
    `  process ${trace.incarnation} crashes at step ${trace.crashedAtStep}: ${describe()}`,
    `  said: ${reports.join("; ") || "nothing"}; then ${ending}`,
    ...violations.map(({ checker, message }) => `  ${checker}: ${message}`),
  ];
}

function wordsOf(letter: string): string {
  return lettersInWords().find(([name]) => name === letter)?.[1] ?? "";
}

async function again({ out }: CommandContext, seed: number, replay: string): Promise<ExitCode> {
  const [text, number, ...rest] = replay.split("#");
  if (rest.length > 0 || (number !== undefined && !/^\d+$/.test(number))) {
    throw new UsageError(`Cannot use --replay "${replay}": wanted UNIT or UNIT#STATE`);
  }
  const wanted = number === undefined ? undefined : Number(number);
  const trials = await replayUnit(unitOf(text!, seed), wanted, { decodeFrame: judgesDecoder });
  if (trials.length === 0) throw new UsageError(`Cannot use --replay "${replay}": the unit has no such state`);
  const broken = trials.filter(({ violations }) => violations.length > 0);
  out.json({ seed, states: trials.length, violations: broken.flatMap(({ violations }) => violations) });
  for (const trial of wanted === undefined ? broken : trials) for (const line of script(trial)) out.line(line);
  out.line(`${counted(trials.length, "state")}, ${broken.length} with a violation`);
  return broken.length === 0 ? 0 : 1;
}

function unitOf(text: string, seed: number): Unit {
  try {
    return parseUnit(text, seed);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
