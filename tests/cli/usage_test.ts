import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseAge } from "../../src/cli/usage.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { document, FakeTerminal, holdfast, TempFolder, writeLog } from "./cli.ts";

const COMMANDS = [
  "run",
  "ls",
  "show",
  "verify",
  "repair",
  "resolve",
  "tail",
  "fork",
  "rm",
  "export",
  "import",
  "compact",
  "migrate",
  "salvage",
  "serve",
  "lab",
  "doctor",
  "bench",
];

/** Command lines that are wrong, and a word of what is said about each. */
const MISTAKES: [args: string[], word: string, env?: Record<string, string>][] = [
  [[], "no command"],
  [["frobnicate"], "no such command"],
  [["--root", "x", "ls"], "comes first"],
  [["ls", "extra"], "found 1 argument(s), wanted 0"],
  [["ls", "--bogus"], '"--bogus"'],
  [["ls", "-x"], '"-x"'],
  [["ls", "--verify=yes"], "verify"],
  [["ls", "--root"], "--root"],
  [["ls", "--root", ""], "empty"],
  [["ls", "--root", "a", "--root", "b"], "twice"],
  [["ls"], "HOLDFAST_ROOT", { HOLDFAST_ROOT: "" }],
  [["show"], "found 0"],
  [["show", ""], "empty"],
  [["show", "s", "t"], "found 2"],
  [["show", "s", "--as", "v2"], '"v2"'],
  [["show", "s", "--from", "-1"], "from"],
  [["show", "s", "--from", "1.5"], '"1.5"'],
  [["show", "s", "--from", "99999999999999999999"], "from"],
  [["show", "s", "--limit", "some"], '"some"'],
  [["show", "s", "--surface", "--from", "1"], "surface"],
  [["show", "s", "--surface", "--limit", "1"], "surface"],
  [["verify"], "at least 1"],
  [["repair"], "found 0"],
  [["resolve", "s"], "found 1"],
  [["resolve", "s", "x", "--absent"], '"x"'],
  [["resolve", "s", "1"], "wanted one of"],
  [["resolve", "s", "1", "--absent", "--happened"], "wanted one of"],
  [["resolve", "s", "1", "--absent", "--note", ""], "empty"],
  [["tail", "s", "--json"], "--json"],
  [["tail", "s", "--from", "x"], '"x"'],
  [["fork", "s", "--at", "x"], '"x"'],
  [["rm"], "either ids or --older-than"],
  [["rm", "s", "--older-than", "1d"], "either ids or --older-than"],
  [["rm", "--older-than", "soon", "--yes"], '"soon"'],
  [["rm", "--older-than", "1w", "--yes"], '"1w"'],
  [["export", "s"], "wanted --to"],
  [["export", "s", "--to", "xml"], '"xml"'],
  [["run"], "no terminal"],
  [["run", "  "], "prompt is empty"],
  [["run", "-"], "no prompt on standard input"],
  [["run", "hi", "--approve", "always"], '"always"'],
  [["run", "hi", "--model", "gpt"], '"gpt"'],
  [["run", "hi", "--model", "scripted:"], '"scripted:"'],
  [["run", "hi", "--model", "scripted:nosuch.json"], "nosuch.json"],
  [["run", "hi", "--model", "openai:"], "openai:"],
  [["run", "hi", "--model", "openai:m"], "OPENAI_API_KEY"],
  [["run", "hi", "--model", "openai:m", "--model", "demo"], "twice"],
  [["run", "hi", "--model", "openai:m@http://"], "no URL"],
  [["run", "hi", "--model", "openai:m@localhost:4711/v1"], 'whether "localhost:4711/v1" is an address'],
  [["run", "hi", "--model", "openai:m@api.example.com"], "is an address"],
  [["run", "hi", "--model", "openai:m@https://me:secret@host/v1"], "password"],
  [["run", "hi", "--model", "openai:m@https://host/?key=1"], "?"],
  [["run", "hi", "--model", "openai:m"], "HOLDFAST_API_KEY", { HOLDFAST_API_KEY: "two words" }],
  [["run", "hi", "--workspace", "nosuch"], "no such folder"],
  [["run", "hi", "--workspace", "a file"], "no folder"],
  [["run", "hi", "--workspace", "a file", "--create-workspace"], "no folder"],
  [["run", "hi", "--keyed-origin", "bank"], '"bank"'],
  [["run", "hi", "--keyed-origin", "https://bank/path"], "keyed origin"],
  [["run", "hi", "--session", "s", "--continue"], "wanted one of"],
  [["run", "hi", "--session", ""], "empty"],
  [["run", "hi", "--create-workspace", "--workspace", "new", "--bogus"], '"--bogus"'],
  [["run", "hi", "--create-workspace", "--workspace", "new", "--model", "gpt"], '"gpt"'],
];

