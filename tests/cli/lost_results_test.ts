import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createAgent, defineTool, scripted } from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";
import { RAW_LOG_BYTES_MAX } from "../../src/entry/raw_logs.ts";
import { isZip, readZip } from "../../src/journal/mod.ts";
import { deflatedZip } from "../support/deflated_zip.ts";
import { document, holdfast, TempFolder } from "./cli.ts";

const TEXTS = ["first 漢 ", "second ", "third "].map((text) => text.repeat(500));
const FOLDER = "_no-cwd/long";

/** A session with three long results, the second of them said twice. Returns their digests. */
async function spilled(root: string): Promise<readonly string[]> {
  await using store = openFileStore({ root });
  let calls = 0;
  const look = defineTool({
    name: "look",
    description: "",
    parameters: {},
    effect: "none",
    execute: () => [TEXTS[0]!, TEXTS[1]!, TEXTS[1]!, TEXTS[2]!][calls++]!,
  });
  const steps = [1, 2, 3, 4].map((n) => [{ call: { id: `c${n}`, name: "look", arguments: {} } }]);
  const model = scripted([...steps, [{ text: "done" }]]);
  const session = await createAgent({ store, model, tools: [look], spill: { maxInlineBytes: 500 } })
    .create({ id: "long" });
  await session.send("go");
  const { texts } = session.session.folds.spilled;
  const digests = [1, 2, 4].map((n) => [...texts].find(({ callId }) => callId === `c${n}`)!.digest);
  await session.close();
  return digests;
}

/** Loses the first, and damages the second. */
function harm(root: string, [first, second]: readonly string[]): void {
  Deno.removeSync(`${root}/${FOLDER}/blobs/${first}`);
  const path = `${root}/${FOLDER}/blobs/${second}`;
  const bytes = Deno.readFileSync(path);
  bytes[bytes.length - 1]! ^= 1;
  Deno.writeFileSync(path, bytes);
}

Deno.test("verify, ls --verify and show find the long results that are lost, and say so; the log stays whole", async () => {
  await using folder = new TempFolder();
  const { path: cwd } = folder;
  const digests = await spilled(folder.root);
  const fine = await document(["verify", "long"], { cwd });
  assertEquals([fine.code, fine.json[0].spilled], [0, { count: 4, missing: [], damaged: [] }]);

  harm(folder.root, digests);
  const { code, json: [verdict] } = await document(["verify", "long"], { cwd });
  assertEquals([code, verdict.damage, verdict.spilled.count], [1, null, 4]);
  const facts = (lost: { callId: string; digest: string; code: string }[]) =>
    lost.map(({ callId, digest, code }) => [callId, digest, code]);
  assertEquals(facts(verdict.spilled.missing), [["c1", digests[0], "NOT_FOUND"]]);
  assertEquals(facts(verdict.spilled.damaged), [
    ["c2", digests[1], "CORRUPT_FRAME"],
    ["c3", digests[1], "CORRUPT_FRAME"],
  ]);
  const { json: { events, spilled: shown } } = await document(["show", "long"], { cwd });
  for (const { seq, digest } of [...verdict.spilled.missing, ...verdict.spilled.damaged]) {
    assertEquals([events[seq].type, events[seq].data.digest], ["result/spilled", digest]);
  }
  assertEquals(shown, verdict.spilled);

  const text = await holdfast(["verify", "long"], { cwd });
  assertEquals(text.code, 1);
  assertStringIncludes(text.stdout, "damage beside the log: 3 of 4 long results are lost: 1 missing, 2 damaged");
  assertStringIncludes(text.stdout, "the log itself is whole");
  assertStringIncludes(text.stdout, `seq ${verdict.spilled.missing[0].seq}, result of c1`);
  assert(!/^ {2}ok/m.test(text.stdout));

  const listed = await document(["ls", "--verify"], { cwd });
  assertEquals([listed.code, listed.json[0].state], [1, "damaged"]);
  assertEquals(listed.json[0].reason, "the log is whole, and 3 of 4 long results are lost: 1 missing, 2 damaged");

  const { code: shownCode, stdout } = await holdfast(["show", "long"], { cwd });
  assertEquals(shownCode, 1);
  const marked = stdout.split("\n").filter((line) => line.includes("[the whole text is "));
  assertEquals(marked.map((line) => /(result\/spilled|tool\/result) .*(missing|damaged)\]$/.exec(line)?.slice(1)), [
    ["result/spilled", "missing"],
    ["tool/result", "missing"],
    ["result/spilled", "damaged"],
    ["tool/result", "damaged"],
    ["result/spilled", "damaged"],
    ["tool/result", "damaged"],
  ]);
  const surface = await holdfast(["show", "long", "--surface"], { cwd });
  assertEquals([surface.code, surface.stdout.split("[the whole text is ").length - 1], [1, 3]);
});

Deno.test("a fork of a session that lost long results is made, as complete as its source, and says which are lost", async () => {
  await using folder = new TempFolder();
  const { path: cwd } = folder;
  const digests = await spilled(folder.root);
  const whole = await document(["fork", "long"], { cwd });
  assertEquals([whole.code, whole.json.spilled], [0, { count: 4, missing: [], damaged: [] }]);
  assertEquals((await document(["verify", whole.json.id], { cwd })).code, 0);

  harm(folder.root, digests);
  const { code, json } = await document(["fork", "long"], { cwd });
  assertEquals([code, json.spilled.missing.length, json.spilled.damaged.length], [1, 1, 2]);
  // The fork has no blob that its source has damaged: of both it is said that they are not there.
  const { json: [verdict] } = await document(["verify", json.id], { cwd });
  assertEquals(
    verdict.spilled.missing.map(({ seq }: { seq: number }) => seq),
    [...json.spilled.missing, ...json.spilled.damaged].map(({ seq }) => seq).sort((a, b) => a - b),
  );
  const told = await holdfast(["fork", "long"], { cwd });
  assertEquals(told.code, 1);
  assertStringIncludes(told.stderr, "In the source, and so in the fork, 3 of 4 long results are lost");
});

