import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { LogBuilder } from "../fold/log_builder.ts";
import { canBubblewrap, canLandlock } from "../sandbox/host.ts";
import { COMMAND, document, holdfast, logBytes, TempFolder, writeLog } from "./cli.ts";

function oneTurn(): LogBuilder {
  const log = new LogBuilder();
  log.startTurn();
  log.endTurn();
  return log;
}

Deno.test("doctor says what runtime and medium promise, measures the disk, and leaves nothing", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "s", oneTurn().events);
  Deno.chmodSync(folder.root, 0o700);
  const before = folder.snapshot();
  const { code, json } = await document(["doctor"], { cwd: folder.path });
  assertEquals(code, 0, JSON.stringify(json));
  assertStringIncludes(json.runtime, "Deno");
  assertEquals([json.root, json.traits.medium, json.traits.sync], [folder.root, "file", "device"]);
  assert(json.sync.p50Ms > 0 && json.sync.p99Ms >= json.sync.p50Ms);
  assertEquals([json.disk.files, json.disk.isComplete, json.sessions], [1, true, { ok: 1 }]);
  assertEquals([json.looseModes, json.deletions], [[], 0]);
  const { stdout } = await holdfast(["doctor"], { cwd: folder.path });
  for (const word of ["lockScope", "sync latency", "disk use", "kill -9"]) assertStringIncludes(stdout, word);
  assertEquals(folder.snapshot(), before);
});

Deno.test("doctor tries the sandbox and says for each dimension what is enforced, or why no command runs", async () => {
  await using folder = new TempFolder();
  const { json } = await document(["doctor"], { cwd: folder.path });
  assertEquals(json.sandbox.map(({ mode }: { mode: string }) => mode), ["read-only", "workspace-write"]);
  for (const { provider, enforcement, reason, gaps } of json.sandbox) {
    if (!canBubblewrap && !canLandlock) {
      assertEquals([provider, enforcement], [null, null]);
      assert(reason.length > 0);
      continue;
    }
    assertEquals([provider, reason], [canBubblewrap ? "bubblewrap" : "landlock", null]);
    assertEquals(Object.keys(enforcement), ["files", "network", "processes", "environment"]);
    // Nothing is "full" beside a gap in it.
    for (const [dimension, level] of Object.entries(enforcement)) {
      assertEquals(level === "full", !gaps.some((gap: { dimension: string }) => gap.dimension === dimension));
    }
  }
  const { stdout } = await holdfast(["doctor"], { cwd: folder.path });
  assertMatch(stdout, /sandbox, read-only +(bubblewrap: files|landlock: files|no command runs: )/);
  assertMatch(stdout, /sandbox, workspace-write +/);
});

Deno.test("doctor says why a folder cannot be opened for writing commands", async () => {
  await using folder = new TempFolder();
  const { code, json } = await document(["doctor", "--root", folder.root], { cwd: "/" });
  assertEquals(code, 0);
  const [, writing] = json.sandbox;
  assertEquals([writing.mode, writing.provider, writing.enforcement], ["workspace-write", null, null]);
  assertMatch(writing.reason, /Cannot confine/);
});

Deno.test("doctor of a root that is not there makes nothing", async () => {
  await using folder = new TempFolder();
  assertEquals((await document(["doctor"], { cwd: folder.path })).code, 0);
  assertEquals(folder.snapshot(), {});
});

Deno.test("field/G07: files are 0600 and folders 0700 whatever the umask, and doctor reports what is looser", async () => {
  await using folder = new TempFolder();
  const shell = (script: string) =>
    new Deno.Command("sh", { args: ["-c", script, "sh", ...COMMAND], cwd: folder.path, stdin: "null" }).output();
  const { code, stderr } = await shell('umask 0000; exec "$@" run "write hi to x.txt" --approve refuse');
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  const modes = (path: string): [string, number][] => [
    [path, Deno.lstatSync(path).mode! & 0o777],
    ...[...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) =>
      isDirectory
        ? modes(`${path}/${name}`)
        : [[`${path}/${name}`, Deno.lstatSync(`${path}/${name}`).mode! & 0o777] as [string, number]]
    ),
  ];
  const found = modes(folder.root);
  assert(found.length >= 5);
  for (const [path, mode] of found) assertEquals(mode, Deno.lstatSync(path).isDirectory ? 0o700 : 0o600, path);
  assertEquals((await document(["doctor"], { cwd: folder.path })).json.looseModes, []);

  const [[project], log] = [
    found.filter(([path]) => /--$/.test(path))[0]!,
    found.find(([path]) => /zstd$/.test(path))![0],
  ];
  Deno.chmodSync(project!, 0o755);
  Deno.chmodSync(log, 0o644);
  const loose = await document(["doctor"], { cwd: folder.path });
  assertEquals(loose.code, 1);
  assertEquals(loose.json.looseModes, [
    { name: project, mode: "755", wanted: "700" },
    { name: log, mode: "644", wanted: "600" },
  ]);
  assertStringIncludes(loose.stderr, `chmod -R go= ${folder.root}`);
});

Deno.test("doctor counts the states, and is not content with a damaged session", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "fine", oneTurn().events);
  const { bytes } = logBytes("bad", oneTurn().events);
  bytes[bytes.length - 1]! ^= 1;
  writeLog(folder.root, "bad", bytes);
  Deno.chmodSync(folder.root, 0o700);
  const { code, json } = await document(["doctor"], { cwd: folder.path });
  assertEquals([code, json.sessions], [1, { damaged: 1, ok: 1 }]);
});
