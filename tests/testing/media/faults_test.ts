import { assert, assertEquals, assertThrows } from "@std/assert";
import { publish, type StorageFile, type StorageLock, type StoragePort } from "../../../mod.ts";
import {
  canBefall,
  HANDLE_TRIES,
  type MediumFaultKind,
  type MediumKind,
  type SimulatedMedium,
  simulatedMedium,
} from "../../../src/testing/media/mod.ts";

const KINDS: readonly MediumKind[] = ["posix", "opfs"];
const LOG = "a/log";
const LOCK = "a/session.lock";
const ONE = new TextEncoder().encode("one");

interface Opened {
  readonly medium: SimulatedMedium;
  readonly storage: StoragePort;
  readonly lock: StorageLock;
  readonly file: StorageFile;
}

async function opened(kind: MediumKind, lockHeldAfterDeath = 0): Promise<Opened> {
  const medium = simulatedMedium({ kind, lockHeldAfterDeath });
  const storage = medium.open("writer");
  const lock = await storage.lock(LOCK);
  await publish(storage, LOG, ONE, lock);
  return { medium, storage, lock, file: await storage.open(LOG, lock) };
}

async function codeOf(promise: Promise<unknown>): Promise<string | null> {
  const error = await promise.then(() => null, (error) => error);
  return error === null ? null : error.code ?? error.name;
}

function textOf(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}

/** Creates a log, grows it, cuts it, and removes it; returns the code of what failed. */
async function wholeLife(storage: StoragePort): Promise<string | null> {
  return await codeOf((async () => {
    const lock = await storage.lock(LOCK);
    await publish(storage, LOG, ONE, lock);
    const file = await storage.open(LOG, lock);
    await file.append(ONE);
    await file.sync();
    await file.truncate(3);
    await file.sync();
    await file.close();
    await storage.remove("a/", lock);
    await lock.release();
  })());
}

