/**
 * What every {@linkcode ZstdCodec} promises, as plain data: no test runner, any runtime.
 *
 * The frames a case needs are built here from RFC 8878 or were written by the `zstd` command; nothing of the library's own
 * walk is used to judge it.
 *
 * @module
 */
import type { ZstdCodec } from "../frame/zstd_codec.ts";
import { check, checkEquals, type ContractCase } from "./check.ts";

/** What a codec case is run with. */
export interface CodecContext {
  /** The codec under test. */
  readonly codec: ZstdCodec;
  /** Other codecs whose frames must be readable, and that must read ours. May be empty. */
  readonly others: readonly ZstdCodec[];
}

/** A codec case. */
export type CodecCase = ContractCase<CodecContext>;

/**
 * The codec contract.
 *
 * @example
 * ```ts
 * import { portableZstd } from "../frame/portable_zstd.ts";
 * import { codecContract } from "./codec_contract.ts";
 *
 * await codecContract[0]!.run({ codec: portableZstd(), others: [] });
 * ```
 */
export const codecContract: readonly CodecCase[] = [
  {
    name: "compress() makes one frame with content size and checksum, which reads back",
    run: sync(({ codec }) => {
      for (const sizeBytes of SIZES) {
        for (const plain of [jsonLines(sizeBytes), noise(sizeBytes)]) {
          const frame = codec.compress(plain);
          checkEquals(frame.subarray(0, 4), bytesOf("28b52ffd"), "the magic number");
          check((frame[4]! & 0x04) !== 0, `no checksum at ${sizeBytes} bytes`);
          check((frame[4]! & 0xe0) !== 0, `no content size at ${sizeBytes} bytes`);
          checkEquals(codec.decompress(frame, sizeBytes), plain, `content of ${sizeBytes} bytes`);
        }
      }
    }),
  },
  {
    name: "compress() adds nothing behind the frame, whatever the size of its output",
    run: sync(({ codec }) => {
      // Around the pieces of 16 and 64 KiB in which encoders give their output.
      for (const around of [16_384, 65_536]) {
        for (let sizeBytes = around - 40; sizeBytes <= around + 4; sizeBytes += 1) {
          const plain = noise(sizeBytes);
          checkEquals(codec.decompress(codec.compress(plain), sizeBytes), plain, `${sizeBytes} bytes`);
        }
      }
    }),
  },
  {
    name: "decompress() reads the frames of every other codec, and they read its frames",
    run: sync(({ codec, others }) => {
      for (const other of others) {
        for (const sizeBytes of SIZES) {
          const plain = jsonLines(sizeBytes);
          checkEquals(codec.decompress(other.compress(plain), sizeBytes), plain, `${other.name}'s frame`);
          checkEquals(other.decompress(codec.compress(plain), sizeBytes), plain, `${other.name} reading`);
        }
      }
    }),
  },
  {
    name: "decompress() reads frames without checksum, without content size, without content, of other levels",
    run: sync(({ codec }) => {
      for (const { name, frame, plain } of FOREIGN_FRAMES) {
        checkEquals(codec.decompress(bytesOf(frame), plain.length), plain, name);
      }
    }),
  },
  {
    name: "compress() and decompress() give plain arrays of their own and leave their input alone",
    run: sync(({ codec }) => {
      const plain = jsonLines(1000);
      const frame = codec.compress(plain);
      const copy = frame.slice();
      const content = codec.decompress(frame, 1000);
      for (const result of [frame, content]) {
        check(Object.getPrototypeOf(result) === Uint8Array.prototype, "a subclass, whose slice() may share memory");
      }
      content.fill(0);
      checkEquals(frame, copy, "the frame after its content was overwritten");
      checkEquals(plain, jsonLines(1000), "the input of compress()");
      frame.fill(0);
      checkEquals(plain, jsonLines(1000), "the input of compress() after its frame was overwritten");
    }),
  },
  {
    name: "decompress() reads a frame that is a view into a larger array",
    run: sync(({ codec }) => {
      const frame = codec.compress(jsonLines(500));
      const padded = new Uint8Array(frame.length + 20).fill(0x28);
      padded.set(frame, 7);
      checkEquals(codec.decompress(padded.subarray(7, 7 + frame.length), 500), jsonLines(500));
    }),
  },
  {
    name: "decompress() refuses a frame cut at any byte, its checksum included",
    run: sync(({ codec }) => {
      const frame = codec.compress(jsonLines(400));
      for (let end = 0; end < frame.length; end += 1) {
        checkRefused(() => codec.decompress(frame.subarray(0, end), 400), "CORRUPT_FRAME", `cut at ${end}`);
      }
    }),
  },
  {
    name: "decompress() refuses anything behind the frame: zeros, garbage, a second frame, a skippable one",
    run: sync(({ codec }) => {
      const frame = codec.compress(jsonLines(100));
      const skippable = bytesOf("502a4d1804000000ffffffff");
      for (const more of [new Uint8Array(1), new Uint8Array(4), Uint8Array.of(9, 9), frame, skippable]) {
        checkRefused(() => codec.decompress(joined(frame, more), 1000), "CORRUPT_FRAME", `${more.length} more bytes`);
        checkRefused(() => codec.decompress(joined(more, frame), 1000), "CORRUPT_FRAME", `${more.length} bytes before`);
      }
    }),
  },
  {
    name: "decompress() never gives wrong content when any bit of a checksummed frame is flipped",
    run: sync(({ codec, others }) => {
      const plain = jsonLines(300);
      const frames = [codec, ...others].map((writer) => writer.compress(plain));
      for (const frame of [...frames, ...CHECKSUMMED_FRAMES.map(({ frame }) => bytesOf(frame))]) {
        const right = codec.decompress(frame, SIZE_BYTES_MAX);
        forEachFlip(frame, (flipped, bit) => {
          const content = tryDecompress(codec, flipped, SIZE_BYTES_MAX);
          if (content !== null) checkEquals(content, right, `bit ${bit} of a frame of ${frame.length} bytes`);
        });
      }
    }),
  },
  {
    name: "decompress() refuses every wrong checksum, also of empty content and of RLE blocks",
    run: sync(({ codec }) => {
      const frames = [codec.compress(new Uint8Array(0)), codec.compress(jsonLines(2000)), bytesOf(ZEROS_FRAME)];
      for (const frame of frames) {
        for (let bit = 0; bit < 32; bit += 1) {
          const flipped = frame.slice();
          flipped[frame.length - 4 + (bit >> 3)]! ^= 1 << (bit & 7);
          checkRefused(() => codec.decompress(flipped, SIZE_BYTES_MAX), "CORRUPT_FRAME", `checksum bit ${bit}`);
        }
      }
    }),
  },
  {
    name: "decompress() refuses a header that declares too much, before it looks at a block",
    run: sync(({ codec }) => {
      const declared = ["00000040", "0000000000010000", "ffffffffffffffff"]; // 1 GiB, 2^40, 2^64 − 1
      for (const size of declared) {
        const flag = size.length === 8 ? "a0" : "e0";
        const frame = bytesOf(`28b52ffd${flag}${size}010000`);
        checkRefused(() => codec.decompress(frame, 256 * 1024 * 1024), "TOO_LARGE", `declared ${size}`);
      }
      const frame = codec.compress(jsonLines(1000));
      checkRefused(() => codec.decompress(frame, 999), "TOO_LARGE", "one byte over the limit");
      checkEquals(codec.decompress(frame, 1000).length, 1000);
    }),
  },
  {
    name: "decompress() refuses content that is longer or shorter than declared",
    run: sync(({ codec }) => {
      for (const [declared, what] of [[2, "less than its raw block holds"], [4, "more"], [255, "far more"]] as const) {
        const frame = singleSegment(declared, [rawBlock(bytesOf("7b7d0a"), true)]);
        checkRefused(() => codec.decompress(frame, 1000), "CORRUPT_FRAME", `declares ${what}`);
      }
      const empty = bytesOf("28b52ffd8058000000001d0000084100");
      checkRefused(() => codec.decompress(empty, 1000), "CORRUPT_FRAME", "declares nothing and holds one byte");
      // The compressed block of ROWS_FRAME in a frame that declares one byte more, and one less, than it holds.
      const block = bytesOf(ROWS_FRAME).subarray(6, -4);
      for (const difference of [-1, 1]) {
        const frame = withContentSize(ROWS.length + difference, block);
        checkRefused(() => codec.decompress(frame, SIZE_BYTES_MAX), "CORRUPT_FRAME", `off by ${difference}`);
      }
      checkEquals(codec.decompress(withContentSize(ROWS.length, block), SIZE_BYTES_MAX), ROWS);
    }),
  },
  {
    name: "decompress() stops at the limit when the frame does not declare its size",
    run: sync(({ codec }) => {
      const bombs = { rle: rleBomb(2048), compressed: bytesOf(ZEROS_FRAME) };
      for (const [name, bomb] of Object.entries(bombs)) {
        checkRefused(() => codec.decompress(bomb, 65536), "TOO_LARGE", name);
        checkRefused(() => codec.decompress(bomb, 0), "TOO_LARGE", `${name}, nothing allowed`);
      }
      checkEquals(codec.decompress(bytesOf(ZEROS_FRAME), 1_000_000).length, 1_000_000);
      checkRefused(() => codec.decompress(bytesOf(ZEROS_FRAME), 999_999), "TOO_LARGE", "one byte over the limit");
      const one = bytesOf("28b52ffd00581d0000084100"); // a compressed block of one byte
      checkEquals(codec.decompress(one, 1), bytesOf("41"));
      checkRefused(() => codec.decompress(one, 0), "TOO_LARGE", "one byte, nothing allowed");
    }),
  },
  {
    name: "decompress() refuses dictionaries, reserved and unused bits, reserved blocks, huge windows and blocks",
    run: sync(({ codec }) => {
      const block = rawBlock(bytesOf("7b7d0a"), true);
      const zeroDictionary = joined(bytesOf("28b52ffd210003"), block);
      checkEquals(codec.decompress(zeroDictionary, 3), bytesOf("7b7d0a"), "dictionary id 0 is none");
      const refused: Record<string, Uint8Array> = {
        "a dictionary id": joined(bytesOf("28b52ffd210703"), block),
        "a dictionary id of four bytes": joined(bytesOf("28b52ffd230700000003"), block),
        "the reserved bit": joined(bytesOf("28b52ffd2803"), block),
        "the unused bit": joined(bytesOf("28b52ffd3003"), block),
        "a reserved block": bytesOf("28b52ffd20030700007b7d0a"),
        "a window of 256 MiB": joined(bytesOf("28b52ffd0090"), block),
        "a window of 3.75 TiB": joined(bytesOf("28b52ffd00ff"), block),
        "an RLE block over 128 KiB": bytesOf("28b52ffd00580b001020"),
        "a compressed block of no bytes": bytesOf("28b52ffd0058050000"),
        "another magic number": joined(bytesOf("27b52ffd2003"), block),
        "a skippable frame": bytesOf("502a4d1804000000ffffffff"),
        "no bytes at all": new Uint8Array(0),
      };
      for (const [what, frame] of Object.entries(refused)) {
        checkRefused(() => codec.decompress(frame, SIZE_BYTES_MAX), "CORRUPT_FRAME", what);
      }
    }),
  },
  {
    name: "salvage() gives exactly the whole blocks, at every cut of a frame of many",
    run: sync(({ codec }) => {
      const parts = [jsonLines(40), new Uint8Array(0), new Uint8Array(300).fill(0x20), jsonLines(90)];
      const plain = joined(...parts);
      const blocks = [
        rawBlock(parts[0]!, false),
        rawBlock(parts[1]!, false),
        rleBlock(0x20, 300, false),
        rawBlock(parts[3]!, true),
      ];
      const checksum = codec.compress(plain).subarray(-4);
      const whole: [string, Uint8Array][] = [
        ["with a window", joined(bytesOf("28b52ffd0458"), ...blocks, checksum)],
        ["a single segment", joined(bytesOf("28b52ffd64"), number(plain.length - 256, 2), ...blocks, checksum)],
        ["no checksum", joined(bytesOf("28b52ffd0058"), ...blocks)],
      ];
      for (const [name, frame] of whole) {
        checkEquals(codec.decompress(frame, 1000), plain, name);
        const bodyStart = frame.length - (name === "no checksum" ? 0 : 4) - joined(...blocks).length;
        for (let end = 0; end < frame.length; end += 1) {
          let expected = new Uint8Array(0);
          let at = bodyStart;
          for (const [index, block] of blocks.entries()) {
            at += block.length;
            if (at <= end) expected = joined(expected, parts[index]!);
          }
          checkEquals(codec.salvage(frame.subarray(0, end), 1000), expected, `${name}, cut at ${end}`);
        }
      }
    }),
  },
  {
    name: "salvage() gives everything when only checksum bytes are missing, and less and less before",
    run: sync(({ codec, others }) => {
      const plain = jsonLines(300_001);
      for (const writer of [codec, ...others]) {
        const frame = writer.compress(plain);
        for (let missing = 1; missing <= 4; missing += 1) {
          const torn = frame.subarray(0, frame.length - missing);
          checkEquals(codec.salvage(torn, plain.length), plain, `${writer.name}'s frame, ${missing} bytes missing`);
        }
        let before = plain.length;
        for (let end = frame.length - 5; end > 0; end -= Math.ceil(frame.length / 40)) {
          const content = codec.salvage(frame.subarray(0, end), plain.length);
          checkEquals(content, plain.slice(0, content.length), `${writer.name}'s frame, cut at ${end}`);
          check(content.length <= before, `more content from fewer bytes, cut at ${end}`);
          before = content.length;
        }
        checkEquals(before, 0, "the first block is torn too");
      }
    }),
  },
  {
    name: "salvage() reads compressed blocks of other writers",
    run: sync(({ codec }) => {
      const frame = bytesOf(ZEROS_FRAME);
      checkEquals(codec.salvage(frame.subarray(0, -1), 1_000_000), new Uint8Array(1_000_000));
      checkEquals(codec.salvage(frame.subarray(0, frame.length - 8), 1_000_000).length, 7 * 128 * 1024);
      checkEquals(codec.salvage(bytesOf(ROWS_FRAME).subarray(0, -2), 65536), ROWS);
    }),
  },
  {
    name: "salvage() stays within the limit and keeps the whole blocks that fit",
    run: sync(({ codec }) => {
      const bomb = rleBomb(2048);
      const torn = bomb.subarray(0, bomb.length - 1);
      for (const limit of [0, 1, 131_071, 131_072, 131_073, 1_000_000]) {
        const expected = Math.floor(limit / 131_072) * 131_072;
        checkEquals(codec.salvage(torn, limit).length, expected, `a limit of ${limit}`);
      }
    }),
  },
  {
    name: "salvage() never throws: whole frames, garbage and flipped bits give nothing or whole blocks",
    run: sync(({ codec }) => {
      const frame = codec.compress(jsonLines(200));
      const nothing = new Uint8Array(0);
      checkEquals(codec.salvage(frame, 1000), nothing, "a whole frame is not torn");
      for (
        const bytes of ["", "28", "28b52f", "00000000", "28b52ffd", "28b52ffd0458", "502a4d180400", "ffffffffffff"]
      ) {
        checkEquals(codec.salvage(bytesOf(bytes), 1000), nothing, bytes);
      }
      const rows = bytesOf(ROWS_FRAME);
      forEachFlip(rows.subarray(0, -2), (flipped) => {
        check(codec.salvage(flipped, 65536).length <= 65536, "more than the limit");
      });
    }),
  },
];

