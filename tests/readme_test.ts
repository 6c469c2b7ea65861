import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { serverFacts } from "../src/adapters/postgres/server_facts.ts";
import type { SqlTransaction } from "../src/sql/mod.ts";
import { openFileStore } from "../src/entry/file.ts";
import { openSqliteStore } from "../src/entry/sqlite.ts";
import { openMemoryStore } from "../src/entry/memory.ts";
import { openOpfsStore } from "../src/entry/opfs.ts";
import { FakeOrigin } from "./adapters/opfs/fake_opfs.ts";
import { repositoryDir } from "./support/paths.ts";

/** What fits a newcomer's first look. */
const EXAMPLE_LINES_MAX = 25;

const readme = await Deno.readTextFile(`${repositoryDir}/README.md`);

Deno.test("README: the example is at most 25 lines, runs as it stands, and leaves a log that verifies", async () => {
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1];
  assert(example !== undefined, "there is no example");
  assert(example.trimEnd().split("\n").length <= EXAMPLE_LINES_MAX, "the example is too long");

  const folder = await Deno.makeTempDir({ prefix: "holdfast-readme-" });
  try {
    await Deno.writeTextFile(`${folder}/example.ts`, example);
    const run = async (...args: string[]) => {
      const command = new Deno.Command(Deno.execPath(), { args: ["run", "-A", ...args], cwd: folder });
      const { code, stdout, stderr } = await command.output();
      assertEquals(code, 0, new TextDecoder().decode(stderr));
      return new TextDecoder().decode(stdout);
    };
    const config = ["--config", `${repositoryDir}/deno.json`];
    const output = await run(...config, `${folder}/example.ts`);
    assertMatch(output, /^\w+ completed\n$/);
    const id = output.split(" ")[0]!;
    const [verdict] = JSON.parse(await run(...config, `${repositoryDir}/src/cli/main.ts`, "verify", id, "--json"));
    assertEquals([verdict.id, verdict.damage, verdict.open], [id, null, null]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("README: the examples of the optional entries are right uses of them", async () => {
  const examples = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!)
    .filter((code) => /holdfast\/(?:mcp|otel)"/.test(code));
  assertEquals(examples.length, 2);
  const folder = await Deno.makeTempDir({ prefix: "holdfast-readme-" });
  try {
    const files = examples.map((_, index) => `${folder}/${index}.ts`);
    for (const [index, code] of examples.entries()) await Deno.writeTextFile(files[index]!, code);
    const args = ["check", "--quiet", "--config", `${repositoryDir}/deno.json`, ...files];
    const { code, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: folder }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** A server that syncs its log and waits for that, as it says itself. */
const durableServer: SqlTransaction = {
  run: () => Promise.resolve(0),
  all: () =>
    Promise.resolve([{
      ...{ version: 150_000, shown: "15.0", encoding: "UTF8", in_recovery: 0, fsync: "on", synchronous_commit: "on" },
      idle_ms: 1,
    }]),
};

Deno.test("README: the table of media says what the traits say", async () => {
  const root = await Deno.makeTempDir({ prefix: "holdfast-readme-" });
  await using file = openFileStore({ root });
  await using sqlite = openSqliteStore({ path: `${root}/sessions.db` });
  await using opfs = await openOpfsStore({ platform: new FakeOrigin().worker().platform });
  await using memory = openMemoryStore();
  await using disk = openMemoryStore({ simulate: "disk" });
  const rows = readme.split("\n").filter((line) => /^\| `(file|sqlite|postgres|opfs|memory)`/.test(line)).map((line) =>
    line.split("|").slice(2, 7).map((cell) => cell.trim())
  );
  const postgres = await serverFacts(durableServer, "postgres", 1);
  const traits = [file, sqlite, postgres, opfs, memory, disk].map(({ traits }) => [
    ...[traits.sync, traits.names, traits.publish, traits.lockScope, traits.persistence],
  ]);
  assertEquals(rows, traits);
  await Deno.remove(root, { recursive: true });
});

Deno.test("README: the permissions of the server are those of its tasks", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`));
  const allowedIn = (task: string) => (tasks[task] as string).split(" ").filter((word) => word.startsWith("--allow-"));
  const rows = [...readme.matchAll(/^\| `(--allow-[^`]+)`/gm)].map(([, flag]) => flag!);
  assertEquals(allowedIn("serve:sandbox"), rows);
  assertEquals(allowedIn("serve"), rows.slice(0, -1));
  assertMatch(rows.at(-1)!, /^--allow-run=/);
});

Deno.test("README: the commands and folders it names are there", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${repositoryDir}/deno.json`));
  for (const [, task] of readme.matchAll(/(?:deno@2\.9\.6|deno) task ([a-z:]+)/g)) {
    assert(task! in tasks, `no task ${task}`);
  }
  const made = ["web/dist"]; // by deno task build
  for (const [, path] of readme.matchAll(/`((?:src|tests|web|bench)\/[\w/.]+)`/g)) {
    {
      if (!made.includes(path!)) await Deno.stat(`${repositoryDir}/${path}`);
    }
  }
  assertStringIncludes(readme, "npx -y deno@2.9.6 task start");
});
