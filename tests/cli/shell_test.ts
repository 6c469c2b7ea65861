/**
 * The shell of `holdfast run`: what a person at the terminal is told, asked and shown.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { canBubblewrap, canLandlock } from "../sandbox/host.ts";
import { document, FakeTerminal, holdfast, TempFolder } from "./cli.ts";

const canConfine = canBubblewrap || canLandlock;
const ESCALATION = "run echo x >made in workspace-write because the test wants the file";

Deno.test("exec/S15: in the terminal each refusal of an escalation reads differently, and nothing runs", async () => {
  const fails = new FakeTerminal(() => Promise.reject(new Error("the terminal is broken")));
  const cases: [said: string, args: string[], terminal: FakeTerminal | undefined][] = [
    ["nobody could be asked, because no approver is connected", [], undefined],
    ["the approval policy is never to ask", ["--approve", "refuse"], new FakeTerminal("y")],
    ["the user said no", [], new FakeTerminal("n")],
    ["the question was cancelled", [], new FakeTerminal()],
    ["it needs approval, and nobody could be asked", [], fails],
  ];
  const shown = new Set<string>();
  for (const [said, args, terminal] of cases) {
    await using folder = new TempFolder();
    const { stdout } = await holdfast(["run", ESCALATION, ...args], { cwd: folder.path, terminal });
    const line = stdout.split("\n").find((line) => line.startsWith("← "));
    assertStringIncludes(line ?? stdout, said);
    shown.add(line!);
    assertEquals(Object.keys(folder.snapshot()).includes("made"), false, said);
  }
  assertEquals(shown.size, cases.length);
});

Deno.test("without a sandbox nothing runs in the terminal either, and the words are others again", async () => {
  await using folder = new TempFolder();
  // A workspace that holds the logs: hiding them would hide it, so nothing can be confined.
  Deno.mkdirSync(`${folder.path}/root/work`, { recursive: true });
  const args = ["run", "run echo x >made", "--root", `${folder.path}/root`, "--workspace", `${folder.path}/root/work`];
  const { stdout, stderr } = await holdfast(args, { cwd: folder.path, terminal: new FakeTerminal("y") });
  assertStringIncludes(stderr, "shell in read-only: no command runs: ");
  assertMatch(stdout, /← Error: (the command did not run|Cannot confine)/);
  assertEquals(Object.keys(folder.snapshot()).some((name) => name.endsWith("made")), false);
});

Deno.test({
  name: "run tells once, before the first question, what confines commands; a grant widens one command",
  ignore: !canConfine,
  async fn() {
    await using folder = new TempFolder();
    let asked = 0;
    const answer = () => {
      asked++;
      return "y";
    };
    const terminal = new FakeTerminal(ESCALATION, answer, "run echo y >other", answer, "");
    const { code, stdout, stderr } = await holdfast(["run"], { cwd: folder.path, terminal });
    assertEquals([code, asked], [0, 2], stdout + stderr);
    assertMatch(stderr, /, shell read-only\n/);
    const lines = stderr.split("\n").filter((line) => line.startsWith("shell in read-only: "));
    assertEquals(lines.length, 1, stderr);
    assertMatch(lines[0]!, /: (bubblewrap|landlock): files \w+, network \w+, processes \w+, environment \w+/);
    assertStringIncludes(
      stdout,
      "? shell asks for permission: run with workspace-write instead of read-only, because: the test wants the file: echo x >made\n",
    );
    assertStringIncludes(stdout, "? shell asks for permission: run in read-only: echo y >other\n");
    assertStringIncludes(stdout, "the sandbox (read-only) seems to have refused something");
    const names = Object.keys(folder.snapshot());
    assertEquals([names.includes("made"), names.includes("other")], [true, false]);
  },
});

Deno.test({
  name: "run keeps the logs out of the reach of commands",
  ignore: !canBubblewrap,
  async fn() {
    await using folder = new TempFolder();
    const terminal = new FakeTerminal("y");
    const { stdout } = await holdfast(["run", "run cat .holdfast/*/*/*"], { cwd: folder.path, terminal });
    assertMatch(stdout, /← ok: exit code 1/);
    assert(!/session\.v3/.test(stdout.replace(/^.*arguments:.*$/m, "")), stdout);
  },
});

Deno.test("run --sandbox off gives no shell, and danger-full-access says what that means", async () => {
  await using folder = new TempFolder();
  const off = await holdfast(["run", "run echo x >made", "--sandbox", "off"], { cwd: folder.path });
  assertMatch(off.stderr, /, shell off\n/);
  assertEquals(off.stdout.includes("→ shell"), false);
  const terminal = new FakeTerminal("y");
  const free = await holdfast(["run", "run echo ran", "--sandbox", "danger-full-access"], {
    cwd: folder.path,
    terminal,
  });
  assertStringIncludes(free.stderr, "shell in danger-full-access: commands run as you: nothing confines them");
  assertStringIncludes(free.stdout, "[not confined: danger-full-access]");
  const wrong = await holdfast(["run", "hello", "--sandbox", "none"], { cwd: folder.path });
  assertEquals(wrong.code, 2);
  assertStringIncludes(wrong.stderr, "wanted one of read-only, workspace-write, danger-full-access, off");
});

Deno.test("run --json has no person to ask, whatever the terminal, and says so in its exit code", async () => {
  await using folder = new TempFolder();
  const { code, json } = await document(["run", "run ls"], { cwd: folder.path, terminal: new FakeTerminal("y") });
  assertEquals([code, json.reason.kind], [1, "completed"]);
  assertStringIncludes(json.text, "no approver is connected");
});
