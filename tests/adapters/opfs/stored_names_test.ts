import { assert, assertEquals, assertThrows } from "@std/assert";
import { isStageName, partOf, stageName, storedPart } from "../../../src/adapters/opfs/stored_names.ts";
import { seededRandom } from "../../support/seeded_random.ts";

const PARTS = [
  "a",
  "A",
  "^a",
  "%00e9",
  "é",
  "e\u0301",
  "E\u0301",
  "🐳",
  "..a",
  "a.",
  " ",
  "a ",
  "a:b",
  "con",
  "~",
  "*",
  "\u0001",
];

Deno.test("storedPart() spells every part so that no two are the same where case and accents are folded", () => {
  const fold = (text: string) => text.normalize("NFC").toLowerCase();
  assertEquals(new Set(PARTS.map((part) => fold(storedPart(part)))).size, PARTS.length);
  for (const part of PARTS) {
    assert(/^[a-z0-9._~^%-]+$/.test(storedPart(part)), storedPart(part));
    assertEquals(partOf(storedPart(part)), part);
  }
});

Deno.test("partOf() reads back what storedPart() wrote, for any text", () => {
  const random = seededRandom(3);
  for (let round = 0; round < 2000; round++) {
    const units = Array.from({ length: 1 + random.below(8) }, () => random.below(round % 2 === 0 ? 0x80 : 0x10000));
    const part = String.fromCharCode(...units).replace(/[/\\\0]/g, "_").toWellFormed();
    if (part === "." || part === "..") continue;
    assertEquals(partOf(storedPart(part)), part);
  }
});

Deno.test("partOf() does not take what storedPart() would have spelled otherwise", () => {
  for (
    const stored of ["A", "%0041", "%0061", "^", "^1", "%00E9", "%e9", "%002f", "%d800", "..", ".", "", "a/b", "a b"]
  ) {
    assertEquals(partOf(stored), null, stored);
  }
});

Deno.test("a stage's name is that of no part", () => {
  assert(isStageName(stageName("0123456789ab")));
  assertEquals(partOf(stageName("0123456789ab")), null);
  assert(!isStageName(storedPart("%stage-0123456789ab")));
});

Deno.test("storedPart() refuses what is longer than any disk takes", () => {
  assertEquals(storedPart("x".repeat(255)).length, 255);
  assertThrows(() => storedPart("x".repeat(256)), RangeError);
  assertThrows(() => storedPart("X".repeat(128)), RangeError);
});