Deno.test("every mistake on the command line gets one clear message, exit code 2, and makes nothing", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/a file`, "");
  const before = folder.snapshot();
  for (const [args, word, env = {}] of MISTAKES) {
    const { code, stdout, stderr } = await holdfast(args, { cwd: folder.path, env });
    const what = `${args.join(" ")}: ${stderr}`;
    assertEquals(code, 2, what);
    if (!args.includes("--json")) assertEquals(stdout, "", what);
    const message = args.length === 0 ? stderr.trimEnd().split("\n").at(-1)! : stderr.trimEnd();
    assertEquals(message.split("\n").length, 1, what);
    assertStringIncludes(message, "Cannot ", what);
    assertStringIncludes(message, word, what);
    assert(!/ {4}at |Error:|secret|two words/.test(message), what);
  }
  assertEquals(folder.snapshot(), before);
});

Deno.test("with --json every mistake is a document too, and nothing else is on standard output", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/a file`, "");
  for (const [args, , env = {}] of MISTAKES) {
    if (args[0] === undefined) continue;
    const { code, json, stderr } = await document(args.filter((arg) => arg !== "--json"), { cwd: folder.path, env });
    assertEquals([code, Object.keys(json)], [2, ["error"]], args.join(" "));
    assertEquals([json.error.code, Object.keys(json.error)], ["USAGE", ["code", "message"]]);
    assertStringIncludes(stderr, json.error.message);
  }
});

Deno.test("what stands behind -- is a prompt, also when it looks like a flag", async () => {
  await using folder = new TempFolder();
  const { code, stdout } = await holdfast(["run", "--", "--json", "is", "a", "flag"], { cwd: folder.path });
  assertEquals(code, 0);
  assertStringIncludes(stdout, "I am the demo model");
});

Deno.test("what the world refuses is CODE: message, exit code 1, also as a document", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/file`, "");
  writeLog(folder.root, "s", new LogBuilder().events);
  const cases: [string[], string][] = [
    ...["show", "repair", "fork"].map((name): [string[], string] => [[name, "nosuch"], "NOT_FOUND"]),
    [["resolve", "nosuch", "1", "--absent"], "NOT_FOUND"],
    [["rm", "nosuch", "--yes"], "NOT_FOUND"],
    [["export", "nosuch", "--to", "md", "--out", "o"], "NOT_FOUND"],
    [["run", "hi", "--session", "nosuch"], "NOT_FOUND"],
    [["show", "./nosuch.jsonl"], "NOT_FOUND"],
    ...["ls", "doctor"].map((name): [string[], string] => [[name, "--root", "file"], "STORAGE_LOST"]),
    [["show", "s", "--root", "file"], "STORAGE_LOST"],
    [["run", "hi", "--root", "file"], "STORAGE_LOST"],
    [["run", "hi", "--root", "file/below"], "STORAGE_LOST"],
  ];
  const before = folder.snapshot();
  for (const [args, wanted] of cases) {
    const { code, json, stderr } = await document(args, { cwd: folder.path });
    assertEquals([code, json.error?.code], [1, wanted], args.join(" "));
    assertStringIncludes(stderr, `${wanted}: Cannot `);
  }
  assertEquals(folder.snapshot(), before);
});

Deno.test("help is on standard output, exit code 0, for each command and for all", async () => {
  await using folder = new TempFolder();
  const { code, stdout, stderr } = await holdfast(["help"], { cwd: folder.path });
  assertEquals([code, stderr], [0, ""]);
  for (const name of COMMANDS) {
    assertStringIncludes(stdout, `\n  ${name}`);
    for (const args of [[name, "--help"], [name, "-h"], ["help", name]]) {
      const help = await holdfast(args, { cwd: folder.path });
      assertEquals([help.code, help.stderr], [0, ""]);
      assert(help.stdout.startsWith(`holdfast ${name}`));
      for (const flag of ["--root DIR", "--json", "--help"]) assertStringIncludes(help.stdout, flag);
    }
  }
  assert((await document(["ls", "--help"], { cwd: folder.path })).json.help.startsWith("holdfast ls"));
  assertEquals((await holdfast(["help", "nosuch"], { cwd: folder.path })).code, 2);
  assertEquals(folder.snapshot(), {});
});

Deno.test("a bug looks like a bug: exit code 1, INTERNAL and where, never like a mistake of the caller", async () => {
  await using folder = new TempFolder();
  class Broken extends FakeTerminal {
    override confirm(): Promise<string | null> {
      throw new RangeError("a bug of ours");
    }
  }
  writeLog(folder.root, "s", new LogBuilder().events);
  const { code, stderr } = await holdfast(["rm", "s"], { cwd: folder.path, terminal: new Broken() });
  assertEquals(code, 1);
  assertStringIncludes(stderr, "INTERNAL: this is a bug in holdfast: RangeError: a bug of ours");
  assertStringIncludes(stderr, "usage_test.ts");
});

Deno.test("parseAge() reads seconds, minutes, hours and days", () => {
  assertEquals(["10s", "45m", "12h", "30d"].map((text) => parseAge("--older-than", text)), [
    ...[10_000, 45 * 60_000, 12 * 3_600_000, 30 * 86_400_000],
  ]);
});
