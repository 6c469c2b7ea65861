import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openFileStore } from "../../src/entry/file.ts";
import { LogBuilder } from "../fold/log_builder.ts";
import { repositoryDir } from "../support/paths.ts";
import { COMMAND, holdfastProcess, spawnHoldfast, TempFolder, writeLog } from "./cli.ts";

function longLog(): LogBuilder {
  const log = new LogBuilder();
  for (let turn = 0; turn < 3000; turn++) {
    log.startTurn();
    log.user(`message ${turn} ${"x".repeat(100)}`);
    log.endTurn();
  }
  return log;
}

async function shell(script: string, cwd: string) {
  const args = ["-c", script, "sh", ...COMMAND];
  const { code, stdout, stderr } = await new Deno.Command("sh", { args, cwd, env: { NO_COLOR: "1" } }).output();
  return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
}

Deno.test("a reader that leaves early is no error: show | head is silent", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "long", longLog().events);
  for (const args of ["show long --limit all", "show long --limit all --json", "export long --to jsonl"]) {
    const { stdout, stderr } = await shell(`{ "$@" ${args}; echo $? > code; } | head -n 1`, folder.path);
    assertEquals([stdout.trimEnd().split("\n").length, stderr], [1, ""], args);
    assertEquals(Deno.readTextFileSync(`${folder.path}/code`), "0\n", args);
  }
});

Deno.test("output that a full disk refuses is an error, exit code 1", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "long", longLog().events);
  for (const args of ["show long", "show long --json", "ls", "ls --json"]) {
    const { code, stderr } = await shell(`exec "$@" ${args} > /dev/full`, folder.path);
    assertEquals(code, 1, args);
    assertStringIncludes(stderr, "STORAGE_FULL: Cannot write standard output");
    assertEquals(stderr.includes("INTERNAL"), false, stderr);
  }
});

Deno.test("output beyond the file size limit of the process is an error like that of a full disk", async () => {
  await using folder = new TempFolder();
  writeLog(folder.root, "long", longLog().events);
  for (const how of ["> piped", "--out out"]) {
    const { code, stderr } = await shell(
      `trap '' XFSZ; ulimit -f 1; exec "$@" export long --to jsonl ${how}`,
      folder.path,
    );
    assertEquals(code, 1, how);
    assertStringIncludes(stderr, "STORAGE_FULL: Cannot write ", how);
  }
});

Deno.test("exit codes of the process: 0 fine, 1 not fine, 2 usage; a prompt comes through a pipe", async () => {
  await using folder = new TempFolder();
  const { path: cwd } = folder;
  const [fine, missing, wrong, piped, binary] = await Promise.all([
    holdfastProcess(["ls"], { cwd }),
    holdfastProcess(["show", "nosuch", "--json"], { cwd }),
    holdfastProcess(["ls", "--bogus"], { cwd }),
    holdfastProcess(["run", "--root", "other"], { cwd, input: "list the files\n" }),
    shell(`printf '\\377\\376' | "$@" run`, cwd),
  ]);
  assertEquals([fine!.code, missing!.code, wrong!.code, piped!.code], [0, 1, 2, 0]);
  assertEquals(JSON.parse(missing!.stdout).error.code, "NOT_FOUND");
  assertStringIncludes(piped!.stdout, "list_files");
  assertEquals(binary!.code, 2);
  assertStringIncludes(binary!.stderr, "not UTF-8");
});

Deno.test("tail follows what another process appends, and ends at SIGINT", async () => {
  await using folder = new TempFolder();
  const log = new LogBuilder();
  log.startTurn();
  log.user("first");
  writeLog(folder.root, "s", log.events);
  const child = spawnHoldfast(["tail", "s", "--from", "1"], { cwd: folder.path });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let shown = "";
  const shows = async (text: string) => {
    while (!shown.includes(text)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`tail ended without ${text}: ${shown}`);
      shown += value;
    }
  };
  await shows("first");
  {
    await using store = openFileStore({ root: folder.root });
    await using writer = await store.open("s", "write");
    for (const text of ["second", "third"]) {
      const seq = log.user(text);
      await writer.append(log.events.slice(seq));
      await shows(text);
    }
  }
  child.kill("SIGINT");
  const { code } = await child.status;
  await reader.cancel();
  await child.stderr.cancel();
  assertEquals(code, 0);
  assertEquals(shown.trimEnd().split("\n").length, 3);
});

