import { assert, assertEquals, assertRejects } from "@std/assert";
import { closers, foldEvents, logFold, type LogReader, type SessionEvent, type SessionRow } from "../../mod.ts";
import { openSqliteFile } from "../../src/entry/sqlite.ts";
import { readAll } from "../../src/testing/session_store_context.ts";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";
import { applyStatements, withCopy } from "./dsh_databases.ts";

const fixtures = fixturesDir();
const folder = `${fixtures}/dsh/sqlite-v15`;

/** One test over the fixtures, which stand for `count` cases. */
function overFixtures(name: string, count: number, act: (t: Deno.TestContext) => Promise<void>): void {
  Deno.test(`sqlite-v15: ${name}`, async (t) => {
    if (fixtures === null) return casesNotRun(count, "sqlite-v15");
    await act(t);
  });
}

/** What the original answered: a log, or the name of its error. */
interface Answer {
  readonly meta?: Record<string, unknown>;
  readonly events?: readonly SessionEvent[];
  readonly error?: { readonly name: string };
}
interface Expected {
  readonly id: string;
  readonly readFrom: Answer;
  readonly inspect: Answer;
  readonly load: Answer;
}

async function expectedAnswers(): Promise<{ sessions: Expected[]; list: { id: string }[] }> {
  const { __list, __snap: _, ...sessions } = JSON.parse(await Deno.readTextFile(`${folder}/expected.json`));
  return { sessions: Object.values(sessions), list: __list };
}

/** The logical header as the original tells it. */
function metaOf({ header, inheritedEventCount }: LogReader): Record<string, unknown> {
  const { type: _, isSeeded, delegationDepth, ...rest } = header;
  const seed = isSeeded ? { seedLength: inheritedEventCount } : {};
  return { ...rest, ...seed, ...(delegationDepth === 0 ? {} : { delegationDepth }) };
}

overFixtures("before load, every session answers as expected.json says", 26, async () => {
  const { sessions, list } = await expectedAnswers();
  await using store = await openSqliteFile({ path: `${folder}/sessions.before-load.db` });
  let compared = 0;
  for (const { id, readFrom, inspect } of sessions) {
    await using reader = await store.open(id, "read");
    if (readFrom.error !== undefined) {
      // Refused by the original; here it is shown, and refused for writing.
      assertEquals([readFrom.error.name, reader.state().fault?.code], [
        ...["SessionFormatUnsupportedError", "UNSUPPORTED_FORMAT"],
      ]);
      continue;
    }
    const events = await readAll(reader);
    assertEquals(metaOf(reader), readFrom.meta, id);
    assertEquals(events, readFrom.events, id);
    assertEquals(reader.state().fault, null, id);
    assertEquals([...events, ...closers(foldEvents(logFold, events))], inspect.events, id);
    compared += 1;
  }
  assertEquals(compared, 25);
  assertEquals((await rowsOf(store.list())).map(({ id }) => id), list.map(({ id }) => id).sort());
});

overFixtures("after load, every session answers as expected.json says", 26, async () => {
  const { sessions } = await expectedAnswers();
  await using store = await openSqliteFile({ path: `${folder}/sessions.db` });
  for (const { id, load } of sessions) {
    await using reader = await store.open(id, "read");
    if (load.error !== undefined) continue;
    const events = await readAll(reader);
    assertEquals(events, load.events, id);
    assertEquals(closers(foldEvents(logFold, events)), [], id);
  }
});

/** What we say of each mutation of `plain`, or of the session that it is about. `events` counts what can be read. */
interface Verdict {
  readonly session?: string;
  readonly events?: number;
  readonly closers?: number;
  readonly torn?: true;
  readonly fault?: string;
  readonly seq?: number | null;
  /** The code with which not even the header can be read. */
  readonly refused?: string;
  /** The code with which nothing of the database can be read. */
  readonly whole?: string;
}

