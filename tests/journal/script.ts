/**
 * What the journal's tests write: sessions of plausible events, and stores to write them to.
 *
 * @module
 */
import { MemoryStorage } from "../../src/adapters/memory/memory_storage.ts";
import { encodeHeader, encodeRow, type SessionEvent, type SessionHeader } from "../../src/event/mod.ts";
import { encodeLines, type ZstdCodec } from "../../src/frame/mod.ts";
import { nodeZstd } from "../../src/frame/node_zstd.ts";
import { frameChecksum } from "../../src/frame/xxh64.ts";
import { type JournalOptions, openJournal } from "../../src/journal/mod.ts";
import type { StoragePort } from "../../src/storage/storage_port.ts";
import type { SessionStore } from "../../src/store/session_store.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { seededRandom } from "../support/seeded_random.ts";

export const CWD = "/w";
export const FOLDER = "--w--/s/";
export const ENCODINGS = ["zstd", "none"] as const;

/** The log's name under one encoding. */
export function logOf(encoding: "zstd" | "none"): string {
  return `${FOLDER}session.v3.jsonl${encoding === "zstd" ? ".zstd" : ""}`;
}

export function headerOf(id = "s", more: Partial<SessionHeader> = {}): SessionHeader {
  return {
    ...{ type: "session", version: 3, id, createdAt: 1000, cwd: CWD },
    ...{ isSeeded: false, delegationDepth: 0 },
    ...more,
  };
}

/** One whole turn with one tool call: 12 events. */
export function turnOf(turn: number, fromSeq = 0): SessionEvent[] {
  const source = { kind: "plugin", plugin: "p" };
  const text = (value: string) => [{ type: "text", text: value }];
  const callId = `c${turn}`;
  const rows: Omit<SessionEvent, "seq" | "time">[] = [
    { type: "turn/start", data: { turn } },
    { type: "step/start", data: { turn, step: 1 } },
    {
      type: "system/message",
      data: { turn, step: 1, message: { id: `y${turn}`, role: "system", content: text("be good"), source } },
      surfaceOp: "append",
    },
    {
      type: "user/message",
      data: { id: `u${turn}`, role: "user", content: text("pay ünï 🐳"), source: { kind: "user" } },
      surfaceOp: "append",
    },
    {
      type: "assistant/message",
      data: { turn, step: 1, message: assistant(`a${turn}`, [call(callId)]), stream: [] },
      surfaceOp: "append",
    },
    { type: "tool/call", data: { turn, step: 1, callId, name: "pay", arguments: "{}" } },
    {
      type: "tool/result",
      data: { turn, step: 1, message: result(`r${turn}`, callId, text("paid")) },
      surfaceOp: "append",
    },
    { type: "step/end", data: { turn, step: 1 } },
    { type: "step/start", data: { turn, step: 2 } },
    {
      type: "assistant/message",
      data: { turn, step: 2, message: assistant(`b${turn}`, text("done")), stream: [] },
      surfaceOp: "append",
    },
    { type: "step/end", data: { turn, step: 2 } },
    { type: "turn/end", data: { turn, reason: { kind: "completed" } } },
  ];
  return rows.map(({ type, ...rest }, index) => ({
    type,
    seq: fromSeq + index,
    time: 2000 + fromSeq + index,
    ...rest,
  }));
}

/** Whole turns, one after the other. */
export function turnsOf(count: number): SessionEvent[] {
  const events: SessionEvent[] = [];
  for (let turn = 1; turn <= count; turn++) events.push(...turnOf(turn, events.length));
  return events;
}

/** The 12 events of a turn as an agent would flush them. */
export const BATCHES: readonly (readonly SessionEvent[])[] = (() => {
  const events = turnOf(1);
  return [
    events.slice(0, 2),
    events.slice(2, 4),
    events.slice(4, 5),
    events.slice(5, 6),
    events.slice(6, 8),
    events.slice(8),
  ];
})();

function assistant(id: string, content: unknown) {
  return { id, role: "assistant", content, source: { kind: "model", provider: "p", model: "m" } } as never;
}

function call(id: string) {
  return { type: "tool-call", id, name: "pay", arguments: "{}" };
}

