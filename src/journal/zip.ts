/**
 * Zip archives: a log and its blobs as one file that every system opens.
 *
 * A log is compressed already, so the archive only has to hold things together, and writing that needs no library: a header
 * before each member, and a directory at the end. Members are written as they are. What somebody packed again with another
 * program is compressed, so deflated members are read too, by the platform; other methods, encryption and zip64 are refused by
 * name.
 *
 * @see APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12, 4.3.16; RFC 1951
 * @module
 */
import { CorruptLogError, TooLargeError, UnsupportedFormatError } from "../errors.ts";
import { inflate } from "./inflate.ts";

/** The most members of one archive; the format's bound without zip64. */
export const ZIP_MEMBERS_MAX = 65_535;

/** The most bytes of one archive; the format's bound without zip64. */
export const ZIP_SIZE_BYTES_MAX: number = 2 ** 32 - 1;

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const STORED = 0;
const DEFLATED = 8;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
/** Version 2.0 of the format; names are in UTF-8. */
const VERSION = 20;
const UTF8_NAMES = 0x0800;
/** 1 January 1980: what the format can say least, and says nothing about anybody's clock. */
const DOS_DATE = 0x21;

/** One member. */
export interface ZipMember {
  /** Its path in the archive. */
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What has to be known of a member before its bytes are written. */
export interface ZipMemberFacts {
  readonly name: string;
  readonly sizeBytes: number;
  /** Of its bytes. */
  readonly crc32: number;
}

/**
 * The CRC-32 of bytes that come in pieces.
 *
 * @param before what it was after the piece before; 0 for the first one
 * @see RFC 1952 §8
 *
 * @example
 * ```ts
 * import { crc32 } from "./zip.ts";
 *
 * if (crc32(new TextEncoder().encode("123456789")) !== 0xcbf43926) throw new Error("unreachable");
 * ```
 */
export function crc32(bytes: Uint8Array, before = 0): number {
  let crc = ~before;
  for (let index = 0; index < bytes.length; index++) crc = CRC_TABLE[(crc ^ bytes[index]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

const CRC_TABLE: Uint32Array = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

/**
 * Writes an archive piece by piece: before each member {@linkcode ZipWriter.begin}, then its bytes, at the end
 * {@linkcode ZipWriter.end}.
 *
 * @example
 * ```ts
 * import { crc32, readZip, ZipWriter } from "./zip.ts";
 *
 * const bytes = new TextEncoder().encode("hello");
 * const zip = new ZipWriter();
 * const pieces = [zip.begin({ name: "a.txt", sizeBytes: bytes.length, crc32: crc32(bytes) }), bytes, zip.end()];
 * const whole = new Uint8Array(await new Blob(pieces).arrayBuffer());
 * if ((await readZip("a.zip", whole))[0]?.name !== "a.txt") throw new Error("unreachable");
 * ```
 */
export class ZipWriter {
  readonly #central: Uint8Array<ArrayBuffer>[] = [];
  #offset = 0;

  /**
   * The header of the next member.
   *
   * @throws {TooLargeError} when the archive would need zip64
   */
  begin({ name, sizeBytes, crc32 }: ZipMemberFacts): Uint8Array<ArrayBuffer> {
    const encoded = new TextEncoder().encode(name);
    const next = this.#offset + LOCAL_BYTES + encoded.length + sizeBytes;
    if (this.#central.length >= ZIP_MEMBERS_MAX || next > ZIP_SIZE_BYTES_MAX) {
      const bound = `${ZIP_MEMBERS_MAX} members and ${ZIP_SIZE_BYTES_MAX} bytes are the most`;
      throw new TooLargeError(`Cannot put "${name}" into an archive: ${bound}`);
    }
    this.#central.push(record(CENTRAL_BYTES, encoded, (put) => {
      put(CENTRAL, 4);
      put(VERSION, 2);
      common(put, sizeBytes, crc32, encoded.length);
      put(0, 2 + 2 + 2 + 2 + 4); // no extra, no comment, disk 0, no attributes
      put(this.#offset, 4);
    }));
    this.#offset = next;
    return record(LOCAL_BYTES, encoded, (put) => {
      put(LOCAL, 4);
      common(put, sizeBytes, crc32, encoded.length);
      put(0, 2);
    });
  }

  /** The directory, behind the last member. */
  end(): Uint8Array<ArrayBuffer> {
    const sizeBytes = this.#central.reduce((sum, { length }) => sum + length, 0);
    const end = record(END_BYTES, new Uint8Array(0), (put) => {
      put(END, 4);
      put(0, 2 + 2);
      put(this.#central.length, 2);
      put(this.#central.length, 2);
      put(sizeBytes, 4);
      put(this.#offset, 4);
      put(0, 2);
    });
    return joined([...this.#central, end]);
  }
}

/**
 * A whole archive in memory.
 *
 * @throws {TooLargeError} when it would need zip64
 *
 * @example
 * ```ts
 * import { writeZip } from "./zip.ts";
 *
 * if (writeZip([]).length !== 22) throw new Error("unreachable");
 * ```
 */
export function writeZip(members: readonly ZipMember[]): Uint8Array<ArrayBuffer> {
  const zip = new ZipWriter();
  const pieces = members.flatMap(({ name, bytes }) => [
    zip.begin({ name, sizeBytes: bytes.length, crc32: crc32(bytes) }),
    bytes,
  ]);
  return joined([...pieces, zip.end()]);
}

/**
 * Whether bytes begin like an archive with members.
 *
 * @example
 * ```ts
 * import { isZip } from "./zip.ts";
 *
 * if (isZip(new Uint8Array(4))) throw new Error("unreachable");
 * ```
 */
export function isZip(bytes: Uint8Array): boolean {
  return bytes.length >= LOCAL_BYTES && viewOf(bytes).getUint32(0, true) === LOCAL;
}

/** What a stranger's archive may hold. */
export interface ZipBounds {
  /** The most members. Default ZIP_MEMBERS_MAX. */
  readonly membersMax?: number;
  /** The most bytes all members may have together when they are unpacked. Default ZIP_SIZE_BYTES_MAX. */
  readonly contentSizeBytesMax?: number;
}

/** A member that was not unpacked yet. */
export interface ZipEntry {
  /** Its path in the archive. It means nothing outside of it, and nothing is ever written under it. */
  readonly name: string;
  /** Its length when it is unpacked, as the directory says. */
  readonly sizeBytes: number;
  /**
   * Unpacks it, and checks it against length and sum. Never more than `sizeBytes` are in memory, whatever the bytes stand for.
   *
   * @throws {CorruptLogError} when it is not what the directory says
   * @throws {UnsupportedFormatError} when it is encrypted, or compressed by another method than deflate
   */
  read(): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * What an archive holds, by its directory. Nothing is unpacked yet.
 *
 * @param name of the archive, for messages
 * @throws {CorruptLogError} when it is no whole archive
 * @throws {UnsupportedFormatError} when it needs zip64
 * @throws {TooLargeError} when it holds more than the bounds allow
 *
 * @example
 * ```ts
 * import { listZip, writeZip } from "./zip.ts";
 *
 * const [entry] = listZip("a.zip", writeZip([{ name: "a.txt", bytes: new TextEncoder().encode("hello") }]));
 * if (entry?.name !== "a.txt" || (await entry.read()).length !== 5) throw new Error("unreachable");
 * ```
 */
export function listZip(name: string, bytes: Uint8Array<ArrayBuffer>, bounds: ZipBounds = {}): readonly ZipEntry[] {
  const { membersMax = ZIP_MEMBERS_MAX, contentSizeBytesMax = ZIP_SIZE_BYTES_MAX } = bounds;
  const view = viewOf(bytes);
  const end = endOffset(view);
  const broken = (found: string) => new CorruptLogError(`Cannot read "${name}": ${found}`);
  if (end === null) throw broken("it is no whole zip archive");
  const count = view.getUint16(end + 10, true);
  if (count > membersMax) throw tooLarge(name, `it has ${count} members, the limit is ${membersMax}`);
  const entries: ZipEntry[] = [];
  let contentBytes = 0;
  for (let at = view.getUint32(end + 16, true); entries.length < count;) {
    if (at + CENTRAL_BYTES > end || view.getUint32(at, true) !== CENTRAL) throw broken("its directory is damaged");
    const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
    const [crc, storedBytes, sizeBytes] = [16, 20, 24].map((offset) => view.getUint32(at + offset, true)) as Triple;
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) =>
      view.getUint16(at + field, true)
    ) as Triple;
    const local = view.getUint32(at + 42, true);
    const member = new TextDecoder().decode(bytes.subarray(at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameBytes));
    at += CENTRAL_BYTES + nameBytes + extraBytes + commentBytes;
    if ([storedBytes, sizeBytes, local].includes(ZIP_SIZE_BYTES_MAX)) {
      throw new UnsupportedFormatError(`Cannot read "${name}": it is in the zip64 format`);
    }
    contentBytes += sizeBytes;
    if (contentBytes > contentSizeBytesMax) {
      throw tooLarge(name, `unpacked it has more than ${contentSizeBytesMax} bytes`);
    }
    const read = async () => {
      checkMethod(name, member, method, flags);
      if (local + LOCAL_BYTES > end || view.getUint32(local, true) !== LOCAL) throw broken(`"${member}" is not in it`);
      const start = local + LOCAL_BYTES + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      if (start + storedBytes > end) throw broken(`"${member}" is cut off`);
      const stored = bytes.slice(start, start + storedBytes);
      const content = method === DEFLATED ? await inflate(stored, sizeBytes) : stored;
      if (content?.length !== sizeBytes || crc32(content) !== crc) throw broken(`"${member}" in it is damaged`);
      return content;
    };
    entries.push({ name: member, sizeBytes, read });
  }
  return entries;
}

/**
 * All members of an archive, unpacked and checked against their sums.
 *
 * @param name of the archive, for messages
 * @throws what {@linkcode listZip} and {@linkcode ZipEntry.read} throw
 *
 * @example
 * ```ts
 * import { readZip, writeZip } from "./zip.ts";
 *
 * if ((await readZip("a.zip", writeZip([]))).length !== 0) throw new Error("unreachable");
 * ```
 */
export async function readZip(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  bounds: ZipBounds = {},
): Promise<readonly ZipMember[]> {
  const members: ZipMember[] = [];
  for (const entry of listZip(name, bytes, bounds)) members.push({ name: entry.name, bytes: await entry.read() });
  return members;
}

function checkMethod(name: string, member: string, method: number, flags: number): void {
  const wanted = "stored and deflated members are read (zip -0 stores them)";
  const refused = (found: string) =>
    new UnsupportedFormatError(`Cannot read "${name}": "${member}" in it is ${found}; ${wanted}`);
  if ((flags & 1) !== 0) throw refused("encrypted");
  if (method !== STORED && method !== DEFLATED) throw refused(`compressed by method ${method}`);
}

function tooLarge(name: string, found: string): TooLargeError {
  return new TooLargeError(`Cannot read "${name}": ${found}`);
}

type Triple = [number, number, number];
type Put = (value: number, sizeBytes: number) => void;

/** What the header of a member and its entry in the directory share. */
function common(put: Put, sizeBytes: number, crc: number, nameBytes: number): void {
  put(VERSION, 2);
  put(UTF8_NAMES, 2);
  put(0, 2); // stored
  put(0, 2);
  put(DOS_DATE, 2);
  put(crc, 4);
  put(sizeBytes, 4);
  put(sizeBytes, 4);
  put(nameBytes, 2);
}

/** Numbers are little-endian; what is wider than four bytes is zero. */
function record(sizeBytes: number, name: Uint8Array, fill: (put: Put) => void): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sizeBytes + name.length);
  const view = viewOf(bytes);
  let at = 0;
  fill((value, width) => {
    if (width === 2) view.setUint16(at, value, true);
    else if (width === 4) view.setUint32(at, value, true);
    at += width;
  });
  bytes.set(name, sizeBytes);
  return bytes;
}

/** Where the directory's end stands: a comment may follow it. */
function endOffset(view: DataView): number | null {
  const least = Math.max(0, view.byteLength - END_BYTES - 0xffff);
  for (let at = view.byteLength - END_BYTES; at >= least; at--) if (view.getUint32(at, true) === END) return at;
  return null;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
