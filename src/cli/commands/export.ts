/**
 * `holdfast export`: a session as one file.
 *
 * @module
 */
import type { Command } from "../command.ts";
import { spilledDigests } from "../../../mod.ts";
import { archiveOf } from "../archive_log.ts";
import { encodeLog, type ExportFormat } from "../encode_log.ts";
import { counted } from "../format.ts";
import { inspect } from "../inspect.ts";
import { openSink, type Sink } from "../sink.ts";
import { findTarget } from "../target.ts";
import { UsageError } from "../usage.ts";

/**
 * Writes a log as JSON lines, as zstd frames, or as Markdown. The first two open again as logs with equal events. Where results
 * lie in blobs beside the log, or the file's name says so, a file becomes a zip archive of the log and the blobs, which
 * `holdfast import` takes. Exit code 1
 * when the log has a fault, or names blobs that are not there; what can be written is written.
 */
export const exportCommand: Command = {
  spec: {
    name: "export",
    positionals: "ID|FILE --to jsonl|zstd|md",
    help: "write a session to standard output, or to a file that is not there yet",
    flags: {
      to: { value: "FORMAT", help: "jsonl (a raw log), zstd (a framed log), md (for reading)" },
      out: {
        value: "FILE",
        help: "write here instead of standard output; with long results beside the log, a .zip of both",
      },
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

    if (format === "md" && file?.endsWith(".zip")) {
      throw new UsageError(
        `Cannot export to md in "${file}": Markdown is no archive; give --out a name that ends in .md`,
      );
    }

    await using target = await findTarget(args.positionals[0]!, context);
    const { reader, folds } = await inspect(target, out);
    await using _ = reader;
    const { fault } = reader.state();
    const named = spilledDigests(folds.spilled);
    // A pipe is read as a log; a file is kept, and what it does not hold is lost with the session.
    const isZipName = file?.endsWith(".zip") === true;
    const isArchive = file !== null && format !== "md" && (named.length > 0 || isZipName);
    const name = isArchive && !isZipName ? `${file}.zip` : file;
    const sink = openSink(out, cwd, name);
    const archived = isArchive ? await archiveOf(reader, format, named) : null;
    const sizeBytes = await copy(archived?.chunks ?? encodeLog(reader, format), sink);
    const { missing = [], blobs = 0 } = archived ?? {};
    out.json({
      id: reader.header.id,
      format,
      file: name,
      sizeBytes,
      damage: fault,
      ...isArchive ? { blobs, missing } : {},
    });
    if (isArchive) out.note(`Wrote ${name}, an archive of the log and ${counted(blobs, "long result")} that it names`);
    else if (named.length > 0) {
      out.note(
        `${counted(named.length, "long result")} lie beside the log and are not in this; --out FILE takes them along`,
      );
    }
    for (const digest of missing) out.note(`The log names blob ${digest}, which is not there or damaged`);
    if (fault !== null) out.note(`Exported up to the damage: ${fault.code}: ${fault.message}`);
    return fault === null && missing.length === 0 ? 0 : 1;
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
