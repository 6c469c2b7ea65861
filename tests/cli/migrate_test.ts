import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { oldBytes, oldHeader, oldTurns } from "../journal/generations/old_logs.ts";
import { document, holdfast, TempFolder } from "./cli.ts";

/** Puts an old session under a root. */
function writeOld(root: string, id: string, bytes: Uint8Array, name = "session.jsonl.zstd"): string {
  const path = `${root}/--w--/${id}/${name}`;
  Deno.mkdirSync(`${root}/--w--/${id}`, { recursive: true });
  Deno.writeFileSync(path, bytes);
  return path;
}

const BYTES = (id: string) => oldBytes(oldHeader({ id }), oldTurns(2).map((row) => [row]), "zstd");

/** What no migration can take in: a message before the first step. */
const EARLY = [
  { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } },
  {
    ...{ type: "user/message", seq: 1, time: 2, surfaceOp: "append" },
    data: { id: "u", role: "user", content: [{ type: "text", text: "hello there" }], source: { kind: "user" } },
  },
  { type: "turn/end", seq: 2, time: 3, data: { turn: 1, reason: { kind: "completed" } } },
];

Deno.test("migrate publishes the current version beside the old file, once", async () => {
  await using folder = new TempFolder();
  const path = writeOld(folder.root, "old", BYTES("old"));
  const listed = await document(["ls"], { cwd: folder.path });
  assertEquals([listed.json[0].state, listed.json[0].version], ["ok", 0]);
  const first = await document(["migrate", "old"], { cwd: folder.path });
  assertEquals([first.code, first.json.outcome, first.json.from, first.json.to], [0, "published", 0, 3]);
  assertEquals(first.json.file, path.replace("session.jsonl", "session.v3.jsonl"));
  assertEquals(first.json.sizeBytes, Deno.statSync(first.json.file).size);
  assertEquals(Deno.readFileSync(path), BYTES("old"));
  const again = await document(["migrate", "old"], { cwd: folder.path });
  assertEquals([again.code, again.json.outcome, again.json.from], [0, "current", 3]);
  const shown = await document(["show", "old"], { cwd: folder.path });
  assertEquals([shown.json.header.version, shown.json.events.length], [3, first.json.events]);
});

Deno.test("migrate of what has no place in the current version says why, and publishes nothing", async () => {
  await using folder = new TempFolder();
  const bytes = oldBytes(oldHeader({ id: "early" }), [EARLY], "zstd");
  writeOld(folder.root, "early", bytes);
  const { code, stderr } = await holdfast(["migrate", "early"], { cwd: folder.path });
  assertEquals(code, 1);
  assertStringIncludes(stderr, "before first step");
  assertStringIncludes(stderr, "stays as it is");
  assert(!Object.keys(folder.snapshot()).some((name) => name.includes(".v3.")));

  const shown = await holdfast(["show", "early"], { cwd: folder.path });
  assertEquals(shown.code, 1);
  assertStringIncludes(shown.stdout, "hello there");
  assertStringIncludes(shown.stderr, "before first step");
  const surface = await holdfast(["show", "early", "--surface"], { cwd: folder.path });
  assertStringIncludes(surface.stdout, "hello there");
  assertEquals((await document(["export", "early", "--to", "jsonl", "--out", "x"], { cwd: folder.path })).code, 1);
  const markdown = await holdfast(["export", "early", "--to", "md"], { cwd: folder.path });
  assertStringIncludes(markdown.stdout, "hello there");
  for (const args of [["fork", "early"], ["fork", "early", "--at", "2"]]) {
    const { json } = await document(args, { cwd: folder.path });
    assertEquals(json.error.code, "UNSUPPORTED_FORMAT");
  }
});

Deno.test("show of an old log, and of an old file, shows it in the current version, or as it is stored", async () => {
  await using folder = new TempFolder();
  const path = writeOld(folder.root, "old", BYTES("old"));
  const before = folder.snapshot();
  for (const what of ["old", path]) {
    const current = await document(["show", what], { cwd: folder.path });
    const stored = await document(["show", what, "--as", "stored"], { cwd: folder.path });
    assertEquals([current.code, current.json.header.version, stored.json.header.version], [0, 3, 0]);
    const types = (json: { events: { type: string }[] }) => new Set(json.events.map(({ type }) => type));
    assert(types(current.json).has("system/message") && !types(current.json).has("assistant/chunk"));
    assert(types(stored.json).has("assistant/chunk") && !types(stored.json).has("system/message"));
    const { stdout } = await holdfast(["show", what, "--as", "stored"], { cwd: folder.path });
    assertStringIncludes(stdout, "version 0");
    assertStringIncludes((await holdfast(["show", what], { cwd: folder.path })).stdout, "stored as version 0");
  }
  assertEquals(folder.snapshot(), before);
});

Deno.test("export and fork of an old session take it in the current version, and leave it alone", async () => {
  await using folder = new TempFolder();
  const path = writeOld(folder.root, "old", BYTES("old"));
  const exported = await holdfast(["export", "old", "--to", "jsonl"], { cwd: folder.path });
  assertStringIncludes(exported.stdout.split("\n")[0]!, '"version":3');
  const forked = await document(["fork", "old"], { cwd: folder.path });
  assertEquals([forked.code, forked.json.inheritedEventCount], [0, 15]);
  assertEquals([...Deno.readDirSync(path.slice(0, path.lastIndexOf("/")))].length, 1);
});

Deno.test("repair of an old session migrates it first, and foresees the same closers", async () => {
  await using folder = new TempFolder();
  const rows = oldTurns(2).slice(0, -2);
  const path = writeOld(folder.root, "old", oldBytes(oldHeader({ id: "old" }), [rows], "zstd"));
  const foreseen = await document(["repair", "old", "--dry-run"], { cwd: folder.path });
  const done = await document(["repair", "old"], { cwd: folder.path });
  assertEquals(foreseen.json.added.map(({ type }: { type: string }) => type), ["step/end", "turn/end"]);
  assertEquals(done.json.added, foreseen.json.added);
  assert([...Deno.readDirSync(path.slice(0, path.lastIndexOf("/")))].some(({ name }) => name.includes(".v3.")));
});
