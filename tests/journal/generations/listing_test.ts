/**
 * Listing old logs: every one a row, whatever its neighbours are.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { LIST_BYTES_MAX } from "../../../src/journal/mod.ts";
import type { SessionRow, SessionStore } from "../../../src/store/session_store.ts";
import { casesNotRun, fixturesDir } from "../../support/fixtures.ts";
import { ENCODINGS, journal, storageWith } from "../script.ts";
import { oldBytes, oldHeader, oldTurns } from "./old_logs.ts";

const fixtures = fixturesDir();

async function rowsOf(store: SessionStore): Promise<SessionRow[]> {
  return await Array.fromAsync(store.list());
}

for (const encoding of ENCODINGS) {
  Deno.test(`list() says of an old log what it says of a current one, and that it is old (${encoding})`, async () => {
    const suffix = encoding === "zstd" ? ".zstd" : "";
    const name = (id: string) => `--w--/${id}/session.jsonl${suffix}`;
    const rows = oldTurns(2);
    const random = Array.from({ length: 9000 }, (_, index) => `${Math.sin(index)}`.slice(2));
    const bytes = (id: string, some = rows) => oldBytes(oldHeader({ id }), some.map((row) => [row]), encoding);
    const large = bytes("large", oldTurns(1, random));
    assert(large.length > LIST_BYTES_MAX, `${large.length}`);
    const storage = storageWith({
      [name("closed")]: bytes("closed"),
      [name("open")]: bytes("open", rows.slice(0, -1)),
      [name("mode")]: bytes("mode", [{ type: "mode/set", seq: 0, time: 1, data: { mode: "x" } }]),
      [name("empty")]: bytes("empty", []),
      [name("large")]: large,
      [name("moved")]: bytes("elsewhere"),
      [name("nothing")]: new Uint8Array([0x7b]),
    });
    const found = await rowsOf(journal(storage));
    assertEquals(found.map(({ id, state, version }) => [id, state, version]), [
      ["closed", "ok", 0],
      ["empty", "ok", 0],
      ["large", "unchecked", 0],
      ["mode", "unsupported", 0],
      ["moved", "damaged", 0],
      ["nothing", "damaged", 0],
      ["open", "open", 0],
    ]);
    for (const { id, reason, header } of found) {
      assert(reason !== null && reason.length > 10, id);
      if (id !== "nothing") assertEquals(header?.createdAt, 1000, id);
    }
    assert(/version 0/.test(found[0]!.reason!) && /turn 2/.test(found.at(-1)!.reason!));
    assertEquals(found[0]!.lastEventTime, rows.at(-1)!.time as number);
  });
}

/** Every log of a folder of fixtures, by its path there. */
function logsIn(folder: string): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const walk = (path: string, name: string) => {
    for (const entry of Deno.readDirSync(path)) {
      const inner = name === "" ? entry.name : `${name}/${entry.name}`;
      if (entry.isDirectory) walk(`${path}/${entry.name}`, inner);
      else if (/\.jsonl(\.zstd)?$/.test(entry.name)) files.set(inner, Deno.readFileSync(`${path}/${entry.name}`));
    }
  };
  walk(folder, "");
  return files;
}

Deno.test("list() of a root that holds every fixture is complete, and each bad neighbour is a row with its reason", async () => {
  if (fixtures === null) return casesNotRun(1, "dsh");
  const storage = storageWith({});
  const [healthy, all] = [new Set<string>(), new Set<string>()];
  const put = (name: string, bytes: Uint8Array) => {
    storage.stranger.write(name, bytes);
    all.add(name);
  };
  for (const [path, bytes] of logsIn(`${fixtures}/dsh/v0/zstd`)) {
    const natural = /\/root\/(.*)$/.exec(path)?.[1];
    if (natural === undefined) continue;
    put(natural, bytes);
    healthy.add(natural);
  }
  // The same sessions uncompressed, and what other programs left, lie in projects of their own: none is where it belongs.
  for (const set of ["v0/none", "v0-corrupt", "derived", "v3"]) {
    for (const [path, bytes] of logsIn(`${fixtures}/dsh/${set}`)) {
      const file = path.slice(path.lastIndexOf("/") + 1);
      const name = /^session(\.v[1-9]\d*)?\.jsonl(\.zstd)?$/.test(file) ? file : "session.v3.jsonl";
      put(`--${set}-${path}--`.replaceAll("/", "-") + `/${all.size}/${name}`, bytes);
    }
  }
  put("--home-u-proj--/stray.jsonl", new Uint8Array(3));
  put("--home-u-proj--/plain.torn/session.v4.jsonl.zstd", new Uint8Array(3));
  assert(all.size > 90, `${all.size} files`);
  const rows = await rowsOf(journal(storage));
  assertEquals(rows.map(({ name }) => name).sort(), [...all].sort());
  for (const { name, state, reason, header } of rows) {
    if (healthy.has(name)) {
      assert(["ok", "open", "unsupported"].includes(state) && header !== null, `${name}: ${reason}`);
    }
    if (state !== "ok") assert(reason !== null && reason !== "", name);
  }
  assertEquals(rows.find(({ id }) => id === "migratable")?.state, "ok");
  const counts = Object.groupBy(rows, ({ state }) => state);
  console.log(Object.entries(counts).map(([state, some]) => `${some!.length} ${state}`).join(", "));
});

/** Where a row is not of the class in which the real loader answers, and why. */
const CLASS_DIFFERS: Readonly<Record<string, string>> = {
  "none json_null_row":
    "that loader fails with a TypeError; a row that is no event at the end of a raw log is a torn tail",
  header_unknown_field: "that loader drops the field; a migration would lose it, so the log is shown and not migrated",
  source_range_pair_in_v0:
    "the pair is what later versions write, and the log has no place in version 3 for another reason",
  turn_bracket_violation: "nesting is not looked at when a log is loaded, and is when it is migrated",
  packed_one_member: "chunks outside of a step load, and have no place in version 3",
  legacy_no_id_user: "a message before the first step loads, and has no place in version 3",
  legacy_mode_set: "intact, and of a kind that no later version has",
};

Deno.test("a damaged old log is listed in the class in which its own loader refuses it", async () => {
  if (fixtures === null) return casesNotRun(77, "v0-corrupt");
  const summary: [string, string, string, string, string][] = JSON.parse(
    Deno.readTextFileSync(`${fixtures}/dsh/v0-corrupt/summary.json`),
  );
  const differing = new Set<string>();
  for (const [encoding, name, , loaded] of summary) {
    const file = `session.jsonl${encoding === "zstd" ? ".zstd" : ""}`;
    const bytes = Deno.readFileSync(`${fixtures}/dsh/v0-corrupt/${encoding}/${name}/${file}`);
    const store = journal(storageWith({ [`--home-u-proj--/x/${file}`]: bytes }));
    const row = await store.stat("x");
    const wanted = /Unsupported/.test(loaded) ? "unsupported" : /"name"/.test(loaded) ? "damaged" : "readable";
    const found = row?.state === "damaged" || row?.state === "unsupported" ? row.state : "readable";
    if (wanted === found) continue;
    const known = [`${encoding} ${name}`, name].find((key) => key in CLASS_DIFFERS);
    assert(known !== undefined, `${encoding} ${name}: ${loaded.slice(0, 200)}, here ${found}: ${row?.reason}`);
    differing.add(known);
  }
  assertEquals([...differing].sort(), Object.keys(CLASS_DIFFERS).sort());
});
