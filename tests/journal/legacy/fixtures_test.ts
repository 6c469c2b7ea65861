import { assert, assertEquals } from "@std/assert";
import { encodeHeader, encodeRow } from "../../../src/event/mod.ts";
import { foldEvents, surfaceFold } from "../../../src/fold/mod.ts";
import {
  encodeLegacyHeader,
  encodeLegacyRow,
  LegacyDecoder,
  type LegacyEvent,
  parseLegacyHeader,
  viewedEvent,
} from "../../../src/journal/legacy/mod.ts";
import { unpackRow } from "../../../src/journal/legacy/packed_row.ts";
import { eventsOfRun } from "../../../src/journal/legacy/packed_row.ts";
import { V0ToV1 } from "../../../src/journal/legacy/v0_to_v1.ts";
import { V1ToV2 } from "../../../src/journal/legacy/v1_to_v2.ts";
import { casesNotRun, fixturesDir } from "../../support/fixtures.ts";
import { bytesOf } from "../script.ts";
import { closersOf, linesOf, migrateLines, type Outcome, readOld, refusalOf, rowsOf } from "./support.ts";

const fixtures = fixturesDir();
const ENCODINGS = ["zstd", "none"] as const;

const pathOf = (path: string) => `${fixtures}/dsh/${path}`;
const bytesFrom = (path: string) => bytesOf(Deno.readFileSync(pathOf(path)));
const textFrom = (path: string) => Deno.readTextFileSync(pathOf(path));
const linesFrom = (path: string) => textFrom(path).trimEnd().split("\n");
const jsonFrom = (path: string) => JSON.parse(textFrom(path));

interface Refusal {
  readonly name: string;
  readonly message: string;
}

/** The class of a recorded answer. */
function outcomeOf(answer: unknown): Outcome {
  const { name } = (typeof answer === "object" ? answer : {}) as Partial<Refusal>;
  if (name === undefined) return "ok";
  return name === "SessionFormatUnsupportedError" ? "unsupported" : "corrupt";
}

/** The one log below a folder. */
function logBelow(folder: string): string {
  for (const { name, isDirectory } of Deno.readDirSync(pathOf(folder))) {
    if (isDirectory) return logBelow(`${folder}/${name}`);
    if (/\.jsonl(\.zstd)?$/.test(name)) return `${folder}/${name}`;
  }
  throw new Error(`Cannot find a log below ${folder}`);
}

const foldersIn = (folder: string) =>
  [...Deno.readDirSync(pathOf(folder))].filter(({ isDirectory }) => isDirectory).map(({ name }) => name).sort();

