/**
 * What the adapter needs of a browser, as interfaces of our own: the types of a worker are in no library every runtime has,
 * and a test hands in an origin that fails on purpose.
 *
 * @see the File System standard, https://fs.spec.whatwg.org/, and the Web Locks API, https://w3c.github.io/web-locks/
 * @module
 */

/** An exclusive, synchronous way to one file. Only a dedicated worker gets one. */
export interface SyncHandle {
  /** Reads from `at`; returns how many bytes. */
  read(buffer: Uint8Array<ArrayBuffer>, options: { readonly at: number }): number;
  /** Writes at `at`; returns how many bytes, or, in Chromium, a negative error number as an unsigned one. */
  write(buffer: Uint8Array<ArrayBuffer>, options: { readonly at: number }): number;
  /** Cuts or grows the file. */
  truncate(sizeBytes: number): void;
  /** The length of the file. */
  getSize(): number;
  /** Makes what was written durable. */
  flush(): void;
  /** Gives the file free. */
  close(): void;
}

/** A file as it was at one moment. Reading it fails once the file has changed. */
export interface FileSnapshot {
  /** Its length then, in bytes. */
  readonly size: number;
  /** When it had changed last, in milliseconds since the epoch. */
  readonly lastModified: number;
  /** The bytes from `start` up to `end`. */
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

/** The name of a file. */
export interface FileHandle {
  /** Tells it from a folder. */
  readonly kind: "file";
  /** Looks at the file, also while somebody holds it. */
  getFile(): Promise<FileSnapshot>;
  /** Takes the file, unless somebody has it. */
  createSyncAccessHandle(): Promise<SyncHandle>;
}

/** The name of a folder. */
export interface FolderHandle {
  /** Tells it from a file. */
  readonly kind: "directory";
  /** A folder in it. */
  getDirectoryHandle(name: string, options?: { readonly create?: boolean }): Promise<FolderHandle>;
  /** A file in it. */
  getFileHandle(name: string, options?: { readonly create?: boolean }): Promise<FileHandle>;
  /** Removes a file or a folder, unless somebody holds a file of it. */
  removeEntry(name: string, options?: { readonly recursive?: boolean }): Promise<void>;
  /** Everything in it, in no order. */
  entries(): AsyncIterable<[string, FileHandle | FolderHandle]>;
}

/** The origin's locks. */
export interface WebLocks {
  /** Calls `granted` with the lock, or with `null` when somebody holds it; the lock ends when what it returns settles. */
  request(
    name: string,
    options: { readonly ifAvailable: true },
    granted: (lock: unknown) => Promise<void>,
  ): Promise<unknown>;
  /** Which are held now. */
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>;
}

/** One worker of a browser. */
export interface OpfsPlatform {
  /** The root of the origin's private file system. */
  readonly origin: FolderHandle;
  /** `navigator.locks`. */
  readonly locks: WebLocks;
  /** How much of its quota the origin uses, in bytes. May reject. */
  estimate(): Promise<{ readonly usage?: number; readonly quota?: number }>;
  /** Whether the browser promised to keep this origin's data. */
  persisted(): Promise<boolean>;
  /** Resolves after `delayMs`. */
  delay(delayMs: number): Promise<void>;
  /** Twelve fresh hex digits. */
  token(): string;
}

/** The storage of a worker's `navigator`, as far as we use it. */
export interface BrowserStorage {
  /** The root of the origin's private file system. Rejects in some private windows. */
  getDirectory(): Promise<FolderHandle>;
  /** Usage and quota, in bytes. */
  estimate?(): Promise<{ readonly usage?: number; readonly quota?: number }>;
  /** Whether the browser promised to keep this origin's data. */
  persisted?(): Promise<boolean>;
}

/** The platform of the worker we run in, over an origin root it has granted. */
export function workerPlatform(origin: FolderHandle, storage: BrowserStorage, locks: WebLocks): OpfsPlatform {
  return {
    origin,
    locks,
    estimate: async () => await storage.estimate?.() ?? {},
    persisted: async () => await storage.persisted?.() ?? false,
    delay: (delayMs) => new Promise((resolve) => setTimeout(resolve, delayMs)),
    token: () =>
      Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, "0")).join(""),
  };
}
