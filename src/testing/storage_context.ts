/**
 * What a runner gives to the storage contract: a fresh medium, another process on it, and a program that ignores our locks.
 *
 * @module
 */

import type { StorageFile, StorageLock, StoragePort } from "../storage/storage_port.ts";

/** A fresh, empty medium, as one contract case sees it. */
export interface StorageContext {
  /** This process. The case may close it. */
  readonly storage: StoragePort;
  /** Another process on the same host or origin. Cases skip it where `traits.lockScope` is `process`. */
  readonly other: OtherProcess;
  /** A program that ignores our locks. Cases skip it where `traits.lockScope` is not `host`: there the medium refuses it. */
  readonly stranger: Stranger;
}

/** Another process that plays by the rules: it runs {@linkcode OtherSide} and is told what to do. */
export interface OtherProcess {
  /** Runs one command there. The process starts with the first one. */
  run(command: OtherCommand): Promise<OtherAnswer>;
  /** Kills it, with no chance to clean up. The next command starts another. */
  kill(): Promise<void>;
}

/** Changes files without any lock. May be asynchronous. */
export interface Stranger {
  /** Puts a new file in place of whatever had the name; its folder is there. */
  write(name: string, bytes: Uint8Array): void | Promise<void>;
  /** Adds bytes to the end of a file that is there. */
  append(name: string, bytes: Uint8Array): void | Promise<void>;
  /** Removes a file, whoever has it open. */
  remove(name: string): void | Promise<void>;
}

/** What the other process can be told, as JSON. `lock` names a lock it holds. */
export type OtherCommand =
  | { readonly do: "lock" | "release"; readonly name: string }
  | { readonly do: "open" | "publish" | "remove"; readonly name: string; readonly lock: string; readonly text?: string }
  /** Appends and syncs, `times` times. */
  | { readonly do: "append"; readonly name: string; readonly text: string; readonly times?: number }
  | { readonly do: "close"; readonly name: string }
  /** {@linkcode publishAll}. */
  | { readonly do: "publishAll"; readonly folders: readonly string[]; readonly text: string };

/** How it went. */
export interface OtherAnswer {
  /** `null` when it worked, else the code of the error, or its name. */
  readonly code: string | null;
  /** For `publishAll`: one code for each folder. */
  readonly codes?: readonly (string | null)[];
}

/** The side that runs in the other process: commands in, answers out, over whatever channel the runner has. */
export class OtherSide {
  readonly #storage: StoragePort;
  readonly #locks = new Map<string, StorageLock>();
  readonly #files = new Map<string, StorageFile>();

  /** Runs commands on a storage of this process, which stays the caller's to close. */
  constructor(storage: StoragePort) {
    this.#storage = storage;
  }

  /** Runs one command. Never rejects. */
  async run(command: OtherCommand): Promise<OtherAnswer> {
    try {
      if (command.do === "publishAll") {
        return { code: null, codes: await publishAll(this.#storage, command.folders, command.text) };
      }
      await this.#act(command);
      return { code: null };
    } catch (error) {
      return { code: codeOf(error) };
    }
  }

  async #act(command: Exclude<OtherCommand, { do: "publishAll" }>): Promise<void> {
    const { name } = command;
    switch (command.do) {
      case "lock":
        this.#locks.set(name, await this.#storage.lock(name));
        return;
      case "release":
        return await this.#locks.get(name)?.release();
      case "open":
        this.#files.set(name, await this.#storage.open(name, this.#lockOf(command.lock)));
        return;
      case "publish":
        return await publishWhole(this.#storage, name, bytesOf(command.text ?? ""), this.#lockOf(command.lock));
      case "remove":
        return await this.#storage.remove(name, this.#lockOf(command.lock));
      case "append":
        return await this.#append(name, bytesOf(command.text), command.times ?? 1);
      case "close":
        return await this.#files.get(name)?.close();
    }
  }

  async #append(name: string, bytes: Uint8Array, times: number): Promise<void> {
    const file = this.#files.get(name);
    if (file === undefined) throw new TypeError(`Cannot append to "${name}": it is not open here`);
    for (let done = 0; done < times; done++) {
      await file.append(bytes);
      await file.sync();
    }
  }

  #lockOf(name: string): StorageLock {
    const lock = this.#locks.get(name);
    if (lock === undefined) throw new TypeError(`Cannot use the lock "${name}": it is not held here`);
    return lock;
  }
}

/**
 * In each folder takes the lock, publishes `text` as its log, and lets go; what fails is noted and the next folder follows.
 *
 * @returns for each folder `null`, or the code of what failed
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "../adapters/memory/mod.ts";
 * import { publishAll } from "./storage_context.ts";
 *
 * const codes = await publishAll(new MemoryStorage(), ["a/", "b/"], "{}");
 * if (codes.some((code) => code !== null)) throw new Error("unreachable");
 * ```
 */
export async function publishAll(
  storage: StoragePort,
  folders: readonly string[],
  text: string,
): Promise<(string | null)[]> {
  const codes: (string | null)[] = [];
  for (const folder of folders) {
    try {
      const lock = await storage.lock(`${folder}session.lock`);
      try {
        await publishWhole(storage, `${folder}log`, bytesOf(text), lock);
        codes.push(null);
      } finally {
        await lock.release();
      }
    } catch (error) {
      codes.push(codeOf(error));
    }
  }
  return codes;
}

/**
 * Publishes `bytes` under `name` in one go, and closes the file.
 *
 * @example
 * ```ts
 * import { MemoryStorage } from "../adapters/memory/mod.ts";
 * import { bytesOf, publishWhole } from "./storage_context.ts";
 *
 * const storage = new MemoryStorage();
 * await publishWhole(storage, "a/log", bytesOf("{}"), await storage.lock("a/session.lock"));
 * if ((await storage.stat("a/log"))?.sizeBytes !== 2) throw new Error("unreachable");
 * ```
 */
export async function publishWhole(
  storage: StoragePort,
  name: string,
  bytes: Uint8Array,
  lock: StorageLock,
): Promise<void> {
  const staged = await storage.stage(name, lock);
  try {
    await staged.append(bytes);
    await (await staged.publish()).close();
  } finally {
    await staged.discard();
  }
}

/**
 * Text as UTF-8.
 *
 * @example
 * ```ts
 * import { bytesOf } from "./storage_context.ts";
 *
 * if (bytesOf("é").length !== 2) throw new Error("unreachable");
 * ```
 */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/**
 * UTF-8 as text.
 *
 * @example
 * ```ts
 * import { bytesOf, textOf } from "./storage_context.ts";
 *
 * if (textOf(bytesOf("é")) !== "é") throw new Error("unreachable");
 * ```
 */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function codeOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string") {
    return error.code;
  }
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
