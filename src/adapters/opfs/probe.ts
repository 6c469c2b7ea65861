/**
 * Whether this worker can keep sessions in the origin's private file system, and if not, why.
 *
 * @module
 */

import type { BrowserStorage, FileHandle, FolderHandle, WebLocks } from "./platform.ts";
import { isInUse, nameOf } from "./refusal.ts";

/** What stands in the way. */
export type OpfsObstacle =
  /** `navigator.storage` is not there: the page is not a secure context, or the browser is too old. */
  | "no-storage"
  /** The browser refuses to hand out the root, as private windows do. */
  | "refused"
  /** This is the page, or a shared or service worker: only a dedicated worker may take sync handles. */
  | "no-worker"
  /** A dedicated worker of a browser that has no sync handles. */
  | "no-sync-handle"
  /** A browser that has them in name only. */
  | "not-supported"
  /** Without Web Locks two tabs could write one session. */
  | "no-locks";

/** What a probe found. */
export type OpfsProbe =
  | {
    readonly usable: true;
    /** Whether the browser promised to keep this origin's data. */
    readonly persisted: boolean;
  }
  | {
    readonly usable: false;
    readonly reason: OpfsObstacle;
    /** One sentence for a person. */
    readonly message: string;
  };

/** The globals of the worker, as far as the probe looks at them. */
export interface ProbeScope {
  readonly navigator?: { readonly storage?: Partial<BrowserStorage>; readonly locks?: WebLocks };
  /** Its prototype shows whether there are sync handles. */
  readonly FileSystemFileHandle?: { readonly prototype: object };
  /** Only a dedicated worker has it. */
  readonly DedicatedWorkerGlobalScope?: unknown;
  readonly isSecureContext?: boolean;
}

/** What a usable scope gives. */
export interface Foundation {
  readonly origin: FolderHandle;
  readonly storage: BrowserStorage;
  readonly locks: WebLocks;
}

const PROBE_NAME = "%probe";

/** How often the probe makes its file: another worker that is probing removes it under our feet. */
const PROBE_TRIES_MAX = 20;

/**
 * Looks for everything the OPFS adapter needs, and takes one sync handle to be sure. Nothing of it stays.
 *
 * @param scope default: the worker we run in
 *
 * @example
 * ```ts
 * import { probeOpfs } from "./probe.ts";
 *
 * const found = await probeOpfs({ navigator: {} });
 * if (found.usable || found.reason !== "no-storage") throw new Error("unreachable");
 * ```
 */
export async function probeOpfs(
  // Our types do not know a worker's names: every member of ProbeScope is optional, and looked for.
  scope: ProbeScope = globalThis as unknown as ProbeScope,
): Promise<OpfsProbe> {
  const found = await findFoundation(scope);
  if ("reason" in found) return found;
  return { usable: true, persisted: await found.storage.persisted?.().catch(() => false) ?? false };
}

/** What the adapter is built on, or why there is nothing to build on. */
export async function findFoundation(scope: ProbeScope): Promise<Foundation | OpfsProbe & { usable: false }> {
  const { storage, locks } = scope.navigator ?? {};
  if (storage?.getDirectory === undefined) {
    return obstacle(
      "no-storage",
      scope.isSecureContext === false
        ? "the page was not loaded over HTTPS or from localhost, so the browser gives it no private file system"
        : "this browser has no origin private file system",
    );
  }
  if (locks === undefined) {
    return obstacle("no-locks", "this browser has no Web Locks, so two tabs could write at once");
  }
  if (scope.DedicatedWorkerGlobalScope === undefined) {
    return obstacle("no-worker", "this is no dedicated worker, and only there a browser gives out sync access handles");
  }
  const prototype = scope.FileSystemFileHandle?.prototype;
  if (prototype === undefined || !("createSyncAccessHandle" in prototype)) {
    return obstacle("no-sync-handle", "this browser has no sync access handles");
  }
  const whole = storage as BrowserStorage;
  let origin: FolderHandle;
  try {
    origin = await whole.getDirectory();
  } catch (error) {
    return obstacle(
      "refused",
      `the browser refuses its private file system, as in a private window (${textOf(error)})`,
    );
  }
  const refused = await tryHandle(origin);
  return refused ?? { origin, storage: whole, locks };
}

/** Some browsers have the method, and no file system behind it. */
async function tryHandle(origin: FolderHandle): Promise<OpfsProbe & { usable: false } | null> {
  for (let tries = 1;; tries++) {
    let file: FileHandle;
    try {
      file = await origin.getFileHandle(PROBE_NAME, { create: true });
    } catch (error) {
      // A full origin can still be read, and what is written there says that it is full.
      if (nameOf(error) === "QuotaExceededError") return null;
      return obstacle("refused", `the browser refuses to make a file in its private file system (${textOf(error)})`);
    }
    try {
      (await file.createSyncAccessHandle()).close();
      return null;
    } catch (error) {
      // Another worker is probing: that it holds the handle shows that there are handles.
      if (isInUse(error)) return null;
      // Another worker has probed, and removed the file between our two calls.
      if (nameOf(error) === "NotFoundError" && tries < PROBE_TRIES_MAX) continue;
      return obstacle("not-supported", `the browser does not give out sync access handles (${textOf(error)})`);
    } finally {
      await origin.removeEntry(PROBE_NAME).catch(() => {}); // The other worker removes it.
    }
  }
}

function obstacle(reason: OpfsObstacle, message: string): OpfsProbe & { usable: false } {
  return { usable: false, reason, message };
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
