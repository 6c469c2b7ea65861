import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { sha256Hex } from "../../src/journal/digest.ts";
import { packLog, unpackLog } from "../../src/journal/log_archive.ts";
import { crc32, isZip, readZip, writeZip, ZipWriter } from "../../src/journal/zip.ts";
import { deflatedZip } from "../support/deflated_zip.ts";
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

Deno.test("readZip() gives back what writeZip() was given, also behind a comment", async () => {
  const zip = writeZip(members);
  assert(isZip(zip));
  assertEquals(await readZip("x.zip", zip), members);
  const commented = new Uint8Array(zip.length + 5);
  commented.set(zip);
  commented[zip.length - 2] = 5;
  assertEquals(await readZip("x.zip", commented), members);
  assertEquals(await readZip("x.zip", writeZip([])), []);
  assert(!isZip(writeZip([])) && !isZip(encoder.encode('{"type":"session"}')));
});

Deno.test("readZip() refuses a cut or changed archive, stored or deflated, and never anything else", async () => {
  for (const zip of [writeZip(members), await deflatedZip(members)]) {
    for (let length = 0; length < zip.length; length += 7) {
      await assertRejects(() => readZip("x.zip", zip.slice(0, length)), Error, 'Cannot read "x.zip"');
    }
    for (let at = 0; at < zip.length; at++) {
      const changed = zip.slice();
      changed[at]! ^= 0xff;
      try {
        const read = await readZip("x.zip", changed);
        // Dates, versions and names are not summed; contents are.
        for (const [index, { bytes }] of read.entries()) assertEquals(bytes, members[index]!.bytes);
      } catch (error) {
        assert(error instanceof Error && error.message.startsWith('Cannot read "x.zip"'), String(error));
      }
    }
  }
});

Deno.test("readZip() reads deflated members, and says of every other method, and of encryption, how to pack instead", async () => {
  assertEquals(await readZip("x.zip", await deflatedZip(members)), members);
  for (const [what, found] of [[{ method: 93 }, "compressed by method 93"], [{ flags: 1 }, "encrypted"]] as const) {
    const zip = await deflatedZip([{ ...members[0]!, ...what }]);
    const error = await readZip("x.zip", zip).then(() => null, (error) => error);
    assertEquals([error.code, error.message], [
      "UNSUPPORTED_FORMAT",
      `Cannot read "x.zip": "session.v3.jsonl" in it is ${found}; stored and deflated members are read (zip -0 stores them)`,
    ]);
  }
});

Deno.test("what a few bytes unpack to is bounded before it is unpacked, and while it is", async () => {
  const zeros = new Uint8Array(8 * 1024 * 1024);
  const bomb = await deflatedZip([{ name: "a.jsonl", bytes: zeros }, { name: "b", bytes: zeros }]);
  assert(bomb.length < 32 * 1024, `${bomb.length} bytes`);
  const codeOf = (zip: Uint8Array<ArrayBuffer>, bounds = {}) =>
    readZip("x.zip", zip, bounds).then(() => "read", (error) => error.code);
  assertEquals(await codeOf(bomb), "read");
  assertEquals(await codeOf(bomb, { contentSizeBytesMax: zeros.length * 2 }), "read");
  assertEquals(await codeOf(bomb, { contentSizeBytesMax: zeros.length * 2 - 1 }), "TOO_LARGE");
  assertEquals(await codeOf(bomb, { membersMax: 1 }), "TOO_LARGE");
  // It claims to be small, or larger than deflate can make it.
  for (const claimedBytes of [0, 100, zeros.length - 1, zeros.length + 1, 2 ** 31]) {
    assertEquals(await codeOf(await deflatedZip([{ name: "a", bytes: zeros, claimedBytes }])), "CORRUPT_LOG");
  }
  assertEquals(
    await codeOf(await deflatedZip([{ name: "a", bytes: zeros, claimedBytes: 2 ** 32 - 1 }])),
    "UNSUPPORTED_FORMAT",
  );
});

Deno.test("ZipWriter refuses what would need zip64", () => {
  const zip = new ZipWriter();
  assertThrows(() => zip.begin({ name: "a", sizeBytes: 2 ** 32, crc32: 0 }), Error, "are the most");
});

Deno.test("unpackLog() takes exactly one log, and no blob that is not what it is named by", async () => {
  const log = encoder.encode("{}\n");
  const packed = await packLog("session.v3.jsonl", log, [encoder.encode("one")]);
  const archive = await unpackLog("x.zip", packed);
  assertEquals([archive?.name, archive?.digests.length], ["session.v3.jsonl", 1]);
  assertEquals(await archive!.getBlob(archive!.digests[0]!), encoder.encode("one"));
  assertEquals(await archive!.getBlob("0".repeat(64)).catch((error) => error.code), "NOT_FOUND");
  assertEquals(await unpackLog("x.jsonl", log), null);
  const bad = [
    writeZip([{ name: "note.txt", bytes: log }]),
    writeZip([{ name: "a.jsonl", bytes: log }, { name: "b.jsonl", bytes: log }]),
    writeZip([{ name: "a.jsonl", bytes: log }, { name: "folder/b.jsonl", bytes: log }]),
    writeZip([{ name: "../session.v3.jsonl", bytes: log }]),
    writeZip([{ name: "a.jsonl", bytes: log }, { name: `blobs/${"0".repeat(64)}`, bytes: log }]),
  ];
  for (const zip of bad) {
    const refusal = await unpackLog("x.zip", zip).then(() => "taken", (error) => error.code);
    assertEquals(refusal, "CORRUPT_LOG");
  }
  const strange = ["../../etc/x", "/etc/passwd", "blobs/../x", "blobs\\x", `../blobs/${"0".repeat(64)}`];
  const more = writeZip([{ name: "a.jsonl", bytes: log }, ...strange.map((name) => ({ name, bytes: log }))]);
  assertEquals((await unpackLog("x.zip", more))?.digests.length, 0);
});

Deno.test("unpackLog() takes what was unpacked and packed again by another program: deflated, below a folder, with its litter", async () => {
  const log = encoder.encode("{}\n");
  const blob = encoder.encode("one");
  const digest = await sha256Hex(blob);
  const repacked = await deflatedZip([
    { name: "my session/", bytes: new Uint8Array(0) },
    { name: "my session/session.v3.jsonl", bytes: log },
    { name: "__MACOSX/._session.v3.jsonl", bytes: blob },
    { name: "my session/blobs/", bytes: new Uint8Array(0) },
    { name: `my session/blobs/${digest}`, bytes: blob },
  ]);
  const archive = await unpackLog("x.zip", repacked);
  assertEquals([archive?.name, archive?.bytes, archive?.digests], ["session.v3.jsonl", log, [digest]]);
  assertEquals(await archive!.getBlob(digest), blob);
});
