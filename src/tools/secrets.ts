/**
 * Takes secrets out of a text that may repeat them.
 *
 * A text is looked at as it is and as it reads after one and after two rounds of decoding, so an encoding need not be guessed
 * letter by letter: what decodes to the secret is replaced where it stands.
 *
 * @module
 */

/** How many layers of escapes are taken off. */
const LAYERS_MAX = 2;
/** Below this many characters a secret is not looked for in hex and base64, where a few characters mean nothing. */
const PACKED_LENGTH_MIN = 4;

/** A text as it reads after decoding; each character knows where it stands in the text that was given. */
interface Reading {
  readonly text: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

/**
 * Replaces every secret in `text` by `$secret:NAME`.
 *
 * Found are a secret as it is, in upper or lower case, in base64 or base64url at any alignment, and in hex; each of these as it
 * stands and under one or two layers of percent-encoding (also with `+` for a space), of JSON's or of HTML's escapes.
 *
 * Not found are a part of a secret, one that was turned into something else (hashed, compressed, reversed, cut into pieces,
 * decoded where it is itself an encoding), one under more layers or other encodings, and one of under four characters in base64
 * or hex. A server that means to give the secret away can: what protects a secret is that it is sent to the named host only.
 *
 * @param secrets values by name; none of them blank. White space around a value does not count: a header does not carry it
 *
 * @example
 * ```ts
 * import { withoutSecrets } from "./secrets.ts";
 *
 * const secrets = new Map([["BANK", "a/b+c=d"]]);
 * if (withoutSecrets("x=a%2fb%2Bc%3Dd", secrets) !== "x=$secret:BANK") throw new Error("unreachable");
 * if (!withoutSecrets(btoa("me:a/b+c=d"), secrets).startsWith("bWU6$secret:BANK")) throw new Error("unreachable");
 * ```
 */
export function withoutSecrets(text: string, secrets: ReadonlyMap<string, string>): string {
  if (secrets.size === 0) return text;
  const needles = [...secrets].flatMap(([name, value]) =>
    spellings(value.trim()).map((spelling) => ({ name, spelling }))
  );
  const packed = needles.filter(({ spelling }) => spelling.length >= PACKED_LENGTH_MIN);
  const shortest = Math.min(...packed.map(({ spelling }) => spelling.length));
  const found: Range[] = [];
  const look = (reading: Reading, layers: number) => {
    collect(reading, needles, found);
    for (const unpacked of unpackings(reading, shortest)) collect(unpacked, packed, found);
    if (layers === LAYERS_MAX) return;
    for (const escape of ESCAPES) {
      const decoded = decode(reading, escape);
      if (decoded !== null) look(decoded, layers + 1);
    }
  };
  look(asItIs(text), 0);
  return replaced(text, found);
}

/** A secret as characters, and as the bytes of its UTF-8: what is decoded from base64 and the like are bytes. */
function spellings(value: string): string[] {
  const bytes = Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte)).join("");
  return [...new Set([value, bytes])].filter((spelling) => spelling !== "").map(lowerCase);
}

/** Of ASCII only, so that positions stay what they are. */
function lowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function asItIs(text: string): Reading {
  const starts = Array.from({ length: text.length }, (_, index) => index);
  return { text, starts, ends: starts.map((start) => start + 1) };
}

function collect(
  { text, starts, ends }: Reading,
  needles: readonly { readonly name: string; readonly spelling: string }[],
  found: Range[],
): void {
  const lower = lowerCase(text);
  for (const { name, spelling } of needles) {
    for (let at = lower.indexOf(spelling); at !== -1; at = lower.indexOf(spelling, at + spelling.length)) {
      found.push({ start: starts[at]!, end: ends[at + spelling.length - 1]!, name });
    }
  }
}

/** One way to write a character as several. */
interface Escape {
  readonly pattern: RegExp;
  /** The character that an escape stands for. */
  readonly of: (escape: string) => string;
}

const CONTROLS: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", apos: "'", gt: ">", lt: "<", nbsp: "\u00a0", quot: '"' };

const ofPercent = (escape: string) => escape === "+" ? " " : String.fromCharCode(parseInt(escape.slice(1), 16));

