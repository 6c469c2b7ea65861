/**
 * Zip archives as other programs write them: deflated members, sizes behind the content instead of before it.
 *
 * @module
 */
import { crc32 } from "../../src/journal/mod.ts";

/** One member, and what of it is not as it should be. */
export interface DeflatedMember {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Claimed length. Default: the real one. */
  readonly claimedBytes?: number;
  /** Method in the headers. Default: 8, deflate. */
  readonly method?: number;
  /** Flags beside the data descriptor's. Default: 0. */
  readonly flags?: number;
}

/** Packs members as `zip` does when it cannot seek. */
export async function deflatedZip(members: readonly DeflatedMember[]): Promise<Uint8Array<ArrayBuffer>> {
  const [body, central]: [Uint8Array<ArrayBuffer>[], Uint8Array<ArrayBuffer>[]] = [[], []];
  let offset = 0;
  for (const { name, bytes, claimedBytes = bytes.length, method = 8, flags = 0 } of members) {
    const encoded = new TextEncoder().encode(name);
    const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(
      new CompressionStream("deflate-raw"),
    );
    const content = new Uint8Array(await new Response(stream).arrayBuffer());
    const facts = [[crc32(bytes), 4], [content.length, 4], [claimedBytes, 4]] as const;
    const begun = [[20, 2], [flags | 0x0808, 2], [method, 2], [0, 2], [0x21, 2]] as const;
    const local = record([[0x04034b50, 4], ...begun, [0, 4], [0, 4], [0, 4], [encoded.length, 2], [0, 2]]);
    const descriptor = record([[0x08074b50, 4], ...facts]);
    body.push(local, encoded, content, descriptor);
    const rest = [[0, 2], [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]] as const;
    central.push(record([[0x02014b50, 4], [20, 2], ...begun, ...facts, [encoded.length, 2], ...rest]), encoded);
    offset += local.length + encoded.length + content.length + descriptor.length;
  }
  const centralBytes = central.reduce((sum, { length }) => sum + length, 0);
  const count = members.length;
  const end = record([[0x06054b50, 4], [0, 4], [count, 2], [count, 2], [centralBytes, 4], [offset, 4], [0, 2]]);
  return new Uint8Array(await new Blob([...body, ...central, end]).arrayBuffer());
}

function record(fields: readonly (readonly [value: number, sizeBytes: number])[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(fields.reduce((sum, [, size]) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [value, size] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return bytes;
}