/** SHA-256 of the text that recorded answers were digested as. */
async function digestOf(text: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

const withClosers = (events: readonly LegacyEvent[]) => [...events, ...closersOf(events)];

// Real sessions of version 0, with what the real loader answered.

if (fixtures === null) {
  Deno.test("v0: real sessions", () => casesNotRun(25, "v0"));
} else {
  for (const encoding of ENCODINGS) {
    for (const name of foldersIn(`v0/${encoding}`)) {
      Deno.test(`v0/${encoding}/${name}: header, events and closers are those of the real loader`, async () => {
        const folder = `v0/${encoding}/${name}`;
        const { list, readFrom0, inspect, load, loadChangedFile } = jsonFrom(`${folder}/expected.json`);
        const bytes = bytesFrom(logBelow(`${folder}/root`));
        const reading = await readOld(bytes, encoding, { checks: true });
        const { type: _type, ...header } = JSON.parse(encodeLegacyHeader(reading.header!));
        assertEquals([header], list.ok);
        assertEquals(reading.outcome, "ok", reading.why ?? "");
        if (name === "unknown_required") {
          // The real loader shows nothing of it. It is shown here, and refused where somebody would go on with it.
          assertEquals([readFrom0, inspect, load].map(({ error }) => outcomeOf(error)), Array(3).fill("unsupported"));
          const lines = new TextDecoder().decode(
            bytesFrom(logBelow("v0/none/unknown_required/root")),
          ).trimEnd().split("\n");
          const [code, message] = refusalOf(() =>
            migrateLines([...lines.slice(0, 1), lines.at(-1)!.replace("8", "0")])
          );
          assertEquals(code, "UNSUPPORTED_FORMAT");
          assert(message.includes("x-plugin/note"), message);
          return;
        }
        assertEquals(JSON.stringify(reading.events), JSON.stringify(readFrom0.ok.events));
        const closed = withClosers(reading.events);
        assertEquals(JSON.stringify(closed), JSON.stringify(inspect.ok.events));
        assertEquals(JSON.stringify(closed), JSON.stringify(load.ok.events));
        if (!loadChangedFile) return;
        // What the real loader left on the disk reads as the same events.
        const after = await readOld(bytesFrom(logBelow(`${folder}/root-after-load`)), encoding, { checks: true });
        assertEquals(JSON.stringify(after.events), JSON.stringify(closed));
      });
    }
  }
}

/**
 * Where more is shown than the real loader shows, or another class is told, each with its reason. Everything else is equal.
 *
 * `stored`: without checks, as rows decode. `inspected`: with the checks of a program that goes on with the session.
 */
const DEVIATIONS: Readonly<
  Record<string, { readonly stored?: Outcome; readonly inspected?: Outcome; readonly why: string }>
> = {
  header_version_1: { stored: "ok", inspected: "ok", why: "version 1 is read here" },
  "none/json_null_row": {
    stored: "ok",
    inspected: "ok",
    why: "null is no row, as [] is none: a tail, and no TypeError",
  },
  legacy_mode_set: { stored: "ok", inspected: "ok", why: "intact: it is shown, and the migration refuses it" },
  no_message_id: { stored: "ok", why: "what decodes is shown; the checks refuse it" },
  source_range_pair_in_v0: { inspected: "ok", why: "later writers compress so, and the migration's decoder reads it" },
  header_cwd_rel: {
    stored: "ok",
    inspected: "ok",
    why: "the rows are intact; that the path does not fit is found outside",
  },
  header_id_mismatch: { stored: "ok", inspected: "ok", why: "the same" },
};

if (fixtures === null) {
  Deno.test("v0-corrupt: damaged and odd files", () => casesNotRun(77, "v0-corrupt"));
} else {
  for (const encoding of ENCODINGS) {
    for (const name of foldersIn(`v0-corrupt/${encoding}`)) {
      Deno.test(`v0-corrupt/${encoding}/${name}: the events or the class of the real loader`, async () => {
        const folder = `v0-corrupt/${encoding}/${name}`;
        const expected = jsonFrom(`${folder}/expected.json`);
        const file = encoding === "zstd" ? "session.jsonl.zstd" : "session.jsonl";
        const bytes = bytesFrom(`${folder}/${file}`);
        const deviation = DEVIATIONS[`${encoding}/${name}`] ?? DEVIATIONS[name];

        const stored = await readOld(bytes, encoding, { checks: false });
        assertEquals(stored.outcome, deviation?.stored ?? outcomeOf(expected.stored), `stored: ${stored.why}`);
        if (expected.stored.events !== undefined) {
          assertEquals(JSON.stringify(stored.events), JSON.stringify(expected.stored.events));
          assertEquals(await digestOf(JSON.stringify(stored.events)), expected.storedSha);
        }

        const inspected = await readOld(bytes, encoding, { checks: true });
        assertEquals(inspected.outcome, deviation?.inspected ?? outcomeOf(expected.inspect), `${inspected.why}`);
        if (expected.inspect.events === undefined) return;
        const closed = withClosers(inspected.events);
        assertEquals(JSON.stringify(closed), JSON.stringify(expected.inspect.events));
        if (encoding === "zstd" || typeof expected.load !== "number") return;
        // What a program of version 0 leaves on the disk: the accepted bytes and the closers.
        const kept = new TextDecoder().decode(bytes.subarray(0, inspected.endBytes));
        const added = linesOf(closersOf(inspected.events) as unknown as LegacyEvent[], 0).map((line) => line + "\n");
        assertEquals(await digestOf(kept + added.join("")), expected.afterLoadSha);
      });
    }
  }
}

for (const encoding of ENCODINGS) {
  Deno.test(`v0-torn/tools-every-offset.${encoding}: every cut gives the recorded events and closers`, async () => {
    if (fixtures === null) return casesNotRun(encoding === "zstd" ? 676 : 1654, `v0-torn, ${encoding}`);
    const { source, rows } = jsonFrom(`v0-torn/tools-every-offset.${encoding}.json`);
    const whole = bytesFrom(source);
    const digests = new Map<string, Promise<string>>();
    const digest = (text: string) => {
      if (!digests.has(text)) digests.set(text, digestOf(text));
      return digests.get(text)!;
    };
    for (const row of rows) {
      const at = `cut at ${row.truncateTo}`;
      const bytes = whole.slice(0, row.truncateTo);
      const { outcome, events, endBytes } = await readOld(bytes, encoding, { checks: true });
      assertEquals(outcome, outcomeOf(row.stored), at);
      if (outcome !== "ok") continue;
      assertEquals(events.length, row.stored, at);
      const closed = withClosers(events);
      assertEquals([closed.length, closed.length], [row.inspect, row.load], at);
      assertEquals(await digest(JSON.stringify(events)), row.storedSha, at);
      assertEquals(await digest(JSON.stringify(closed)), row.inspectSha, at);
      if (encoding === "zstd") continue;
      const added = linesOf(closersOf(events) as unknown as LegacyEvent[], 0).map((line) => line + "\n");
      assertEquals(
        await digest(new TextDecoder().decode(bytes.subarray(0, endBytes)) + added.join("")),
        row.afterLoadSha,
      );
    }
  });
}

Deno.test("v0-pure/pack-cases: packed rows expand to the recorded events, and malformed ones are refused", () => {
  if (fixtures === null) return casesNotRun(16, "v0-pure/pack-cases.json");
  const { pack, decode } = jsonFrom("v0-pure/pack-cases.json");
  for (const { name, events, rows } of pack) {
    const decoder = new LegacyDecoder(headerOf(), { checks: false });
    const lines = rows.map((row: unknown) => JSON.stringify(row));
    const decoded = rowsOf(lines, 0).flatMap((row) => decoder.push(row));
    assertEquals(JSON.stringify(decoded), JSON.stringify(events), name);
    assertEquals(rowsOf(lines, 0).map((row) => encodeLegacyRow(row, 0)), lines, name);
  }
  for (const { row, ok, error } of decode) {
    const run = unpackRow(row);
    if (error !== undefined) assertEquals(typeof run, "string", error);
    else assertEquals(typeof run === "string" ? run : JSON.stringify([...eventsOfRun(run)]), JSON.stringify(ok));
  }
});

Deno.test("v0-pure/surface-cases: the surface of version 0 is folded as recorded", () => {
  if (fixtures === null) return casesNotRun(9, "v0-pure/surface-cases.json");
  for (const { name, events, fold } of jsonFrom("v0-pure/surface-cases.json").cases) {
    const decoder = new LegacyDecoder(headerOf());
    const rows = rowsOf(linesOf(events, 0), 0);
    if (fold.error !== undefined) {
      assertEquals(
        refusalOf(() => rows.forEach((row) => decoder.push(row)))[0],
        "CORRUPT_LOG",
        `${name}: ${fold.error}`,
      );
      continue;
    }
    const decoded = rows.flatMap((row) => decoder.push(row));
    assertEquals(decoder.surfaceSeqs, fold.ok.nodes, name);
    const surface = foldEvents(surfaceFold, decoded.map(viewedEvent));
    assertEquals([surface.fault, surface.replaceGeneration], [null, fold.ok.replacements.length], name);
  }
});

Deno.test("derived/migratable: each stage gives the recorded file, byte for byte", () => {
  if (fixtures === null) return casesNotRun(3, "derived/migratable");
  const [first, ...lines] = linesFrom("derived/migratable/session.jsonl");
  const toV1 = new V0ToV1(parseLegacyHeader(first!));
  const v1Rows = rowsOf(lines, 0).map((row) => toV1.push(row));
  const text = (header: string, rows: readonly string[]) => [header, ...rows, ""].join("\n");
  assertEquals(
    text(encodeLegacyHeader(toV1.header), v1Rows.map((row) => encodeLegacyRow(row, 1))),
    textFrom("derived/migratable/session.v1.jsonl"),
  );

  const toV2 = new V1ToV2(toV1.header);
  const v2Events = [...v1Rows.flatMap((row) => toV2.push(row)), ...toV2.end()];
  assertEquals(
    text(encodeLegacyHeader(toV2.header), linesOf(v2Events, 2)),
    textFrom("derived/migratable/session.v2.jsonl"),
  );

  for (const file of ["session.jsonl", "session.v1.jsonl", "session.v2.jsonl"]) {
    const { header, events, inheritedEventCount } = migrateLines(linesFrom(`derived/migratable/${file}`));
    assertEquals(
      text(encodeHeader(header), events.map(encodeRow)),
      textFrom("derived/migratable/session.v3.jsonl"),
      file,
    );
    const expected = jsonFrom("derived/migratable/expected.v3.json");
    assertEquals([header, events, inheritedEventCount], [
      expected.header,
      expected.events,
      expected.inheritedEventCount,
    ]);
    const { nodes, replaceGeneration } = foldEvents(surfaceFold, events);
    assertEquals({ nodes: [...nodes].map(({ seq }) => seq), replaceGeneration }, expected.surface);
  }
});

Deno.test("derived/migratable/session.v2.jsonl.zstd: version 2 in frames gives the same events as its lines", async () => {
  if (fixtures === null) return casesNotRun(1, "derived/migratable");
  const inFrames = await readOld(bytesFrom("derived/migratable/session.v2.jsonl.zstd"), "zstd", { checks: true });
  assertEquals(inFrames.outcome, "ok", inFrames.why ?? "");
  assertEquals(linesOf(inFrames.events, 2), linesFrom("derived/migratable/session.v2.jsonl").slice(1));
});

Deno.test("v0/none/migratable_fork: the seed end moves, and the preset gets its new name", () => {
  if (fixtures === null) return casesNotRun(1, "v0/none/migratable_fork");
  const lines = linesFrom(logBelow("v0/none/migratable_fork/root"));
  const { header, events, inheritedEventCount } = migrateLines(lines);
  assertEquals([header.isSeeded, header.agentPreset, inheritedEventCount], [true, "ptc", 21]);
  const { events: inherited } = migrateLines(linesFrom("derived/migratable/session.jsonl"));
  const own = events.slice(21).map(({ type, seq, data }) => ({ type, seq, data }));
  assertEquals(own, [
    { type: "session/end-seed", seq: 21, data: { inherited: true } },
    { type: "turn/start", seq: 22, data: { turn: 2 } },
    { type: "turn/end", seq: 23, data: { turn: 2, reason: { kind: "aborted", reason: { kind: "user" } } } },
  ]);
  // The inherited part is that of the parent but for the ids, which hold the session's.
  const shape = (list: typeof events) =>
    list.slice(0, 21).map(({ type, seq, surfaceOp }) => ({ type, seq, surfaceOp }));
  assertEquals(shape(events), shape(inherited));
});

/** What the rules of the format do not let into version 3: message before the first step, nesting that is broken. */
Deno.test("v0: what is no migration is refused as unsupported, with the reason", () => {
  if (fixtures === null) return casesNotRun(4, "v0, v0-corrupt");
  const cases = [
    ["v0/none/plain/root", "surface before first step"],
    ["v0-corrupt/none/legacy_mode_set", "no place in later versions"],
    ["v0-corrupt/none/header_unknown_field", 'the unknown field "extra"'],
    ["v0-corrupt/none/turn_bracket_violation", "turn 1 has no end"],
  ] as const;
  for (const [folder, reason] of cases) {
    const [code, message] = refusalOf(() => migrateLines(linesFrom(logBelow(folder))));
    assertEquals(code, "UNSUPPORTED_FORMAT", folder);
    assert(message.includes(reason), message);
  }
});

function headerOf() {
  return parseLegacyHeader('{"type":"session","version":0,"id":"x","createdAt":1,"delegationDepth":0}');
}
