import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../../src/entry/file.ts";
import type { SessionEvent } from "../../src/event/mod.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { Server } from "./server.ts";
import { document, FakeTerminal, headerOf, holdfast, type Surroundings, TempFolder, writeLog } from "./cli.ts";

async function eventsOf(folder: TempFolder, id: string): Promise<SessionEvent[]> {
  return (await document(["show", id, "--limit", "all"], { cwd: folder.path })).json.events;
}

async function idsIn(folder: TempFolder): Promise<string[]> {
  return (await document(["ls"], { cwd: folder.path })).json.map(({ id }: { id: string }) => id);
}

/** Writes a script for `--model scripted:FILE` and returns the flag's value. */
function scriptIn(folder: TempFolder, steps: unknown, name = "script.json"): string {
  Deno.writeTextFileSync(`${folder.path}/${name}`, JSON.stringify(steps));
  return `scripted:${name}`;
}

Deno.test("run with a prompt streams the answer, shows calls, results and tokens, and leaves a whole log", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/a.txt`, "content");
  const { code, stdout, stderr } = await holdfast(["run", "list", "the", "files"], { cwd: folder.path });
  assertEquals(code, 0, stderr);
  assertStringIncludes(stdout, "I am the demo model, and I will try.\n→ list_files {");
  assertMatch(stdout, /\n← ok: .*a\.txt/);
  assertMatch(stdout, /\n {2}\(\d+ tokens in, \d+ out\)\n$/);
  const [id] = await idsIn(folder);
  assertMatch(stderr, new RegExp(`^session ${id}, model demo:demo, workspace ${folder.path}, shell read-only\n$`));
  const { json: [row] } = await document(["verify", id!], { cwd: folder.path });
  assertEquals([row.damage, row.open, row.torn, row.live], [null, null, null, false]);
  const { json: { header } } = await document(["show", id!, "--limit", "0"], { cwd: folder.path });
  assertEquals(header.cwd, folder.path);
});

Deno.test("run takes the prompt from a pipe", async () => {
  await using folder = new TempFolder();
  const { code } = await holdfast(["run"], { cwd: folder.path, input: "  list the files\n" });
  assertEquals(code, 0);
  const [id] = await idsIn(folder);
  const user = (await eventsOf(folder, id!)).find(({ type }) => type === "user/message")!;
  assertStringIncludes(JSON.stringify(user.data), '"list the files"');
});

Deno.test("run - takes the prompt from standard input, and needs one there", async () => {
  await using folder = new TempFolder();
  assertEquals((await holdfast(["run", "-"], { cwd: folder.path, input: "list the files\n" })).code, 0);
  const [id] = await idsIn(folder);
  const user = (await eventsOf(folder, id!)).find(({ type }) => type === "user/message")!;
  assertStringIncludes(JSON.stringify(user.data), '"list the files"');
  const words = await holdfast(["run", "-", "hello"], { cwd: folder.path, input: "list the files" });
  assertEquals([words.code, words.stdout.includes("list_files")], [0, false]);
});

Deno.test("run --json prints one document when everything is durable, and nothing else", async () => {
  await using folder = new TempFolder();
  const script = scriptIn(folder, [
    [{ text: "first" }, { call: { name: "list_files", arguments: { path: "." } } }, {
      usage: { inputTokens: 3, outputTokens: 4 },
    }],
    [{ text: ["sec", "ond"] }, { usage: { inputTokens: 5, outputTokens: 6 } }],
  ]);
  const { code, json } = await document(["run", "go", "--model", script], { cwd: folder.path });
  assertEquals(code, 0);
  assertEquals(Object.keys(json), ["id", "turn", "reason", "text", "usage", "unresolved", "resumed"]);
  assertEquals([json.turn, json.reason, json.text], [1, { kind: "completed" }, "first\n\nsecond"]);
  assertEquals([json.usage.inputTokens, json.usage.outputTokens], [8, 10]);
  assertEquals([json.unresolved, json.resumed], [[], null]);
  assertEquals([json.id], await idsIn(folder));

  const second = await document(["run", "again", "--session", json.id, "--model", "demo"], { cwd: folder.path });
  assertEquals([second.json.turn, second.json.id], [2, json.id]);
  assertEquals(second.json.resumed, { open: null, closers: 0, salvagedEvents: 0 });
});

Deno.test("run without a terminal refuses what would ask, says how to connect an approver, exit code 1", async () => {
  await using folder = new TempFolder();
  for (const surroundings of [{ cwd: folder.path }, { cwd: folder.path, terminal: new FakeTerminal("y") }]) {
    // With --json nobody is asked either, terminal or not.
    const json = surroundings.terminal === undefined ? [] : ["--json"];
    const { code, stderr } = await holdfast(["run", "write hi to a.txt", ...json], surroundings);
    assertEquals(code, 1);
    assertStringIncludes(stderr, "createAgent({ approvers })");
  }
  assertEquals(Object.keys(folder.snapshot()).includes("a.txt"), false);
});

Deno.test("run --approve refuse refuses without asking, also in a terminal, and the turn is fine", async () => {
  await using folder = new TempFolder();
  const terminal = new FakeTerminal("y");
  const { code, stdout } = await holdfast(["run", "write hi to a.txt", "--approve", "refuse"], {
    cwd: folder.path,
    terminal,
  });
  assertEquals([code, terminal.asked], [0, []]);
  assertStringIncludes(stdout, "not allowed");
  assertEquals(Object.keys(folder.snapshot()).includes("a.txt"), false);
});

Deno.test("run asks in the terminal with the arguments of the log; only a yes allows", async () => {
  for (
    const [answer, isAllowed] of [["y", true], ["YES ", true], ["", false], ["n", false], ["No", false]] as const
  ) {
    await using folder = new TempFolder();
    const terminal = new FakeTerminal(answer);
    const { code, stdout } = await holdfast(["run", "write hi to a.txt"], { cwd: folder.path, terminal });
    assertEquals(code, 0);
    assertEquals([terminal.asked, terminal.isClosed], [["  Allow it once? [y/N] "], true]);
    assertStringIncludes(stdout, '? write_file asks for permission: write 2 characters to "a.txt"\n');
    assertStringIncludes(stdout, '  arguments: {"path":"a.txt","content":"hi"}\n');
    assertEquals(Object.keys(folder.snapshot()).includes("a.txt"), isAllowed, JSON.stringify(answer));
  }
});

Deno.test("an answer that is neither yes nor no is asked about again, three times in all; no answer is no no", async () => {
  const cases: [answers: string[], times: number, outcome: string][] = [
    [["yess", "y"], 2, "allowed-once"],
    [["maybe", "ye s", ""], 3, "rejected"],
    [["what?", "?", "!", "y"], 3, "rejected"],
    [["what?"], 2, "cancelled"],
    [[], 1, "cancelled"], // Ctrl-D
  ];
  for (const [answers, times, outcome] of cases) {
    await using folder = new TempFolder();
    const terminal = new FakeTerminal(...answers);
    await holdfast(["run", "write hi to a.txt"], { cwd: folder.path, terminal });
    const [id] = await idsIn(folder);
    const decided = (await eventsOf(folder, id!)).find(({ type }) => type === "approval/decided")!;
    assertEquals(
      [terminal.asked.length, (decided.data as { outcome: string }).outcome],
      [times, outcome],
      answers.join(),
    );
    assert(terminal.asked.slice(1).every((question) => question.includes("Please type y or n")));
    assertEquals(Object.keys(folder.snapshot()).includes("a.txt"), outcome === "allowed-once");
  }
});

Deno.test("a terminal that is closed ends a conversation after its turn, which is aborted: exit code 129", async () => {
  await using folder = new TempFolder();
  const script = scriptIn(folder, [[{ text: "so" }, { hang: true }]]);
  let hangUp = () => {};
  const terminal = new FakeTerminal("go", "again");
  const { code } = await holdfast(["run", "--model", script], {
    cwd: folder.path,
    terminal,
    onHangupListening: (given) => hangUp = given,
    onOutput: (text) => {
      if (text !== "so") return;
      hangUp();
      hangUp();
    },
  });
  assertEquals([code, terminal.asked, terminal.isClosed], [129, ["> ", "> "], true]);
  const [id] = await idsIn(folder);
  const ends = (await eventsOf(folder, id!)).filter(({ type }) => type === "turn/end");
  assertEquals(ends.map(({ data }) => (data as { reason: { kind: string } }).reason.kind), ["aborted"]);
});

Deno.test("run shows arguments so that nothing in them looks like a line of ours, and says when they are cut", async () => {
  await using folder = new TempFolder();
  const args = `{"path":\n"a.txt","content":"\u202e${"x".repeat(5000)}"}`;
  const script = scriptIn(folder, [[{ call: { name: "write_file", arguments: args } }], [{ text: "ok" }]]);
  const terminal = new FakeTerminal("n");
  const { stdout } = await holdfast(["run", "go", "--model", script], { cwd: folder.path, terminal });
  const shown = stdout.split("\n").find((line) => line.startsWith("  arguments: "))!;
  assertStringIncludes(shown, '{"path":␊"a.txt","content":"\\u{202e}xxx');
  assertStringIncludes(shown, "more characters");
});

Deno.test("run holds a conversation until an empty line or Ctrl-D", async () => {
  for (const last of ["", null]) {
    await using folder = new TempFolder();
    const terminal = new FakeTerminal("list the files", "write hi to a.txt", "y", () => last);
    const { code, stdout } = await holdfast(["run"], { cwd: folder.path, terminal });
    assertEquals(code, 0);
    assertEquals(terminal.asked, ["> ", "> ", "  Allow it once? [y/N] ", "> "]);
    assertStringIncludes(stdout, "← ok: Wrote 2 bytes");
    const [id] = await idsIn(folder);
    const turns = (await eventsOf(folder, id!)).filter(({ type }) => type === "turn/end");
    assertEquals(turns.length, 2);
  }
});

Deno.test("Ctrl-C cancels the turn and the conversation goes on; a second one ends the process", async () => {
  await using folder = new TempFolder();
  const script = scriptIn(folder, [[{ text: "so" }, { hang: true }], [{ text: "still here" }]]);
  const exits: number[] = [];
  let presses = 1;
  const terminal = new FakeTerminal("go", "again", "");
  const surroundings: Surroundings = {
    cwd: folder.path,
    terminal,
    onExit: (code) => exits.push(code),
    onOutput(text) {
      if (text === "so") { for (let press = 0; press < presses; press++) terminal.interrupt!(); }
    },
  };
  const { code, stdout, stderr } = await holdfast(["run", "--model", script], surroundings);
  assertEquals([code, exits], [1, []]);
  assertStringIncludes(stderr, "Ctrl-C again");
  assertStringIncludes(stderr, "The turn ended: aborted");
  assertStringIncludes(stdout, "still here");

  presses = 2;
  await holdfast(["run", "go", "--model", script], surroundings);
  assertEquals([exits, terminal.isClosed], [[130], true]);
});

Deno.test("run does not go on with another model because --model was forgotten", async () => {
  await using folder = new TempFolder();
  const script = scriptIn(folder, [[{ text: "one" }]]);
  await document(["run", "hi", "--model", script], { cwd: folder.path });
  const [id] = await idsIn(folder);
  const before = await eventsOf(folder, id!);
  const { code, stderr } = await holdfast(["run", "hi", "--continue"], { cwd: folder.path });
  assertEquals(code, 2);
  assertStringIncludes(stderr, "it was run with scripted:scripted; give --model");
  assertEquals(await eventsOf(folder, id!), before);
});

Deno.test("run --session and --continue go on with a session in its own folder", async () => {
  await using folder = new TempFolder();
  Deno.mkdirSync(`${folder.path}/work`);
  Deno.writeTextFileSync(`${folder.path}/work/inside.txt`, "");
  const first = await document(["run", "hello", "--workspace", "work"], { cwd: folder.path });
  const { id } = first.json;
  for (const how of [["--session", id.slice(0, 8)], ["--continue"]]) {
    const { code, stdout, stderr } = await holdfast(["run", "list the files", ...how], { cwd: folder.path });
    assertEquals(code, 0, stderr);
    assertStringIncludes(stdout, "inside.txt");
    assertStringIncludes(stderr, `session ${id}, model demo:demo, workspace ${folder.path}/work`);
  }
  assertEquals(await idsIn(folder), [id]);

  Deno.removeSync(`${folder.path}/work`, { recursive: true });
  const gone = await holdfast(["run", "hi", "--continue"], { cwd: folder.path });
  assertEquals(gone.code, 2);
  assertStringIncludes(gone.stderr, "--workspace");
});

Deno.test("run --continue takes the session with the newest event, and starts one where there is none", async () => {
  await using folder = new TempFolder();
  const fresh = await holdfast(["run", "hi", "--continue"], { cwd: folder.path });
  assertEquals(fresh.code, 0);
  assertStringIncludes(fresh.stderr, "this is a new one");
  const [id] = await idsIn(folder);
  const older = new LogBuilder();
  older.startTurn();
  older.endTurn();
  writeLog(folder.root, "zz", older.events, { header: headerOf("zz", { createdAt: Date.now() }) });
  const { json } = await document(["run", "hi", "--continue"], { cwd: folder.path });
  assertEquals(json.id, id);
});

Deno.test("run --create-workspace makes the folder, and only then", async () => {
  await using folder = new TempFolder();
  const args = ["run", "write hi to a.txt", "--workspace", "new/one"];
  const terminal = new FakeTerminal("y", "y");
  assertEquals((await holdfast(args, { cwd: folder.path, terminal })).code, 2);
  assertEquals(folder.snapshot(), {});
  const made = await holdfast([...args, "--create-workspace"], { cwd: folder.path, terminal });
  assertEquals(made.code, 0);
  assertStringIncludes(made.stderr, `Made the folder ${folder.path}/new/one: `);
  assertEquals(Deno.readTextFileSync(`${folder.path}/new/one/a.txt`), "hi");
});

Deno.test("run puts a secret into the request, and its name everywhere else", async () => {
  await using folder = new TempFolder();
  await using server = new Server();
  const headers = { authorization: "Bearer $secret:BANK" };
  const call = { name: "http_request", arguments: { method: "POST", url: `${server.url}/pay`, headers, body: "10" } };
  const script = scriptIn(folder, [[{ call }], [{ text: "done" }]]);
  const env = { HOLDFAST_SECRET_BANK: "s3cr3t-value" };
  const terminal = new FakeTerminal("y");
  const { code, stdout, stderr } = await holdfast(["run", "go", "--model", script], {
    cwd: folder.path,
    env,
    terminal,
  });
  assertEquals(code, 0, stderr);
  assertEquals(server.seen.map(({ headers }) => headers.get("authorization")), ["Bearer s3cr3t-value"]);
  assertMatch(server.seen[0]!.headers.get("idempotency-key")!, /^[0-9a-f]{32}$/);
  const host = new URL(server.url).host;
  assertStringIncludes(stdout, `asks for permission: POST ${server.url}/pay, with the secret BANK sent to ${host}`);
  const [id] = await idsIn(folder);
  const log = (await holdfast(["export", id!, "--to", "jsonl"], { cwd: folder.path })).stdout;
  assertStringIncludes(log, "$secret:BANK");
  assertEquals([stdout, stderr, log].some((text) => text.includes("s3cr3t-value")), false);
});

Deno.test("a cancelled request leaves an unknown outcome, and run prints the command that settles it", async () => {
  await using folder = new TempFolder();
  await using server = new Server();
  const call = { name: "http_request", arguments: { method: "POST", url: `${server.url}/hang`, body: "10" } };
  const script = scriptIn(folder, [[{ call }], [{ text: "done" }]]);
  const terminal = new FakeTerminal("y");
  const root = "my root";
  const running = holdfast(["run", "go", "--model", script, "--root", root], { cwd: folder.path, terminal });
  await server.arrived;
  terminal.interrupt!();
  const { code, stderr } = await running;
  assertEquals(code, 1);
  const [, id, callSeq] = /task --config \S+ holdfast resolve (\w+) (\d+) --happened --root 'my root'/.exec(stderr)!;
  assertStringIncludes(stderr, "effect key ");
  const settle = await holdfast(["resolve", id!, callSeq!, "--happened", "--root", root], { cwd: folder.path });
  assertEquals(settle.code, 0, settle.stderr);
  const next = await holdfast(["run", "hi", "--session", id!, "--model", "demo", "--root", root], { cwd: folder.path });
  assertEquals([next.code, next.stderr.includes("unknown")], [0, false]);
});

Deno.test("run says of a session that crashed what became of each call", async () => {
  await using folder = new TempFolder();
  const log = new LogBuilder();
  log.policy();
  log.openStep("unknown", "recorded", "proposed");
  log.call("unknown");
  log.marker("unknown");
  log.call("recorded");
  writeLog(folder.root, "crashed", log.events);
  const { code, json, stderr } = await document(["run", "hi", "--session", "crashed"], { cwd: folder.path });
  assertEquals(code, 0);
  assertStringIncludes(stderr, "Turn 1 was interrupted and is closed now\n");
  assertStringIncludes(stderr, "  pay unknown: outcome unknown, it may have run\n");
  assertStringIncludes(stderr, "  pay recorded: recorded but not dispatched, nothing ran\n");
  assertStringIncludes(stderr, "  pay proposed: not started, nothing ran\n");
  assertStringIncludes(stderr, `holdfast resolve crashed ${log.callSeqs.get("unknown")} --happened`);
  assertEquals([json.unresolved.length, json.resumed.open.calls.length, json.resumed.closers], [1, 3, 5]);
});

Deno.test("run refuses a damaged, a held and an unsupported session, and changes nothing", async () => {
  await using folder = new TempFolder();
  const log = new LogBuilder();
  log.startTurn();
  log.endTurn();
  const bad = writeLog(folder.root, "bad", log.events);
  const bytes = Deno.readFileSync(bad);
  bytes[bytes.length - 1]! ^= 1;
  Deno.writeFileSync(bad, bytes);
  const odd = { type: "future/thing", seq: 2, time: 1, data: {} } as unknown as SessionEvent;
  writeLog(folder.root, "future", [...log.events, odd]);
  writeLog(folder.root, "held", log.events);
  await using store = openFileStore({ root: folder.root });
  await using _ = await store.open("held", "write");
  const logs = () => Object.fromEntries(Object.entries(folder.snapshot()).filter(([name]) => name.endsWith(".zstd")));
  const before = logs();
  for (const [id, code] of [["bad", "CORRUPT_FRAME"], ["future", "UNSUPPORTED_FORMAT"], ["held", "LOCK_HELD"]]) {
    const ran = await document(["run", "hi", "--session", id!], { cwd: folder.path });
    assertEquals([ran.code, ran.json.error.code], [1, code]);
  }
  assertEquals(logs(), before);
});

Deno.test("run tells a model's failure once, with its code, exit code 1", async () => {
  await using folder = new TempFolder();
  const script = scriptIn(folder, [[{ text: "so far" }, { error: { code: "SERVER", message: "out of order" } }]]);
  const { code, stdout, stderr } = await holdfast(["run", "go", "--model", script], { cwd: folder.path });
  assertEquals(code, 1);
  assertStringIncludes(stdout, "so far");
  assertEquals(stderr.split("out of order").length - 1, 1, stderr);
  assertStringIncludes(stderr, "The turn failed: SERVER");
  const doc = await document(["run", "go", "--model", script], { cwd: folder.path });
  assertEquals([doc.code, doc.json.reason.kind, doc.json.reason.error.code], [1, "error", "SERVER"]);
});

Deno.test("what a model says cannot drive the terminal, and a character cut between chunks is whole", async () => {
  await using folder = new TempFolder();
  const script = scriptIn(folder, [[{ text: ["\u001b]0;x\u0007", "half \ud83d", "\ude00 done"] }]]);
  const { stdout } = await holdfast(["run", "go", "--model", script], { cwd: folder.path });
  assertEquals(stdout, "␛]0;x␇half 😀 done\n");
});

Deno.test("run keeps the logs out of the tools' reach", async () => {
  await using folder = new TempFolder();
  await holdfast(["run", "hello"], { cwd: folder.path });
  const terminal = new FakeTerminal("y");
  const { stdout } = await holdfast(["run", "write x to .holdfast/deleted.jsonl"], { cwd: folder.path, terminal });
  assert(!stdout.includes("← ok"), stdout);
  assertEquals(Object.keys(folder.snapshot()).includes(".holdfast/deleted.jsonl"), false);
});
