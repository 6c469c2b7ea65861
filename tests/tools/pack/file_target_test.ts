import * as nodeFs from "node:fs";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  EFFECTS_FOLDER,
  fileTarget,
  type KeyedFs,
  type OrderAnswer,
  putFileTool,
} from "../../../src/tools/pack/mod.ts";

const { signal } = new AbortController();
const ORDER = { path: "a.txt", content: "new" };

class Folder implements Disposable {
  readonly root = Deno.makeTempDirSync();

  constructor() {
    Deno.writeTextFileSync(`${this.root}/a.txt`, "old");
  }

  get isWritten(): boolean {
    return Deno.readTextFileSync(`${this.root}/a.txt`) === "new";
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.root, { recursive: true });
  }
}

/** The calls that change something. */
const CHANGES = ["linkSync", "mkdirSync", "openSync", "renameSync", "unlinkSync", "writeSync"] as const;

/** A file system that tells of every change, before and after it is made. */
function watched(onChange: (when: "before" | "after") => void): KeyedFs {
  const fs = { ...nodeFs } as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of CHANGES) {
    const act = fs[name]!;
    fs[name] = (...args) => {
      onChange("before");
      const result = act(...args);
      onChange("after");
      return result;
    };
  }
  return fs as unknown as KeyedFs;
}

/** Writes, and does something at the n-th place. Returns whether it got that far. */
async function writeWith(
  root: string,
  place: number,
  act: () => void,
): Promise<{ reached: boolean; answer: OrderAnswer | null }> {
  let seen = 0;
  let reached = false;
  const fs = watched(() => {
    if (seen++ !== place) return;
    reached = true;
    act();
  });
  const answer = await fileTarget({ root, fs }).perform("k", ORDER, signal).catch(() => null);
  return { reached, answer };
}

Deno.test("put_file: wherever the writer dies, closing the key says what is true, and keeps it true", async () => {
  const seen = new Set<string>();
  for (let place = 0;; place++) {
    using folder = new Folder();
    let isDead = false;
    const { reached } = await writeWith(folder.root, place, () => {
      isDead = true;
      throw new Error("killed");
    });
    if (!reached) break;
    assert(isDead);
    const target = fileTarget({ root: folder.root });
    const found = await target.close("k", ORDER, signal);
    assertEquals(found.state === "done", folder.isWritten, `killed at ${place}`);
    assertEquals(await target.close("k", ORDER, signal), found);
    assertEquals((await target.perform("k", ORDER, signal)).state, found.state);
    assertEquals(found.state === "done", folder.isWritten);
    seen.add(found.state);
  }
  assertEquals([...seen].sort(), ["closed", "done"]);
});

Deno.test("put_file: the same after a second try under the key that dies as well", async () => {
  const killed = () => {
    throw new Error("killed");
  };
  for (let first = 0;; first++) {
    for (let second = first % 3;; second += 3) {
      using folder = new Folder();
      const { reached } = await writeWith(folder.root, first, killed);
      if (!reached) return;
      const { reached: reachedAgain } = await writeWith(folder.root, second, killed);
      if (!reachedAgain) break;
      const found = await fileTarget({ root: folder.root }).close("k", ORDER, signal);
      assertEquals(found.state === "done", folder.isWritten, `killed at ${first} and at ${second}`);
    }
  }
});

Deno.test("put_file: a key that is closed while the writer is at work stops it, or comes too late", async () => {
  const seen = new Set<string>();
  for (let place = 0;; place++) {
    using folder = new Folder();
    let closing: ReturnType<ReturnType<typeof fileTarget>["close"]> | null = null;
    const { reached, answer } = await writeWith(folder.root, place, () => {
      closing = fileTarget({ root: folder.root }).close("k", ORDER, signal);
    });
    if (!reached) break;
    const found = await closing!;
    assertEquals(found.state === "done", folder.isWritten, `closed at ${place}`);
    assertEquals(answer?.state, found.state, `closed at ${place}`);
    seen.add(found.state);
  }
  assertEquals([...seen].sort(), ["closed", "done"]);
});

Deno.test("put_file: a second try after a death writes it once, whole", async () => {
  for (let place = 0;; place++) {
    using folder = new Folder();
    const { reached } = await writeWith(folder.root, place, () => {
      throw new Error("killed");
    });
    if (!reached) break;
    const target = fileTarget({ root: folder.root });
    assertEquals((await target.perform("k", ORDER, signal)).state, "done");
    assert(folder.isWritten);
    Deno.writeTextFileSync(`${folder.root}/a.txt`, "changed by somebody");
    assertEquals((await target.perform("k", ORDER, signal)).state, "done");
    assertEquals(
      Deno.readTextFileSync(`${folder.root}/a.txt`),
      "changed by somebody",
      "it was written, and is not again",
    );
    assertEquals((await target.close("k", ORDER, signal)).state, "done");
  }
});

Deno.test("put_file: what keys left is closed to the model, and so is everything outside", async () => {
  using folder = new Folder();
  const target = fileTarget({ root: folder.root });
  await target.close("k", ORDER, signal);
  for (const path of [`${EFFECTS_FOLDER}/k.new`, "../x", EFFECTS_FOLDER]) {
    const answer = await target.perform("k2", { path, content: "x" }, signal).catch((error) => ({ state: error.code }));
    assert(answer.state !== "done", path);
  }
  const { receipt } = await target.perform("k3", ORDER, signal) as { receipt: string };
  assertStringIncludes(receipt, "SHA-256");
  assertEquals(putFileTool({ root: folder.root }).permissionFor(ORDER, "idempotent"), {
    decision: "ask",
    reason: 'write 3 characters to "a.txt"',
  });
});
