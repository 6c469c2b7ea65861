/**
 * What `holdfast import` does with the session log of another program.
 *
 * @module
 */
import { newSessionId } from "../../mod.ts";
import { openFileLogs } from "../entry/file.ts";
import { convertForeign, type ForeignConversion, recogniseForeign } from "../entry/foreign.ts";
import { systemRuntime } from "../entry/system.ts";
import { counted } from "./format.ts";
import type { Output } from "./output.ts";

/**
 * Makes a session of a log of Claude Code, OpenAI Codex or pi, whole or not at all, and reports what was left out. Returns false,
 * and does nothing, for any other file.
 */
export async function importForeignLog(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  { out, root }: { readonly out: Output; readonly root: string },
): Promise<boolean> {
  if (recogniseForeign(bytes) === null) return false;
  const { clock, random } = systemRuntime;
  using _ = out.progress(`reading "${name}"`);
  const made = await convertForeign({ newId: () => newSessionId(clock, random), name, bytes });
  if (made === null) return false;
  const { id, log, ...report } = made;
  await openFileLogs({ root }).take(`${id}.jsonl.zstd`, log);
  out.json({ id, damage: null, foreign: report });
  for (const line of reportLines(made)) out.line(line);
  return true;
}

function reportLines({ id, program, events, messages, losses, inferred }: ForeignConversion): string[] {
  const left = losses.map(({ kind, count, firstLine }) => `  ${kind}: ${count}, first on line ${firstLine}`);
  return [
    `Session ${id} was made of a log of ${program}: ${counted(messages, "message")}, ${counted(events, "event")}`,
    ...(left.length === 0 ? ["Nothing was left out"] : ["Left out:", ...left]),
    ...(inferred.length === 0 ? [] : ["Concluded, and not in the file:", ...inferred.map((what) => `  ${what}`)]),
  ];
}
