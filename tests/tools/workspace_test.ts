import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import * as nodeFs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bodyCall } from "../tool/tool_support.ts";
import { WorkspaceFence, type WorkspaceFs, workspaceTools } from "../../src/tools/mod.ts";

const CALL = bodyCall({ effect: "none" });

/** A workspace beside a secret, both in a folder that goes away. */
function place(fs?: WorkspaceFs) {
  const top = nodeFs.mkdtempSync(join(tmpdir(), "workspace-"));
  const root = join(top, "ws");
  nodeFs.mkdirSync(join(root, "docs"), { recursive: true });
  nodeFs.mkdirSync(join(root, "closed"));
  nodeFs.mkdirSync(join(top, "ws-sibling"));
  nodeFs.writeFileSync(join(root, "docs", "a.txt"), "inside");
  nodeFs.writeFileSync(join(root, "closed", "log.txt"), "log");
  nodeFs.writeFileSync(join(top, "secret.txt"), "secret");
  nodeFs.writeFileSync(join(top, "ws-sibling", "secret.txt"), "secret");
  const tools = workspaceTools({ root, closed: [join(root, "closed"), join(root, "not-there")], fs });
  const use = (name: string, args: Record<string, string | number>) =>
    tools.find((tool) => tool.name === name)!.execute(args, CALL) as Promise<string>;
  return {
    top,
    root,
    tools,
    use,
    [Symbol.dispose]: () => nodeFs.rmSync(top, { recursive: true, force: true }),
  };
}

Deno.test("the tools read, write and list inside the workspace", async () => {
  using at = place();
  assertEquals(await at.use("read_file", { path: "docs/a.txt" }), "inside");
  assertEquals(await at.use("read_file", { path: join(at.root, "docs/../docs/./a.txt") }), "inside");
  assertStringIncludes(await at.use("write_file", { path: "new/deep/b.txt", content: "grün" }), "Wrote 5 bytes");
  assertEquals(nodeFs.readFileSync(join(at.root, "new/deep/b.txt"), "utf8"), "grün");
  assertEquals(await at.use("list_files", {}), "closed/\ndocs/\nnew/");
  assertEquals(await at.use("list_files", { path: "docs" }), "a.txt (6 bytes)");
  nodeFs.mkdirSync(join(at.root, "empty"));
  assertEquals(await at.use("list_files", { path: "empty/" }), "The folder is empty.");
});

Deno.test("write_file replaces the whole file, keeps its mode, and leaves no temporary file", async () => {
  using at = place();
  const file = join(at.root, "docs", "run.sh");
  nodeFs.writeFileSync(file, "a long old text", { mode: 0o750 });
  nodeFs.chmodSync(file, 0o750);
  // What a crash of the same call left behind.
  nodeFs.writeFileSync(join(at.root, "docs", ".holdfast-0123456789ab.tmp"), "half");
  await at.use("write_file", { path: "docs/run.sh", content: "new" });
  assertEquals(nodeFs.readFileSync(file, "utf8"), "new");
  assertEquals(nodeFs.statSync(file).mode & 0o777, 0o750);
  assertEquals(nodeFs.readdirSync(join(at.root, "docs")).sort(), ["a.txt", "run.sh"]);
});

Deno.test("write_file takes every name that the file system takes", async () => {
  using at = place();
  for (const name of ["a".repeat(238), "b".repeat(239), "c".repeat(255), "é".repeat(127)]) {
    await at.use("write_file", { path: `docs/${name}`, content: "first" });
    assertStringIncludes(await at.use("write_file", { path: `docs/${name}`, content: "again" }), "Wrote 5 bytes");
    assertEquals(nodeFs.readFileSync(join(at.root, "docs", name), "utf8"), "again");
  }
  assertEquals(nodeFs.readdirSync(join(at.root, "docs")).length, 5);
  await assertRejects(
    () => at.use("write_file", { path: `docs/${"d".repeat(256)}`, content: "x" }),
    Error,
    "the name is too long",
  );
});

