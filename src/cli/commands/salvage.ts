/**
 * `holdfast salvage`: what can be recovered of a damaged or forked log, as a new session.
 *
 * @module
 */
import { resolve } from "node:path";
import { newSessionId } from "../../../mod.ts";
import {
  type LogDiagnosis,
  type PlannedCopy,
  planSalvageFile,
  type Salvaged,
  type SalvagedSession,
  salvageFile,
  type SalvagePlan,
} from "../../entry/salvage_file.ts";
import { systemRuntime } from "../../entry/system.ts";
import type { Command } from "../command.ts";
import { counted, humanSize, piece, shellWord } from "../format.ts";
import type { Output } from "../output.ts";
import { UsageError } from "../usage.ts";

/** How many pieces, and how many remarks, are told a person one by one. */
const TOLD_MAX = 20;

/**
 * Writes new sessions below `--out`, with everything that can be recovered; the last event of each says what was kept, dropped and
 * inferred. With `--dry-run` it says so and writes nothing. The file is only read. Exit code 1 when there is nothing in it, or it is
 * forked and nothing says which branch to keep.
 */
export const salvage: Command = {
  spec: {
    name: "salvage",
    positionals: "FILE --out DIR",
    help: "recover a damaged or forked log into a new session; the file is only read, and nothing is dropped silently",
    flags: {
      out: { value: "DIR", help: "the root that the new session goes to, made when it is not there" },
      "dry-run": { help: "say what would be kept, dropped and inferred, write nothing" },
      keep: { value: "BRANCH", help: "of a forked log: A, B, … or both (each becomes a session)" },
    },
    count: [1, 1],
  },
  async run({ args, out, cwd }) {
    const file = args.positionals[0]!;
    const folder = args.text("out");
    const isDryRun = args.has("dry-run");
    if (folder === undefined && !isDryRun) {
      throw new UsageError(`Cannot salvage "${file}": give --out DIR, or --dry-run`);
    }
    const path = resolve(cwd, file);
    using line = out.progress(`reading ${file}`);
    const plan = await planSalvageFile(path);
    line.report(`salvaging ${file}`);

    const filled = plan.copies.filter(({ events }) => events > 0);
    const keep = keptBranches(args.text("keep"), filled.map(({ branch }) => branch));
    if (isDryRun || keep === null) {
      out.json(documentOf(file, isDryRun, plan, []));
      tell(out, file, plan, keep === null ? filled : filled.filter(({ branch }) => keep.includes(branch)), "would be");
      if (keep !== null || isDryRun) return 0;
      const choices = filled.map(({ branch }) => branch).join(", ");
      out.note(
        `Cannot salvage "${file}": it is forked; say --keep ${choices.replaceAll(", ", " or --keep ")} or --keep both`,
      );
      return 1;
    }
    const root = resolve(cwd, folder!);
    const { clock, random } = systemRuntime;
    const salvaged: Salvaged = await salvageFile(path, { root, keep, plan, newId: () => newSessionId(clock, random) });
    out.json(documentOf(file, false, plan, salvaged.sessions));
    tell(out, file, plan, salvaged.sessions, "were");
    for (const { id, missingBlobs } of salvaged.sessions) {
      out.line(`Session ${id}: holdfast show ${id} --root ${shellWord(folder!)}`);
      for (const digest of missingBlobs) out.note(`The blob ${digest}, which its events name, could not be copied`);
    }
    return 0;
  },
};

/** The branches to keep; `null` when there are several and nothing says which. */
function keptBranches(keep: string | undefined, names: readonly string[]): readonly string[] | null {
  if (keep === undefined) return names.length > 1 ? null : names;
  if (keep === "both" || keep === "all") return names;
  if (names.includes(keep)) return [keep];
  throw new UsageError(`Cannot keep branch "${keep}": wanted ${names.join(", ")} or both`);
}

function documentOf(file: string, isDryRun: boolean, plan: SalvagePlan, sessions: readonly SalvagedSession[]): unknown {
  const { source, diagnosis: { version, encoding, findings, omitted, branches }, copies } = plan;
  return {
    ...{ file, isDryRun, source, version, encoding, branches, copies },
    ...{ sessions, findings, findingsOmitted: omitted },
  };
}

function tell(out: Output, file: string, plan: SalvagePlan, copies: readonly PlannedCopy[], verb: string): void {
  const { source, diagnosis } = plan;
  out.line(file);
  out.line(
    `  version ${diagnosis.version}, ${diagnosis.encoding}, ${humanSize(source.sizeBytes)}, SHA-256 ${source.sha256}`,
  );
  if (diagnosis.branches.length > 1) tellBranches(out, diagnosis);
  for (const { branch, events, kept, dropped, inferred } of copies) {
    const of = diagnosis.branches.length > 1 ? `branch ${branch}: ` : "";
    const ranges = kept.map(([first, last]) => first === last ? String(first) : `${first}–${last}`).join(", ");
    out.line(`  ${of}${counted(events, "event")} ${verb} kept: seq ${piece(ranges)}`);
    for (const { offsetBytes, sizeBytes, reason } of dropped.slice(0, TOLD_MAX)) {
      out.line(`    dropped: ${counted(sizeBytes, "byte")} from offset ${offsetBytes}: ${piece(reason)}`);
    }
    if (dropped.length > TOLD_MAX) out.line(`    dropped: ${counted(dropped.length - TOLD_MAX, "more piece")}`);
    for (const remark of inferred.slice(0, TOLD_MAX)) out.line(`    inferred: ${piece(remark)}`);
    if (inferred.length > TOLD_MAX) out.line(`    inferred: ${counted(inferred.length - TOLD_MAX, "more remark")}`);
  }
}

function tellBranches(out: Output, { branches }: LogDiagnosis): void {
  for (const { name, parent, forkSeq, forkOffsetBytes, lastSeq, events } of branches) {
    const from = parent === null
      ? "the first writer"
      : `leaves ${parent} before seq ${forkSeq}, at offset ${forkOffsetBytes}`;
    out.line(`  branch ${name}: ${from}; ${counted(events, "event")} of its own, up to seq ${lastSeq ?? "none"}`);
  }
}
