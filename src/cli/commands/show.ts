/**
 * `holdfast show`: the events of a log, or the messages the model sees.
 *
 * @module
 */
import {
  deriveMessages,
  FORMAT_VERSION,
  jsonText,
  type LogReader,
  type SessionEvent,
  type SpilledCheck,
  UnsupportedFormatError,
} from "../../../mod.ts";
import type { Command } from "../command.ts";
import { describeEvent, describeMessage } from "../describe.ts";
import { evidenceLines } from "../evidence.ts";
import { counted, humanTime } from "../format.ts";
import { inspect, inspectSpilled } from "../inspect.ts";
import { LossMarks } from "../loss_marks.ts";
import { commandLine } from "../outcomes.ts";
import type { Output } from "../output.ts";
import { isWhole, lossText, spilledMember } from "../spilled_report.ts";
import { findTarget } from "../target.ts";
import { parseCount, type Parsed, UsageError } from "../usage.ts";

/** How many events are shown when nothing else is asked for. */
const SHOWN_EVENTS_DEFAULT = 1000;
/** How many events are read at once. */
const PAGE_EVENTS = 1000;

/** Shows events or the surface. Exit code 1 when the log has a fault, or a long result beside it is lost; those are marked. */
export const show: Command = {
  spec: {
    name: "show",
    positionals: "ID|FILE [--surface | --from N --limit N]",
    help: "show the events of a log, or with --surface the messages the model sees; says why an outcome is not certain",
    flags: {
      surface: { help: "show messages instead of events" },
      as: { value: "VERSION", help: "current (default) or stored" },
      from: { value: "N", help: "first seq to show (default 0)" },
      limit: { value: "N|all", help: `at most this many events (default ${SHOWN_EVENTS_DEFAULT})` },
    },
    count: [1, 1],
  },
  async run(context) {
    const { args, out } = context;
    const range = rangeOf(args);
    const as = versionOf(args);
    await using target = await findTarget(args.positionals[0]!, context);
    const inspected = await inspect(
      { ...target, open: (options) => target.open({ ...options, as }) },
      out,
    );
    const { reader, folds, places } = inspected;
    await using _ = reader;
    const spilled = await inspectSpilled(inspected, target.file, out);
    const marks = new LossMarks(spilled, inspected.results);

    if (args.has("surface")) {
      const { version } = reader.header;
      if (folds.surface.fault !== null && version !== FORMAT_VERSION) {
        const found = `it is of format version ${version}, and what it replaces is spelled in another way`;
        throw new UnsupportedFormatError(`Cannot show the surface of session "${reader.id}": ${found}`, { version });
      }
      const messages = deriveMessages(folds.surface);
      out.json({
        header: reader.header,
        messages,
        replaceGeneration: folds.surface.replaceGeneration,
        ...spilledMember(spilled),
      });
      const seqs = new Map([...folds.surface.nodes].map(({ message, seq }) => [message, seq]));
      for (const message of messages) out.line(describeMessage(message) + marks.of(seqs.get(message)!));
    } else if (out.isJson) {
      await writeDocument(reader, range, spilled, out);
    } else {
      await printEvents(reader, range, marks, out);
    }
    // A bare file is evidence: nothing is settled in it.
    const settle = (callSeq: number) =>
      target.id === null
        ? null
        : `${commandLine(context, "resolve", target.id, String(callSeq), "--happened")}    (or --absent, --retry)`;
    for (const line of evidenceLines(folds, places, settle)) out.line(line);

    const { torn, fault } = reader.state();
    if (torn !== null) {
      const readable = `${counted(torn.salvagedEvents, "event")} of it readable`;
      out.note(`Torn tail of ${counted(torn.bytes, "byte")} at offset ${torn.offsetBytes}: ${readable}`);
    }
    if (fault !== null) out.note(`${fault.code}: ${fault.message}`);
    if (!isWhole(spilled)) out.note(`${lossText(spilled)} (holdfast verify names them)`);
    return fault === null && isWhole(spilled) ? 0 : 1;
  },
};

/** What is shown of a log of another version: what it is brought to, or what its own version decodes. */
function versionOf(args: Parsed): "current" | "stored" {
  const as = args.text("as") ?? "current";
  if (as === "current" || as === "stored") return as;
  throw new UsageError(`Cannot show as "${as}": wanted current or stored`);
}

interface Range {
  readonly from: number;
  readonly limit: number;
}

function rangeOf(args: Parsed): Range {
  const limitText = args.text("limit");
  const limit = limitText === "all" ? Infinity : parseCount("--limit", limitText ?? String(SHOWN_EVENTS_DEFAULT));
  const from = args.count("from");
  if (args.has("surface") && (from !== undefined || (limitText !== undefined && limitText !== "all"))) {
    throw new UsageError("Cannot show a part of the surface: wanted --surface without --from and --limit");
  }
  return { from: from ?? 0, limit };
}

/** Calls `each` with the events of a range, page by page. Returns where it stopped, `null` at the end of the log. */
async function forEachPage(
  reader: LogReader,
  { from, limit }: Range,
  each: (events: readonly SessionEvent[]) => void,
): Promise<number | null> {
  let next = from;
  for (let left = limit; left > 0;) {
    const { events, nextFrom } = await reader.read({ from: next, limit: Math.min(left, PAGE_EVENTS) });
    each(events);
    if (nextFrom === null || events.length === 0) return null;
    left -= events.length;
    next = nextFrom;
  }
  return next < reader.state().nextSeq ? next : null;
}

async function printEvents(reader: LogReader, range: Range, marks: LossMarks, out: Output): Promise<void> {
  const { id, version, createdAt } = reader.header;
  const stored = reader.storedVersion === undefined ? "" : ` (stored as version ${reader.storedVersion})`;
  out.line(`session ${id}, version ${version}${stored}, created ${humanTime(createdAt)} UTC`);
  const nextFrom = await forEachPage(reader, range, (events) => {
    for (const event of events) out.line(describeEvent(event) + marks.of(event.seq));
  });
  if (nextFrom !== null) out.note(`More events follow: --from ${nextFrom}`);
}

/** One event per line, and never more than a page in memory: a log may be larger than any text can be. */
async function writeDocument(
  reader: LogReader,
  range: Range,
  spilled: SpilledCheck,
  out: Output,
): Promise<void> {
  const { header, inheritedEventCount } = reader;
  out.jsonPiece(`{\n  "header": ${jsonText(header)},\n  "inheritedEventCount": ${inheritedEventCount},\n  "events": [`);
  let separator = "\n";
  const nextFrom = await forEachPage(reader, range, (events) => {
    for (const event of events) {
      out.jsonPiece(`${separator}    ${jsonText(event)}`);
      separator = ",\n";
    }
  });
  const lost = spilled.count === 0 ? "" : `,\n  "spilled": ${jsonText(spilled)}`;
  out.jsonPiece(
    `${separator === "\n" ? "" : "\n  "}],\n  "nextFrom": ${nextFrom}${lost}\n}\n`,
  );
}
