import { assertEquals, assertThrows } from "@std/assert";
import { checkCovered, checkFirstByte, folderOf, folderParts, nameParts } from "../../src/storage/names.ts";

Deno.test("nameParts() takes plain relative names, with whatever characters a log's name may have", () => {
  assertEquals(nameParts("--a--/s~002E/session.v3.jsonl.zstd.torn-12-0a1b2c3d"), [
    "--a--",
    "s~002E",
    "session.v3.jsonl.zstd.torn-12-0a1b2c3d",
  ]);
  assertEquals(nameParts("..a/.b/c..:d"), ["..a", ".b", "c..:d"]);
});

Deno.test("nameParts() refuses what could leave the root or mean two things", () => {
  for (const name of ["", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\\b", "a\0", "\ud800x"]) {
    assertThrows(() => nameParts(name), RangeError);
  }
});

Deno.test("folderParts() takes the root and names with a slash at their end", () => {
  assertEquals([folderParts(""), folderParts("a/b/")], [[], ["a", "b"]]);
  for (const folder of ["a", "/", "../", "a//"]) assertThrows(() => folderParts(folder), RangeError);
});

Deno.test("folderOf() gives the folder of a file and of a folder", () => {
  assertEquals(["a/b/c", "a/b/", "a/", "c"].map(folderOf), ["a/b/", "a/", "", ""]);
});

Deno.test("checkCovered() keeps a lock to its own folder", () => {
  for (const name of ["s/session.lock", "s/log", "s/blobs/1", "s/"]) checkCovered("s/session.lock", name);
  checkCovered("session.lock", "anything/else");
  for (const name of ["", "log", "t/log", "st/log", "st/"]) {
    assertThrows(() => checkCovered("s/session.lock", name), RangeError);
  }
});

Deno.test("checkFirstByte() refuses content that looks like an unfinished claim", () => {
  checkFirstByte("log", 0x7b);
  for (const firstByte of [0, undefined]) assertThrows(() => checkFirstByte("log", firstByte), RangeError);
});
