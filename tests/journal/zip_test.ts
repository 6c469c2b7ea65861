import { assert, assertEquals, assertThrows } from "@std/assert";
import { packLog, unpackLog } from "../../src/journal/log_archive.ts";
import { crc32, isZip, readZip, writeZip, ZipWriter } from "../../src/journal/zip.ts";
import { seededRandom } from "../support/seeded_random.ts";

const encoder = new TextEncoder();
const members = [
  { name: "session.v3.jsonl", bytes: encoder.encode('{"a":1}\n') },
  { name: "blobs/ä漢😀", bytes: seededRandom(1).bytes(5000) },
  { name: "empty", bytes: new Uint8Array(0) },
];

Deno.test("crc32() gives the published sums, in one piece or in several", () => {
  assertEquals(crc32(encoder.encode("123456789")), 0xcbf43926);
  assertEquals(crc32(new Uint8Array(0)), 0);
  const bytes = seededRandom(2).bytes(999);
  for (const cut of [0, 1, 500, 999]) {
    assertEquals(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut))), crc32(bytes));
  }
});

Deno.test("readZip() gives back what writeZip() was given, also behind a comment", () => {
  const zip = writeZip(members);
  assert(isZip(zip));
  assertEquals(readZip("x.zip", zip), members);
  const commented = new Uint8Array(zip.length + 5);
  commented.set(zip);
  commented[zip.length - 2] = 5;
  assertEquals(readZip("x.zip", commented), members);
  assertEquals(readZip("x.zip", writeZip([])), []);
  assert(!isZip(writeZip([])) && !isZip(encoder.encode('{"type":"session"}')));
});

Deno.test("readZip() refuses a cut or changed archive, and one that compresses, and never anything else", () => {
  const zip = writeZip(members);
  for (let length = 0; length < zip.length; length += 7) {
    assertThrows(() => readZip("x.zip", zip.slice(0, length)), Error, 'Cannot read "x.zip"');
  }
  for (let at = 0; at < zip.length; at++) {
    const changed = zip.slice();
    changed[at]! ^= 0xff;
    try {
      const read = readZip("x.zip", changed);
      // Dates, versions and names are not summed; contents are.
      for (const [index, { bytes }] of read.entries()) assertEquals(bytes, members[index]!.bytes);
    } catch (error) {
      assert(error instanceof Error && error.message.startsWith('Cannot read "x.zip"'), String(error));
    }
  }
  const deflated = zip.slice();
  deflated[new DataView(zip.buffer).getUint32(zip.length - 6, true) + 10] = 8;
  assertThrows(() => readZip("x.zip", deflated), Error, "compressed or encrypted");
});

Deno.test("ZipWriter refuses what would need zip64", () => {
  const zip = new ZipWriter();
  assertThrows(() => zip.begin({ name: "a", sizeBytes: 2 ** 32, crc32: 0 }), Error, "are the most");
});

Deno.test("unpackLog() takes exactly one log, and no blob that is not what it is named by", async () => {
  const log = encoder.encode("{}\n");
  const packed = await packLog("session.v3.jsonl", log, [encoder.encode("one")]);
  assertEquals((await unpackLog("x.zip", packed))?.blobs.length, 1);
  assertEquals(await unpackLog("x.jsonl", log), null);
  const bad = [
    writeZip([{ name: "note.txt", bytes: log }]),
    writeZip([{ name: "a.jsonl", bytes: log }, { name: "b.jsonl", bytes: log }]),
    writeZip([{ name: "a.jsonl", bytes: log }, { name: `blobs/${"0".repeat(64)}`, bytes: log }]),
  ];
  for (const zip of bad) {
    const refusal = await unpackLog("x.zip", zip).then(() => "taken", (error) => error.code);
    assertEquals(refusal, "CORRUPT_LOG");
  }
  const more = writeZip([{ name: "a.jsonl", bytes: log }, { name: "../../etc/x", bytes: log }]);
  assertEquals((await unpackLog("x.zip", more))?.blobs.length, 0);
});