/** The smallest and largest content of each way to write a size, and of one and more blocks. */
const SIZES = [0, 1, 255, 256, 65_791, 65_792, 131_071, 131_072, 131_073, 300_001];

const SIZE_BYTES_MAX = 4 * 1024 * 1024;

const ROWS = utf8(
  Array.from(
    { length: 20 },
    (_, index) =>
      `{"type":"turn/start","seq":${index},"time":${1_787_000_000_000 + index * 37},"data":{"turn":${index + 1}}}\n`,
  ).join(
    "",
  ),
);

/** ROWS, by the `zstd` command at level 3 from a pipe: a compressed block, a checksum, no content size. */
const ROWS_FRAME =
  "28b52ffd04580d070092c8191a80b56903eda082ace3c2779c6006e7884476776f3e0e3823d043444a76c6ffee7ffb1bfd55ff" +
  "ebdff967fe968c764434664db751e6bbdbd556edccfc8f987cc77822a59f4a4e15a81054316efe2983304055ecd4c140aa143a0a84040a0700aa53" +
  "86210055123b20406344d203664c56c29035a2198f9530638d60c662258c58239871580913d608660c56c2803582197f95305f8d60c65e258c5723" +
  "98715709d3d50866cc5512b8708087b74a429c0643a6774486b489142f0413561490e19dc8224d22c48be084110564bc2b324893887823e81286b0" +
  "006b21432c3d5fd707a7";

