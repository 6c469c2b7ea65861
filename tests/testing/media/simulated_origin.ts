/**
 * A browser's private file system over a simulated disk, so that the OPFS adapter itself runs on it.
 *
 * @module
 */

import type {
  FileHandle,
  FileSnapshot,
  FolderHandle,
  OpfsPlatform,
  SyncHandle,
  WebLocks,
} from "../../../src/adapters/opfs/platform.ts";
import { LockHeldError, StorageFullError } from "../../../mod.ts";
import type { SimulatedDisk, SimulatedProcess, Target } from "../../../src/testing/media/disk.ts";
import { FileNode, FolderNode, type Holder, type MediumNode } from "../../../src/testing/media/nodes.ts";
import { filesBelow, lookUp } from "../../../src/testing/media/tree.ts";

/** A count that no browser returns for a write that went well, and that says nothing of what is there. */
const STRANGE_COUNT = 2 ** 32 - 77;

/** One worker of an origin that lies on this disk. */
export function simulatedOrigin(disk: SimulatedDisk, worker: SimulatedProcess): OpfsPlatform {
  let tokens = 0;
  return {
    origin: folderHandle({ disk, worker }, ""),
    locks: webLocks(disk, worker),
    estimate: () => Promise.resolve({}),
    persisted: () => Promise.resolve(false),
    delay: () => Promise.resolve(),
    token: () => (++tokens).toString(16).padStart(12, "0"),
  };
}

interface Scene {
  readonly disk: SimulatedDisk;
  readonly worker: SimulatedProcess;
}

/** A handle of a folder is its path and no more. */
function folderHandle(scene: Scene, path: string): FolderHandle {
  const { disk, worker } = scene;
  const pathOf = (name: string) => path === "" ? name : `${path}/${name}`;
  const folder = (): FolderNode => {
    disk.checkReadable(worker, `look at "${path}"`);
    const node = path === "" ? disk.root : lookUp(disk.root, path);
    if (node === null) throw refused("NotFoundError");
    if (node.kind === "file") throw refused("TypeMismatchError");
    return node;
  };
  const make = (name: string, kind: MediumNode["kind"], create: boolean) => {
    const parent = folder();
    const found = parent.written.get(name);
    if (found === undefined && !create) throw refused("NotFoundError");
    if (found !== undefined && found.kind !== kind) throw refused("TypeMismatchError");
    if (found !== undefined) return;
    const id = disk.nextId();
    const made = kind === "file" ? new FileNode(id) : new FolderNode(id);
    run(scene, kind === "file" ? "create" : "mkdir", pathOf(name), () => parent.set(name, made));
  };
  return {
    kind: "directory",
    getDirectoryHandle: (name, options) =>
      attempt(() => {
        make(name, "folder", options?.create ?? false);
        return folderHandle(scene, pathOf(name));
      }),
    getFileHandle: (name, options) =>
      attempt(() => {
        make(name, "file", options?.create ?? false);
        return fileHandle(scene, pathOf(name));
      }),
    removeEntry: (name) =>
      attempt(() => {
        const parent = folder();
        const node = parent.written.get(name);
        if (node === undefined) throw refused("NotFoundError");
        const files = node.kind === "file" ? [node] : [...filesBelow(node)].map(([, file]) => file);
        if (files.some((file) => file.holder !== null)) throw refused("NoModificationAllowedError");
        run(scene, "unlink", pathOf(name), () => removeFrom(parent, name));
      }),
    async *entries() {
      for (const [name, { kind }] of folder().written) {
        yield [name, kind === "file" ? fileHandle(scene, pathOf(name)) : folderHandle(scene, pathOf(name))];
      }
    },
  };
}

function removeFrom(parent: FolderNode, name: string): void {
  const node = parent.written.get(name);
  if (node?.kind === "folder") { for (const inner of node.written.keys()) removeFrom(node, inner); }
  parent.remove(name);
}

function fileHandle(scene: Scene, path: string): FileHandle {
  const { disk, worker } = scene;
  const file = (): FileNode => {
    disk.checkReadable(worker, `look at "${path}"`);
    const node = lookUp(disk.root, path);
    if (node?.kind !== "file") throw refused("NotFoundError");
    return node;
  };
  return {
    kind: "file",
    getFile: () =>
      attempt((): FileSnapshot => {
        const content = file().written;
        return {
          size: content.sizeBytes,
          lastModified: 0,
          slice: (start, end) => ({ arrayBuffer: () => Promise.resolve(content.slice(start, end).buffer) }),
        };
      }),
    createSyncAccessHandle: () =>
      attempt(() => {
        const node = file();
        let holder: Holder | null = null;
        run(scene, "open-handle", path, () => holder = disk.hold(worker, node));
        if (holder === null) throw refused("NoModificationAllowedError");
        return syncHandle(scene, { file: node, name: path, vanish: () => {} }, holder);
      }),
  };
}

function syncHandle({ disk, worker }: Scene, target: Target, holder: Holder): SyncHandle {
  const { file } = target;
  return {
    read(buffer, { at }) {
      const found = file.written.slice(at, at + buffer.length);
      buffer.set(found);
      return found.length;
    },
    write(buffer, { at }) {
      const count = translated(() => disk.write(worker, target, at, buffer, "write"));
      return count === buffer.length ? count : STRANGE_COUNT;
    },
    truncate: (sizeBytes) => translated(() => disk.truncate(worker, target, sizeBytes, "truncate")),
    getSize: () => file.written.sizeBytes,
    flush: () => translated(() => disk.sync(worker, target, "flush")),
    close: () => disk.free(worker, file, holder),
  };
}

function webLocks(disk: SimulatedDisk, worker: SimulatedProcess): WebLocks {
  return {
    async request(name, _options, granted) {
      const holder = disk.holdWebLock(worker, name);
      if (holder === null) return await granted(null);
      try {
        return await granted({ name });
      } finally {
        disk.freeWebLock(worker, name, holder);
      }
    },
    query: () => Promise.resolve({ held: [...disk.webLocks.keys()].map((name) => ({ name })) }),
  };
}

function run(
  { disk, worker }: Scene,
  kind: "create" | "mkdir" | "unlink" | "open-handle",
  path: string,
  act: () => void,
) {
  translated(() => disk.run(worker, kind, path, kind, act));
}

function attempt<Result>(act: () => Result): Promise<Result> {
  try {
    return Promise.resolve(act());
  } catch (error) {
    return Promise.reject(error);
  }
}

function refused(name: string): DOMException {
  return new DOMException(name, name);
}

/** What the disk refuses as a browser says it. */
function translated<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    const cause = error instanceof Error ? error.cause ?? error : error;
    if (cause instanceof LockHeldError) throw refused("NoModificationAllowedError");
    throw refused(cause instanceof StorageFullError ? "QuotaExceededError" : "UnknownError");
  }
}
