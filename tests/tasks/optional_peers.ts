/**
 * The packages of optional entries, in the package for npm: installed by whoever uses the entry, and by nobody else.
 *
 * `deno pack` makes every imported package a dependency. Those below bring many others, or must be the same copy as the host's,
 * so in its tarball they are moved to the optional peers.
 *
 * @module
 */
import { gunzipSync, gzipSync } from "node:zlib";

/** Packages that only an optional entry imports (`./mcp`, `./otel`, `./postgres`). */
export const OPTIONAL_PEERS: readonly string[] = ["@modelcontextprotocol/client", "@opentelemetry/api", "postgres"];

const BLOCK = 512;
const NAME = { at: 0, size: 100 };
const SIZE = { at: 124, size: 12 };
const CHECKSUM = { at: 148, size: 8 };

interface Manifest {
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional: true }>;
}

/** The manifest with the packages of optional entries as optional peers. */
export function withOptionalPeers(manifest: Manifest): Manifest {
  const { dependencies = {}, ...rest } = manifest;
  const missing = OPTIONAL_PEERS.filter((name) => dependencies[name] === undefined);
  if (missing.length > 0) {
    throw new Error(`Nothing imports ${missing.join(", ")}: take it off the list of optional peers`);
  }
  const isPeer = ([name]: [string, string]) => OPTIONAL_PEERS.includes(name);
  const all = Object.entries(dependencies);
  return {
    ...rest,
    dependencies: Object.fromEntries(all.filter((entry) => !isPeer(entry))),
    peerDependencies: Object.fromEntries(all.filter(isPeer)),
    peerDependenciesMeta: Object.fromEntries(OPTIONAL_PEERS.map((name) => [name, { optional: true }])),
  };
}

/**
 * A tarball with one file of it changed; every other byte stays.
 *
 * @see POSIX.1-1988 "ustar"
 */
export function withChangedFile(
  tarball: Uint8Array,
  name: string,
  change: (text: string) => string,
): Uint8Array<ArrayBuffer> {
  const tar = gunzipSync(tarball);
  for (let at = 0; at + BLOCK <= tar.length;) {
    const header = tar.subarray(at, at + BLOCK);
    const size = parseInt(textOf(header, SIZE), 8) || 0;
    const end = at + BLOCK + padded(size);
    if (textOf(header, NAME) === name) {
      const text = new TextDecoder().decode(tar.subarray(at + BLOCK, at + BLOCK + size));
      const content = new TextEncoder().encode(change(text));
      const body = new Uint8Array(padded(content.length));
      body.set(content);
      const parts = [tar.subarray(0, at), resized(header, content.length), body, tar.subarray(end)];
      return new Uint8Array(gzipSync(concatenated(parts)));
    }
    at = end;
  }
  throw new Error(`There is no "${name}" in the tarball`);
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

function textOf(header: Uint8Array, { at, size }: { at: number; size: number }): string {
  return new TextDecoder().decode(header.subarray(at, at + size)).split("\0")[0]!.trim();
}

/** The checksum is the sum of all bytes, its own taken as spaces. */
function resized(header: Uint8Array, size: number): Uint8Array {
  const copy = header.slice();
  const put = (text: string, { at, size }: { at: number; size: number }) =>
    copy.set(new TextEncoder().encode(text.padEnd(size, "\0")), at);
  put(size.toString(8).padStart(SIZE.size - 1, "0"), SIZE);
  put(" ".repeat(CHECKSUM.size), CHECKSUM);
  const sum = copy.reduce((sum, byte) => sum + byte, 0);
  put(`${sum.toString(8).padStart(CHECKSUM.size - 2, "0")}\0 `, CHECKSUM);
  return copy;
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
