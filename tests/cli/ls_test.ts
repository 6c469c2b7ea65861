import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../../src/entry/file.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { document, headerOf, holdfast, logBytes, TempFolder, writeLog } from "./cli.ts";

function turns(count: number, text = "hi"): LogBuilder {
  const log = new LogBuilder();
  for (let turn = 0; turn < count; turn++) {
    log.startTurn();
    log.startStep();
    log.user(text);
    log.endStep();
    log.endTurn();
  }
  return log;
}

/** Text that does not compress. */
function noise(length: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => (byte % 36).toString(36)).join("");
}

Deno.test("ls lists every state with its reason, in the order of the ids", async () => {
  await using folder = new TempFolder();
  const { root } = folder;
  writeLog(root, "a-ok", turns(1).events, { header: headerOf("a-ok", { cwd: "/srv/me" }) });
  const open = turns(1);
  open.startTurn();
  writeLog(root, "b-open", open.events);
  const { bytes } = logBytes("c-damaged", turns(1).events);
  bytes[bytes.length - 1]! ^= 1; // Of its checksum.
  const damaged = writeLog(root, "c-damaged", bytes);
  Deno.mkdirSync(`${root}/--any--/d-newer`, { recursive: true });
  Deno.writeTextFileSync(`${root}/--any--/d-newer/session.v4.jsonl`, "{}\n");
  const large = new LogBuilder();
  for (let turn = 0; turn < 20; turn++) large.append(turns(1, noise(8000)).events);
  writeLog(root, "e-large", large.events.map((event, seq) => ({ ...event, seq })), { frames: Array(20).fill(5) });

  const { code, json } = await document(["ls"], { cwd: folder.path });
  assertEquals(code, 1);
  const states = json.map(({ id, state }: { id: string; state: string }) => [id, state]);
  assertEquals(states, [
    ["a-ok", "ok"],
    ["b-open", "open"],
    ["c-damaged", "damaged"],
    ["d-newer", "unsupported"],
    ["e-large", "unchecked"],
  ]);
  assertEquals(json[0].reason, null);
  assertStringIncludes(json[1].reason, "turn 2 is open");
  assertStringIncludes(json[3].reason, "newer");
  assertStringIncludes(damaged, json[2].name);

  const text = await holdfast(["ls"], { cwd: folder.path });
  assertEquals(text.code, 1);
  const lines = text.stdout.trimEnd().split("\n");
  assertEquals(lines.length, 1 + 5);
  assertStringIncludes(lines[1]!, "/srv/me");
  assertStringIncludes(lines[3]!, json[2].name);

  const verified = await document(["ls", "--verify"], { cwd: folder.path });
  assertEquals(verified.json.map(({ state }: { state: string }) => state), [
    ...["ok", "open", "damaged", "unsupported", "ok"],
  ]);
});

Deno.test("ls --verify finds what a listing did not read, and goes on with the others", async () => {
  await using folder = new TempFolder();
  const log = turns(20, noise(8000));
  const { bytes, ends } = logBytes("deep", log.events, { frames: Array(20).fill(5) });
  bytes[ends[3]! + 100]! ^= 1; // Neither the head nor the tail.
  writeLog(folder.root, "deep", bytes);
  writeLog(folder.root, "fine", turns(1).events);
  const quick = await document(["ls"], { cwd: folder.path });
  assertEquals([quick.code, quick.json[0].state], [0, "unchecked"]);
  const { code, json } = await document(["ls", "--verify"], { cwd: folder.path });
  assertEquals([code, json[0].state, json[1].state], [1, "damaged", "ok"]);
  assert(json[0].reason.length > 0);
});

Deno.test("field/A29: one damaged header of 20 sessions hides nobody", async () => {
  await using folder = new TempFolder();
  const paths = Array.from({ length: 20 }, (_, index) => writeLog(folder.root, `s${index}`, turns(1).events));
  const path = paths[7]!;
  const bytes = Deno.readFileSync(path);
  bytes[10]! ^= 0xff;
  Deno.writeFileSync(path, bytes);
  for (const args of [["ls"], ["ls", "--verify"]]) {
    const { code, json } = await document(args, { cwd: folder.path });
    assertEquals([code, json.length], [1, 20]);
    const damaged = json.filter(({ state }: { state: string }) => state === "damaged");
    assertEquals(damaged.map(({ id, name }: { id: string; name: string }) => [id, `${folder.root}/${name}`]), [[
      "s7",
      path,
    ]]);
    assert(damaged[0].reason.length > 0);
    const { stdout } = await holdfast(args, { cwd: folder.path });
    assertStringIncludes(stdout, "s7/session.v3.jsonl.zstd");
    assertEquals(stdout.trimEnd().split("\n").length, 21);
  }
});

Deno.test("field/A15: a frame that claims 2^40 bytes and a flipped checksum are rows, not the end of ls", async () => {
  await using folder = new TempFolder();
  for (let index = 0; index < 10; index++) writeLog(folder.root, `s${index}`, turns(1).events);
  const { bytes, ends } = logBytes("bomb", turns(1).events);
  // A frame header with an eight-byte content size, and one empty last block.
  const claim = new Uint8Array([0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 0x01, 0, 0]);
  const bomb = new Uint8Array([...bytes.subarray(0, ends[0]), ...claim]);
  writeLog(folder.root, "s3", bomb, { header: headerOf("s3") });
  const flipped = logBytes("s5", turns(1).events).bytes;
  flipped[flipped.length - 1]! ^= 1;
  writeLog(folder.root, "s5", flipped);
  for (const args of [["ls"], ["ls", "--verify"]]) {
    const { code, json } = await document(args, { cwd: folder.path });
    assertEquals(code, 1);
    const damaged = json.filter(({ state }: { state: string }) => state === "damaged");
    assertEquals(damaged.map(({ id }: { id: string }) => id), ["s3", "s5"]);
  }
});

Deno.test("ls marks a session that a writer holds", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "busy", turns(1).events);
  await using store = openFileStore({ root: folder.root });
  await using _ = await store.open("busy", "write");
  const { json } = await document(["ls"], { cwd: folder.path });
  assertEquals(json[0].live, true);
  const { stdout, stderr } = await holdfast(["ls"], { cwd: folder.path });
  assertStringIncludes(stdout, "ok*");
  assertStringIncludes(stderr, "a writer holds it now");
});

Deno.test("ls of a root that is not there says so and makes nothing", async () => {
  await using folder = new TempFolder();
  const { code, stdout, stderr } = await holdfast(["ls"], { cwd: folder.path });
  assertEquals([code, stdout], [0, ""]);
  assertStringIncludes(stderr, `there is no folder ${folder.root}`);
  assertEquals((await document(["ls"], { cwd: folder.path })).json, []);
  assertEquals(folder.snapshot(), {});
});

Deno.test("the root is that of the flag, else of the environment, else ./.holdfast", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "here", turns(1).events);
  writeLog(`${folder.path}/env`, "there", turns(1).events);
  writeLog(`${folder.path}/flag`, "elsewhere", turns(1).events);
  const ids = async (args: string[], env: Record<string, string>) => {
    const { json } = await document(["ls", ...args], { cwd: folder.path, env });
    return json.map(({ id }: { id: string }) => id);
  };
  assertEquals(await ids([], {}), ["here"]);
  assertEquals(await ids([], { HOLDFAST_ROOT: "env" }), ["there"]);
  assertEquals(await ids(["--root", "flag"], { HOLDFAST_ROOT: "env" }), ["elsewhere"]);
  assertEquals(await ids(["--root", `${folder.path}/flag`], { HOLDFAST_ROOT: "" }), ["elsewhere"]);
});
