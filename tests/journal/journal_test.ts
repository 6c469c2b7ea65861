import { assertEquals } from "@std/assert";
import { MemoryStorage } from "../../src/adapters/memory/memory_storage.ts";
import { BATCHES, ENCODINGS, headerOf, journal, logBytes, logOf, storageWith, tinyBlocks, turnOf } from "./script.ts";

for (const encoding of ENCODINGS) {
  Deno.test(`append() writes exactly the file the specification describes (${encoding})`, async () => {
    const storage = new MemoryStorage();
    const store = journal(storage, { compression: encoding });
    const log = await store.create(headerOf());
    for (const batch of BATCHES) assertEquals(await log.append(batch), batch.at(-1)!.seq);
    assertEquals(await storage.read(logOf(encoding)), logBytes(headerOf(), BATCHES, encoding));
    assertEquals((await log.read()).events, turnOf(1));
    await store.close();
  });
}

Deno.test("tinyBlocks() makes frames every reader takes", async () => {
  const storage = storageWith({ [logOf("zstd")]: logBytes(headerOf(), BATCHES, "zstd", tinyBlocks(40)) });
  const log = await journal(storage).open("s", "read");
  assertEquals((await log.read()).events, turnOf(1));
});