/** A million zeros, by the `zstd` command from a pipe: one compressed block of 128 KiB, then RLE blocks; no content size. */
const ZEROS_FRAME =
  "28b52ffd04585400001000000100fbff39c00202001000020010000200100002001000020010000200100003120a00ccaeca39";

const CHECKSUMMED_FRAMES = [
  { name: "an empty file", frame: "28b52ffd240001000099e9d851", plain: new Uint8Array(0) },
  { name: "one line from a file", frame: "28b52ffd24084100007b2261223a317d0ae2efece0", plain: utf8('{"a":1}\n') },
  { name: "one line from a pipe", frame: "28b52ffd04584100007b2261223a317d0ae2efece0", plain: utf8('{"a":1}\n') },
  { name: "rows from a pipe", frame: ROWS_FRAME, plain: ROWS },
];

const FOREIGN_FRAMES = [
  ...CHECKSUMMED_FRAMES,
  { name: "an empty pipe, no checksum", frame: "28b52ffd2000010000", plain: new Uint8Array(0) },
  { name: "a file, no checksum", frame: "28b52ffd20084100007b2261223a317d0a", plain: utf8('{"a":1}\n') },
  { name: "a pipe, no checksum", frame: "28b52ffd00584100007b2261223a317d0a", plain: utf8('{"a":1}\n') },
  {
    name: "rows from a pipe at level 19, no checksum",
    frame:
      "28b52ffd0068a50500124a1c1790ab0dc8721e2b4ce276f78944526865ef0034e6383d01406b0813b1ba7a4afdbec2c4e7a34a4fdfdd" +
      "effbabd7bff379553c9e91fee73c7a662a9554b75a66444c697bb755f57fa63222e781d6beee5937b081b80071f3d71587c12e40eb9482b9e0d8" +
      "323046409686ddba2271d83d013ba81150d95796fd33d01bad0611240409c13305928b47a20f7928812f349ca1171a6e509892ecb7d249c81a95" +
      "e8965039c19b754a29e107207bfc2ba0665555",
    plain: ROWS,
  },
  { name: "a million zeros", frame: ZEROS_FRAME, plain: new Uint8Array(1_000_000) },
  {
    name: "two hundred thousand zeros, no checksum",
    frame: "28b52ffd00585400001000000100fbff39c002036a0800",
    plain: new Uint8Array(200_000),
  },
];

