/**
 * A log as bytes somebody can keep: JSON lines, zstd frames, or Markdown.
 *
 * @module
 */
import {
  type Block,
  encodeHeader,
  encodeRow,
  FORMAT_VERSION,
  isEvent,
  type LogReader,
  type Message,
  type SessionEvent,
  shapeProblem,
  UnsupportedFormatError,
} from "../../mod.ts";
import { encodeZstdFrame } from "../entry/file.ts";

/** What a log can be exported to. */
export type ExportFormat = "jsonl" | "zstd" | "md";

/** How much plain text one frame of an export holds at most, in UTF-16 units; only a single row may be larger. */
const FRAME_TEXT_LENGTH_MAX = 1024 * 1024;

/**
 * Encodes header and events, as far as they can be read, a page at a time.
 *
 * @param end the first seq that is left out; default: none
 */
export async function* encodeLog(
  reader: LogReader,
  format: ExportFormat,
  end = Number.POSITIVE_INFINITY,
): AsyncGenerator<Uint8Array> {
  const { id, version } = reader.header;
  if (format !== "md" && version !== FORMAT_VERSION) {
    const found =
      `only a log of version ${FORMAT_VERSION} is written, and this is shown as version ${version}; --to md works`;
    throw new UnsupportedFormatError(`Cannot export session "${id}": ${found}`, { version });
  }
  if (format === "zstd") {
    yield encodeZstdFrame([encodeHeader(reader.header)]);
    for await (const events of pages(reader, end)) for (const rows of batches(events)) yield encodeZstdFrame(rows);
    return;
  }
  const encoder = new TextEncoder();
  yield encoder.encode(format === "jsonl" ? `${encodeHeader(reader.header)}\n` : `# Session ${reader.header.id}\n`);
  for await (const events of pages(reader, end)) {
    for (const event of events) {
      const text = format === "jsonl" ? `${encodeRow(event)}\n` : markdown(event);
      if (text !== "") yield encoder.encode(text);
    }
  }
}

async function* pages(reader: LogReader, end: number): AsyncGenerator<readonly SessionEvent[]> {
  for (let from: number | null = 0; from !== null && from < end;) {
    const { events, nextFrom }: Awaited<ReturnType<LogReader["read"]>> = await reader.read({ from });
    if (events.length > 0) yield events.filter(({ seq }) => seq < end);
    from = nextFrom;
  }
}

function* batches(events: readonly SessionEvent[]): Generator<string[]> {
  let rows: string[] = [];
  let length = 0;
  for (const row of events.map(encodeRow)) {
    if (rows.length > 0 && length + row.length > FRAME_TEXT_LENGTH_MAX) {
      yield rows;
      rows = [];
      length = 0;
    }
    rows.push(row);
    length += row.length;
  }
  if (rows.length > 0) yield rows;
}

/** The human transcript: what was said, in log order, whatever compaction did to the surface since. */
function markdown(event: SessionEvent): string {
  if (event.surfaceOp !== "append" || shapeProblem(event) !== null) return "";
  if (isEvent(event, "user/message")) return section("User", event.data);
  if (isEvent(event, "assistant/message")) return section("Assistant", event.data.message);
  if (isEvent(event, "tool/result")) return section("Result", event.data.message);
  return "";
}

function section(title: string, message: Message): string {
  const parts = message.content.map(blockText).filter((text) => text !== "");
  return parts.length === 0 ? "" : `\n## ${title}\n\n${parts.join("\n\n")}\n`;
}

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "reasoning":
      return `> ${block.text.replaceAll("\n", "\n> ")}`;
    case "tool-call":
      return fence(`${block.name} ${block.arguments}`);
    case "tool-result":
      return fence(block.content.map((inner) => inner.type === "text" ? inner.text : `[${inner.type}]`).join("\n"));
    default:
      return `[${(block as { readonly type: string }).type}]`;
  }
}

/** A code fence longer than any run of backticks inside. */
function fence(text: string): string {
  let longest = 2;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  const marks = "`".repeat(longest + 1);
  return `${marks}\n${text}\n${marks}`;
}
