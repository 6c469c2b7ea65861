import { MemoryStorage, type MemoryStorageOptions } from "../../src/adapters/memory/mod.ts";
import { portableZstd } from "../../src/frame/portable_zstd.ts";
import { openJournal } from "../../src/journal/mod.ts";
import type { SessionStore } from "../../src/store/session_store.ts";
import {
  OtherStoreSide,
  type SessionStoreContext,
  sessionStoreContract,
} from "../../src/testing/session_store_contract.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { seededRandom } from "../support/seeded_random.ts";

const media: Readonly<Record<string, MemoryStorageOptions & { readonly compression?: "none" }>> = {
  "memory": {},
  "memory, uncompressed": { compression: "none" },
  "memory as a disk": { simulate: "disk" },
};

for (const [label, { compression, ...options }] of Object.entries(media)) {
  for (const { name, run, skip } of sessionStoreContract) {
    const reason = skip?.(new MemoryStorage(options).traits) ?? null;
    Deno.test({
      name: `${label}: ${name}${reason === null ? "" : ` (not run: ${reason})`}`,
      ignore: reason !== null,
      fn: async () => {
        const machine = new MemoryStorage(options);
        const { context, end } = memoryContext(machine, compression);
        await run(context);
        await end();
      },
    });
  }
}

function memoryContext(machine: MemoryStorage, compression: "none" | undefined) {
  const clock = new FakeClock();
  const open = (storage: MemoryStorage) =>
    openJournal({ storage, codec: portableZstd(), clock, random: seededRandom(1), compression });
  const stores: SessionStore[] = [];
  let away: { readonly storage: MemoryStorage; readonly side: OtherStoreSide } | null = null;
  const context: SessionStoreContext = {
    openStore() {
      const store = open(machine.peer());
      stores.push(store);
      return Promise.resolve(store);
    },
    advance: (ms) => clock.advance(ms),
    other: {
      run(command) {
        if (away === null) {
          const storage = machine.peer();
          away = { storage, side: new OtherStoreSide(open(storage)) };
        }
        return away.side.run(command);
      },
      kill() {
        away?.storage.kill();
        away = null;
        return Promise.resolve();
      },
    },
  };
  const end = async () => {
    for (const store of stores) await store.close();
  };
  return { context, end };
}
