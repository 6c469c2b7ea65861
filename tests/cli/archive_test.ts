import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createAgent, defineTool, scripted } from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";
import { document, holdfast, TempFolder } from "./cli.ts";

const WHOLE = "whole 漢 ".repeat(2000);

/** A session whose one long result lies in a blob. Returns its digest. */
async function spilled(root: string, id: string): Promise<string> {
  await using store = openFileStore({ root });
  const look = defineTool({ name: "look", description: "", parameters: {}, effect: "none", execute: () => WHOLE });
  const model = scripted([[{ call: { id: "c1", name: "look", arguments: {} } }], [{ text: "done" }]]);
  const session = await createAgent({ store, model, tools: [look], spill: { maxInlineBytes: 500 } }).create({ id });
  await session.send("go");
  const { digest } = session.session.folds.spilled.texts.at(0)!;
  await session.close();
  return digest;
}

Deno.test("export to a file takes long results along in an archive, and import brings both back", async () => {
  await using folder = new TempFolder();
  await using elsewhere = new TempFolder();
  const digest = await spilled(folder.root, "long");
  for (const [format, out, name] of [["zstd", "out", "out.zip"], ["jsonl", "mail.zip", "mail.zip"]] as const) {
    const exported = await document(["export", "long", "--to", format, "--out", out], { cwd: folder.path });
    assertEquals(exported.code, 0);
    const { file, blobs, missing, sizeBytes } = exported.json;
    assertEquals([file, blobs, missing], [name, 1, []]);
    assertEquals(Deno.statSync(`${folder.path}/${name}`).size, sizeBytes);

    const imported = await document(["import", `${folder.path}/${name}`], { cwd: elsewhere.path });
    assertEquals([imported.code, imported.json], [
      0,
      { id: "long", damage: null, spilled: { count: 1, missing: [], damaged: [] } },
    ]);
    const [before, after] = [folder, elsewhere].map(({ path }) =>
      document(["show", "long", "--limit", "all"], { cwd: path })
    );
    const [{ json: old }, { json: taken }] = [await before!, await after!];
    assertEquals(taken.events.slice(0, old.events.length), old.events);
    assertEquals(taken.events.at(-1).type, "log/salvaged");
    await using store = openFileStore({ root: elsewhere.root });
    const log = await store.open("long", "read");
    assertEquals(new TextDecoder().decode(await log.getBlob(digest)), WHOLE);
    await log.close();
    const again = await document(["import", `${folder.path}/${name}`], { cwd: elsewhere.path });
    assertEquals([again.code, again.json.error.code], [1, "ALREADY_EXISTS"]);
    assertEquals((await holdfast(["rm", "long", "--yes"], { cwd: elsewhere.path })).code, 0);
    assertEquals(await exists(`${elsewhere.root}/_no-cwd/long`), false);
  }
});

Deno.test("export to a pipe stays a log and says what it leaves out; a blob that is gone is said, and the rest goes out", async () => {
  await using folder = new TempFolder();
  const digest = await spilled(folder.root, "long");
  const piped = await holdfast(["export", "long", "--to", "jsonl"], { cwd: folder.path });
  assertEquals(piped.code, 0);
  assert(piped.stdout.startsWith("{") && piped.stdout.trim().split("\n").every((line) => JSON.parse(line) !== null));
  assertStringIncludes(piped.stderr, "--out FILE takes them along");
  Deno.removeSync(`${folder.root}/_no-cwd/long/blobs/${digest}`);
  const exported = await document(["export", "long", "--to", "jsonl", "--out", "x.zip"], { cwd: folder.path });
  assertEquals([exported.code, exported.json.blobs, exported.json.missing], [1, 0, [digest]]);
});

Deno.test("import refuses what is no log, and names what is not there", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/note.txt`, "not a log");
  for (const [file, code] of [["note.txt", "CORRUPT_LOG"], ["nothing.zip", "NOT_FOUND"]] as const) {
    const { code: exit, json } = await document(["import", file], { cwd: folder.path });
    assertEquals([exit, json.error.code], [1, code]);
  }
});

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
