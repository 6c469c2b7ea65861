import { portableZstd } from "../../../src/frame/portable_zstd.ts";
import { openJournal } from "../../../src/journal/mod.ts";
import type { SessionStore } from "../../../src/store/session_store.ts";
import {
  OtherStoreSide,
  type SessionStoreContext,
  sessionStoreContract,
} from "../../../src/testing/session_store_contract.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { seededRandom } from "../../support/seeded_random.ts";
import { openIn } from "./fake_context.ts";
import { FakeOrigin, type FakeWorker } from "./fake_opfs.ts";

const { traits } = await openIn(new FakeOrigin().worker());

for (const compression of ["zstd", "none"] as const) {
  for (const { name, run, skip } of sessionStoreContract) {
    const reason = skip?.(traits) ?? null;
    Deno.test({
      name: `opfs, ${compression}: ${name}${reason === null ? "" : ` (not run: ${reason})`}`,
      ignore: reason !== null,
      fn: async () => {
        const stores: SessionStore[] = [];
        await run(contextOf(new FakeOrigin(), compression, stores));
        for (const store of stores) await store.close();
      },
    });
  }
}

function contextOf(origin: FakeOrigin, compression: "zstd" | "none", stores: SessionStore[]): SessionStoreContext {
  const clock = new FakeClock();
  const open = async (worker: FakeWorker) =>
    openJournal({
      storage: await openIn(worker),
      codec: portableZstd(),
      clock,
      random: seededRandom(1),
      compression,
    });
  let away: { readonly worker: FakeWorker; readonly side: OtherStoreSide } | null = null;
  return {
    async openStore() {
      const store = await open(origin.worker());
      stores.push(store);
      return store;
    },
    advance: (ms) => clock.advance(ms),
    other: {
      async run(command) {
        if (away === null) {
          const worker = origin.worker();
          away = { worker, side: new OtherStoreSide(await open(worker)) };
        }
        return await away.side.run(command);
      },
      kill() {
        away?.worker.kill();
        away = null;
        return Promise.resolve();
      },
    },
    sessionsMany: 200,
  };
}
