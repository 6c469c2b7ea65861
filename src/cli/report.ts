/**
 * An error as the command tells it: what it says, its exit code, and with `--json` its document.
 *
 * @module
 */
import { HoldfastError } from "../../mod.ts";
import type { ExitCode } from "./command.ts";
import { type Output, OutputFailed } from "./output.ts";
import { UsageError } from "./usage.ts";

/**
 * Tells an error. A mistake on the command line is exit code 2; a refusal of the world is exit code 1 with its stable code; and
 * whatever else was thrown is a bug of ours, exit code 1, and never looks like either.
 *
 * With `--json` standard output gets `{"error": {"code", "message"}}`, unless a document was begun; the code of a mistake is
 * `USAGE`, that of a bug `INTERNAL`.
 */
export function report(error: unknown, out: Output): ExitCode {
  const cause = firstOf(error);
  // Whoever reads our output has seen enough: `holdfast show ID | head`.
  if (cause instanceof OutputFailed && cause.isBrokenPipe) return 0;
  if (cause instanceof OutputFailed) {
    out.note(`${cause.code}: ${cause.message}`);
    return 1;
  }
  if (cause instanceof UsageError) {
    out.note(cause.message);
    writeDocument(out, "USAGE", cause.message);
    return 2;
  }
  if (cause instanceof HoldfastError) {
    out.note(`${cause.code}: ${cause.message}`);
    for (const because of causesOf(cause)) out.note(`  because: ${because.message}`);
    writeDocument(out, cause.code, cause.message);
    return 1;
  }
  const text = cause instanceof Error ? cause.stack ?? cause.message : String(cause);
  out.note(`INTERNAL: this is a bug in holdfast: ${text}`);
  writeDocument(out, "INTERNAL", cause instanceof Error ? cause.message : String(cause));
  return 1;
}

function writeDocument(out: Output, code: string, message: string): void {
  if (out.hasDocument) return;
  try {
    out.json({ error: { code, message } });
  } catch (error) {
    if (!(error instanceof OutputFailed)) throw error;
  }
}

/** What went wrong first: closing what was open may fail too, and says less. */
export function firstOf(error: unknown): unknown {
  if (error instanceof SuppressedError) return firstOf(error.suppressed);
  if (error instanceof AggregateError && error.errors.length > 0) return firstOf(error.errors[0]);
  return error;
}

/** The chain of causes, without those that repeat what was said. */
function* causesOf(error: Error): Generator<Error> {
  let said = error.message;
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    if (!said.includes(cause.message)) yield cause;
    said = cause.message;
  }
}