function sync(run: (context: CodecContext) => void): (context: CodecContext) => Promise<void> {
  return async (context) => await run(context);
}

/** Fails unless `run` throws at once with this code. */
function checkRefused(run: () => unknown, code: string, what: string): void {
  let found: unknown = "nothing was thrown";
  try {
    run();
  } catch (error) {
    found = typeof error === "object" && error !== null && "code" in error ? error.code : error;
  }
  checkEquals(String(found), code, what);
}

/** The content, or `null` for a refusal; anything else that is thrown is a failure. */
function tryDecompress(codec: ZstdCodec, frame: Uint8Array, sizeBytesMax: number): Uint8Array | null {
  try {
    return codec.decompress(frame, sizeBytesMax);
  } catch (error) {
    const code = typeof error === "object" && error !== null && "code" in error ? error.code : error;
    check(code === "CORRUPT_FRAME" || code === "TOO_LARGE", `an error of no kind of ours: ${code}`);
    return null;
  }
}

function forEachFlip(bytes: Uint8Array, visit: (flipped: Uint8Array, bit: number) => void): void {
  for (let bit = 0; bit < 8 * bytes.length; bit += 1) {
    const flipped = bytes.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    visit(flipped, bit);
  }
}

/** Text that compresses as a log does: lines of JSON whose numbers differ. */
function jsonLines(sizeBytes: number): Uint8Array<ArrayBuffer> {
  const lines: string[] = [];
  let state = 1;
  for (let length = 0; length < sizeBytes; length += lines.at(-1)!.length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    lines.push(`{"type":"assistant/chunk","seq":${lines.length},"time":${1_787_000_000_000 + state},"data":{}}\n`);
  }
  return utf8(lines.join("")).slice(0, sizeBytes);
}