Deno.test("a path that leaves the workspace is refused, however it is spelled", async () => {
  using at = place();
  nodeFs.symlinkSync(join(at.top, "secret.txt"), join(at.root, "link.txt"));
  nodeFs.symlinkSync("../..", join(at.root, "docs", "up"));
  nodeFs.symlinkSync("up", join(at.root, "docs", "chain"));
  nodeFs.symlinkSync(at.top, join(at.root, "absolute"));
  nodeFs.symlinkSync("loop", join(at.root, "loop"));
  nodeFs.symlinkSync("../secret.txt", join(at.root, "dangling-out"));
  const paths = [
    "../secret.txt",
    "docs/../../secret.txt",
    "/etc/hostname",
    join(at.top, "secret.txt"),
    `${at.root}-sibling/secret.txt`,
    `${at.root}/../secret.txt`,
    "link.txt",
    "docs/up/secret.txt",
    "docs/chain/secret.txt",
    "absolute/secret.txt",
    "absolute/ws/docs/a.txt",
    "loop",
    "nothing/../../secret.txt",
    "a\0b",
    "dangling-out",
  ];
  for (const path of paths) {
    for (const [tool, more] of [["read_file", {}], ["write_file", { content: "x" }], ["list_files", {}]] as const) {
      const error = await assertRejects(() => at.use(tool, { path, ...more }), Error);
      assertEquals((error as { code?: string }).code, "OUTSIDE_WORKSPACE", `${tool} ${path}: ${error.message}`);
    }
  }
  assertEquals(nodeFs.readFileSync(join(at.top, "secret.txt"), "utf8"), "secret");
  assertEquals(nodeFs.readdirSync(at.top).sort(), ["secret.txt", "ws", "ws-sibling"]);
});

Deno.test("a link that stays inside is followed, relative or absolute", async () => {
  using at = place();
  nodeFs.symlinkSync("docs", join(at.root, "relative"));
  nodeFs.symlinkSync(join(at.root, "docs", "a.txt"), join(at.root, "absolute.txt"));
  nodeFs.symlinkSync("../docs/later.txt", join(at.root, "docs", "later-link"));
  assertEquals(await at.use("read_file", { path: "relative/a.txt" }), "inside");
  assertEquals(await at.use("read_file", { path: "absolute.txt" }), "inside");
  await at.use("write_file", { path: "absolute.txt", content: "changed" });
  assertEquals(nodeFs.readFileSync(join(at.root, "docs", "a.txt"), "utf8"), "changed");
  assert(nodeFs.lstatSync(join(at.root, "absolute.txt")).isSymbolicLink());
  await at.use("write_file", { path: "docs/later-link", content: "made" });
  assertEquals(nodeFs.readFileSync(join(at.root, "docs", "later.txt"), "utf8"), "made");
});

Deno.test("a closed folder stays closed, by whatever path it is reached", async () => {
  using at = place();
  nodeFs.symlinkSync("closed", join(at.root, "other-name"));
  for (const path of ["closed/log.txt", "other-name/log.txt", "docs/../closed/new.txt"]) {
    await assertRejects(() => at.use("read_file", { path }), Error, "closed to tools");
    await assertRejects(() => at.use("write_file", { path, content: "x" }), Error, "closed to tools");
  }
  await assertRejects(() => at.use("list_files", { path: "closed" }), Error, "closed to tools");
  assertEquals(nodeFs.readFileSync(join(at.root, "closed", "log.txt"), "utf8"), "log");
});

/** `node:fs` in which something happens just before the n-th open. */
function racing(n: number, act: () => void): WorkspaceFs {
  let opens = 0;
  return {
    ...nodeFs,
    openSync: (...args: Parameters<typeof nodeFs.openSync>) => {
      if (++opens === n) act();
      return nodeFs.openSync(...args);
    },
  };
}

