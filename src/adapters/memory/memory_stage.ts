/**
 * A staged file in memory: a node without a name.
 *
 * @module
 */

import { AlreadyExistsError, SessionClosedError } from "../../errors.ts";
import { checkFirstByte } from "../../storage/names.ts";
import type { ByteRange, StagedFile, StorageFile } from "../../storage/storage_port.ts";
import type { MediumHolder, MediumNode } from "./medium.ts";
import { MemoryFile } from "./memory_file.ts";
import type { MemoryLock } from "./memory_lock.ts";
import type { MemoryProcess } from "./memory_process.ts";

/** A staged file of the memory adapter. */
export class MemoryStage implements StagedFile {
  readonly #name: string;
  readonly #process: MemoryProcess;
  readonly #lock: MemoryLock;
  readonly #isTaken: () => boolean;
  readonly #namesAreSynced: boolean;
  readonly #node: MediumNode;
  readonly #holder: MediumHolder;
  #isDone = false;

  constructor(options: {
    readonly name: string;
    readonly process: MemoryProcess;
    readonly lock: MemoryLock;
    /** Whether anything has the name now. */
    readonly isTaken: () => boolean;
    readonly namesAreSynced: boolean;
  }) {
    this.#name = options.name;
    this.#process = options.process;
    this.#lock = options.lock;
    this.#isTaken = options.isTaken;
    this.#namesAreSynced = options.namesAreSynced;
    this.#node = options.process.medium.createNode();
    const holder = options.process.hold(this.#node);
    if (holder === null) throw new TypeError("Cannot stage: a fresh node is held");
    this.#holder = holder;
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#checkUsable("stage");
    const { medium } = this.#process;
    const oldSizeBytes = this.#node.written.sizeBytes;
    if (oldSizeBytes === 0 && bytes.length > 0) checkFirstByte(this.#name, bytes[0]);
    await this.#process.run({
      kind: "stageAppend",
      name: this.#name,
      steps: bytes.length,
      room: medium.freeBytes - oldSizeBytes,
      apply: (steps) => medium.append(this.#node, bytes.subarray(0, steps)),
      undo: () => medium.truncate(this.#node, oldSizeBytes),
    });
  }

  // deno-lint-ignore require-await -- rejects rather than throws
  async read(range: ByteRange = { startBytes: 0 }): Promise<Uint8Array<ArrayBuffer>> {
    this.#checkUsable("read the stage of");
    return this.#node.written.slice(range.startBytes, range.endBytes);
  }

  async publish(): Promise<StorageFile> {
    this.#checkUsable("publish");
    const { medium } = this.#process;
    const [name, node] = [this.#name, this.#node];
    if (node.written.sizeBytes === 0) checkFirstByte(name, undefined);
    if (this.#isTaken()) {
      await this.discard();
      throw new AlreadyExistsError(`Cannot publish "${name}": the name is taken`);
    }
    try {
      await this.#process.run({
        kind: "publish",
        name,
        steps: this.#namesAreSynced ? 3 : 2,
        apply: (steps) => {
          if (steps > 0) medium.syncNode(node);
          if (steps > 1) medium.setName(name, node);
          if (steps > 2) medium.syncNames();
        },
        undo: () => medium.names.get(name) === node && medium.removeName(name),
      });
    } catch (error) {
      await this.discard();
      throw error;
    }
    this.#isDone = true;
    return new MemoryFile(name, this.#process, this.#lock, node, this.#holder);
  }

  discard(): Promise<void> {
    if (!this.#isDone) this.#process.free(this.#node, this.#holder);
    this.#isDone = true;
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.discard();
  }

  #checkUsable(verb: string): void {
    const what = `${verb} "${this.#name}"`;
    this.#process.checkAlive(what);
    if (this.#isDone) throw new SessionClosedError(`Cannot ${what}: the stage was published or discarded`);
    this.#lock.checkHeld(this.#process, what);
  }
}
