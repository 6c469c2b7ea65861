/**
 * The storage port: named bytes, sync, publish, lock. Nothing here knows what an event or a frame is.
 *
 * Names are relative, `/`-separated, without empty, `.` or `..` parts, backslashes, NUL or lone surrogates; anything else is a
 * `RangeError` (`names.ts` checks them). Whatever writes needs the held lock; readers create nothing, not even the root.
 *
 * A lock covers its own folder and what lies below: a name elsewhere is a `RangeError`, a released lock `LOCK_LOST`. What was
 * closed, discarded or published is spent: `SESSION_CLOSED`. A name below a file is `STORAGE_LOST`. Nothing that is published
 * is empty or starts with a zero byte (a `RangeError`): a medium may claim a name by its first byte.
 *
 * @module
 */

/** What a medium promises, as data. `holdfast doctor` prints it and the README shows it as a table. */
export interface StorageTraits {
  /** A short name of the medium, for people: "file", "memory", "opfs". */
  readonly medium: string;
  /** What an acknowledged `sync()` means: on the device, somewhere in a buffer, or nothing. */
  readonly sync: "device" | "buffered" | "none";
  /** Whether a published *name* survives power loss when `publish()` returns. */
  readonly names: "synced" | "deferred";
  /** How a name is published without overwriting. A medium that may fall back says what it tried last. */
  readonly publish: "link" | "claim" | "transaction";
  /** Among whom the lock excludes: processes of one host, pages of one origin, this process alone, or whoever reaches the database. */
  readonly lockScope: "host" | "origin" | "process" | "database";
  /** Whether the bytes outlive the process: always, as long as the host lets them, or never. */
  readonly persistence: "persistent" | "best-effort" | "volatile";
}

/** One name directly below a folder. */
export interface StorageEntry {
  /** The whole name from the root. A folder's name ends with `/`. */
  readonly name: string;
  /** `other` is whatever we refuse to open: a symbolic link, a device, a socket. */
  readonly kind: "file" | "folder" | "other";
}

/** What is known of a file without reading it. */
export interface StorageStat {
  /** Length of the file, in bytes. */
  readonly sizeBytes: number;
  /** An opaque word that changes when the file is replaced or written. Compare for equality only. */
  readonly revision: string;
}

/** A byte range: `startBytes` inclusive, `endBytes` exclusive; both clipped to the file. */
export interface ByteRange {
  /** Offset of the first byte, from the start of the file. */
  readonly startBytes: number;
  /** Offset behind the last byte. Default: the end of the file. */
  readonly endBytes?: number;
}

/**
 * A medium that keeps named bytes.
 *
 * @see StorageTraits for what each medium promises
 */
export interface StoragePort extends AsyncDisposable {
  /** What this medium promises. */
  readonly traits: StorageTraits;

  /**
   * The entries one level below `prefix`, in ascending order of their names by UTF-16 unit.
   *
   * @param prefix `""` or a folder name ending with `/`. A folder that is not there has no entries.
   * @throws {StorageLostError} when the folder is there but cannot be read
   */
  list(prefix: string): Promise<readonly StorageEntry[]>;

  /** Size and revision, or `null` when there is no such file. Throws {@link StorageLostError} for anything but a file. */
  stat(name: string): Promise<StorageStat | null>;

  /**
   * Reads a range, whole file by default, also while somebody appends: bytes beyond the size first seen are cut.
   *
   * @throws {NotFoundError} when there is no such file
   */
  read(name: string, range?: ByteRange): Promise<Uint8Array<ArrayBuffer>>;

  /**
   * Takes the exclusive lock `name`, creating its folder and file. Never waits.
   *
   * @throws {LockHeldError} when another holder, in this process or another, is alive
   */
  lock(name: string): Promise<StorageLock>;

  /** Whether somebody holds the lock `name` now. Creates nothing and takes nothing. An answer, not a promise. */
  isLocked(name: string): Promise<boolean>;

  /** Starts a file that has no name yet. Staging files a dead writer left beside `name` are swept here, under the lock. */
  stage(name: string, lock: StorageLock): Promise<StagedFile>;

  /**
   * Opens an existing file for appending. Never creates. Its name is durable when this resolves, as far as `traits.names`
   * says: whoever published it may have been killed before that.
   *
   * @throws {NotFoundError} when there is no such file
   * @throws {LockHeldError} when a live writer still holds the file itself (its lock file was deleted under it)
   */
  open(name: string, lock: StorageLock): Promise<StorageFile>;

  /**
   * Removes a file, or, when `name` ends with `/`, a folder with everything left in it (the lock file last). The removal
   * is synced as far as `traits.names` says. A name that is not there is no error.
   */
  remove(name: string, lock: StorageLock): Promise<void>;

  /** Releases every lock and closes every file this port still holds. */
  close(): Promise<void>;
}

/** A file without a name. Nobody sees it until it is published whole. */
export interface StagedFile extends AsyncDisposable {
  /** Appends all the bytes, or throws. */
  append(bytes: Uint8Array): Promise<void>;
  /**
   * Reads back what was appended, as {@linkcode StoragePort.read} reads a file: what is about to be published can be checked
   * first, as the medium holds it.
   */
  read(range?: ByteRange): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Makes the whole content appear under its name, synced, and returns it open.
   *
   * @throws {AlreadyExistsError} when the name is taken: the bytes that were there first stay, and the stage is discarded
   */
  publish(): Promise<StorageFile>;
  /** Throws the content away. Harmless after `publish()`. */
  discard(): Promise<void>;
}

/** A file open for appending, under a lock. */
export interface StorageFile extends AsyncDisposable {
  /** The whole name from the root, as it was given to `open()` or `stage()`. */
  readonly name: string;
  /** The length after the last append, truncate or open, in bytes. */
  readonly sizeBytes: number;
  /**
   * Appends all the bytes, or throws with the file cut back to its old length; the same file may then retry.
   * The bytes are not durable before `sync()`.
   *
   * @throws {LockLostError} when the lock file or the file is not the one that was opened, or its size is not the one remembered
   * @throws {StorageFullError} when there is no room
   * @throws {ShortWriteError} when the medium took fewer bytes
   */
  append(bytes: Uint8Array): Promise<void>;
  /**
   * Makes everything appended durable, as far as `traits.sync` says.
   *
   * After a failed sync this file is spent: every later call throws. Reopen it, truncate to the last acknowledged length,
   * and append the rest anew, because a page cache may have dropped what it could not write.
   *
   * @throws {SyncFailedError}
   */
  sync(): Promise<void>;
  /** Cuts the file to `sizeBytes`; a size above its length is a `RangeError`. Not durable before `sync()`. */
  truncate(sizeBytes: number): Promise<void>;
  /** Closes the file without a sync: what was not synced may still be lost. Twice is harmless. */
  close(): Promise<void>;
}

/** A held exclusive lock. It ends with `release()`, with the port, or with the process. */
export interface StorageLock extends AsyncDisposable {
  /** The whole name of the lock from the root, as it was given to `lock()`. */
  readonly name: string;
  /** Whether the lock is still ours and its file is still the one we locked. */
  isHeld(): Promise<boolean>;
  /** Ends the lock. Its file stays. Twice is harmless. */
  release(): Promise<void>;
}

/** Publishes `bytes` under `name` in one go: stage, append, publish, close. */
export async function publish(port: StoragePort, name: string, bytes: Uint8Array, lock: StorageLock): Promise<void> {
  const staged = await port.stage(name, lock);
  try {
    await staged.append(bytes);
    const file = await staged.publish();
    await file.close();
  } finally {
    await staged.discard();
  }
}
