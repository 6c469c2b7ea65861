import { storageContract, storageFaultCases } from "../../../src/testing/storage_contract.ts";
import { failNext, openIn, otherWorker } from "./fake_context.ts";
import { FakeOrigin } from "./fake_opfs.ts";

const { traits } = await openIn(new FakeOrigin().worker());
const stranger = {
  write: () => Promise.reject(new Error("a browser lets nobody pass its locks")),
  append: () => Promise.reject(new Error("a browser lets nobody pass its locks")),
  remove: () => Promise.reject(new Error("a browser lets nobody pass its locks")),
};

for (const { name, run, skip } of storageContract) {
  const reason = skip?.(traits) ?? null;
  Deno.test({
    name: `opfs: ${name}${reason === null ? "" : ` (not run: ${reason})`}`,
    ignore: reason !== null,
    fn: async () => {
      const origin = new FakeOrigin();
      await using storage = await openIn(origin.worker());
      await run({ storage, other: otherWorker(origin), stranger });
    },
  });
}

for (const { name, run } of storageFaultCases) {
  Deno.test(`opfs: ${name}`, async () => {
    const worker = new FakeOrigin().worker();
    await using storage = await openIn(worker);
    await run({ storage, failNext: failNext(worker) });
  });
}
