import { assert, assertEquals } from "@std/assert";
import { encodeRow, parseHeader, parseRow, type SessionEvent } from "../../src/event/mod.ts";
import { foldEvents, logFold } from "../../src/fold/mod.ts";
import { closers } from "../../src/session/repair.ts";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";

function readJson(path: string) {
  return JSON.parse(Deno.readTextFileSync(path));
}

function closersOf(events: readonly SessionEvent[]): SessionEvent[] {
  return closers(foldEvents(logFold, events));
}

function fixtures(path: string, cases: number): string | null {
  const folder = fixturesDir();
  if (folder === null) casesNotRun(cases, path);
  return folder === null ? null : `${folder}/dsh/${path}`;
}

Deno.test("exec/R15: every prefix of derived/v3-crash is repaired byte for byte", () => {
  const folder = fixtures("derived/v3-crash", 26);
  if (folder === null) return;
  const files = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.startsWith("prefix-"));
  assert(files.length >= 9);
  for (const file of files) {
    const { stored, closers: expected, afterRepairFileLines } = readJson(`${folder}/${file}`);
    const [header, ...rows]: string[] = afterRepairFileLines;
    parseHeader(header!);
    const events = rows.slice(0, stored).map(parseRow);
    const added = closersOf(events);
    assertEquals(added.map(encodeRow), rows.slice(stored), file);
    assertEquals(JSON.stringify(added), JSON.stringify(expected), file);
  }

  const [, ...rows]: string[] = readJson(`${folder}/prefix-16.json`).afterRepairFileLines;
  const events = rows.map(parseRow);
  const index: { prefix: number; last: string | null; closers: string[] }[] = readJson(`${folder}/index.json`);
  assertEquals(index.map(({ prefix }) => prefix), Array.from({ length: events.length + 1 }, (_, prefix) => prefix));
  for (const { prefix, last, closers: expected } of index) {
    const stored = events.slice(0, prefix);
    assertEquals(stored.at(-1)?.type ?? null, last);
    const found = closersOf(stored).map((event) => {
      const { error } = event.data as { error?: { code: string } };
      return error === undefined ? event.type : `${event.type}:${error.code}`;
    });
    assertEquals(found, expected, `prefix ${prefix}`);
  }
});

Deno.test("repair of the recorded version-0 crashes is what the real loader wrote", () => {
  const folder = fixtures("v0", 23);
  if (folder === null) return;
  let repaired = 0;
  for (const encoding of ["zstd", "none"]) {
    for (const { name } of Deno.readDirSync(`${folder}/${encoding}`)) {
      const { appended, load } = readJson(`${folder}/${encoding}/${name}/expected.json`);
      // The loader refused one session, for an event type it did not know.
      if (load.ok === undefined) continue;
      const loaded: SessionEvent[] = load.ok.events;
      // Version 0 compares too: the closers are the same in every version (session-format §15.4).
      const added = closersOf(appended);
      assertEquals(JSON.stringify(added), JSON.stringify(loaded.slice(appended.length)), `${encoding}/${name}`);
      if (added.length > 0) repaired++;
    }
  }
  assert(repaired >= 6, `only ${repaired} of the recorded sessions needed repair`);
});