Deno.test("import of a bare log says how many long results did not come; blobs that lie beside it come along", async () => {
  await using folder = new TempFolder();
  await using elsewhere = new TempFolder();
  const digests = await spilled(folder.root);
  const { stdout } = await holdfast(["export", "long", "--to", "jsonl"], { cwd: folder.path });
  Deno.writeTextFileSync(`${folder.path}/bare.jsonl`, stdout);
  const bare = await document(["import", `${folder.path}/bare.jsonl`], { cwd: elsewhere.path });
  assertEquals([bare.code, bare.json.damage, bare.json.spilled.count], [1, null, 4]);
  assertEquals(bare.json.spilled.missing.map(({ digest }: { digest: string }) => digest), [
    digests[0],
    digests[1],
    digests[1],
    digests[2],
  ]);
  assertEquals((await holdfast(["rm", "long", "--yes"], { cwd: elsewhere.path })).code, 0);
  const told = await holdfast(["import", `${folder.path}/bare.jsonl`], { cwd: elsewhere.path });
  assertMatch(told.stderr, /4 of 4 long results are lost: 4 missing.*\.zip of holdfast export brings them along/);
  assertEquals((await holdfast(["rm", "long", "--yes"], { cwd: elsewhere.path })).code, 0);

  const [log] = [...Deno.readDirSync(`${folder.root}/${FOLDER}`)].filter(({ name }) => name.endsWith(".zstd"));
  const beside = await document(["import", `${folder.root}/${FOLDER}/${log!.name}`], { cwd: elsewhere.path });
  assertEquals([beside.code, beside.json.spilled], [0, { count: 4, missing: [], damaged: [] }]);
  await using store = openFileStore({ root: elsewhere.root });
  const reader = await store.open("long", "read");
  for (const [index, digest] of digests.entries()) {
    assertEquals(new TextDecoder().decode(await reader.getBlob(digest)), TEXTS[index]);
  }
  await reader.close();
});

Deno.test("import takes an archive that was packed again, says which method it does not read, and verify says that an archive is imported", async () => {
  await using folder = new TempFolder();
  await using elsewhere = new TempFolder();
  const { path: cwd } = folder;
  await spilled(folder.root);
  assertEquals((await holdfast(["export", "long", "--to", "jsonl", "--out", "a.zip"], { cwd })).code, 0);
  const members = await readZip("a.zip", new Uint8Array(Deno.readFileSync(`${cwd}/a.zip`)));
  const repacked = members.map(({ name, bytes }) => ({ name: `long/${name}`, bytes }));
  Deno.writeFileSync(`${cwd}/again.zip`, await deflatedZip(repacked));
  Deno.writeFileSync(`${cwd}/odd.zip`, await deflatedZip(repacked.map((member) => ({ ...member, method: 12 }))));

  const odd = await document(["import", `${cwd}/odd.zip`], { cwd: elsewhere.path });
  assertEquals([odd.code, odd.json.error.code], [1, "UNSUPPORTED_FORMAT"]);
  assertStringIncludes(odd.json.error.message, "zip -0 stores them");
  const taken = await document(["import", `${cwd}/again.zip`], { cwd: elsewhere.path });
  assertEquals([taken.code, taken.json.spilled], [0, { count: 4, missing: [], damaged: [] }]);
  assertEquals((await document(["verify", "long"], { cwd: elsewhere.path })).code, 0);

  const verified = await document(["verify", "a.zip"], { cwd });
  assertEquals([verified.code, verified.json[0].damage.code], [1, "UNSUPPORTED_FORMAT"]);
  assertStringIncludes(verified.json[0].damage.message, "holdfast import takes it in");
});

Deno.test("import refuses a file over its bound before it reads it", async () => {
  await using folder = new TempFolder();
  const file = Deno.openSync(`${folder.path}/huge.jsonl`, { write: true, create: true });
  // A hole: it has a length and takes no room.
  file.truncateSync(RAW_LOG_BYTES_MAX + 1);
  file.close();
  const { code, json } = await document(["import", "huge.jsonl"], { cwd: folder.path });
  assertEquals([code, json.error.code], [1, "TOO_LARGE"]);
});

Deno.test("export under a name that ends in .zip writes an archive, also of a session without long results, and refuses Markdown", async () => {
  await using folder = new TempFolder();
  const { path: cwd } = folder;
  {
    await using store = openFileStore({ root: folder.root });
    const session = await createAgent({ store, model: scripted([[{ text: "done" }]]) }).create({ id: "short" });
    await session.send("go");
    await session.close();
  }
  const exported = await document(["export", "short", "--to", "jsonl", "--out", "a.zip"], { cwd });
  assertEquals([exported.code, exported.json.file, exported.json.blobs], [0, "a.zip", 0]);
  const bytes = new Uint8Array(Deno.readFileSync(`${cwd}/a.zip`));
  assert(isZip(bytes));
  assertEquals((await readZip("a.zip", bytes)).map(({ name }) => name), ["session.v3.jsonl"]);
  const markdown = await holdfast(["export", "short", "--to", "md", "--out", "b.zip"], { cwd });
  assertEquals(markdown.code, 2);
  assertStringIncludes(markdown.stderr, "Markdown is no archive");
});
