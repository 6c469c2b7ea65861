import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { document, FakeTerminal, holdfast, TempFolder } from "./cli.ts";

const LONG = "please tell me everything you can do here, in all detail, with examples. ".repeat(10);

async function conversation(folder: TempFolder, prompts: number): Promise<string> {
  const first = await document(["run", LONG], { cwd: folder.path });
  for (let n = 1; n < prompts; n++) {
    assertEquals((await document(["run", "--continue", `${n} ${LONG}`], { cwd: folder.path })).code, 0);
  }
  return first.json.id;
}

Deno.test("compact shortens what the model reads, keeps the log, and says what it did", async () => {
  await using folder = new TempFolder();
  const id = await conversation(folder, 3);
  const before = await document(["show", id, "--limit", "all"], { cwd: folder.path });
  const { code, json } = await document(["compact", id.slice(0, 6)], { cwd: folder.path });
  assertEquals([code, json.id, json.compacted.shadowedCount > 0], [0, id, true]);
  assert(json.compacted.checkpointTokens < json.compacted.shadowedTokens);

  const after = await document(["show", id, "--limit", "all"], { cwd: folder.path });
  assertEquals(after.json.events.slice(0, before.json.events.length), before.json.events);
  const types = after.json.events.slice(before.json.events.length).map(({ type }: { type: string }) => type);
  assertEquals(types.filter((type: string) => type !== "session/end-seed" && type !== "checkpoint/policy"), [
    "compaction/start",
    "compaction/summary",
    "user/message",
    "compaction/end",
  ]);
  const surface = await document(["show", id, "--surface"], { cwd: folder.path });
  assertEquals(surface.json.replaceGeneration, 1);
  assertStringIncludes(JSON.stringify(surface.json.messages), "compacted-summary");
  assertEquals((await holdfast(["verify", id], { cwd: folder.path })).code, 0);
  const more = await document(["run", "--session", id, "and now?"], { cwd: folder.path });
  assertEquals([more.code, more.json.reason.kind], [0, "completed"]);
});

Deno.test("compaction/C-32: compact of a session with nothing to compact is fine, and writes no compaction", async () => {
  await using folder = new TempFolder();
  const { json: { id } } = await document(["run", "hello"], { cwd: folder.path });
  const { code, stdout } = await holdfast(["compact", id], { cwd: folder.path });
  assertEquals([code, stdout], [0, "There is nothing to compact\n"]);
  const again = await document(["compact", id], { cwd: folder.path });
  assertEquals([again.code, again.json], [0, { id, compacted: null }]);
  const { json } = await document(["show", id], { cwd: folder.path });
  assert(!JSON.stringify(json.events).includes("compaction/"));
});

Deno.test("compact tells a summariser that fails with exit code 1, and the session is as it was", async () => {
  await using folder = new TempFolder();
  const id = await conversation(folder, 3);
  Deno.writeTextFileSync(`${folder.path}/broken.json`, '[[{"throws":"no connection"}],[{"throws":"no connection"}]]');
  const args = ["compact", id, "--model", "scripted:broken.json"];
  const told = await holdfast(args, { cwd: folder.path });
  assertEquals(told.code, 1);
  assertMatch(told.stderr, /summary: Cannot compact session "\w+": there is no summary\n {2}because: .*no connection/);
  const { code, json } = await document(args, { cwd: folder.path });
  assertEquals([code, json.error.code], [1, "COMPACTION_SUMMARY"]);
  const surface = await document(["show", id, "--surface"], { cwd: folder.path });
  assertEquals(surface.json.replaceGeneration, 0);
  assertEquals((await document(["compact", id], { cwd: folder.path })).code, 0);
});

Deno.test("compact wants one id, and no other model than the session's unless one is named", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/one.json`, '[[{"text":"hello"}]]');
  const { json: { id } } = await document(["run", "--model", "scripted:one.json", LONG], { cwd: folder.path });
  for (const args of [["compact"], ["compact", id, id], ["compact", id], ["compact", id, "--model", "nobody"]]) {
    assertEquals((await holdfast(args, { cwd: folder.path })).code, 2, args.join(" "));
  }
});

Deno.test("compaction/C-33: in a conversation /compact compacts, takes no arguments, and the conversation goes on", async () => {
  await using folder = new TempFolder();
  const terminal = new FakeTerminal(LONG, `again: ${LONG}`, "/compact now please", "/compact", "/compact", "hello", "");
  const { code, stdout, stderr } = await holdfast(["run"], { cwd: folder.path, terminal });
  assertEquals(code, 0);
  assertStringIncludes(stderr, "/compact takes no arguments");
  assertMatch(
    stdout,
    /Compacted \d+ messages?: about \d+ tokens became \d+, summary at seq \d+\. The log keeps everything/,
  );
  assertStringIncludes(stdout, "There is nothing to compact");
  const { json: [{ id }] } = await document(["ls"], { cwd: folder.path });
  const { json } = await document(["show", id, "--limit", "all"], { cwd: folder.path });
  const types: string[] = json.events.map(({ type }: { type: string }) => type);
  assertEquals(types.filter((type) => type === "compaction/end").length, 1);
  assertEquals(types.filter((type) => type === "turn/end").length, 3);
  // The command itself is no part of the conversation.
  const prompts = json.events.filter(({ type, data }: { type: string; data: { source?: { kind: string } } }) =>
    type === "user/message" && data.source?.kind === "user"
  );
  assertEquals(prompts.length, 3);
  assert(!JSON.stringify(prompts).includes("/compact"));
});

Deno.test("a request that was too long is made again after a compaction, which the terminal and the document tell", async () => {
  await using folder = new TempFolder();
  const error = { message: "prompt is too long", code: "CONTEXT_WINDOW_EXCEEDED" };
  const said = [{ text: LONG }];
  const steps = [said, said, said, [{ error }], [{ text: "Said much." }], [{ text: "Now it fits." }]];
  Deno.writeTextFileSync(`${folder.path}/steps.json`, JSON.stringify(steps));
  const terminal = new FakeTerminal(LONG, LONG, LONG, "and now?", "");
  const { code, stdout, stderr } = await holdfast(["run", "--model", "scripted:steps.json"], {
    cwd: folder.path,
    terminal,
  });
  assertEquals(code, 0, stderr);
  assertMatch(stderr, /\(compacted \d+ messages of about \d+ tokens; the log keeps them\)/);
  assertStringIncludes(stdout, "Now it fits.");
  // The summary is for the model: a person is shown the conversation as it was.
  assert(!stdout.includes("Said much."));
});

Deno.test("in a conversation a compaction that comes to nothing is told once, and the conversation goes on", async () => {
  await using folder = new TempFolder();
  const steps = [[{ text: LONG }], [{ text: LONG }], [{ throws: "no connection" }], [{ text: "still here" }]];
  Deno.writeTextFileSync(`${folder.path}/steps.json`, JSON.stringify(steps));
  const terminal = new FakeTerminal(LONG, LONG, "/compact", "hello", "");
  const args = ["run", "--model", "scripted:steps.json"];
  const { code, stdout, stderr } = await holdfast(args, { cwd: folder.path, terminal });
  assertEquals(code, 0);
  assertEquals(stderr.split("no connection").length, 2, stderr);
  assertStringIncludes(stderr, "Compaction came to nothing: TRANSPORT: no connection");
  assertStringIncludes(stdout, "still here");
});