for (const kind of KINDS) {
  Deno.test(`${kind}: every operation can fail in every way it can, and the next process lives with it`, async () => {
    const rehearsal = simulatedMedium({ kind });
    assertEquals(await wholeLife(rehearsal.open("writer")), null);
    const faults = [
      "EIO",
      "ENOSPC",
      "short-write",
      "sync-refused",
      "sync-drops",
      "handle-refused",
      "vanished",
    ] as const;
    const seen = new Map<string, Set<string | null>>();
    for (const { operation, kind: operationKind } of rehearsal.operationLog) {
      for (const fault of faults) {
        if (!canBefall(fault, operationKind)) continue;
        for (const sticky of [false, true]) {
          const medium = simulatedMedium({ kind, seed: operation });
          medium.failAt({ operation, kind: fault, sticky });
          const code = await wholeLife(medium.open("writer"));
          const key = sticky ? `sticky ${fault}` : fault;
          seen.set(key, (seen.get(key) ?? new Set()).add(code));
          medium.heal();
          medium.kill("writer");
          const storage = medium.open("next");
          const lock = await storage.lock(LOCK);
          await storage.remove("a/", lock);
          await lock.release();
          assertEquals(await wholeLife(storage), null, `${fault} at ${operationKind} ${operation}, sticky ${sticky}`);
        }
      }
    }
    const codes = Object.fromEntries([...seen].map(([fault, found]) => [fault, [...found].map(String).toSorted()]));
    const shared = {
      "EIO": ["STORAGE_LOST", "SYNC_FAILED"],
      "sticky EIO": ["STORAGE_LOST", "SYNC_FAILED"],
      "ENOSPC": ["STORAGE_FULL", "SYNC_FAILED"],
      "sticky ENOSPC": ["STORAGE_FULL", "SYNC_FAILED"],
      "sync-drops": ["SYNC_FAILED"],
      "sticky sync-drops": ["SYNC_FAILED"],
    };
    assertEquals(
      codes,
      kind === "posix"
        ? {
          ...shared,
          "short-write": ["null"],
          "sticky short-write": ["SHORT_WRITE"],
          "sync-refused": ["STORAGE_LOST", "SYNC_FAILED"],
          "sticky sync-refused": ["STORAGE_LOST", "SYNC_FAILED"],
          // What is written to a file without a name is written; the look before the next write tells.
          "vanished": ["LOCK_LOST", "null"],
          "sticky vanished": ["LOCK_LOST", "null"],
        }
        : {
          ...shared,
          "short-write": ["SHORT_WRITE"],
          "sticky short-write": ["SHORT_WRITE"],
          "sync-refused": ["SYNC_FAILED"],
          "sticky sync-refused": ["SYNC_FAILED"],
          "handle-refused": ["null"],
          "sticky handle-refused": ["LOCK_HELD"],
          // A stage has no name to lose.
          "vanished": ["STORAGE_LOST", "null"],
          "sticky vanished": ["STORAGE_LOST"],
        },
    );
  });

  Deno.test(`${kind}: a fault lets pass what it cannot befall`, async () => {
    const { medium, file } = await opened(kind);
    medium.failAt({ operation: medium.operations, kind: "sync-refused" });
    await file.append(ONE);
    assertEquals(await codeOf(file.sync()), "SYNC_FAILED");
    assertEquals(medium.operationLog.at(-2)?.kind, "write");
  });

  Deno.test(`${kind}: a sticky fault goes on until it is healed, and a dead device cannot be read`, async () => {
    const { medium, storage, file } = await opened(kind);
    medium.failAt({ operation: medium.operations, kind: "EIO", sticky: true, bytes: 2 });
    assertEquals(await codeOf(file.append(ONE)), "STORAGE_LOST");
    assertEquals(await codeOf(file.append(ONE)), "STORAGE_LOST");
    for (const call of [storage.read(LOG), storage.stat(LOG), storage.list("a/")]) {
      assertEquals(await codeOf(call), "STORAGE_LOST");
    }
    medium.heal();
    assertEquals(textOf(await storage.read(LOG)), "oneon", "the cut back failed as well");
  });

  Deno.test(`${kind}: how many bytes a failing write takes is drawn from the seed`, async () => {
    const takenOf = async (seed: number) => {
      const medium = simulatedMedium({ kind, seed });
      const storage = medium.open("writer");
      const lock = await storage.lock(LOCK);
      await publish(storage, LOG, ONE, lock);
      const file = await storage.open(LOG, lock);
      medium.failAt({ operation: medium.operations, kind: "EIO" });
      medium.failAt({ operation: medium.operations + 1, kind: "EIO" });
      assertEquals(await codeOf(file.append(new Uint8Array(100).fill(1))), "STORAGE_LOST");
      return medium.snapshot().get(LOG)!.length;
    };
    assertEquals(await takenOf(7), await takenOf(7));
    assert(new Set(await Promise.all([1, 2, 3, 4].map(takenOf))).size > 1);
  });

  Deno.test(`${kind}: kill ends one process, a crash ends them all`, async () => {
    const { medium, file } = await opened(kind);
    const other = medium.open("other");
    medium.failAt({ operation: medium.operations, kind: "kill", bytes: 2 });
    assertEquals(await codeOf(file.append(ONE)), "STORAGE_LOST");
    assert(!medium.isDead);
    assertEquals(textOf(await other.read(LOG)), "oneon");
    const lock = await other.lock(LOCK);
    const again = await other.open(LOG, lock);
    medium.failAt({ operation: medium.operations, kind: "crash" });
    assertEquals(await codeOf(again.append(ONE)), "STORAGE_LOST");
    assert(medium.isDead);
    assertEquals(await codeOf(other.read(LOG)), "STORAGE_LOST");
    assertEquals(await codeOf(medium.open("third").read(LOG)), "STORAGE_LOST");
    await Promise.all([again.close(), lock.release(), other.close()]);
    assertEquals(textOf(medium.afterKill().snapshot().get(LOG)), "oneon");
  });

  Deno.test(`${kind}: a lock is free at once after a death, or refused for a while`, async () => {
    const once = await opened(kind);
    once.medium.kill("writer");
    await once.medium.open("next").lock(LOCK);

    const { medium } = await opened(kind, 2);
    medium.kill("writer");
    const storage = medium.open("next");
    assertEquals(await storage.isLocked(LOCK), true);
    assertEquals([await codeOf(storage.lock(LOCK)), await codeOf(storage.lock(LOCK))], ["LOCK_HELD", "LOCK_HELD"]);
    assertEquals(await storage.isLocked(LOCK), false);
    const lock = await storage.lock(LOCK);
    // The file itself is refused as often; two tries are waited out where handles are tried for.
    const codes = [];
    for (let tries = 0; tries < 3; tries++) codes.push(await codeOf(storage.open(LOG, lock)));
    assertEquals(codes, kind === "posix" ? ["LOCK_HELD", "LOCK_HELD", null] : [null, "LOCK_HELD", "LOCK_HELD"]);
  });

  Deno.test(`${kind}: after a restart what the dead held may be refused too`, async () => {
    const { medium, file } = await opened(kind);
    await file.append(ONE);
    medium.crash();
    const index = medium.countCrashStates() - 1;
    for (
      const after of [
        medium.afterKill({ lockHeldAfterDeath: 1 }),
        medium.crashStateAt(index).medium({ lockHeldAfterDeath: 1 }),
      ]
    ) {
      const storage = after.open("next");
      const isThere = await storage.stat(LOCK) !== null;
      const codes = [await codeOf(storage.lock(LOCK)), await codeOf(storage.lock(LOCK))];
      assertEquals(codes, isThere || kind === "opfs" ? ["LOCK_HELD", null] : [null, "LOCK_HELD"]);
    }
    await medium.crashStateAt(index).medium().open("next").lock(LOCK);
  });
}

Deno.test("opfs: a handle that is refused for longer than it is tried for counts as held", async () => {
  for (const [refused, code] of [[HANDLE_TRIES - 1, null], [HANDLE_TRIES, "LOCK_HELD"]] as const) {
    const { medium, storage, lock, file } = await opened("opfs");
    await file.close();
    for (let tries = 0; tries < refused; tries++) {
      medium.failAt({ operation: medium.operations, kind: "handle-refused" });
    }
    assertEquals(await codeOf(storage.open(LOG, lock)), code);
  }
});

Deno.test("opfs: nobody passes the locks", () => {
  assertThrows(() => simulatedMedium({ kind: "opfs" }).stranger, TypeError);
});

Deno.test("which operation a fault can befall", () => {
  const kinds: readonly MediumFaultKind[] = [
    "crash",
    "kill",
    "EIO",
    "ENOSPC",
    "short-write",
    "sync-refused",
    "sync-drops",
  ];
  assertEquals(kinds.filter((kind) => canBefall(kind, "sync")), [
    "crash",
    "kill",
    "EIO",
    "ENOSPC",
    "sync-refused",
    "sync-drops",
  ]);
  assertEquals(kinds.filter((kind) => canBefall(kind, "unlink")), ["crash", "kill", "EIO"]);
});