Deno.test("SIGINT, SIGTERM and SIGHUP cancel a run that has no terminal, and leave a whole log", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/hang.json`, JSON.stringify([[{ text: "so" }, { hang: true }]]));
  for (const [signal, wanted] of [["SIGINT", 1], ["SIGTERM", 1], ["SIGHUP", 129]] as const) {
    const root = `${folder.path}/${signal}`;
    const child = spawnHoldfast(["run", "go", "--model", "scripted:hang.json", "--root", root], { cwd: folder.path });
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    assertEquals((await reader.read()).value, "so");
    child.kill(signal);
    const { code } = await child.status;
    await reader.cancel();
    const stderr = await new Response(child.stderr).text();
    assertEquals(code, wanted, stderr);
    assertStringIncludes(stderr, "The turn ended: aborted");
    const { stdout } = await holdfastProcess(["ls", "--root", root, "--json"], { cwd: folder.path });
    assertEquals(JSON.parse(stdout).map(({ state }: { state: string }) => state), ["ok"]);
  }
});

Deno.test("a run that was started to outlive its terminal (nohup) is not ended by SIGHUP", async () => {
  if (Deno.build.os !== "linux") return console.log("1 case not run: which signals are ignored is known on Linux only");
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/hang.json`, JSON.stringify([[{ text: "so" }, { hang: true }]]));
  const script = `trap '' HUP; exec "$@" run go --model scripted:hang.json`;
  const child = new Deno.Command("sh", {
    args: ["-c", script, "sh", ...COMMAND],
    ...{ cwd: folder.path, env: { NO_COLOR: "1" }, stdin: "null", stdout: "piped", stderr: "piped" },
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await reader.read()).value, "so");
  child.kill("SIGHUP");
  child.kill("SIGTERM");
  const { code } = await child.status;
  await reader.cancel();
  assertStringIncludes(await new Response(child.stderr).text(), "The turn ended: aborted");
  assertEquals(code, 1);
});

Deno.test("--version names the version of deno.json and what runs it", async () => {
  await using folder = new TempFolder();
  const { version } = JSON.parse(Deno.readTextFileSync(`${repositoryDir}/deno.json`));
  const plain = await holdfastProcess(["--version"], { cwd: folder.path });
  assertEquals([plain.code, plain.stderr], [0, ""]);
  assertMatch(plain.stdout, new RegExp(`^holdfast ${version} \\(deno ${Deno.version.deno}, \\w+ \\w+\\)\n$`));
  const json = await holdfastProcess(["--version", "--json"], { cwd: folder.path });
  const { version: told, runtime } = JSON.parse(json.stdout);
  assertEquals([told, runtime], [version, `deno ${Deno.version.deno}`]);
});

Deno.test("a run that waits over a second says so", async () => {
  await using folder = new TempFolder();
  Deno.writeTextFileSync(`${folder.path}/slow.json`, JSON.stringify([[{ delayMs: 1200 }, { text: "done" }]]));
  const { code, stdout, stderr } = await holdfastProcess(["run", "go", "--model", "scripted:slow.json"], {
    cwd: folder.path,
  });
  assertEquals([code, stdout], [0, "done\n"]);
  assertStringIncludes(stderr, "waiting for the model (1 s)\n");
});

Deno.test("a disk that is full in the middle of a run is STORAGE_FULL, exit code 1, and the log stays whole", async () => {
  await using folder = new TempFolder();
  const { path: cwd } = folder;
  const first = await holdfastProcess(["run", "hello", "--json"], { cwd });
  const { id } = JSON.parse(first.stdout);
  const noise = Array.from(crypto.getRandomValues(new Uint8Array(30_000)), (byte) => (byte % 36).toString(36)).join("");
  Deno.writeTextFileSync(`${cwd}/prompt`, noise);
  // No file may grow over 8 KiB, and the signal that says so is ignored: what a full disk looks like.
  const limited = `trap '' XFSZ; ulimit -f 16; exec "$@" run --session ${id} --json < prompt`;
  const { code, stdout, stderr } = await shell(limited, cwd);
  assertEquals([code, JSON.parse(stdout).error.code], [1, "STORAGE_FULL"], stderr);
  assertStringIncludes(stderr, "The turn failed: CHECKPOINT_FAILED");
  const verified = await holdfastProcess(["verify", id, "--json"], { cwd });
  const [row] = JSON.parse(verified.stdout);
  assertEquals([verified.code, row.damage, row.torn, row.live], [0, null, null, false]);
  assertEquals((await holdfastProcess(["run", "hello", "--session", id], { cwd })).code, 0);
});
