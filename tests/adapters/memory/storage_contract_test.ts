import { MemoryStorage, type MemoryStorageOptions } from "../../../src/adapters/memory/mod.ts";
import { OtherSide, storageContract, storageFaultCases } from "../../../src/testing/storage_contract.ts";
import type { OtherProcess } from "../../../src/testing/storage_contract.ts";

const media: Readonly<Record<string, MemoryStorageOptions>> = {
  "memory": {},
  "memory as a disk": { simulate: "disk" },
  "memory as a disk with deferred names": { simulate: "disk", names: "deferred" },
};

for (const [label, options] of Object.entries(media)) {
  for (const { name, run, skip } of storageContract) {
    const reason = skip?.(new MemoryStorage(options).traits) ?? null;
    Deno.test({
      name: `${label}: ${name}${reason === null ? "" : ` (not run: ${reason})`}`,
      ignore: reason !== null,
      fn: () => {
        const storage = new MemoryStorage(options);
        return run({ storage, other: peerOf(storage), stranger: storage.stranger });
      },
    });
  }
  for (const { name, run } of storageFaultCases) {
    Deno.test(`${label}: ${name}`, () => {
      const storage = new MemoryStorage(options);
      return run({ storage, failNext: (fault) => storage.failAt(fault) });
    });
  }
}

/** Another process on the same simulated machine. */
function peerOf(storage: MemoryStorage): OtherProcess {
  let peer = storage.peer();
  let side = new OtherSide(peer);
  return {
    run: (command) => side.run(command),
    kill: () => {
      peer.kill();
      peer = storage.peer();
      side = new OtherSide(peer);
      return Promise.resolve();
    },
  };
}