/** Bytes that do not compress. */
function noise(sizeBytes: number): Uint8Array<ArrayBuffer> {
  let state = 1;
  return new Uint8Array(sizeBytes).map(() => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) >>> 24);
}

/** A frame that declares its content size in one byte and has no checksum. */
function singleSegment(contentSizeBytes: number, blocks: readonly Uint8Array[]): Uint8Array {
  return joined(bytesOf("28b52ffd20"), number(contentSizeBytes, 1), ...blocks);
}

/** A frame that declares its content size in four bytes and has a window of 2 MiB and no checksum. */
function withContentSize(contentSizeBytes: number, blocks: Uint8Array): Uint8Array {
  return joined(bytesOf("28b52ffd8058"), number(contentSizeBytes, 4), blocks);
}

/** Blocks of 128 KiB in four bytes each, no content size. */
function rleBomb(blocks: number): Uint8Array {
  const block = rleBlock(0x41, 128 * 1024, false);
  const last = rleBlock(0x41, 128 * 1024, true);
  return joined(bytesOf("28b52ffd0058"), ...Array.from({ length: blocks - 1 }, () => block), last);
}

function rawBlock(content: Uint8Array, isLast: boolean): Uint8Array {
  return joined(number((content.length << 3) | (isLast ? 1 : 0), 3), content);
}

function rleBlock(byte: number, sizeBytes: number, isLast: boolean): Uint8Array {
  return joined(number((sizeBytes << 3) | (1 << 1) | (isLast ? 1 : 0), 3), Uint8Array.of(byte));
}

/** Little-endian. */
function number(value: number, sizeBytes: number): Uint8Array {
  return Uint8Array.from({ length: sizeBytes }, (_, index) => (value >>> (8 * index)) & 0xff);
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