Deno.test("a link planted between check and use opens nothing outside, at any step of the way", async () => {
  let planted = 0;
  for (const tool of ["read_file", "write_file", "list_files"] as const) {
    for (let n = 1; n <= 5; n++) {
      const state: { root?: string; top?: string } = {};
      using at = place(racing(n, () => {
        planted++;
        nodeFs.rmSync(join(state.root!, "docs"), { recursive: true, force: true });
        nodeFs.symlinkSync(state.top!, join(state.root!, "docs"));
      }));
      Object.assign(state, at);
      nodeFs.writeFileSync(join(at.top, "a.txt"), "secret");
      let found = "";
      try {
        found = await at.use(tool, { path: tool === "list_files" ? "docs" : "docs/a.txt", content: "overwritten" });
      } catch (error) {
        found = String(error);
      }
      assertEquals(found.includes("secret"), false, `${tool} ${n}: ${found}`);
      assertEquals(nodeFs.readFileSync(join(at.top, "a.txt"), "utf8"), "secret");
      assertEquals(nodeFs.readdirSync(at.top).sort(), ["a.txt", "secret.txt", "ws", "ws-sibling"]);
    }
  }
  assert(planted >= 6);
});

Deno.test("a file that becomes a link between check and use is not followed", async () => {
  const state: { root?: string; top?: string } = {};
  const plant = () => {
    nodeFs.rmSync(join(state.root!, "docs", "a.txt"));
    nodeFs.symlinkSync(join(state.top!, "secret.txt"), join(state.root!, "docs", "a.txt"));
  };
  using at = place(racing(3, plant));
  Object.assign(state, at);
  await assertRejects(() => at.use("read_file", { path: "docs/a.txt" }), Error, "it is a link");
  using other = place(racing(3, plant));
  Object.assign(state, other);
  await other.use("write_file", { path: "docs/a.txt", content: "new" });
  assertEquals(nodeFs.readFileSync(join(other.top, "secret.txt"), "utf8"), "secret");
  assertEquals(nodeFs.readFileSync(join(other.root, "docs", "a.txt"), "utf8"), "new");
});

Deno.test("without /proc the real path is checked again before anything is used", async () => {
  const state: { root?: string; top?: string } = {};
  const fs: WorkspaceFs = {
    ...racing(2, () => {
      nodeFs.renameSync(join(state.root!, "docs"), join(state.root!, "moved"));
      nodeFs.symlinkSync("../ws-sibling", join(state.root!, "docs"));
    }),
    existsSync: () => false,
  };
  using at = place(fs);
  Object.assign(state, at);
  const error = await assertRejects(() => at.use("read_file", { path: "docs/secret.txt" }), Error);
  assertEquals((error as { code?: string }).code, "OUTSIDE_WORKSPACE");
  using plain = place({ ...nodeFs, existsSync: () => false });
  assertEquals(await plain.use("read_file", { path: "docs/a.txt" }), "inside");
});

Deno.test("what is no text file is refused in words, and nothing waits for a pipe", async () => {
  using at = place();
  nodeFs.writeFileSync(join(at.root, "binary"), new Uint8Array([1, 0, 2]));
  assertEquals((await new Deno.Command("mkfifo", { args: [join(at.root, "pipe")] }).output()).success, true);
  const refusals: [string, Record<string, string | number>, string][] = [
    ["read_file", { path: "binary" }, "not a text file"],
    ["read_file", { path: "pipe" }, "not a file"],
    ["read_file", { path: "docs" }, "not a file"],
    ["read_file", { path: "gone.txt" }, "there is no such file"],
    ["read_file", { path: "docs/a.txt/b" }, "not a folder"],
    ["read_file", { path: "." }, "workspace itself"],
    ["read_file", { path: "docs/a.txt", offsetBytes: -1 }, "offsetBytes"],
    ["list_files", { path: "docs/a.txt" }, "not a folder"],
    ["write_file", { path: "docs", content: "x" }, "it is no file"],
    ["write_file", { path: "pipe", content: "x" }, "it is no file"],
    ["write_file", { path: "x".repeat(300), content: "x" }, "too long"],
    ["write_file", { path: "big.txt", content: "x".repeat(5_000_000) }, "over 4194304 bytes"],
  ];
  for (const [tool, args, words] of refusals) {
    const error = await assertRejects(() => at.use(tool, args), Error, words);
    assertEquals(error.message.includes("/proc/"), false, error.message);
  }
});