const WANTED: Readonly<Record<string, Verdict>> = {
  "untouched": { events: 8 },
  "tail-bad-json-after-last-turn-end": { events: 8, torn: true },
  "tail-gap-after-last-turn-end": { events: 8, torn: true },
  "bad-json-before-turn-end": { events: 2, fault: "CORRUPT_LOG", seq: 2 },
  "gap-before-turn-end": { events: 2, fault: "CORRUPT_LOG", seq: 2 },
  "bad-json-on-turn-end-itself": { events: 7, torn: true, closers: 1 },
  "missing-last-turn-end": { events: 7, closers: 1 },
  "open-turn-tail-bad": { session: "crash_call_unknown", events: 13, torn: true, closers: 3 },
  "no-events-rows": { events: 0 },
  "header-version-1": { refused: "UNSUPPORTED_FORMAT" },
  "header-negative-createdAt": { refused: "CORRUPT_LOG" },
  "header-origin-bad": { refused: "CORRUPT_LOG" },
  "surface-op-bad-json": { events: 1, fault: "CORRUPT_LOG", seq: 1 },
  "surface-op-null-on-surface-type": { events: 1, fault: "CORRUPT_LOG", seq: 1 },
  "ignorable-1-unknown": { session: "unknown_ignorable", events: 9 },
  "unknown-required": { session: "unknown_ignorable", events: 9, fault: "UNSUPPORTED_FORMAT", seq: 8 },
  "user_version-minus-1": { whole: "UNSUPPORTED_FORMAT" },
  "user_version-plus-1": { whole: "UNSUPPORTED_FORMAT" },
  "application_id-0": { whole: "UNSUPPORTED_FORMAT" },
  "no-store-id": { events: 8 },
  "extra-table": { events: 8 },
  "extra-index": { events: 8 },
};

overFixtures("the mutations of corrupt-cases.json are classified as the original does, or better", 22, async (t) => {
  const { cases } = JSON.parse(await Deno.readTextFile(`${folder}/corrupt-cases.json`)) as {
    cases: Record<string, { sql: string[]; list: unknown } & Record<string, Record<string, unknown>>>;
  };
  assertEquals(Object.keys(cases).sort(), Object.keys(WANTED).sort());
  for (const [name, { sql, list, ...answers }] of Object.entries(cases)) {
    await t.step(name, () =>
      withCopy(`${folder}/sessions.before-load.db`, async (path) => {
        applyStatements(path, sql);
        const wanted = WANTED[name]!;
        await using store = await openSqliteFile({ path });
        if (wanted.whole !== undefined) {
          assert(typeof list === "object", "the original lists it");
          for (
            const act of [() => rowsOf(store.list()), () => store.stat("plain"), () => store.open("plain", "read")]
          ) {
            const error = await assertRejects(act) as Error & { code?: string };
            assertEquals(error.code, wanted.whole);
            const [, found] = /(?:version|id) (\d+)/.exec(error.message)!;
            assert(sql[0]!.endsWith(`=${found}`), error.message);
          }
          return;
        }
        // One bad row never hides the others, also where the original lists none.
        assertEquals((await rowsOf(store.list())).length, 26);
        const id = wanted.session ?? "plain";
        if (wanted.refused !== undefined) {
          const error = await assertRejects(() => store.open(id, "read")) as Error & { code?: string };
          assertEquals(error.code, wanted.refused);
          const row = await store.stat(id);
          assertEquals(row?.state, wanted.refused === "UNSUPPORTED_FORMAT" ? "unsupported" : "damaged");
          assert(typeof answers[id]!.load === "object", "the original loads it");
          return;
        }
        await using reader = await store.open(id, "read");
        const events = await readAll(reader);
        const { fault, torn } = reader.state();
        const ours = [events.length, torn !== null, fault?.code, fault?.seq];
        assertEquals(ours, [wanted.events, wanted.torn ?? false, wanted.fault, wanted.seq]);
        const original = answers[id]!;
        if (fault === null) {
          assertEquals(events.length, original.readFrom);
          const more = closers(foldEvents(logFold, events));
          assertEquals([more.length, events.length + more.length], [wanted.closers ?? 0, original.load]);
        } else {
          assert(typeof original.load === "object", "the original loads it");
        }
      }));
  }
});

overFixtures(
  "reading leaves the file and its folder as they were, and nothing can be written",
  1,
  () =>
    withCopy(`${folder}/sessions.before-load.db`, async (path) => {
      const before = await Deno.readFile(path);
      const store = await openSqliteFile({ path });
      await using reader = await store.open("plain", "read");
      await readAll(reader);
      for (
        const act of [
          () => store.open("plain", "write"),
          () => store.delete("plain"),
          () => store.create({ ...reader.header, version: 3, id: "new" }),
        ]
      ) assertEquals((await assertRejects(act) as { code?: string } & Error).code, "UNSUPPORTED_FORMAT");
      await store.close();
      assertEquals(await Deno.readFile(path), before);
      assertEquals([...Deno.readDirSync(path.slice(0, path.lastIndexOf("/")))].length, 1);
    }),
);

async function rowsOf(list: AsyncIterable<SessionRow>): Promise<SessionRow[]> {
  return await Array.fromAsync(list);
}
