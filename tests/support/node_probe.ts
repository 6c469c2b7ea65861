/**
 * What `node_test.ts` bundles and runs on Node: the import map, a package, the linked assertions and zstd all have to work.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { decompress } from "fzstd";
import process from "node:process";
import { zstdCompressSync } from "node:zlib";

const plain = new TextEncoder().encode("hold fast");
assertEquals([...decompress(new Uint8Array(zstdCompressSync(plain)))], [...plain]);
console.log(JSON.stringify({ version: process.versions.node, hasDeno: "Deno" in globalThis }));