Deno.test("read_file reads a large file in parts", async () => {
  using at = place();
  nodeFs.writeFileSync(join(at.root, "large.txt"), "x".repeat(300_000) + "end");
  const first = await at.use("read_file", { path: "large.txt" });
  assertStringIncludes(first, "[262144 of 300003 bytes; the file goes on]");
  assert((await at.use("read_file", { path: "large.txt", offsetBytes: 262_144 })).endsWith("end"));
  assertEquals(await at.use("read_file", { path: "large.txt", offsetBytes: 400_000 }), "");
});

Deno.test("a full disk leaves the old file and no temporary one", async () => {
  using at = place({
    ...nodeFs,
    writeSync: () => {
      throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
    },
  } as WorkspaceFs);
  await assertRejects(() => at.use("write_file", { path: "docs/a.txt", content: "new" }), Error, "the disk is full");
  assertEquals(await at.use("read_file", { path: "docs/a.txt" }), "inside");
  assertEquals(nodeFs.readdirSync(join(at.root, "docs")), ["a.txt"]);
});

Deno.test("writing asks with path and size, reading does not; bad arguments are never asked about", () => {
  using at = place();
  const [list, read, write] = at.tools;
  assertEquals(list!.permissionFor({}, list!.effectOf({})), { decision: "allow" });
  assertEquals(read!.permissionFor({}, read!.effectOf({})), { decision: "allow" });
  assertEquals(write!.effectOf({}), "idempotent");
  assertEquals(write!.permissionFor({ path: "a b", content: "xyz" }, "idempotent"), {
    decision: "ask",
    reason: 'write 3 characters to "a b"',
  });
  assertThrows(() => write!.permissionFor({ path: 7 }, "idempotent"), Error, "path must be a string");
});

Deno.test("the fence needs a root that exists, and knows its real path", () => {
  using at = place();
  nodeFs.symlinkSync(at.root, join(at.top, "alias"));
  const fence = new WorkspaceFence({ root: join(at.top, "alias") });
  assertEquals(fence.root, nodeFs.realpathSync(at.root));
  assertThrows(() => new WorkspaceFence({ root: join(at.top, "gone") }), Error, "ENOENT");
});

Deno.test("write_file is looked up in the file: this content happened, another one cannot tell, and nothing is changed", async () => {
  using at = place();
  const tool = at.tools.find(({ name }) => name === "write_file")!;
  const signal = new AbortController().signal;
  const lookUp = async (path: string, content: string) => {
    const lookup = {
      effectKey: CALL.effectKey,
      args: { path, content },
      effect: "idempotent",
      callSeq: 1,
      signal,
    } as const;
    return await tool.reconcile!(lookup) as { verdict: string; result?: string; note?: string };
  };
  const said = await at.use("write_file", { path: "docs/a.txt", content: "grün" });
  assertEquals(await lookUp("docs/a.txt", "grün"), {
    verdict: "happened",
    result: said,
    note: "the file has this content",
  });
  assertEquals((await lookUp("docs/a.txt", "grau!")).verdict, "undecidable");
  assertEquals((await lookUp("docs/a.txt", "grau")).verdict, "undecidable");
  assertEquals((await lookUp("docs/none.txt", "")).verdict, "undecidable");
  assertEquals((await lookUp("docs", "")).verdict, "undecidable");
  await assertRejects(async () =>
    await tool.reconcile!({
      effectKey: "k",
      args: { path: "../secret.txt", content: "secret" },
      effect: "idempotent",
      callSeq: 1,
      signal,
    })
  );
  await assertRejects(async () =>
    await tool.reconcile!({
      effectKey: "k",
      args: { path: "not/there.txt", content: "" },
      effect: "idempotent",
      callSeq: 1,
      signal,
    })
  );
  assertEquals(nodeFs.readFileSync(join(at.root, "docs/a.txt"), "utf8"), "grün");
});
