/**
 * Values as text for a failure message, one entry per line, and the difference of two such texts.
 *
 * @module
 */

/** A longer text is cut in a message; the end is rarely what helps. */
const TEXT_CHARS_MAX = 20_000;
/** Bytes of one binary value that are shown. */
const BYTES_SHOWN_MAX = 64;
/** Levels of nesting that are shown. */
const DEPTH_SHOWN_MAX = 20;
/** Cells of the table that finds common lines; larger differences are shown as one block. */
const DIFF_CELLS_MAX = 4_000_000;
/** Lines shown around a difference. */
const CONTEXT_LINES = 3;
/** Differing lines shown. */
const DIFF_LINES_MAX = 120;
/** Characters of one line that are shown. */
const LINE_CHARS_MAX = 400;

/** Writes a value as text: keys sorted, cycles marked, bytes in hex, `-0` and holes visible. */
export function format(value: unknown): string {
  const text = formatValue(value, "", []);
  return text.length > TEXT_CHARS_MAX ? `${text.slice(0, TEXT_CHARS_MAX)}… (${text.length} characters)` : text;
}

/** Shows where two values differ: lines with `-` are the actual value's, lines with `+` the expected one's. */
export function difference(actual: unknown, expected: unknown): string {
  const isText = typeof actual === "string" && typeof expected === "string";
  const lines = isText ? [textLines(actual), textLines(expected)] : [valueLines(actual), valueLines(expected)];
  const [before, after] = lines as [string[], string[]];
  if (before.length === 1 && after.length === 1) {
    return `${oneLine("-", before[0]!)}\n${oneLine("+", after[0]!)}`;
  }
  return diffLines(before, after).map(([sign, line]) => oneLine(sign, line))
    .join("\n");
}

