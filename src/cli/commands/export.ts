/**
 * `holdfast export`: a session as one file.
 *
 * @module
 */
import type { Command } from "../command.ts";
import { encodeLog, type ExportFormat } from "../encode_log.ts";
import { inspect } from "../inspect.ts";
import { openSink, type Sink } from "../sink.ts";
import { findTarget } from "../target.ts";
import { UsageError } from "../usage.ts";

/**
 * Writes a log as JSON lines, as zstd frames, or as Markdown. The first two open again as logs with equal events. Exit code 1
 * when the log has a fault; what lies before it is written.
 */
export const exportCommand: Command = {
  spec: {
    name: "export",
    positionals: "ID|FILE --to jsonl|zstd|md",
    help: "write a session to standard output, or to a file that is not there yet",
    flags: {
      to: { value: "FORMAT", help: "jsonl (a raw log), zstd (a framed log), md (for reading)" },
      out: { value: "FILE", help: "write here instead of standard output" },
    },
    count: [1, 1],
  },
  async run(context) {
    const { args, out, cwd } = context;
    const format = formatOf(args.text("to"));
    const file = args.text("out") ?? null;
    if (out.isJson && file === null) {
      throw new UsageError("Cannot export with --json to standard output: give --out FILE");
    }
    if (format === "zstd" && file === null && out.isTerminal) {
      throw new UsageError("Cannot export to zstd on a terminal: give --out FILE, or redirect standard output");
    }

    await using target = await findTarget(args.positionals[0]!, context);
    const { reader } = await inspect(target, out);
    await using _ = reader;
    const { fault } = reader.state();
    const sink = openSink(out, cwd, file);
    const sizeBytes = await copy(encodeLog(reader, format), sink);
    out.json({ id: reader.header.id, format, file, sizeBytes, damage: fault });
    if (fault !== null) out.note(`Exported up to the damage: ${fault.code}: ${fault.message}`);
    return fault === null ? 0 : 1;
  },
};

function formatOf(text: string | undefined): ExportFormat {
  if (text === "jsonl" || text === "zstd" || text === "md") return text;
  throw new UsageError(`Cannot export${text === undefined ? "" : ` to "${text}"`}: wanted --to jsonl, zstd or md`);
}

/** All of it, or nothing: a file that could not be finished is removed. */
async function copy(chunks: AsyncIterable<Uint8Array>, sink: Sink): Promise<number> {
  let sizeBytes = 0;
  try {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length;
      await sink.write(chunk);
    }
    sink.finish();
  } catch (error) {
    sink.discard();
    throw error;
  }
  return sizeBytes;
}
