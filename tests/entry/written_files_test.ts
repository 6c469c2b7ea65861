/**
 * What a session writes through the file entry, judged from the bytes alone: session-format §1, §2 and §5 by a walk written
 * from the specification, by the runtime's zlib, and by the `zstd` command on the whole file.
 */
import { assert, assertEquals } from "@std/assert";
import { zstdDecompressSync } from "node:zlib";
import { openFileStore } from "../../src/entry/file.ts";
import { createSession, openSession } from "../../src/session/mod.ts";
import { judge } from "../frame/independent_walk.ts";

/** A batch that is more than one zstd block (128 KiB), with text of every UTF-8 length and a lone surrogate. */
const LARGE_TEXT = "aé€😀\ud83d".repeat(40_000);

async function writeSession(root: string, compression: "zstd" | "none"): Promise<string> {
  await using store = openFileStore({ root, compression });
  const session = await createSession({ store, id: "../weird ~id", cwd: "/srv//my project" });
  session.append({ type: "turn/start", data: { turn: 1 } });
  await session.flush();
  for (const content of ["small", LARGE_TEXT]) {
    session.append({ type: "todo/write", data: { todos: [{ content, status: "pending" }] } });
    await session.flush();
  }
  await session.close();
  // A crash left the turn open; the next lifecycle closes it and goes on.
  const { session: next } = await openSession({ store, id: "../weird ~id" });
  next.append({ type: "turn/start", data: { turn: 2 } });
  next.append({ type: "turn/end", data: { turn: 2, reason: { kind: "completed" } } });
  await next.close();
  const suffix = compression === "zstd" ? ".zstd" : "";
  return `${root}/--srv-my~0020project--/..~002Fweird~0020~007Eid/session.v3.jsonl${suffix}`;
}

const EXPECTED_TYPES = [
  ...["session", "checkpoint/policy", "turn/start", "todo/write", "todo/write", "turn/end"],
  ...["session/end-seed", "checkpoint/policy", "turn/start", "turn/end"],
];

function checkRows(text: string): void {
  assert(text.endsWith("\n"), "the last row does not end");
  const rows = text.slice(0, -1).split("\n").map((line) => JSON.parse(line));
  assertEquals(rows.map((row) => row.type), EXPECTED_TYPES);
  const [header, ...events] = rows;
  assertEquals(Object.keys(header), ["type", "version", "id", "createdAt", "cwd", "isSeeded", "delegationDepth"]);
  assertEquals([header.version, header.id, header.cwd], [3, "../weird ~id", "/srv//my project"]);
  events.forEach((event, index) => {
    assertEquals(event.seq, index);
    assertEquals(Object.keys(event).slice(0, 4), ["type", "seq", "time", "data"]);
  });
  assertEquals(events[3].data.todos[0].content, LARGE_TEXT);
}

Deno.test("a session's zstd file is header frame, then one checksummed frame per batch, each ending with a row", async () => {
  const root = await Deno.makeTempDir({ prefix: "holdfast-written-" });
  try {
    const path = await writeSession(root, "zstd");
    const file = await Deno.readFile(path);
    const { frames, tornStart, corruptAt } = judge(file);
    assertEquals([tornStart, corruptAt], [null, null]);
    // Header, three flushes, the closers, and the batch of the second lifecycle.
    assertEquals(frames.length, 6);
    assert(frames.every((frame) => frame.hasChecksum && frame.contentSize !== null));
    const texts = frames.map(({ start, end }) =>
      new TextDecoder().decode(zstdDecompressSync(file.subarray(start, end)))
    );
    assertEquals(texts[0]!.indexOf("\n"), texts[0]!.length - 1);
    for (const text of texts) assert(text.endsWith("\n"));
    checkRows(texts.join(""));

    const { success, stdout } = await new Deno.Command("zstd", { args: ["-dcq", path] }).output();
    assert(success, "zstd refuses the file");
    assertEquals(new TextDecoder().decode(stdout), texts.join(""));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("a session's raw file is the same rows as lines", async () => {
  const root = await Deno.makeTempDir({ prefix: "holdfast-written-" });
  try {
    checkRows(await Deno.readTextFile(await writeSession(root, "none")));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
