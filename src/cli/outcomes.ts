/**
 * Tells a person what a crash left, and for each outcome that is unknown what to type.
 *
 * @module
 */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isEvent, type Resumed, type UnresolvedEffect } from "../../mod.ts";
import type { CommandContext } from "./command.ts";
import { counted, piece, shellWord } from "./format.ts";

const REPOSITORY = resolve(fileURLToPath(new URL("../..", import.meta.url)));

const MEANING = {
  not_started: "not started, nothing ran",
  not_dispatched: "recorded but not dispatched, nothing ran",
  outcome_unknown: "outcome unknown, it may have run",
} as const;

const FOUND = {
  happened: "it happened",
  absent: "it did not happen and never will",
  undecidable: "the target cannot tell",
  retry: "one repetition is allowed",
} as const;

/** Says what opening the session found and closed. */
export function tellResumed(resumed: Resumed, note: (text: string) => void): void {
  const { salvagedEvents, open, calls, verdicts, pairingProblem } = resumed;
  if (pairingProblem !== null) note(`In the log, ${piece(pairingProblem)}: requests are put right`);
  if (salvagedEvents > 0) note(`Kept ${counted(salvagedEvents, "event")} of an unfinished write`);
  for (const event of verdicts) {
    if (!isEvent(event, "effect/reconciled")) continue;
    const { callId, callSeq, verdict, note: how } = event.data;
    const because = how === undefined ? "" : ` (${piece(how)})`;
    note(`Looked up what became of ${piece(callId)}, seq ${callSeq}: ${FOUND[verdict]}${because}`);
  }
  if (open === null) return;
  note(`Turn ${open.turn} was interrupted and is closed now`);
  for (const call of calls) note(`  ${piece(call.name)} ${piece(call.callId)}: ${MEANING[call.class]}`);
}

/** Names each unknown effect with its evidence and the command that settles it. */
export function tellUnresolved(
  id: string,
  effects: readonly UnresolvedEffect[],
  context: CommandContext,
  note: (text: string) => void,
): void {
  if (effects.length === 0) return;
  note(`${counted(effects.length, "outcome")} unknown. Find out what happened, then type, when this run is over:`);
  for (const { callSeq, name, arguments: text, effectKey } of effects) {
    note(`  ${piece(name)} ${piece(text)}${effectKey === null ? "" : `, effect key ${effectKey}`}`);
    note(`    ${commandLine(context, "resolve", id, String(callSeq), "--happened")}    (or --absent, --retry)`);
  }
}

/** A command as the person can type it here: with the way to Deno, to this repository and to the root. */
export function commandLine(
  { args, env, cwd }: Pick<CommandContext, "args" | "env" | "cwd">,
  ...words: readonly string[]
): string {
  const deno = env["npm_command"] === "exec" ? "npx -y deno@2.9.6" : "deno";
  const isInside = cwd === REPOSITORY || cwd.startsWith(REPOSITORY + "/");
  const config = isInside ? [] : ["--config", `${REPOSITORY}/deno.json`];
  const [root, store] = [args.text("root"), args.text("store")];
  const place = [...(root === undefined ? [] : ["--root", root]), ...(store === undefined ? [] : ["--store", store])];
  return [
    deno,
    "task",
    ...[...config, "holdfast", ...words, ...place].map(shellWord),
  ].join(" ");
}