function result(id: string, callId: string, content: unknown) {
  return {
    ...{ id, role: "user", source: { kind: "tool", callId } },
    content: [{ type: "tool-result", toolCallId: callId, content }],
  } as never;
}

/** A store for one test. */
export function journal(
  storage: StoragePort = new MemoryStorage(),
  options: Partial<JournalOptions> = {},
): SessionStore {
  return openJournal({ codec: nodeZstd(), clock: new FakeClock(), random: seededRandom(1), ...options, storage });
}

/** A log as bytes: the header's frame, and one frame for each batch. */
export function logBytes(
  header: SessionHeader,
  batches: readonly (readonly SessionEvent[])[],
  encoding: "zstd" | "none" = "zstd",
  codec: ZstdCodec = nodeZstd(),
): Uint8Array<ArrayBuffer> {
  return framesOf([[encodeHeader(header)], ...batches.map((batch) => batch.map(encodeRow))], encoding, codec);
}

/** Groups of lines as bytes, one frame for each group. */
export function framesOf(
  groups: readonly (readonly string[])[],
  encoding: "zstd" | "none" = "zstd",
  codec: ZstdCodec = nodeZstd(),
): Uint8Array<ArrayBuffer> {
  const parts = groups.map((rows) => encoding === "zstd" ? codec.compress(encodeLines(rows)) : encodeLines(rows));
  return bytesOf(...parts);
}

export function bytesOf(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

/** A storage that holds exactly these files. */
export function storageWith(files: Readonly<Record<string, Uint8Array>>): MemoryStorage {
  const storage = new MemoryStorage({ simulate: "disk" });
  for (const [name, bytes] of Object.entries(files)) storage.stranger.write(name, bytes);
  return storage;
}

/** Every file and its bytes. */
export async function filesOf(storage: StoragePort, folder = ""): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const { name, kind } of await storage.list(folder)) {
    if (kind === "file") files.set(name, await storage.read(name));
    else for (const [inner, bytes] of await filesOf(storage, name)) files.set(inner, bytes);
  }
  return files;
}

/** The same answers, each computed once: a crash sweep asks the same thousands of times. */
export function remembering(codec: ZstdCodec): ZstdCodec {
  const remember = (act: (bytes: Uint8Array, sizeBytesMax: number) => Uint8Array<ArrayBuffer>) => {
    const known = new Map<string, Uint8Array<ArrayBuffer> | Error>();
    return (bytes: Uint8Array, sizeBytesMax = 0) => {
      const key = `${sizeBytesMax}:${bytes.toHex()}`;
      let answer = known.get(key);
      if (answer === undefined) {
        try {
          answer = act(bytes, sizeBytesMax);
        } catch (error) {
          answer = error as Error;
        }
        known.set(key, answer);
      }
      if (answer instanceof Error) throw answer;
      return answer.slice();
    };
  };
  return {
    name: codec.name,
    compress: remember((plain) => codec.compress(plain)),
    decompress: remember((frame, sizeBytesMax) => codec.decompress(frame, sizeBytesMax)),
    salvage: remember((torn, sizeBytesMax) => codec.salvage(torn, sizeBytesMax)),
  };
}

/** A codec that writes raw blocks of a few bytes, so that a torn frame can be salvaged almost anywhere. */
export function tinyBlocks(blockSizeBytes: number): ZstdCodec {
  return {
    ...nodeZstd(),
    compress(plain) {
      // No single segment, a window of 1 KiB, no content size, a checksum (RFC 8878 §3.1.1.1).
      const parts: number[] = [0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x00];
      for (let at = 0; at === 0 || at < plain.length; at += blockSizeBytes) {
        const block = plain.subarray(at, at + blockSizeBytes);
        const word = (block.length << 3) | (at + blockSizeBytes >= plain.length ? 1 : 0);
        parts.push(word & 0xff, (word >> 8) & 0xff, word >> 16, ...block);
      }
      const checksum = frameChecksum(plain);
      parts.push(checksum & 0xff, (checksum >>> 8) & 0xff, (checksum >>> 16) & 0xff, checksum >>> 24);
      return new Uint8Array(parts);
    },
  };
}
