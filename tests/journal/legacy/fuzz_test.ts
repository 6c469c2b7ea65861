import { assert, assertEquals } from "@std/assert";
import { hasCode } from "../../../src/errors.ts";
import { RowFault, type SessionEvent } from "../../../src/event/mod.ts";
import { foldEvents, logFold } from "../../../src/fold/mod.ts";
import {
  encodeLegacyHeader,
  encodeLegacyRow,
  foldedEvent,
  LegacyDecoder,
  type LegacyEvent,
  type LegacyHeader,
  type LegacyRow,
  type LegacyVersion,
  migrateLegacy,
  parseLegacyHeader,
  readLegacyRow,
  viewedEvent,
} from "../../../src/journal/legacy/mod.ts";
import { V0ToV1 } from "../../../src/journal/legacy/v0_to_v1.ts";
import { V1ToV2 } from "../../../src/journal/legacy/v1_to_v2.ts";
import { closers } from "../../../src/session/repair.ts";
import { type SeededRandom, seededRandom } from "../../support/seeded_random.ts";
import { checkIsCurrent, OldLines, wholeSession } from "./old_lines.ts";
import { linesOf, rowsOf } from "./support.ts";

/** How many mutated logs a test reads. */
const CASES = 2000;

const JUNK: readonly unknown[] = [
  ...[null, true, false, 0, -0, -1, 1.5, 1e308, Number.MAX_SAFE_INTEGER, 4, 7, "", "append", "x", "\ud800", "c"],
  ...[[], [[]], [0], [[0, 2]], [[2, 0]], [[0, 4_000_000_000]], {}, { op: "replace", start: 2, end: 2 }],
  ...[{ kind: "goal", change: {} }, { kind: "plugin", plugin: "compact" }, { kind: "aborted" }, { type: "tool-call" }],
  ...[
    "turn/end",
    "assistant/chunk",
    "session/end-seed",
    "text-chunks",
    "tool-call-chunks",
    "steering/message",
    "__proto__",
  ],
];

/** Every place in a value that can be changed. */
function placesIn(value: unknown, places: [holder: Record<string, unknown>, key: string][] = []): typeof places {
  if (typeof value !== "object" || value === null) return places;
  for (const key of Object.keys(value)) {
    places.push([value as Record<string, unknown>, key]);
    placesIn((value as Record<string, unknown>)[key], places);
  }
  return places;
}

/** A line with one thing in it changed; still JSON in most cases. */
function mutatedLine(line: string, random: SeededRandom): string {
  if (random.below(8) === 0) {
    const at = random.below(line.length);
    return line.slice(0, at) + random.pick(["", '"', "{", "9", "-", "\\ud800", " "]) + line.slice(at + random.below(3));
  }
  const row = JSON.parse(line);
  const [holder, key] = random.pick(placesIn(row));
  switch (random.below(4)) {
    case 0:
      delete holder[key];
      break;
    case 1:
      holder["extra"] = random.pick(JUNK);
      break;
    default:
      holder[key] = random.pick(JUNK);
  }
  return JSON.stringify(row);
}

/** One or two changes: in lines, or of lines. */
function mutated(lines: readonly string[], random: SeededRandom): string[] {
  const changed = [...lines];
  for (let count = 1 + random.below(2); count > 0; count--) {
    const at = random.below(changed.length);
    switch (random.below(6)) {
      case 0:
        changed.splice(at, 1);
        break;
      case 1:
        changed.splice(at, 0, random.pick(lines));
        break;
      case 2:
        changed.push(...changed.splice(at, 1 + random.below(3)));
        break;
      default:
        try {
          changed[at] = mutatedLine(changed[at]!, random);
        } catch {
          // A line that was no JSON any more stays as it is.
        }
    }
    if (changed.length === 0) return [""];
  }
  return renumberedLines(changed, random);
}

