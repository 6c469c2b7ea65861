import { assert, assertEquals, assertRejects } from "@std/assert";
import { createSession, hasCode, openSession } from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";

Deno.test("field/G11: when another file takes the place of a live log, its writer stops with LOCK_LOST and writes to neither", async () => {
  const root = await Deno.makeTempDir({ prefix: "holdfast-rename-" });
  try {
    await using store = openFileStore({ root });
    const session = await createSession({ store, id: "a" });
    session.append({ type: "turn/start", data: { turn: 1 } });
    await session.flush();
    const log = await logBelow(root);
    const { ino } = await Deno.stat(log);
    const bytes = await Deno.readFile(log);

    // As a program does that rewrites a file whole: a copy beside it, renamed over it. The open one has no name any more.
    await Deno.writeFile(`${log}.new`, bytes);
    await Deno.rename(`${log}.new`, log);
    session.append({ type: "turn/end", data: { turn: 1, reason: { kind: "completed" } } });
    const error = await assertRejects(() => session.flush());
    assert(hasCode(error, "LOCK_LOST"), `${error}`);
    assertEquals(await Deno.readFile(log), bytes);
    await session.close().catch(() => {});

    // What was there is there, and the next writer goes on.
    const next = await openSession({ store, id: "a" });
    assertEquals(next.resumed.closers.map(({ type }) => type), ["turn/end"]);
    await next.session.close();
    assert((await Deno.stat(log)).ino !== ino);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("field/G11: a live log keeps its file, however much is written", async () => {
  const root = await Deno.makeTempDir({ prefix: "holdfast-rename-" });
  try {
    await using store = openFileStore({ root });
    const session = await createSession({ store, id: "a" });
    let before: number | null = null;
    for (let turn = 1; turn <= 20; turn++) {
      session.append({ type: "turn/start", data: { turn } });
      session.append({ type: "turn/end", data: { turn, reason: { kind: "completed" } } });
      await session.flush();
      const { ino } = await Deno.stat(await logBelow(root));
      assert(before === null || ino === before, `turn ${turn} is in another file`);
      before = ino;
    }
    await session.close();
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

async function logBelow(folder: string): Promise<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) {
      const found = await logBelow(path).catch(() => null);
      if (found !== null) return found;
    } else if (name.endsWith(".jsonl.zstd")) return path;
  }
  throw new Error(`there is no log below ${folder}`);
}
