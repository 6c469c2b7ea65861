/**
 * An origin private file system in memory that behaves, and fails, as browsers were measured to.
 *
 * Handles are exclusive and end with their worker; a snapshot cannot be read once its file has changed; nothing but `flush()`
 * makes bytes durable; names appear at once. Every change is an *operation*, and a worker can be told to die in any of them.
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
} from "../../../src/adapters/opfs/mod.ts";
import {
  bytesIn,
  copyOf,
  type FakeFile,
  type FakeFolder,
  freshFile,
  isHeld,
  removalsOf,
  type Unflushed,
} from "./fake_tree.ts";

export type { Unflushed } from "./fake_tree.ts";

/** What changes an origin. A write has one step per byte, everything else one. */
export type OperationKind = "makeFile" | "makeFolder" | "remove" | "write" | "truncate" | "flush";

/** An operation that was started. */
export interface Operation {
  readonly kind: OperationKind;
  /** The stored path. */
  readonly path: string;
  readonly steps: number;
}

/** What calls on files do instead; undefined, and not throwing, for nothing special. */
export interface HandleFaults {
  write?(bytes: Uint8Array, path: string, write: (bytes: Uint8Array) => void): number | undefined;
  truncate?(path: string): void;
  flush?(path: string): void;
  /** What rejects an opening. */
  open?(path: string): Error | undefined;
  /** What rejects the reading of a snapshot. */
  slice?(path: string): Error | undefined;
}

/** The error a call of a dead worker rejects with: in a browser it would just never come back. */
export class WorkerDiedError extends Error {}

/** One origin, with the workers of its tabs. */
export class FakeOrigin {
  /** How many bytes all files together may have. */
  quotaBytes = Infinity;
  /** How often `estimate()` rejects from now on. */
  failingEstimates = 0;
  isPersisted = false;
  readonly operations: Operation[] = [];
  root: FakeFolder = { kind: "directory", entries: new Map() };
  readonly #locks = new Map<string, FakeWorker>();
  #openHandles = 0;
  #openHandlesMost = 0;
  /** Calls that would never have returned. */
  hangs = 0;
  /** Sync handles that were opened so far. */
  openings = 0;
  /** Pauses that were asked for, in ms, in order. */
  readonly pausesMs: number[] = [];
  #tokens = 0;

  /** A fresh worker. */
  worker(): FakeWorker {
    return new FakeWorker(this);
  }

  /** Most sync handles that were open at once. */
  get openHandlesMost(): number {
    return this.#openHandlesMost;
  }

  get openHandles(): number {
    return this.#openHandles;
  }