const ESCAPES: readonly Escape[] = [
  { pattern: /%[0-9a-f]{2}/gi, of: ofPercent },
  // Only forms write a space as "+"; elsewhere it is a plus.
  { pattern: /%[0-9a-f]{2}|\+/gi, of: ofPercent },
  {
    pattern: /\\(?:u[0-9a-f]{4}|x[0-9a-f]{2}|[^ux])/gi,
    of: (escape) =>
      escape.length > 2 ? String.fromCharCode(parseInt(escape.slice(2), 16)) : CONTROLS[escape[1]!] ?? escape[1]!,
  },
  {
    pattern: /&(?:#0{0,8}\d{1,5}|#x0{0,8}[0-9a-f]{1,4}|amp|apos|gt|lt|nbsp|quot);?/gi,
    of: (escape) => {
      const name = escape.slice(1).replace(/;$/, "").toLowerCase();
      if (name.startsWith("#x")) return String.fromCharCode(parseInt(name.slice(2), 16));
      return name.startsWith("#") ? String.fromCharCode(Number(name.slice(1))) : ENTITIES[name]!;
    },
  },
];

/** The text after one kind of escape was undone; `null` when it holds none. */
function decode(reading: Reading, { pattern, of }: Escape): Reading | null {
  const pieces: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let done = 0;
  const copyTo = (end: number) => {
    pieces.push(reading.text.slice(done, end));
    for (; done < end; done++) {
      starts.push(reading.starts[done]!);
      ends.push(reading.ends[done]!);
    }
  };
  for (const { 0: escape, index } of reading.text.matchAll(pattern)) {
    copyTo(index);
    pieces.push(of(escape));
    done = index + escape.length;
    starts.push(reading.starts[index]!);
    ends.push(reading.ends[done - 1]!);
  }
  if (pieces.length === 0) return null;
  copyTo(reading.text.length);
  return { text: pieces.join(""), starts, ends };
}

/** One way to write bytes as text: digits, in runs that may be broken by a line end or the like. */
interface Packing {
  readonly runs: RegExp;
  readonly digits: string;
  readonly bits: number;
  /** How many digits may stand before the first whole byte. */
  readonly alignments: number;
}

const BASE64_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

const PACKINGS: readonly Packing[] = [
  { runs: /[A-Za-z0-9+/]+(?:\r?\n[A-Za-z0-9+/]+)*/g, digits: `${BASE64_DIGITS}+/`, bits: 6, alignments: 4 },
  { runs: /[A-Za-z0-9_-]+(?:\r?\n[A-Za-z0-9_-]+)*/g, digits: `${BASE64_DIGITS}-_`, bits: 6, alignments: 4 },
  { runs: /[0-9a-f]+(?:[ :][0-9a-f]+)*/g, digits: "0123456789abcdef", bits: 4, alignments: 2 },
  { runs: /[0-9A-F]+(?:[ :][0-9A-F]+)*/g, digits: "0123456789ABCDEF", bits: 4, alignments: 2 },
];

function* unpackings(reading: Reading, sizeBytesMin: number): Generator<Reading> {
  for (const packing of PACKINGS) {
    const runs = [...reading.text.matchAll(packing.runs)].filter(([run]) =>
      run.length >= sizeBytesMin * 8 / packing.bits
    );
    if (runs.length === 0) continue;
    for (let skip = 0; skip < packing.alignments; skip++) yield unpack(reading, runs, packing, skip);
  }
}

function unpack(reading: Reading, runs: readonly RegExpExecArray[], { digits, bits }: Packing, skip: number): Reading {
  let text = "";
  const starts: number[] = [];
  const ends: number[] = [];
  for (const { 0: run, index } of runs) {
    let held = 0;
    let heldBits = 0;
    let toSkip = skip;
    let byteStart = 0;
    for (let at = 0; at < run.length; at++) {
      const digit = digits.indexOf(run[at]!);
      if (digit === -1 || toSkip-- > 0) continue;
      const from = heldBits;
      held = ((held << bits) | digit) & 0xffff;
      heldBits += bits;
      if (from === 0) byteStart = index + at;
      if (heldBits < 8) continue;
      heldBits -= 8;
      text += String.fromCharCode((held >> heldBits) & 0xff);
      starts.push(reading.starts[byteStart]!);
      ends.push(reading.ends[index + at]!);
      // The rest of this digit begins the next byte.
      byteStart = index + at;
    }
    // Two runs are two texts.
    text += "\n";
    starts.push(0);
    ends.push(0);
  }
  return { text, starts, ends };
}

/** Ranges that touch each other's characters become one, under the first name. */
function replaced(text: string, found: readonly Range[]): string {
  const ranges = [...found].sort((a, b) => a.start - b.start || b.end - a.end);
  let clean = "";
  let done = 0;
  for (let next = 0; next < ranges.length;) {
    const { start, name } = ranges[next]!;
    let { end } = ranges[next]!;
    while (++next < ranges.length && ranges[next]!.start < end) end = Math.max(end, ranges[next]!.end);
    clean += `${text.slice(done, start)}$secret:${name}`;
    done = end;
  }
  return clean + text.slice(done);
}
