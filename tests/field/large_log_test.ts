import { assert, assertEquals, assertMatch } from "@std/assert";
import { createSession } from "../../mod.ts";
import { encodeZstdFrame, openFileStore } from "../../src/entry/file.ts";
import { fromFileUrl, repositoryDir } from "../support/paths.ts";

/** The heap of the process that opens the log. */
const HEAP_MIB = 256;
/** How much plain text the log has. */
const LOG_BYTES = 2 * 1024 ** 3;
const TEXT_BYTES = 128 * 1024;
const ROWS_PER_FRAME = 8;

Deno.test("field/F02: a log of 2 GiB is opened for writing with a heap of 256 MiB", async () => {
  const text = textOf(TEXT_BYTES);
  const said = await openLarge((seq) => ({ type: "bench/note", seq, time: 1, data: { text }, ignorable: true }));
  assert(said.refused === undefined, said.refused);
  assert(said.nextSeq! >= LOG_BYTES / TEXT_BYTES, `nextSeq ${said.nextSeq}`);
  assertEquals(said.readSeq, said.nextSeq! - 3);
});

Deno.test("field/F02: a conversation of 2 GiB is refused early, with what to do, with a heap of 256 MiB", async () => {
  const content = [{ type: "text", text: textOf(TEXT_BYTES) }];
  const said = await openLarge((seq) => ({
    type: "user/message",
    seq,
    time: 1,
    data: { id: `m${seq}`, role: "user", content, source: { kind: "user" } },
    surfaceOp: "append",
  }));
  assertMatch(
    said.refused ?? "it was opened",
    /^Cannot open session "large": up to event \d+ .* over the bound .* fork it/,
  );
});

async function openLarge(
  row: (seq: number) => object,
): Promise<{ refused?: string; nextSeq?: number; readSeq?: number }> {
  const root = await Deno.makeTempDir({ prefix: "holdfast-large-" });
  try {
    await makeLog(root, row);
    const child = fromFileUrl(new URL("large_log_child.ts", import.meta.url));
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", `--v8-flags=--max-old-space-size=${HEAP_MIB}`, child, root, "large"],
      cwd: repositoryDir,
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    return JSON.parse(new TextDecoder().decode(stdout));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** A session of ours, and behind its own events very many more, written frame by frame. */
async function makeLog(root: string, row: (seq: number) => object): Promise<void> {
  await using store = openFileStore({ root });
  const session = await createSession({ store, id: "large" });
  session.append({ type: "session/title", data: { title: "large" }, ignorable: true });
  await session.close();
  let { nextSeq } = session;
  const path = await logBelow(root);
  using file = await Deno.open(path, { append: true });
  for (let bytes = 0; bytes < LOG_BYTES; bytes += ROWS_PER_FRAME * TEXT_BYTES) {
    const rows = Array.from({ length: ROWS_PER_FRAME }, () => JSON.stringify(row(nextSeq++)));
    const frame = encodeZstdFrame(rows);
    for (let at = 0; at < frame.length;) at += file.writeSync(frame.subarray(at));
  }
}

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

function textOf(sizeBytes: number): string {
  return "All work is written down before it is done. ".repeat(sizeBytes / 44 + 1).slice(0, sizeBytes);
}