  /** Names of the Web Locks that are held. */
  get heldLocks(): string[] {
    return [...this.#locks.keys()].sort();
  }

  get usedBytes(): number {
    return bytesIn(this.root);
  }

  /** Every stored path of a file and its bytes. */
  get files(): Map<string, Uint8Array<ArrayBuffer>> {
    const files = new Map<string, Uint8Array<ArrayBuffer>>();
    const walk = (folder: FakeFolder, path: string) => {
      for (const [name, entry] of folder.entries) {
        if (entry.kind === "file") files.set(path + name, entry.written.slice());
        else walk(entry, `${path}${name}/`);
      }
    };
    walk(this.root, "");
    return files;
  }

  /** Puts a file there, as whoever was here before us. */
  put(path: string, bytes: Uint8Array<ArrayBuffer>): void {
    const parts = path.split("/");
    let folder = this.root;
    for (const part of parts.slice(0, -1)) {
      let next = folder.entries.get(part);
      if (next === undefined) folder.entries.set(part, next = { kind: "directory", entries: new Map() });
      if (next.kind === "file") throw new TypeError(`"${part}" is a file`);
      folder = next;
    }
    const node = freshFile();
    node.written.write(0, bytes);
    node.durable = bytes;
    folder.entries.set(parts.at(-1)!, node);
  }

  /** Removes everything, whoever holds it, as clearing the site's data does. */
  clear(): void {
    const walk = (folder: FakeFolder) => {
      for (const entry of folder.entries.values()) entry.kind === "file" ? entry.isGone = true : walk(entry);
    };
    walk(this.root);
    this.root.entries.clear();
  }

  /** Every worker is dead, and of what was not flushed this much is there. */
  restart(unflushed: Unflushed): FakeOrigin {
    const next = new FakeOrigin();
    next.quotaBytes = this.quotaBytes;
    next.root = copyOf(this.root, unflushed);
    return next;
  }

  /** Another worker's token must differ, also after a restart. */
  nextToken(): string {
    return (++this.#tokens + this.operations.length * 4096).toString(16).padStart(12, "0");
  }

  /** Takes a lock for a worker; a stolen one rejects for the one it was stolen from. */
  takeLock(name: string, worker: FakeWorker): boolean {
    if (this.#locks.has(name)) return false;
    this.#locks.set(name, worker);
    return true;
  }

  freeLock(name: string, worker: FakeWorker): void {
    if (this.#locks.get(name) === worker) this.#locks.delete(name);
  }

  freeLocksOf(worker: FakeWorker): void {
    for (const [name, holder] of [...this.#locks]) if (holder === worker) this.#locks.delete(name);
  }

  /** Takes a lock away from whoever has it, as `steal: true` does. */
  steal(name: string, thief: FakeWorker): void {
    this.#locks.get(name)?.robbed(name);
    this.#locks.set(name, thief);
  }

  handleOpened(): void {
    this.openings++;
    this.#openHandlesMost = Math.max(this.#openHandlesMost, ++this.#openHandles);
  }

  handleClosed(): void {
    this.#openHandles--;
  }
}

/** A worker: it dies with its handles and locks. */
export class FakeWorker {
  readonly origin: FakeOrigin;
  faults: HandleFaults = {};
  readonly #held = new Set<FakeFile>();
  readonly #waitingThieves = new Map<string, (error: Error) => void>();
  #isDead = false;
  #deathAt: { readonly operation: number; readonly steps: number } | null = null;

  constructor(origin: FakeOrigin) {
    this.origin = origin;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Kills it, with no chance to clean up. What it wrote is there; its handles and locks are free. */
  kill(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    for (const node of this.#held) {
      node.holder = null;
      this.origin.handleClosed();
    }
    this.#held.clear();
    this.origin.freeLocksOf(this);
  }

  /** Lets it die in an operation of the origin, when this many of its steps are done. */
  dieAt(operation: number, steps: number): void {
    this.#deathAt = { operation, steps };
  }

  robbed(name: string): void {
    this.#waitingThieves.get(name)?.(new DOMException("stolen", "AbortError"));
  }

  get platform(): OpfsPlatform {
    return {
      origin: this.#folder(this.origin.root, ""),
      locks: this.#locks,
      estimate: async () => {
        await this.#turn();
        if (this.origin.failingEstimates > 0) {
          this.origin.failingEstimates--;
          throw new DOMException("no estimate", "UnknownError");
        }
        return { usage: this.origin.usedBytes, quota: this.origin.quotaBytes };
      },
      persisted: async () => {
        await this.#turn();
        return this.origin.isPersisted;
      },
      delay: async (delayMs) => {
        this.origin.pausesMs.push(delayMs);
        await this.#turn();
      },
      token: () => this.origin.nextToken(),
    };
  }

  /** Runs one operation, or as much of it as its worker lives to do. */
  operate(kind: OperationKind, path: string, steps: number, apply: (steps: number) => void): void {
    this.#checkAlive();
    const operation = this.origin.operations.length;
    this.origin.operations.push({ kind, path, steps });
    if (this.#deathAt?.operation !== operation) return apply(steps);
    apply(Math.min(steps, this.#deathAt.steps));
    this.kill();
    throw new WorkerDiedError(`${kind} ${path}`);
  }

  get #locks(): WebLocks {
    return {
      request: async (name, _options, granted) => {
        await this.#turn();
        if (!this.origin.takeLock(name, this)) return await granted(null);
        const stolen = new Promise<never>((_, reject) => this.#waitingThieves.set(name, reject));
        try {
          await Promise.race([granted({ name }), stolen]);
        } finally {
          this.#waitingThieves.delete(name);
          this.origin.freeLock(name, this);
        }
      },
      query: async () => {
        await this.#turn();
        return { held: this.origin.heldLocks.map((name) => ({ name })) };
      },
    };
  }

  #folder(folder: FakeFolder, path: string): FolderHandle {
    // A handle is a path: it works again when a folder of its name was made anew.
    const here = (): FakeFolder => {
      this.#checkAlive();
      if (path === "") return folder;
      let found: FakeFile | FakeFolder = this.origin.root;
      for (const part of path.slice(0, -1).split("/")) {
        const next: FakeFile | FakeFolder | undefined = found.kind === "file" ? undefined : found.entries.get(part);
        if (next === undefined) throw missing(path);
        found = next;
      }
      if (found.kind === "file") throw otherKind(path);
      return found;
    };
    return {
      kind: "directory",
      getDirectoryHandle: async (name, options) => {
        await this.#turn();
        checkName(name);
        let entry = here().entries.get(name);
        if (entry === undefined && options?.create) {
          const created: FakeFolder = { kind: "directory", entries: new Map() };
          this.operate("makeFolder", path + name, 1, (steps) => steps > 0 && here().entries.set(name, created));
          entry = created;
        }
        if (entry === undefined) throw missing(path + name);
        if (entry.kind === "file") throw otherKind(path + name);
        return this.#folder(entry, `${path}${name}/`);
      },
      getFileHandle: async (name, options) => {
        await this.#turn();
        checkName(name);
        const entry = here().entries.get(name);
        if (entry === undefined && options?.create) {
          const created = freshFile();
          this.operate("makeFile", path + name, 1, (steps) => steps > 0 && here().entries.set(name, created));
        } else if (entry === undefined) throw missing(path + name);
        else if (entry.kind === "directory") throw otherKind(path + name);
        return this.#file(here, name, path + name);
      },
      removeEntry: async (name, options) => {
        await this.#turn();
        const entry = here().entries.get(name);
        if (entry === undefined) throw missing(path + name);
        if (isHeld(entry)) throw inUse(path + name);
        if (entry.kind === "directory" && entry.entries.size > 0 && !options?.recursive) {
          throw new DOMException(`"${path + name}" is not empty`, "InvalidModificationError");
        }
        // Each file of a folder is one step: a browser that dies in between leaves the rest.
        const removals = entry.kind === "file" ? [] : removalsOf(entry);
        this.operate("remove", path + name, removals.length + 1, (steps) => {
          for (const remove of removals.slice(0, steps)) remove();
          if (steps <= removals.length) return;
          if (entry.kind === "file") entry.isGone = true;
          here().entries.delete(name);
        });
      },
      entries: () => this.#entries(here, path),
    };
  }

  async *#entries(here: () => FakeFolder, path: string): AsyncGenerator<[string, FileHandle | FolderHandle]> {
    await this.#turn();
    for (const [name, entry] of [...here().entries]) {
      yield [
        name,
        entry.kind === "file" ? this.#file(here, name, path + name) : this.#folder(entry, `${path}${name}/`),
      ];
    }
  }

  #file(here: () => FakeFolder, name: string, path: string): FileHandle {
    const nodeOf = (): FakeFile => {
      const entry = here().entries.get(name);
      if (entry === undefined) throw missing(path);
      if (entry.kind === "directory") throw otherKind(path);
      return entry;
    };
    return {
      kind: "file",
      getFile: async () => {
        await this.#turn();
        return this.#snapshot(nodeOf(), path);
      },
      createSyncAccessHandle: async () => {
        await this.#turn();
        const fault = this.faults.open?.(path);
        if (fault !== undefined) throw fault;
        const node = nodeOf();
        if (node.holder !== null) throw inUse(path);
        node.holder = this;
        this.#held.add(node);
        this.origin.handleOpened();
        return this.#handle(node, path);
      },
    };
  }

  #snapshot(node: FakeFile, path: string): FileSnapshot {
    const { changes } = node;
    return {
      size: node.written.sizeBytes,
      lastModified: changes,
      slice: (start, end) => ({
        arrayBuffer: async () => {
          await this.#turn();
          const fault = this.faults.slice?.(path);
          if (fault !== undefined) throw fault;
          if (node.isGone || node.changes !== changes) {
            throw new DOMException(`"${path}" has changed`, "NotReadableError");
          }
          return node.written.slice(start, end).buffer;
        },
      }),
    };
  }

  #handle(node: FakeFile, path: string): SyncHandle {
    let isClosed = false;
    const checkOpen = () => {
      this.#checkAlive();
      if (isClosed) throw new DOMException("the handle is closed", "InvalidStateError");
    };
    return {
      read: (buffer, { at }) => {
        checkOpen();
        const bytes = node.written.slice(at, at + buffer.length);
        buffer.set(bytes);
        return bytes.length;
      },
      write: (buffer, { at }) => {
        checkOpen();
        const put = (bytes: Uint8Array) =>
          this.operate("write", path, bytes.length, (steps) => {
            if (steps === 0) return;
            const done = bytes.slice(0, steps);
            node.written.write(at, done);
            node.waiting.push({ at, bytes: done });
            node.changes++;
          });
        const faulty = this.faults.write?.(buffer, path, put);
        if (faulty !== undefined) return faulty;
        const growthBytes = Math.max(0, at + buffer.length - node.written.sizeBytes);
        if (this.origin.usedBytes + growthBytes > this.origin.quotaBytes) {
          throw new DOMException("No space", "QuotaExceededError");
        }
        put(buffer);
        return buffer.length;
      },
      truncate: (sizeBytes) => {
        checkOpen();
        this.faults.truncate?.(path);
        if (sizeBytes === node.written.sizeBytes) return;
        this.operate("truncate", path, 1, (steps) => {
          if (steps === 0) return;
          node.written.truncate(sizeBytes);
          node.waiting.push({ sizeBytes });
          node.changes++;
        });
      },
      getSize: () => {
        checkOpen();
        return node.written.sizeBytes;
      },
      flush: () => {
        checkOpen();
        this.faults.flush?.(path);
        this.operate("flush", path, 1, (steps) => {
          if (steps === 0) return;
          node.durable = node.written.slice();
          node.waiting = [];
        });
      },
      close: () => {
        if (isClosed || this.#isDead) return;
        isClosed = true;
        // Measured: closing a handle whose file was cleared away never returns.
        if (node.isGone) this.origin.hangs++;
        node.holder = null;
        this.#held.delete(node);
        this.origin.handleClosed();
      },
    };
  }

  /** Every call crosses to another process and back. */
  async #turn(): Promise<void> {
    this.#checkAlive();
    await Promise.resolve();
    this.#checkAlive();
  }

  #checkAlive(): void {
    if (this.#isDead) throw new WorkerDiedError("this worker is dead");
  }
}

/** The strictest of all browsers: Chromium refuses a backslash, Safari keeps names on a disk that folds case. */
function checkName(name: string): void {
  if (name === "" || name === "." || name === ".." || /[/\\]/.test(name) || name.length > 255 || /[A-Z]/.test(name)) {
    throw new TypeError(`Name is not allowed: ${JSON.stringify(name)}`);
  }
}

function missing(path: string): DOMException {
  return new DOMException(`"${path}" is not there`, "NotFoundError");
}

function otherKind(path: string): DOMException {
  return new DOMException(`"${path}" is of the other kind`, "TypeMismatchError");
}

function inUse(path: string): DOMException {
  return new DOMException(`somebody holds "${path}"`, "NoModificationAllowedError");
}
