/**
 * `holdfast verify`: what a log is, byte for byte, and what repair would add.
 *
 * @module
 */
import { type HoldfastError, logFold, type LogFolds } from "../../../mod.ts";
import type { Command, CommandContext } from "../command.ts";
import { diagnosed, type DiagnosedVerdict, printFindings } from "../diagnosis.ts";
import { counted, humanSize, piece } from "../format.ts";
import { examine, type Examined, unreadable, type Verdict } from "../inspect.ts";
import type { Output } from "../output.ts";
import { isWhole, lossLines, lossText } from "../spilled_report.ts";
import { findTarget } from "../target.ts";

/**
 * Verifies sessions and bare log files. Exit code 1 on damage, and when a long result beside the log is lost.
 *
 * Each argument gets its row, in the order given: one that is not there or cannot be read too, with the error's code as damage.
 */
export const verify: Command = {
  spec: {
    name: "verify",
    positionals: "ID|FILE…",
    help:
      "read logs whole and say what is there: frames, events, torn tail, damage, open calls, closers, long results that are lost",
    flags: {},
    count: [1, Infinity],
  },
  async run(context) {
    const { args, out } = context;
    const verdicts: DiagnosedVerdict[] = [];
    for (const argument of args.positionals) {
      const { verdict: plain, folds, root } = await examineArgument(context, argument);
      const verdict = await diagnosed(plain, context.cwd, root);
      verdicts.push(verdict);
      print(out, verdict);
      printFindings(out, verdict);
      printUnsettled(out, folds);
      printLost(out, verdict);
      if (verdict.damage === null && isWhole(verdict.spilled)) out.line(`  ${conclusion(verdict)}`);
      noteNesting(out, verdict, folds);
    }
    out.json(verdicts);
    return verdicts.some(({ damage, spilled }) => damage !== null || !isWhole(spilled)) ? 1 : 0;
  },
};

/** The verdict, and the root when the log is a session's there. */
async function examineArgument(
  context: CommandContext,
  argument: string,
): Promise<Examined & { readonly root: string | null }> {
  try {
    await using target = await findTarget(argument, context);
    return { ...await examine(target, context.out), root: target.id === null ? null : context.root };
  } catch (error) {
    const nowhere = { file: argument, sizeBytes: 0, encoding: null, live: false };
    const verdict = unreadable(nowhere, error);
    if (verdict === null) throw error;
    // In text the verdict says it already.
    if (context.out.isJson) context.out.note(`${(error as HoldfastError).code}: ${(error as HoldfastError).message}`);
    return { verdict, folds: logFold.initial(), root: null };
  }
}

function print(out: Output, verdict: DiagnosedVerdict): void {
  const { id, version, encoding, sizeBytes, frames, events, torn, damage, open, closers } = verdict;
  out.line(verdict.file);
  if (id !== null) {
    const unit = encoding === "zstd" ? "frame" : "line";
    // A database keeps neither frames nor lines.
    const pieces = encoding === null ? "rows" : `${encoding}, ${humanSize(sizeBytes)}, ${counted(frames, unit)}`;
    out.line(`  session ${piece(id)}, version ${version}, ${pieces}, ${counted(events, "event")}`);
  }
  if (verdict.live) out.line("  live: a writer holds it now");
  if (torn !== null) {
    const where = `${counted(torn.bytes, "byte")} from offset ${torn.offsetBytes}`;
    out.line(`  torn tail: ${where}, ${counted(torn.salvagedEvents, "event")} of it readable`);
  }
  if (damage !== null) {
    const offset = damage.offsetBytes === null ? "" : ` at offset ${damage.offsetBytes}`;
    const seq = damage.seq === null ? "" : ` (seq ${damage.seq})`;
    out.line(`  damage: ${damage.code}, ${damage.kind}${offset}${seq}`);
    out.line(`    ${piece(damage.message)}`);
  }
  if (open !== null) out.line(`  open: turn ${open.turn}${open.step === null ? "" : `, step ${open.step}`}`);
  for (const { name, callId, callSeq, class: found, nested = [] } of open?.calls ?? []) {
    out.line(`    ${piece(name)} ${piece(callId)}${callSeq === null ? "" : ` (seq ${callSeq})`}: ${found}`);
    for (const inner of nested) {
      out.line(`      ${piece(inner.name)} ${piece(inner.callId)} (seq ${inner.callSeq}): ${inner.class}`);
    }
  }
  if (closers.length > 0) out.line(`  repair would add: ${closers.map((closer) => closer.type).join(", ")}`);
}

/** The log says what they were, and where; it is whole itself, and can be written. */
function printLost(out: Output, { spilled, damage }: Verdict): void {
  if (spilled === undefined || isWhole(spilled)) return;
  out.line(`  damage beside the log: ${lossText(spilled)}${damage === null ? "; the log itself is whole" : ""}`);
  for (const line of lossLines(spilled)) out.line(`    ${line}`);
}

/** What only a person or a lookup can settle. Calls that a repair would close first are listed as open instead. */
function printUnsettled(out: Output, { unresolved }: LogFolds): void {
  for (const { name, callId, callSeq, isClosed } of unresolved.effects) {
    if (isClosed) {
      out.line(`  outcome unknown: ${piece(name)} ${piece(callId)} (seq ${callSeq}), to be settled by resolve`);
    }
  }
}

/** Reported, because it tells of a writer that is not ours, and no damage, because the format lets it pass. */
function noteNesting(out: Output, { file }: Verdict, { brackets: { problems } }: LogFolds): void {
  if (problems.count === 0) return;
  out.note(`${file}: ${counted(problems.count, "event")} out of place, which the format lets pass:`);
  for (const { seq, message } of problems.first) out.note(`  seq ${seq}: ${message}`);
}

function conclusion({ open, torn, live }: Verdict): string {
  if (open === null && torn === null) return "ok";
  return live ? "ok so far, as its writer is still at work" : "ok, to be repaired at the next open for writing";
}
