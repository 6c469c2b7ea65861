/**
 * Writes a migrated log aside, frame by frame, and remembers what it wrote.
 *
 * @module
 */
import { CorruptFrameError } from "../../errors.ts";
import { encodeHeader, encodeRow, type SessionEvent, type SessionHeader } from "../../event/mod.ts";
import type { StagedFile, StoragePort } from "../../storage/storage_port.ts";
import { sha256Hex } from "../digest.ts";
import { encodeBatch, type Encoder } from "../frames_of.ts";

/** A piece that was appended at once. */
interface Piece {
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** A stage that is being filled. */
export class StageWriter {
  readonly #staged: StagedFile;
  readonly #encoder: Encoder;
  /** In order; together they are the whole content. */
  readonly #pieces: Piece[] = [];
  #sizeBytes = 0;
  #header: string | null = null;

  constructor(staged: StagedFile, encoder: Encoder) {
    this.#staged = staged;
    this.#encoder = encoder;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Takes the header, which is written before the first events, or at `finish()`. */
  begin(header: SessionHeader): void {
    this.#header = encodeHeader(header);
  }

  /** Appends events as frames (raw: lines) of bounded size. */
  async append(events: readonly SessionEvent[]): Promise<void> {
    await this.#appendHeader();
    await this.#append(encodeBatch(events.map(encodeRow), this.#encoder).bytes);
  }

  /** Writes what is still to be written. */
  async finish(): Promise<void> {
    await this.#appendHeader();
  }

  /**
   * Reads back what was appended.
   *
   * @param onRead told before each piece how many bytes were read
   * @throws {CorruptFrameError} when the medium holds something else
   */
  async checkStage(name: string, onRead: (doneBytes: number) => void): Promise<void> {
    const isSame = await this.#isSame((startBytes, endBytes) => {
      onRead(startBytes);
      return this.#staged.read({ startBytes, endBytes });
    });
    if (!isSame) {
      throw new CorruptFrameError(`Cannot publish "${name}": the medium gives back other bytes than it took`);
    }
  }

  /** Whether a file begins with exactly what was written here: the same log, to which somebody may have appended. */
  async isBeginningOf(storage: StoragePort, name: string): Promise<boolean> {
    return await this.#isSame((startBytes, endBytes) => storage.read(name, { startBytes, endBytes }));
  }

  async #appendHeader(): Promise<void> {
    const header = this.#header;
    this.#header = null;
    if (header !== null) await this.#append(encodeBatch([header], this.#encoder).bytes);
  }

  async #append(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.#staged.append(bytes);
    this.#sizeBytes += bytes.length;
    this.#pieces.push({ sizeBytes: bytes.length, sha256: await sha256Hex(bytes) });
  }

  async #isSame(read: (startBytes: number, endBytes: number) => Promise<Uint8Array<ArrayBuffer>>): Promise<boolean> {
    let at = 0;
    for (const { sizeBytes, sha256 } of this.#pieces) {
      if (await sha256Hex(await read(at, at + sizeBytes)) !== sha256) return false;
      at += sizeBytes;
    }
    return true;
  }
}
