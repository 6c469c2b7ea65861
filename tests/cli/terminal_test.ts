import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { document, holdfast, TempFolder } from "./cli.ts";
import { hasScript, Pty } from "./pty.ts";
import { Server } from "./server.ts";

const QUESTION = "Allow it once? [y/N] ";

function exists(folder: TempFolder, name: string): boolean {
  return Object.keys(folder.snapshot()).includes(name);
}

async function onlyVerdict(folder: TempFolder) {
  const { json: [row] } = await document(["ls"], { cwd: folder.path });
  return (await document(["verify", row.id], { cwd: folder.path })).json[0];
}

/** Whoever types next sees what is typed, and lines are lines. */
function assertHasEcho({ screen }: Pty): void {
  assertMatch(screen, /\sicanon\s/);
  assertMatch(screen, /\secho\s/);
}

Deno.test("in a terminal: a question is answered no by default, yes by y, and by nothing typed before it", async () => {
  if (!hasScript(4)) return;
  await using folder = new TempFolder();
  await using pty = new Pty(["run"], { cwd: folder.path });
  await pty.shows("> ");
  await pty.type("write hi to no.txt\r");
  await pty.shows(QUESTION);
  await pty.type("\r");
  await pty.shows("the user said no");
  await pty.shows("(the model reads about ");
  await pty.shows("> ");

  // Typed ahead: a whole line and half of one. Neither answers.
  await pty.type("write hi to early.txt\ry\ry");
  await pty.shows(QUESTION);
  await pty.type("\r");
  await pty.shows("the user said no");
  await pty.shows("> ");

  await pty.type("write hi to yes.txt\r");
  await pty.shows(QUESTION);
  await pty.type("y\r");
  await pty.shows("Wrote 2 bytes");
  await pty.shows("> ");
  await pty.type("\u0004"); // Ctrl-D
  assertEquals(await pty.ended(), 0);
  assertEquals(["no.txt", "early.txt", "yes.txt"].map((name) => exists(folder, name)), [false, false, true]);
  assertEquals((await onlyVerdict(folder)).open, null);
});

Deno.test("in a terminal: Ctrl-D at a question cancels it and ends the conversation", async () => {
  if (!hasScript(1)) return;
  await using folder = new TempFolder();
  await using pty = new Pty(["run"], { cwd: folder.path });
  await pty.shows("> ");
  await pty.type("write hi to a.txt\r");
  await pty.shows(QUESTION);
  await pty.type("\u0004");
  await pty.shows("the question was cancelled");
  assertEquals([await pty.ended(), exists(folder, "a.txt")], [0, false]);
});

Deno.test("in a terminal: Ctrl-C cancels a question and a running request, two at once end the process", async () => {
  if (!hasScript(3)) return;
  await using folder = new TempFolder();
  await using server = new Server();
  const pty = new Pty(["run"], { cwd: folder.path, env: { NO_PROXY: "127.0.0.1" }, isFollowed: true });
  await pty.shows("> ");
  await pty.type("write hi to a.txt\r");
  await pty.shows(QUESTION);
  await pty.type("\u0003");
  await pty.shows("The turn ended: aborted");
  await pty.shows("> ");

  await pty.type(`post 10 to ${server.url}/hang\r`);
  await pty.shows(QUESTION);
  await pty.type("y\r");
  await server.arrived;
  await pty.type("\u0003");
  await pty.shows("Ctrl-C again to stop at once");
  await pty.shows("1 outcome unknown");
  await pty.shows("--happened");
  await pty.shows("> ");

  await pty.type(`post 11 to ${server.url}/hang\r`);
  await pty.shows(QUESTION);
  await pty.type("\u0003\u0003");
  assertEquals(await pty.ended(), 130);
  assertHasEcho(pty);
  assertEquals(exists(folder, "a.txt"), false);
  const { json: [row] } = await document(["ls"], { cwd: folder.path });
  assertEquals([row.state, row.live], ["open", false]);
});

Deno.test("in a terminal: closing it cancels the turn or the question, closes the log and exits with 129", async () => {
  if (!hasScript(3)) return;
  await using server = new Server();
  const env = { NO_PROXY: "127.0.0.1" };
  const until: [string, (pty: Pty) => Promise<void>][] = [
    ["aborted", async (pty) => {
      await pty.type("write hi to a.txt\r");
      await pty.shows(QUESTION);
    }],
    ["aborted", async (pty) => {
      await pty.type(`post 10 to ${server.url}/hang\r`);
      await pty.shows(QUESTION);
      await pty.type("y\r");
      await server.arrived;
    }],
    ["completed", async (pty) => {
      await pty.type("hello\r");
      await pty.shows("> ");
    }],
  ];
  for (const [wanted, act] of until) {
    await using folder = new TempFolder();
    const pty = new Pty(["run"], { cwd: folder.path, env, isSurvived: true });
    await pty.shows("> ");
    await act(pty);
    assertEquals(await pty.hangUp(), 129);
    const verdict = await onlyVerdict(folder);
    assertEquals([verdict.open, verdict.torn, verdict.live], [null, null, false]);
    const { json } = await document(["show", verdict.id, "--limit", "all"], { cwd: folder.path });
    const end = json.events.findLast(({ type }: { type: string }) => type === "turn/end");
    assertEquals(end.data.reason.kind, wanted);
  }
});

Deno.test("in a terminal: kill -9 during a request, and the next run names the command that settles it", async () => {
  if (!hasScript(1)) return;
  await using folder = new TempFolder();
  await using server = new Server();
  const pty = new Pty(["run", `post 10 to ${server.url}/hang`], { cwd: folder.path, env: { NO_PROXY: "127.0.0.1" } });
  await pty.shows(QUESTION);
  await pty.type("y\r");
  await server.arrived;
  Deno.kill(Number(Deno.readTextFileSync(`${folder.path}/pid`)), "SIGKILL");
  await pty.ended();

  const verdict = await onlyVerdict(folder);
  assertEquals([verdict.live, verdict.damage], [false, null]);
  assertEquals(verdict.open.calls.map((call: { class: string }) => call.class), ["outcome_unknown"]);
  const next = await holdfast(["run", "hello", "--session", verdict.id], { cwd: folder.path });
  assertEquals(next.code, 0, next.stderr);
  assertStringIncludes(next.stderr, "outcome unknown, it may have run");
  assertStringIncludes(next.stderr, `resolve ${verdict.id} ${verdict.open.calls[0].callSeq} --happened`);
  assertStringIncludes(next.stderr, server.seen[0]!.headers.get("idempotency-key")!);
});

Deno.test("in a terminal: rm asks, and the terminal is left as it was", async () => {
  if (!hasScript(1)) return;
  await using folder = new TempFolder();
  await holdfast(["run", "hello"], { cwd: folder.path });
  const { json: [{ id }] } = await document(["ls"], { cwd: folder.path });
  const pty = new Pty(["rm", id.slice(0, 6)], { cwd: folder.path, isFollowed: true });
  await pty.shows("Type yes: ");
  await pty.type("yes\r");
  assertEquals(await pty.ended(), 0);
  assertStringIncludes(pty.screen, `Deleted ${id}`);
  assertHasEcho(pty);
  assertEquals((await document(["ls"], { cwd: folder.path })).json, []);
});
