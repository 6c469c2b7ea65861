/**
 * The bytes of a simulated staged file, before they have a name: what is the same on every medium.
 *
 * @module
 */
import { type ByteRange, checkFirstByte, SessionClosedError } from "../../../mod.ts";
import type { Target } from "./disk.ts";
import type { SimulatedLock, SimulatedStorage } from "./simulated_storage.ts";
import { answer } from "./tree.ts";

/** Where staged bytes lie, and how they get there. */
export interface StagedBytesOptions {
  /** What the file is to be called. */
  readonly name: string;
  readonly storage: SimulatedStorage;
  readonly lock: SimulatedLock;
  readonly target: Target;
  /** Writes all the bytes behind the end, as the medium does. */
  readonly write: (bytes: Uint8Array, what: string) => void;
}

/** What was staged so far. It is used up when it is published or discarded, and by a write that could not be taken back. */
export class StagedBytes {
  readonly #options: StagedBytesOptions;
  #isDone = false;

  constructor(options: StagedBytesOptions) {
    this.#options = options;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Nothing is written to it any more. */
  end(): void {
    this.#isDone = true;
  }

  append(bytes: Uint8Array, onEnd: () => void): Promise<void> {
    return answer(() => {
      const { name, target, write } = this.#options;
      const what = `stage "${name}"`;
      this.checkUsable(what);
      const oldSizeBytes = target.file.written.sizeBytes;
      if (oldSizeBytes === 0 && bytes.length > 0) checkFirstByte(name, bytes[0]);
      if (bytes.length === 0) return;
      try {
        write(bytes, what);
      } catch (error) {
        if (!this.#cutBack(oldSizeBytes, what)) onEnd();
        throw error;
      }
    });
  }

  read(range: ByteRange): Promise<Uint8Array<ArrayBuffer>> {
    return answer(() => {
      const { name, target } = this.#options;
      this.checkUsable(`read the stage of "${name}"`);
      return target.file.written.slice(range.startBytes, range.endBytes);
    });
  }

  /** @throws {SessionClosedError} used up */
  checkUsable(what: string): void {
    const { storage, lock } = this.#options;
    storage.disk.checkAlive(storage.process, what);
    if (this.#isDone) throw new SessionClosedError(`Cannot ${what}: the stage was published or discarded`);
    lock.checkHeld(storage, what);
  }

  /** @throws {RangeError} empty */
  checkPublishable(what: string): void {
    this.checkUsable(what);
    const { name, target } = this.#options;
    if (target.file.written.sizeBytes === 0) checkFirstByte(name, undefined);
  }

  #cutBack(oldSizeBytes: number, what: string): boolean {
    const { storage: { disk, process }, target } = this.#options;
    if (disk.isDead || target.file.written.sizeBytes === oldSizeBytes) return true;
    try {
      disk.truncate(process, target, oldSizeBytes, what);
      return true;
    } catch {
      return false;
    }
  }
}
