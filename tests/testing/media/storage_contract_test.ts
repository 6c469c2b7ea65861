import { type MediumKind, type SimulatedMedium, simulatedMedium } from "../../../src/testing/media/mod.ts";
import {
  type OtherProcess,
  OtherSide,
  storageContract,
  type StorageFault,
  storageFaultCases,
  type Stranger,
} from "../../../src/testing/storage_contract.ts";

const KINDS: readonly MediumKind[] = ["posix", "opfs"];

for (const kind of KINDS) {
  for (const { name, run, skip } of storageContract) {
    const reason = skip?.(simulatedMedium({ kind }).open("me").traits) ?? null;
    Deno.test({
      name: `simulated ${kind}: ${name}${reason === null ? "" : ` (not run: ${reason})`}`,
      ignore: reason !== null,
      fn: () => {
        const medium = simulatedMedium({ kind });
        return run({ storage: medium.open("me"), other: otherOn(medium), stranger: strangerOn(medium) });
      },
    });
  }
  for (const { name, run } of storageFaultCases) {
    Deno.test(`simulated ${kind}: ${name}`, () => {
      const medium = simulatedMedium({ kind });
      return run({ storage: medium.open("me"), failNext: (fault) => failNext(medium, fault) });
    });
  }
}

/** Another process on the same simulated machine. */
function otherOn(medium: SimulatedMedium): OtherProcess {
  let side = new OtherSide(medium.open("other"));
  return {
    run: (command) => side.run(command),
    kill: () => {
      medium.kill("other");
      side = new OtherSide(medium.open("other"));
      return Promise.resolve();
    },
  };
}

/** Where nobody passes the locks, the cases that would ask for it are not run. */
function strangerOn(medium: SimulatedMedium): Stranger {
  if (medium.kind === "posix") return medium.stranger;
  const nobody = () => Promise.reject(new TypeError("there are no strangers on this medium"));
  return { write: nobody, append: nobody, remove: nobody };
}

/** A fault of the port as one of the medium: which of the calls below the port's call fails, and how. */
function failNext(medium: SimulatedMedium, { operation, kind, steps, cutsBack }: StorageFault): void {
  const next = medium.operations;
  // A failing sync is an answer of its own, so what is not about syncing strikes a publish where the name is made.
  const at = operation === "publish" && kind !== "sync" ? next + (medium.kind === "posix" ? 1 : 0) : next;
  const names = { enospc: "ENOSPC", eio: "EIO", short: "short-write", sync: "sync-refused" } as const;
  medium.failAt({ operation: at, kind: names[kind], bytes: steps ?? 0 });
  if (cutsBack === false) medium.failAt({ operation: at + 1, kind: "EIO" });
  // On POSIX a system that took fewer bytes is asked again, and has to take none.
  if (kind === "short" && medium.kind === "posix") medium.failAt({ operation: at + 1, kind: "short-write", bytes: 0 });
}
