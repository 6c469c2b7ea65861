/**
 * What a schema finds wrong with a value.
 *
 * @module
 */

/** How many problems of one value are named. More are counted in the last one. */
export const PROBLEMS_MAX = 20;

/** The longest message of one problem, in UTF-16 units. */
const MESSAGE_SIZE_MAX = 300;

/** One thing that is wrong with a value. */
export interface SchemaProblem {
  /** Where, as a JSON Pointer: "" is the value itself, "/items/0/name" a member. @see RFC 6901 */
  readonly path: string;
  /** What is wrong there, without a full stop. */
  readonly message: string;
}

/**
 * One text about all problems, for the one who made the value.
 *
 * @example
 * ```ts
 * import { problemsText } from "./schema_problem.ts";
 *
 * if (problemsText([{ path: "/to", message: "is missing" }]) !== "/to: is missing") throw new Error("unreachable");
 * ```
 */
export function problemsText(problems: readonly SchemaProblem[]): string {
  return problems.map(({ path, message }) => path === "" ? message : `${path}: ${message}`).join("; ");
}

/** Says each thing once, no more than PROBLEMS_MAX of them, and nothing at length. */
export function boundedProblems(problems: readonly SchemaProblem[]): SchemaProblem[] {
  const distinct = new Map<string, SchemaProblem>();
  for (const { path, message } of problems) {
    const cut = message.length > MESSAGE_SIZE_MAX ? `${message.slice(0, MESSAGE_SIZE_MAX)}…` : message;
    distinct.set(`${path}\n${cut}`, { path, message: cut });
  }
  const found = [...distinct.values()];
  if (found.length <= PROBLEMS_MAX) return found;
  const left = found.length - PROBLEMS_MAX + 1;
  return [...found.slice(0, PROBLEMS_MAX - 1), { path: "", message: `${left} more problems` }];
}

/** One step of a path. */
export function pointerToken(key: PropertyKey): string {
  return `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