/** Half of the time lines get the seqs of their new places, so that more than the seq is found wrong. */
function renumberedLines(lines: string[], random: SeededRandom): string[] {
  if (random.below(2) === 0) return lines;
  let seq = 0;
  return lines.map((line, index) => {
    if (index === 0) return line;
    const own = /"seq0?":\d+/.exec(line);
    if (own === null) return line;
    const texts = /"texts":\[(.*?)\]/.exec(line);
    const next = line.replace(own[0], own[0].replace(/\d+$/, String(seq)));
    seq += own[0].startsWith('"seq0"') && texts !== null ? texts[1]!.split(",").length : 1;
    return next;
  });
}

/** Whether an error is a verdict about the log. Anything else is a fault of ours. */
function checkTyped(error: unknown): void {
  if (!hasCode(error, "CORRUPT_LOG") && !hasCode(error, "UNSUPPORTED_FORMAT")) throw error;
  assert(/^Cannot (?:read|migrate) /.test((error as Error).message), (error as Error).message);
}

function headerIn(line: string): LegacyHeader | null {
  try {
    const header = parseLegacyHeader(line);
    // What was parsed is written as something that parses to the same.
    if (header.strangers.length === 0) assertEquals(parseLegacyHeader(encodeLegacyHeader(header)), header);
    return header;
  } catch (error) {
    checkTyped(error);
    return null;
  }
}

/** The rows up to the first that is none, as a scan takes them. */
function rowsIn(lines: readonly string[], version: LegacyVersion): LegacyRow[] {
  const rows: LegacyRow[] = [];
  let seq = 0;
  for (const line of lines) {
    const row = readLegacyRow(line, version, seq);
    if (row instanceof RowFault) {
      assert(row.problem !== "");
      break;
    }
    assert(typeof encodeLegacyRow(row, version) === "string");
    rows.push(row);
    seq += row.count;
  }
  return rows;
}

/** Reads a log in every way there is. Says how the migration ended. */
function readInEveryWay(lines: readonly string[]): "ok" | "refused" | "no header" {
  const header = headerIn(lines[0]!);
  if (header === null) return "no header";
  const rows = rowsIn(lines.slice(1), header.version);
  const count = rows.reduce((sum, row) => sum + row.count, 0);

  const shown = new LegacyDecoder(header, { checks: false });
  const stored: LegacyEvent[] = rows.flatMap((row) => [...shown.push(row)]);
  assertEquals(stored.map(({ seq }) => seq), Array.from({ length: count }, (_, seq) => seq));
  const folds = foldEvents(logFold, stored.map(viewedEvent).map(foldedEvent));
  assertEquals(folds.nextSeq, count);
  closers(folds);

  const checked = new LegacyDecoder(header);
  try {
    for (const row of rows) checked.push(row);
  } catch (error) {
    checkTyped(error);
    assert(hasCode(error, "CORRUPT_LOG"));
  }

  const events: SessionEvent[] = [];
  let isMigrated = true;
  try {
    const migration = migrateLegacy(header);
    try {
      for (const row of rows) events.push(...migration.push(row));
      events.push(...migration.end());
    } catch (error) {
      checkTyped(error);
      isMigrated = false;
    }
    checkIsCurrent({ header: migration.header, events });
  } catch (error) {
    checkTyped(error);
    isMigrated = false;
  }
  // A migration never knows better than its source's own version whether there is damage.
  if (isMigrated) assertEquals(checked.nextSeq, count);
  return isMigrated ? "ok" : "refused";
}

