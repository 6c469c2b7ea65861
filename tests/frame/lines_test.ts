import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { TooLargeError } from "../../src/errors.ts";
import { encodeLines, type Line, LineScanner } from "../../src/frame/lines.ts";
import { bytesOf, joined, utf8 } from "./frames.ts";

function scan(pieces: readonly Uint8Array[], offsetBytes = 0) {
  const scanner = new LineScanner(offsetBytes);
  const lines = pieces.flatMap((piece) => [...scanner.feed(piece)]);
  return { lines, restOffset: scanner.restOffset, restBytes: scanner.restBytes };
}

/** One line at a time, the slow way. */
function scanSlowly(bytes: Uint8Array) {
  const lines: Line[] = [];
  let start = 0;
  for (const [index, byte] of bytes.entries()) {
    if (byte !== 0x0a) continue;
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(start, index));
    lines.push({ text, offsetBytes: start, endOffset: index + 1 });
    start = index + 1;
  }
  return { lines, restOffset: start, restBytes: bytes.length - start };
}

Deno.test("LineScanner gives lines with their offsets, and keeps what has not ended", () => {
  assertEquals(scan([utf8('{"a":1}\n\n{"b"')], 100), {
    lines: [
      { text: '{"a":1}', offsetBytes: 100, endOffset: 108 },
      { text: "", offsetBytes: 108, endOffset: 109 },
    ],
    restOffset: 109,
    restBytes: 4,
  });
});

Deno.test("LineScanner joins a line and a character that were cut", () => {
  const bytes = utf8('{"text":"füür 🐳"}\n{}\n');
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    assertEquals(scan([bytes.subarray(0, cut), bytes.subarray(cut)]), scanSlowly(bytes));
  }
});

Deno.test("LineScanner replaces invalid UTF-8 and keeps a byte order mark, so that JSON refuses it", () => {
  const { lines } = scan([joined(bytesOf("efbbbf7b7d0a"), bytesOf("22b52ffd220a"), bytesOf("22f09f0a"))]);
  assertEquals(lines.map((line) => line.text), ["\ufeff{}", '"\ufffd/\ufffd"', '"\ufffd']);
  assertThrows(() => JSON.parse(lines[0]!.text), SyntaxError);
});

Deno.test("LineScanner gives the same for any bytes in any pieces", () => {
  const bytes = fc.array(fc.constantFrom(0x0a, 0x0d, 0x41, 0xc3, 0xa9, 0xf0, 0x9f, 0x90, 0xb3, 0xff, 0xed, 0xa0), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 6 }), (pieces) => {
      const arrays = pieces.map((piece) => Uint8Array.from(piece));
      assertEquals(scan(arrays), scanSlowly(joined(...arrays)));
    }),
    { seed: 1, numRuns: 3000 },
  );
});

Deno.test("LineScanner gives the same for texts that are longer than a piece", () => {
  const long = "x".repeat(600_000);
  const text = utf8(`${"{}\n".repeat(150_000)}${long}\n{}\n${long}`);
  assertEquals(scan([text]), scanSlowly(text));
});

Deno.test("LineScanner refuses a line over the limit, whether it ends or not", () => {
  const limited = () => new LineScanner(7, 10);
  assertEquals([...limited().feed(utf8("0123456789\n0123456789"))].length, 1);
  assertThrows(() => [...limited().feed(utf8("{}\n01234567890\n"))], TooLargeError, "the line at offset 10");
  assertThrows(() => [...limited().feed(utf8("01234567890"))], TooLargeError, "the line at offset 7");
  const scanner = limited();
  assertEquals([...scanner.feed(utf8("012345"))], []);
  assertThrows(() => [...scanner.feed(utf8("67890"))], TooLargeError);
});

Deno.test("encodeLines() ends every row with a newline", () => {
  assertEquals(encodeLines([]), new Uint8Array(0));
  assertEquals(encodeLines(["{}"]), utf8("{}\n"));
  assertEquals(encodeLines(['{"é":"🐳"}', "1"]), utf8('{"é":"🐳"}\n1\n'));
});
