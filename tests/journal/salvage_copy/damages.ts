/**
 * Single damages of many kinds, and which events they leave alone.
 *
 * @module
 */
import type { SessionEvent } from "../../../src/event/mod.ts";
import { joined, type Pieces } from "./rich_log.ts";

/** A damaged log. */
export interface Damaged {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Events of which no byte was touched. */
  readonly untouched: readonly SessionEvent[];
}

/** Draws whole numbers below a bound. */
export type Below = (bound: number) => number;

type Damage = (pieces: Pieces, below: Below) => Damaged;

/** Every kind by name; some are for one encoding. */
export const DAMAGES: Readonly<Record<string, Damage>> = {
  "a flipped bit": (pieces, below) => overwritten(pieces, below, 1, (bytes, at) => bytes[at]! ^= 1 << below(8)),
  "a byte of something else": (pieces, below) =>
    overwritten(pieces, below, 1, (bytes, at) => bytes[at] = (bytes[at]! + 1 + below(255)) & 255),
  "zeros in the middle": (pieces, below) =>
    overwritten(pieces, below, 1 + below(200), (bytes, at, size) => bytes.fill(0, at, at + size)),
  "noise in the middle": (pieces, below) =>
    overwritten(pieces, below, 1 + below(200), (bytes, at, size) => {
      for (let index = at; index < at + size; index++) bytes[index] = below(256);
    }),
  "bytes cut out": (pieces, below) => {
    const bytes = joined(pieces.parts);
    const at = below(bytes.length);
    const size = Math.min(1 + below(200), bytes.length - at);
    const left = joined([bytes.subarray(0, at), bytes.subarray(at + size)]);
    return { bytes: left, untouched: untouchedBy(pieces, at, at + size) };
  },
  "bytes put in": (pieces, below) => {
    const bytes = joined(pieces.parts);
    const at = below(bytes.length);
    const strange = Uint8Array.from({ length: 1 + below(200) }, () => below(256));
    const more = joined([bytes.subarray(0, at), strange, bytes.subarray(at)]);
    return { bytes: more, untouched: untouchedBy(pieces, at, at + 1) };
  },
  "the end cut off": (pieces, below) => {
    const bytes = joined(pieces.parts);
    const at = below(bytes.length);
    return { bytes: bytes.slice(0, at), untouched: untouchedBy(pieces, at, bytes.length) };
  },
  "zeros at the end": (pieces, below) => {
    const bytes = joined([...pieces.parts, new Uint8Array(1 + below(5000))]);
    return { bytes, untouched: pieces.events.flat() };
  },
  "noise at the end": (pieces, below) => {
    const noise = Uint8Array.from({ length: 1 + below(300) }, () => below(256));
    return { bytes: joined([...pieces.parts, noise]), untouched: pieces.events.flat() };
  },
  "a part missing": (pieces, below) => {
    const index = 1 + below(pieces.parts.length - 1);
    return rearranged(pieces, (parts) => parts.splice(index, 1), [index]);
  },
  "a part twice": (pieces, below) => {
    const index = 1 + below(pieces.parts.length - 1);
    return rearranged(pieces, (parts) => parts.splice(index, 0, parts[index]!));
  },
  "a part twice, later": (pieces, below) => {
    const index = 1 + below(pieces.parts.length - 1);
    return rearranged(pieces, (parts) => parts.push(parts[index]!));
  },
  "two parts exchanged": (pieces, below) => {
    const index = 1 + below(pieces.parts.length - 2);
    return rearranged(pieces, (parts) => parts.splice(index, 2, parts[index + 1]!, parts[index]!));
  },
  "no header": (pieces) => rearranged(pieces, (parts) => parts.shift()),
  "the header twice": (pieces) => rearranged(pieces, (parts) => parts.unshift(parts[0]!)),
  "a byte order mark": (pieces) => rearranged(pieces, (parts) => parts.unshift(Uint8Array.of(0xef, 0xbb, 0xbf))),
  "carriage returns": (pieces, below) => {
    if (pieces.encoding === "zstd") return DAMAGES["a flipped bit"]!(pieces, below);
    const bytes = joined(pieces.parts.map((part) => joined([part.subarray(0, -1), Uint8Array.of(0x0d, 0x0a)])));
    return { bytes, untouched: pieces.events.flat() };
  },
  "two lines in one": (pieces, below) => {
    if (pieces.encoding === "zstd") return DAMAGES["a part missing"]!(pieces, below);
    const index = 1 + below(pieces.parts.length - 2);
    return rearranged(pieces, (parts) => parts[index] = parts[index]!.slice(0, -1));
  },
  "the beginning of the next part before it": (pieces, below) => {
    const index = 1 + below(pieces.parts.length - 1);
    const end = pieces.encoding === "none" ? [Uint8Array.of(0x0a)] : [];
    return rearranged(pieces, (parts) => {
      const part = parts[index]!;
      const prefix = part.slice(0, 1 + below(part.length - 1));
      parts.splice(index, 0, joined([prefix, ...end]));
    });
  },
};

/** Something written over `size` bytes. */
function overwritten(
  pieces: Pieces,
  below: Below,
  size: number,
  write: (bytes: Uint8Array, at: number, size: number) => void,
): Damaged {
  const bytes = joined(pieces.parts);
  const at = below(bytes.length - size);
  write(bytes, at, size);
  return { bytes, untouched: untouchedBy(pieces, at, at + size) };
}

function rearranged(
  { parts, events }: Pieces,
  change: (parts: Uint8Array<ArrayBuffer>[]) => unknown,
  gone: readonly number[] = [],
): Damaged {
  const changed = [...parts];
  change(changed);
  return { bytes: joined(changed), untouched: events.filter((_, index) => !gone.includes(index)).flat() };
}

/** Events of parts that share no byte with a stretch. */
function untouchedBy({ parts, events }: Pieces, start: number, end: number): readonly SessionEvent[] {
  let at = 0;
  return parts.flatMap((part, index) => {
    const from = at;
    at += part.length;
    return at <= start || from >= end ? events[index]! : [];
  });
}
