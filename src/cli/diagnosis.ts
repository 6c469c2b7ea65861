/**
 * A verdict on a log with everything that is wrong with it: the kind of its damage, and what else there is behind it.
 *
 * @module
 */
import { resolve } from "node:path";
import { hasCode } from "../../mod.ts";
import { diagnoseFile, type Diagnosis } from "../entry/salvage_file.ts";
import { counted, piece } from "./format.ts";
import type { Damage, Verdict } from "./inspect.ts";
import type { Output } from "./output.ts";

/** One row of `verify --json`. */
export interface DiagnosedVerdict extends Verdict {
  readonly damage: (Damage & { readonly kind: string }) | null;
  /** Everything that is wrong or strange, in the order of the file, at most 100. */
  readonly findings: readonly Diagnosis[];
  /** How many more there are. */
  readonly findingsOmitted: number;
}

/** How many findings beside the damage itself are told a person. */
const FINDINGS_TOLD_MAX = 20;

/**
 * Adds what is wrong to a verdict. What the reader of the log lets pass is no damage, whatever it looks like.
 *
 * @param root the store's folder when the log is a session's there; `null` for a bare file, whose place means nothing
 */
export async function diagnosed(verdict: Verdict, cwd: string, root: string | null): Promise<DiagnosedVerdict> {
  const found = await findingsOf(verdict, cwd, root);
  const { damage, torn } = verdict;
  const isTail = ({ offsetBytes }: Diagnosis) => torn !== null && (offsetBytes ?? -1) >= torn.offsetBytes;
  const findings = damage !== null ? found.findings : found.findings.map((finding): Diagnosis => {
    if (finding.severity !== "damage") return finding;
    return { ...finding, severity: isTail(finding) ? "tail" : "oddity" };
  });
  const named = damage === null ? null : {
    ...{ code: damage.code, kind: kindOf(damage, findings), offsetBytes: damage.offsetBytes },
    ...{ seq: damage.seq, message: damage.message },
  };
  // An old log is read as what a migration makes of it; what is asked about is the file.
  const version = verdict.id === null ? verdict.version : found.version ?? verdict.version;
  return { ...verdict, version, damage: named, findings, findingsOmitted: found.omitted };
}

async function findingsOf(
  { file, damage }: Verdict,
  cwd: string,
  root: string | null,
): Promise<{ readonly findings: readonly Diagnosis[]; readonly omitted: number; readonly version: number | null }> {
  // A file that is not there, or cannot be read, has been told already.
  const isReadable = damage === null || damage.code.startsWith("CORRUPT_") || damage.code === "UNSUPPORTED_FORMAT";
  if (!isReadable) return NOTHING;
  try {
    const { findings, omitted, around, version } = await diagnoseFile(
      resolve(cwd, file),
      root === null ? {} : { root },
    );
    return { findings: [...around, ...findings], omitted, version };
  } catch (error) {
    if (hasCode(error, "NOT_FOUND") || hasCode(error, "STORAGE_LOST")) return NOTHING;
    throw error;
  }
}

const NOTHING = { findings: [], omitted: 0, version: null };

/** The kind of what forbids writing: of the finding at its place, or of the first one. */
function kindOf({ code, offsetBytes, seq }: Damage, findings: readonly Diagnosis[]): string {
  const damages = findings.filter(({ severity }) => severity === "damage");
  const isThere = (finding: Diagnosis) => finding.offsetBytes === offsetBytes;
  const found = damages.find((finding) => isThere(finding) && finding.code === code) ?? damages.find(isThere) ??
    damages.find((finding) => seq !== null && finding.seq === seq) ??
    damages.find((finding) => finding.code === code) ??
    (code.startsWith("CORRUPT_") ? damages[0] : undefined);
  return found?.kind ?? code.toLowerCase().replaceAll("_", "-");
}

/** Tells what is wrong beside the damage that was told. */
export function printFindings(out: Output, { damage, findings, findingsOmitted }: DiagnosedVerdict): void {
  const others = findings.filter(({ kind, offsetBytes, severity }) =>
    severity !== "tail" && !(kind === damage?.kind && offsetBytes === damage.offsetBytes)
  );
  for (const { kind, offsetBytes, seq, severity, message } of others.slice(0, FINDINGS_TOLD_MAX)) {
    const where = offsetBytes === null ? "" : ` at offset ${offsetBytes}${seq === null ? "" : ` (seq ${seq})`}`;
    out.line(`  ${severity === "damage" ? "also" : "strange, and harmless"}: ${kind}${where}: ${piece(message)}`);
  }
  const more = Math.max(0, others.length - FINDINGS_TOLD_MAX) + findingsOmitted;
  if (more > 0) out.line(`  and ${counted(more, "finding")} more`);
}