function oneLine(sign: string, line: string): string {
  return `    ${sign} ${
    line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX)}… (${line.length} characters)` : line
  }`;
}

function valueLines(value: unknown): string[] {
  return formatValue(value, "", []).split("\n");
}

function textLines(text: string): string[] {
  const lines = text.split("\n").map((line, index, all) => JSON.stringify(index < all.length - 1 ? line + "\n" : line));
  if (lines.length > 1 && lines.at(-1) === '""') lines.pop();
  return lines;
}

function formatValue(value: unknown, indent: string, path: object[]): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") {
    return `[Function ${value.name || "(anonymous)"}]`;
  }
  if (typeof value !== "object" || value === null) {
    return Object.is(value, -0) ? "-0" : String(value);
  }
  if (path.includes(value)) return "[Circular]";
  if (path.length >= DEPTH_SHOWN_MAX) return "[…]";
  return formatObject(value, indent, [...path, value]);
}

function formatObject(value: object, indent: string, path: object[]): string {
  const inner = indent + "  ";
  const show = (part: unknown) => formatValue(part, inner, path);
  const className = value.constructor?.name ?? "null prototype";

  if (value instanceof Date) {
    return `Date(${Number.isNaN(value.getTime()) ? "invalid" : value.toISOString()})`;
  }
  if (value instanceof RegExp) return String(value);
  if (value instanceof URL) return `URL(${value})`;
  if (value instanceof ArrayBuffer) {
    return formatBytes(className, new Uint8Array(value));
  }
  if (ArrayBuffer.isView(value)) {
    if (value instanceof Float32Array || value instanceof Float64Array) {
      return `${className}[${[...value].join(", ")}]`;
    }
    return formatBytes(
      className,
      new Uint8Array(value.buffer, value.byteOffset, value.byteLength),
    );
  }

  const properties = Reflect.ownKeys(value)
    .filter((key) => Object.prototype.propertyIsEnumerable.call(value, key))
    .filter((key) =>
      !(Array.isArray(value) && typeof key === "string" &&
        isIndex(key, value.length))
    )
    .sort((a, b) => (String(a) < String(b) ? -1 : 1))
    .map((key) => `${formatKey(key)}: ${show((value as Record<PropertyKey, unknown>)[key])}`);

  if (value instanceof Error) {
    if (value.cause !== undefined) {
      properties.unshift(`cause: ${show(value.cause)}`);
    }
    return block(
      `${value.name}(${JSON.stringify(value.message)})`,
      "",
      "",
      properties,
      indent,
      true,
    );
  }
  if (value instanceof Map) {
    const entries = [...value].map(([key, entry]) => `${show(key)} => ${show(entry)}`);
    return block(`${className}(${value.size}) `, "{", "}", [
      ...entries,
      ...properties,
    ], indent);
  }
  if (value instanceof Set) {
    return block(`${className}(${value.size}) `, "{", "}", [
      ...[...value].map(show),
      ...properties,
    ], indent);
  }
  if (Array.isArray(value)) {
    const entries = Array.from(
      value,
      (entry, index) => index in value ? show(entry) : "(hole)",
    );
    return block(className === "Array" ? "" : `${className} `, "[", "]", [
      ...entries,
      ...properties,
    ], indent);
  }
  return block(
    className === "Object" ? "" : `${className} `,
    "{",
    "}",
    properties,
    indent,
  );
}

function block(
  name: string,
  open: string,
  close: string,
  lines: string[],
  indent: string,
  isBare = false,
): string {
  if (lines.length === 0) return name + open + close;
  const body = lines.map((line) => `${indent}  ${line},`).join("\n");
  return isBare ? `${name} {\n${body}\n${indent}}` : `${name}${open}\n${body}\n${indent}${close}`;
}

function formatBytes(className: string, bytes: Uint8Array): string {
  const shown = [...bytes.subarray(0, BYTES_SHOWN_MAX)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return `${className}(${bytes.length})[${shown}${bytes.length > BYTES_SHOWN_MAX ? " …" : ""}]`;
}

function formatKey(key: PropertyKey): string {
  if (typeof key === "symbol") return `[${String(key)}]`;
  return /^[A-Za-z_$][\w$]*$/.test(String(key)) ? String(key) : JSON.stringify(key);
}

function isIndex(key: string, length: number): boolean {
  return /^\d+$/.test(key) && Number(key) < length;
}

type DiffLine = readonly [sign: "-" | "+" | " ", line: string];

function diffLines(before: string[], after: string[]): DiffLine[] {
  let start = 0;
  while (
    start < before.length && start < after.length &&
    before[start] === after[start]
  ) start++;
  let end = 0;
  while (
    end < before.length - start && end < after.length - start &&
    before.at(-1 - end) === after.at(-1 - end)
  ) end++;

  const middle = diffMiddle(
    before.slice(start, before.length - end),
    after.slice(start, after.length - end),
  );
  const keep = (line: string): DiffLine => [" ", line];
  const tail = before.slice(before.length - end);
  const all = [
    ...before.slice(0, start).map(keep),
    ...middle,
    ...tail.map(keep),
  ];
  return cutToContext(all);
}

/** Longest common subsequence by dynamic programming: small inputs, no cleverness. */
function diffMiddle(before: string[], after: string[]): DiffLine[] {
  const removed = before.map((line): DiffLine => ["-", line]);
  const added = after.map((line): DiffLine => ["+", line]);
  const width = after.length + 1;
  if (width * (before.length + 1) > DIFF_CELLS_MAX) {
    return [...removed, ...added];
  }

  const common = new Uint32Array(width * (before.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      common[i * width + j] = before[i] === after[j]
        ? common[(i + 1) * width + j + 1]! + 1
        : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      lines.push([" ", before[i]!]);
      i++;
      j++;
    } else if (common[(i + 1) * width + j]! >= common[i * width + j + 1]!) {
      lines.push(removed[i++]!);
    } else lines.push(added[j++]!);
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)];
}

function cutToContext(lines: DiffLine[]): DiffLine[] {
  const isNear = new Array<boolean>(lines.length).fill(false);
  lines.forEach(([sign], index) => {
    if (sign === " ") return;
    for (
      let near = index - CONTEXT_LINES;
      near <= index + CONTEXT_LINES;
      near++
    ) {
      if (near >= 0 && near < lines.length) isNear[near] = true;
    }
  });
  const shown: DiffLine[] = [];
  lines.forEach((line, index) => {
    if (isNear[index]) shown.push(line);
    else if (index === 0 || isNear[index - 1]) shown.push([" ", "…"]);
  });
  return shown.length > DIFF_LINES_MAX ? [...shown.slice(0, DIFF_LINES_MAX), [" ", "… (more)"]] : shown;
}
