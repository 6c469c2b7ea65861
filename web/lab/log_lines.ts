/**
 * A log that is stored plainly, line by line: for showing which bytes are there.
 *
 * @module
 */

/** One line, or what is left of one. */
export interface LogLine {
  /** Where it begins, in bytes. */
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  /** With what cannot be seen made visible. */
  readonly text: string;
  /** seq of its event; `null` for the header and for what is no whole line. */
  readonly seq: number | null;
  /** Type of its event, "header", or what is wrong with it. */
  readonly type: string;
  /** Whether it ends with its line break and can be read. */
  readonly isWhole: boolean;
}

const NEWLINE = 0x0a;

/** The lines of a log. */
export function linesOf(log: Uint8Array): LogLine[] {
  const lines: LogLine[] = [];
  for (let start = 0; start < log.length;) {
    const end = log.indexOf(NEWLINE, start);
    const isEnded = end !== -1;
    const stop = isEnded ? end + 1 : log.length;
    lines.push(lineIn(log.subarray(start, isEnded ? end : stop), start, stop - start, isEnded));
    start = stop;
  }
  return lines;
}

/** The types of the lines that begin between two lengths of a log. */
export function linesBetween(log: Uint8Array, fromBytes: number, toBytes: number): string[] {
  return linesOf(log).filter(({ offsetBytes }) => offsetBytes >= fromBytes && offsetBytes < toBytes).map(({ type }) =>
    type
  );
}

function lineIn(bytes: Uint8Array, offsetBytes: number, sizeBytes: number, isEnded: boolean): LogLine {
  const text = visible(new TextDecoder().decode(bytes));
  const place = { offsetBytes, sizeBytes, text };
  const record = isEnded ? recordIn(text) : null;
  if (record === null) {
    const zeros = bytes.every((byte) => byte === 0);
    return { ...place, seq: null, type: zeros ? "zeros" : isEnded ? "damaged" : "torn", isWhole: false };
  }
  const { seq, type } = record;
  return { ...place, seq: seq ?? null, type: type === "session" ? "header" : type, isWhole: true };
}

function recordIn(text: string): { readonly seq?: number; readonly type: string } | null {
  try {
    const record: unknown = JSON.parse(text);
    const { type, seq } = record as { readonly type?: unknown; readonly seq?: unknown };
    if (typeof type !== "string") return null;
    return typeof seq === "number" ? { type, seq } : { type };
  } catch {
    return null;
  }
}

/** A zero byte has no shape of its own. */
function visible(text: string): string {
  return text.replaceAll("\0", "\u2400");
}
