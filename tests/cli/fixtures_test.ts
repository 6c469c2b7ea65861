import { assert, assertEquals } from "@std/assert";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";
import { document, headerOf, TempFolder, writeLog } from "./cli.ts";

function readJson(path: string) {
  return JSON.parse(Deno.readTextFileSync(path));
}

function folderOf(path: string, cases: number): string | null {
  const folder = fixturesDir();
  if (folder === null) casesNotRun(cases, `${path}, by the command`);
  return folder === null ? null : `${folder}/dsh/${path}`;
}

/** The rows of a raw log as they are, for files whose rows need no decoding. */
function rowsOf(path: string): { header: unknown; events: unknown[] } {
  const [header, ...events] = Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line));
  return { header, events };
}

Deno.test("show --json gives exactly the events of the recorded version-3 files, as current and as stored", async () => {
  const dsh = folderOf("", 6);
  if (dsh === null) return;
  const expected = readJson(`${dsh}derived/migratable/expected.v3.json`);
  const migratable = { header: expected.header, events: expected.events };
  const files: [string, { header: unknown; events: unknown[] }][] = [
    [`${dsh}derived/migratable/session.v3.jsonl`, migratable],
    [`${dsh}derived/migratable/session.v3.jsonl.zstd`, migratable],
  ];
  for (const { name } of Deno.readDirSync(`${dsh}v3`)) files.push([`${dsh}v3/${name}`, rowsOf(`${dsh}v3/${name}`)]);
  assert(files.length >= 3);
  await using folder = new TempFolder();
  for (const [file, { header, events }] of files) {
    for (const as of ["current", "stored"]) {
      const shown = await document(["show", file, "--limit", "all", "--as", as], { cwd: folder.path });
      assertEquals(shown.code, 0, shown.stderr);
      assertEquals(Object.keys(shown.json), ["header", "inheritedEventCount", "events", "nextFrom"]);
      assertEquals(JSON.stringify(shown.json.header), JSON.stringify(header), file);
      assertEquals(JSON.stringify(shown.json.events), JSON.stringify(events), file);
      assertEquals(shown.json.nextFrom, null);
    }
    const { code, json: [row] } = await document(["verify", file], { cwd: folder.path });
    assertEquals([code, row.damage, row.torn, row.events], [0, null, null, events.length], file);
  }
});

Deno.test("show and verify read the older files, as they are stored and as what they are today, in whatever encoding", async () => {
  const migratable = folderOf("derived/migratable", 4);
  if (migratable === null) return;
  const expected = readJson(`${migratable}/expected.v3.json`);
  await using folder = new TempFolder();
  for (
    const [name, version, rows] of [
      ["session.jsonl", 0, 30],
      ["session.v1.jsonl", 1, 30],
      ["session.v2.jsonl", 2, 18],
      ["session.v2.jsonl.zstd", 2, 18],
    ] as const
  ) {
    const current = await document(["show", `${migratable}/${name}`, "--limit", "all"], { cwd: folder.path });
    assertEquals([current.code, current.json.header.version, current.json.events], [0, 3, expected.events], name);
    const stored = await document(["show", `${migratable}/${name}`, "--as", "stored"], { cwd: folder.path });
    assertEquals([stored.code, stored.json.header.version, stored.json.events.length], [0, version, rows], name);
    const { code, json: [row] } = await document(["verify", `${migratable}/${name}`], { cwd: folder.path });
    assertEquals([code, row.damage, row.version, row.events], [0, null, version, expected.events.length], name);
  }
});

Deno.test("exec/R15: repair makes every recorded prefix the file that is expected, byte for byte", async () => {
  const crash = folderOf("derived/v3-crash", 9);
  if (crash === null) return;
  const files = [...Deno.readDirSync(crash)].map(({ name }) => name).filter((name) => name.startsWith("prefix-"));
  assert(files.length >= 9);
  for (const name of files) {
    await using folder = new TempFolder();
    const { header, stored, closers, afterRepairFileLines } = readJson(`${crash}/${name}`);
    const lines: string[] = afterRepairFileLines;
    const before = lines.slice(0, 1 + stored).map((line) => `${line}\n`).join("");
    const bytes = new TextEncoder().encode(before);
    const path = writeLog(folder.root, "a1", bytes, { encoding: "none", header: headerOf("a1") });

    const { json: [row] } = await document(["verify", path], { cwd: folder.path });
    assertEquals([row.id, row.version, row.damage, row.events], [header.id, 3, null, stored], name);
    assertEquals(JSON.stringify(row.closers), JSON.stringify(closers), name);

    const dry = await document(["repair", "a1", "--dry-run"], { cwd: folder.path });
    assertEquals(JSON.stringify(dry.json.added), JSON.stringify(closers), name);
    assertEquals(Deno.readTextFileSync(path), before, "a dry run wrote");

    const repaired = await document(["repair", "a1"], { cwd: folder.path });
    assertEquals([repaired.code, JSON.stringify(repaired.json.added)], [0, JSON.stringify(closers)], name);
    const after = lines.map((line) => `${line}\n`).join("");
    assertEquals(Deno.readTextFileSync(path), after, name);

    const again = await document(["repair", "a1"], { cwd: folder.path });
    assertEquals([again.code, again.json.added], [0, []]);
    assertEquals(Deno.readTextFileSync(path), after, "the second repair wrote");
  }
});
