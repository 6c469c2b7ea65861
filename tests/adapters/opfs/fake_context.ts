/**
 * The contexts of the contract suites over a fake origin.
 *
 * @module
 */

import { openOpfsStorage } from "../../../src/adapters/opfs/mod.ts";
import type { StoragePort } from "../../../src/storage/storage_port.ts";
import {
  type OtherProcess,
  OtherSide,
  type StorageFault,
  type StorageFaultContext,
} from "../../../src/testing/storage_contract.ts";
import type { FakeOrigin, FakeWorker } from "./fake_opfs.ts";

/** Opens a storage in a worker. */
export function openIn(worker: FakeWorker, root?: string): Promise<StoragePort> {
  return openOpfsStorage({ platform: worker.platform, root });
}

/** Another worker of the same origin, as the contract's other process. */
export function otherWorker(origin: FakeOrigin): OtherProcess {
  let worker: FakeWorker | null = null;
  let side: Promise<OtherSide> | null = null;
  return {
    run: async (command) => {
      worker ??= origin.worker();
      side ??= openIn(worker).then((storage) => new OtherSide(storage));
      return await (await side).run(command);
    },
    kill: () => {
      worker?.kill();
      worker = side = null;
      return Promise.resolve();
    },
  };
}

/** What a browser does for each kind of fault. `publish` fails in the file that gets its name, `append` in one that has it. */
export function failNext(worker: FakeWorker): StorageFaultContext["failNext"] {
  return ({ operation, kind, steps = 0, cutsBack = true }) => {
    const isStage = (path: string) => path.includes("%stage-");
    const concerns = (path: string) => isStage(path) === (operation === "stageAppend");
    const isOver = () => worker.faults = {};
    if (operation === "sync" || kind === "sync") {
      worker.faults = {
        flush(path) {
          if (!concerns(path)) return;
          isOver();
          throw errorOf(kind);
        },
      };
      return;
    }
    worker.faults = {
      write(bytes, path, put) {
        if (!concerns(path)) return;
        isOver();
        put(bytes.subarray(0, steps));
        if (!cutsBack) worker.faults = { truncate: failOnce(worker) };
        if (kind !== "short") throw errorOf(kind);
        return 2 ** 32 - 1; // FILE_ERROR_FAILED, wrapped.
      },
    };
  };
}

function failOnce(worker: FakeWorker): (path: string) => void {
  return () => {
    worker.faults = {};
    throw errorOf("eio");
  };
}

function errorOf(kind: StorageFault["kind"]): DOMException {
  return kind === "enospc"
    ? new DOMException("No space", "QuotaExceededError")
    : new DOMException("Input/output error", "UnknownError");
}
