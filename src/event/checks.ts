/**
 * The small questions every check at the trust boundary asks, and how it words what it found.
 *
 * @module
 */

/** An object of unknown content. */
export interface JsonRecord {
  readonly [key: string]: unknown;
}

/** Whether a value is an object and not an array. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A count: a safe integer of at least 0, and not −0. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && !Object.is(value, -0);
}

/** A safe integer of any sign, and not −0. */
export function isInt(value: unknown): value is number {
  return Number.isSafeInteger(value) && !Object.is(value, -0);
}

/** Whether a value is a string of at least one unit. */
export function isNonEmptyString(value: unknown): value is string {
  return typeof value === "string" && value.length > 0;
}

/** The first own key that is not allowed, or null. */
export function strangeKey(value: JsonRecord, allowed: ReadonlySet<string>): string | null {
  for (const key of Object.keys(value)) {
    if (!allowed.has(key)) return key;
  }
  return null;
}

/** Says what is wrong with one member, to be read after "found ". */
export function wrong(path: string, value: unknown, wanted: string): string {
  return `${path} = ${show(value)}, expected ${wanted}`;
}

const SHOWN_UNITS_MAX = 60;

/** A short, safe picture of any value. */
export function show(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value === "string") {
    return value.length <= SHOWN_UNITS_MAX
      ? JSON.stringify(value)
      : `${JSON.stringify(value.slice(0, SHOWN_UNITS_MAX))}… (${value.length} units)`;
  }
  if (typeof value === "function") return "a function";
  return Object.is(value, -0) ? "-0" : String(value);
}

/** Says which of these members of `data` is no string, or null. */
export function stringsProblem(record: JsonRecord, ...keys: readonly string[]): string | null {
  for (const key of keys) {
    if (typeof record[key] !== "string") return wrong(`data.${key}`, record[key], "a string");
  }
  return null;
}

/** The same for members that may be absent. */
export function optionalStringsProblem(record: JsonRecord, ...keys: readonly string[]): string | null {
  for (const key of keys) {
    if (record[key] !== undefined && typeof record[key] !== "string") {
      return wrong(`data.${key}`, record[key], "a string");
    }
  }
  return null;
}

/** Says whether a member of `data` is no count. */
export function countProblem(record: JsonRecord, key: string): string | null {
  return isCount(record[key]) ? null : wrong(`data.${key}`, record[key], "a count");
}

/** The same for a member that may be absent. */
export function optionalCountProblem(record: JsonRecord, key: string): string | null {
  return record[key] === undefined ? null : countProblem(record, key);
}

/** Says whether a member of `data` is neither `true` nor absent. */
export function optionalTrueProblem(record: JsonRecord, key: string): string | null {
  return record[key] === undefined || record[key] === true ? null : wrong(`data.${key}`, record[key], "true");
}

/** Says whether a member of `data` is none of the allowed words. */
export function oneOfProblem(record: JsonRecord, key: string, allowed: readonly string[]): string | null {
  return allowed.includes(record[key] as string)
    ? null
    : wrong(`data.${key}`, record[key], `one of ${allowed.join(", ")}`);
}

/** The same for a member that may be absent. */
export function optionalOneOfProblem(record: JsonRecord, key: string, allowed: readonly string[]): string | null {
  return record[key] === undefined ? null : oneOfProblem(record, key, allowed);
}
