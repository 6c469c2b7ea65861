import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { openOpfsStore } from "../../src/entry/opfs.ts";
import { StorageLostError } from "../../src/errors.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { createSession } from "../../src/session/mod.ts";
import { FakeOrigin } from "../adapters/opfs/fake_opfs.ts";

Deno.test("field/E10 openOpfsStore() outside of a browser's worker is refused with the reason, and keeps nothing in memory", async () => {
  const error = await assertRejects(() => openOpfsStore(), StorageLostError);
  assertStringIncludes(error.message, "this browser has no origin private file system");
});

Deno.test("openOpfsStore() keeps a session below its root, as a file that any codec reads", async () => {
  const origin = new FakeOrigin();
  await using store = await openOpfsStore({ platform: origin.worker().platform, root: "mine" });
  const session = await createSession({ store, id: "s" });
  session.append({ type: "turn/start", data: { turn: 1 } });
  await session.close();
  assertEquals([...origin.files.keys()].sort(), [
    "mine/_no-cwd/s/session.lock",
    "mine/_no-cwd/s/session.v3.jsonl.zstd",
  ]);

  const other = await openOpfsStore({ platform: origin.worker().platform, root: "mine", codec: nodeZstd() });
  await using log = await other.open("s", "read");
  assertEquals((await log.read()).events.map((event) => event.type), ["checkpoint/policy", "turn/start"]);
  await other.close();
});

Deno.test("openOpfsStore() writes nothing before the first append", async () => {
  const origin = new FakeOrigin();
  await using store = await openOpfsStore({ platform: origin.worker().platform, compression: "none" });
  assertEquals(await Array.fromAsync(store.list()), []);
  assertEquals(origin.operations, []);
});
