/**
 * What lies on the disk after a kill, read without any code of the library: a log, and the copies of torn tails beside it.
 *
 * @see architecture "Torn tail of a log"
 * @module
 */
import { zstdDecompressSync } from "node:zlib";
import { eventsOf, type RawRow, readRaw, rowsOfTornFrame } from "./raw_log.ts";

/** What a dead process left. */
export interface Snapshot {
  /** Every event that can still be read: those of whole frames or lines, and those of the tail that yields the most. */
  readonly events: readonly RawRow[];
  /** The bytes behind the last whole frame or line. */
  readonly tornBytes: number;
  /** How many of the events come from a torn tail, or from a copy of one. */
  readonly salvaged: number;
}

/** Reads a log and the copies of its tails. @param copies each as it is stored, with the offset in its name */
export function snapshotOf(
  log: Uint8Array,
  copies: readonly { readonly offsetBytes: number; readonly bytes: Uint8Array }[],
): Snapshot {
  const { rows, tornRows, tornBytes } = readRaw(log);
  const endBytes = log.length - tornBytes;
  const tails = copies.filter(({ offsetBytes }) => offsetBytes === endBytes).map(({ bytes }) => rowsOfCopy(bytes));
  const whole = rows.length - 1;
  const best = [tornRows, ...tails]
    .map((tail) => tail.filter(({ seq }, index) => seq === whole + index))
    .reduce((most, tail) => tail.length > most.length ? tail : most);
  return { events: eventsOf([...rows, ...best]), tornBytes, salvaged: best.length };
}

/** Reads the folder of a session; `null` when no log has its name there. */
export async function readSnapshot(folder: string, logName: string): Promise<Snapshot | null> {
  const copies: { offsetBytes: number; bytes: Uint8Array }[] = [];
  let log: Uint8Array | null = null;
  for (const name of await namesIn(folder)) {
    const [, offset] = name.startsWith(`${logName}.torn-`) ? /\.torn-(\d+)-[0-9a-f]{8}$/.exec(name) ?? [] : [];
    if (offset !== undefined) {
      copies.push({ offsetBytes: Number(offset), bytes: await Deno.readFile(`${folder}/${name}`) });
    }
    if (name === logName) log = await Deno.readFile(`${folder}/${name}`);
  }
  return log === null ? null : snapshotOf(log, copies);
}

/** A copy is one frame, whose content is the tail: a torn frame. */
function rowsOfCopy(copy: Uint8Array): RawRow[] {
  const tail = new Uint8Array(zstdDecompressSync(copy));
  return tail[0] === 0x7b ? [] : rowsOfTornFrame(tail);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