/** The same session in each of the old versions. */
function sessionOf(version: LegacyVersion): string[] {
  const { lines } = wholeSession(1, { seedLength: 13 });
  if (version === 1) return lines;
  if (version === 2) {
    const stage = new V1ToV2(parseLegacyHeader(lines[0]!));
    const events = rowsOf(lines.slice(1), 1).flatMap((row) => stage.push(row));
    events.push(...stage.end());
    return [encodeLegacyHeader(stage.header), ...linesOf(events, 2)];
  }
  const older = new OldLines(0);
  older.add("turn/start", { turn: 1, trigger: { kind: "user" } });
  older.add("step/start", { turn: 1, step: 1 });
  older.add("user/message", { content: [], source: { kind: "user" } }, { surfaceOp: "append" });
  older.add("compact/start", { turn: 1 });
  older.add("compact/end", { turn: 1, error: "x" });
  const retry = { turn: 1, step: 1, provider: "p", mode: "normal", policyKey: "k", retry: 1, delayMs: 1, failure: {} };
  older.add("llm/retry", retry);
  const provenance = { provider: "p", model: "m" };
  older.add("assistant/message", { turn: 1, step: 1, content: [], provenance }, { surfaceOp: "append" });
  older.add("steering/message", { turn: 1, content: [], source: { kind: "user" } }, { surfaceOp: "append" });
  older.add("step/end", { turn: 1, step: 1 });
  older.add("turn/end", { turn: 1, reason: { kind: "error", step: 1, message: "m" } });
  return older.lines;
}

for (const version of [0, 1, 2] as const) {
  Deno.test(`version ${version}: ${CASES} mutated logs give events or typed errors, and never a log that does not open`, () => {
    const lines = sessionOf(version);
    assertEquals(readInEveryWay(lines), "ok");
    const random = seededRandom(80 + version);
    const ended = { ok: 0, refused: 0, "no header": 0 };
    for (let index = 0; index < CASES; index++) {
      const log = mutated(lines, random);
      try {
        ended[readInEveryWay(log)] += 1;
      } catch (error) {
        throw new Error(`case ${index}:\n${log.join("\n")}`, { cause: error });
      }
    }
    // All three kinds of ends are met, or the mutations have lost their teeth.
    for (const [end, count] of Object.entries(ended)) assert(count > CASES / 100, `${end}: ${count}`);
  });
}

/** Values that no text may be made of carelessly: too deep for a recursion, and no primitive to become. */
const AWKWARD: readonly string[] = [
  "[".repeat(20_000) + "]".repeat(20_000),
  '{"toString":1,"valueOf":1}',
  '{"__proto__":[]}',
];

for (const version of [0, 1, 2] as const) {
  Deno.test(`version ${version}: a value that is awkward to handle gives a typed error at every place, or passes`, () => {
    const lines = sessionOf(version);
    const header = parseLegacyHeader(lines[0]!);
    let count = 0;
    lines.slice(1).forEach((line, index) => {
      for (let place = 0;; place++) {
        const row = JSON.parse(line);
        const found = placesIn(row)[place];
        if (found === undefined) break;
        found[0][found[1]] = "AWKWARD";
        for (const text of AWKWARD) {
          const changed = [...lines];
          changed[index + 1] = JSON.stringify(row).replace('"AWKWARD"', text);
          const rows = rowsIn(changed.slice(1), version);
          const decoder = new LegacyDecoder(header, { checks: false });
          closers(foldEvents(logFold, rows.flatMap((row) => [...decoder.push(row)]).map(viewedEvent).map(foldedEvent)));
          const checked = new LegacyDecoder(header);
          const migration = migrateLegacy(header);
          for (const take of [(row: LegacyRow) => checked.push(row), (row: LegacyRow) => migration.push(row)]) {
            try {
              rows.forEach(take);
            } catch (error) {
              checkTyped(error);
            }
          }
          count += 1;
        }
      }
    });
    assert(count > 100, String(count));
  });
}

Deno.test("V0ToV1 and V1ToV2 pass on what they do not look at without changing it", () => {
  const lines = sessionOf(1);
  const header = parseLegacyHeader(lines[0]!.replace('"version":1', '"version":0'));
  const stage = new V0ToV1(header);
  for (const row of rowsOf(lines.slice(1), 0)) {
    assertEquals(encodeLegacyRow(stage.push(row), 1), encodeLegacyRow(row, 0));
  }
});
