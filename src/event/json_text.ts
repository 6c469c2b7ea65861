/**
 * JSON of what came from a disk: lossless, and of any depth.
 *
 * `JSON.stringify` turns −0 into 0 and a number beyond the doubles into `null`, and gives up on deep nesting. A log may hold all
 * three, in what another program wrote, and what is copied, shown or exported must not differ from it.
 *
 * @module
 */
/** A container that is being written: what is left of it, and how it ends. */
interface OpenContainer {
  readonly entries: Iterator<readonly [key: string | null, value: unknown]>;
  readonly close: "]" | "}";
  isEmpty: boolean;
}

/**
 * A value of JSON as text. Parsing it gives an equal value.
 *
 * @param indent spaces per level; 0 for everything on one line
 *
 * @example
 * ```ts
 * import { jsonText } from "./json_text.ts";
 *
 * if (jsonText(JSON.parse("[-0,1e400]")) !== "[-0,1e999]") throw new Error("unreachable");
 * ```
 */
export function jsonText(value: unknown, indent = 0): string {
  const parts: string[] = [];
  // An explicit stack: what comes from the disk may nest deeper than the call stack.
  const open: OpenContainer[] = [];
  const breakLine = () => indent > 0 && parts.push("\n" + " ".repeat(indent * open.length));
  const write = (next: unknown) => {
    if (typeof next !== "object" || next === null) return parts.push(scalarText(next));
    const isArray = Array.isArray(next);
    parts.push(isArray ? "[" : "{");
    open.push({ entries: isArray ? itemsOf(next) : membersOf(next), close: isArray ? "]" : "}", isEmpty: true });
  };
  write(value);
  for (let container = open.at(-1); container !== undefined; container = open.at(-1)) {
    const { done, value: entry } = container.entries.next();
    if (done) {
      open.pop();
      if (!container.isEmpty) breakLine();
      parts.push(container.close);
      continue;
    }
    if (!container.isEmpty) parts.push(",");
    container.isEmpty = false;
    breakLine();
    const [key, member] = entry;
    if (key !== null) parts.push(scalarText(key), indent > 0 ? ": " : ":");
    write(member);
  }
  return parts.join("");
}

function* itemsOf(items: readonly unknown[]): Generator<readonly [null, unknown]> {
  for (const item of items) yield [null, item === undefined ? null : item];
}

function* membersOf(members: object): Generator<readonly [string, unknown]> {
  for (const [key, member] of Object.entries(members)) if (member !== undefined) yield [key, member];
}

function scalarText(value: unknown): string {
  return typeof value === "number" ? numberText(value) : JSON.stringify(value);
}

/** JSON's grammar has −0 and numbers of any size; a parser reads the latter as infinite. */
function numberText(value: number): string {
  if (Object.is(value, -0)) return "-0";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "1e999" : "-1e999";
}
