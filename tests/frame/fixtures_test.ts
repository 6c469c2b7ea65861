/**
 * Real files, cut and damaged, against what the real reader said about each of them.
 */
import { assert, assertEquals } from "@std/assert";
import { LineScanner } from "../../src/frame/lines.ts";
import { walkFrames } from "../../src/frame/walk.ts";
import type { ZstdCodec } from "../../src/frame/zstd_codec.ts";
import { casesNotRun, fixturesDir } from "../support/fixtures.ts";
import { codecs, joined } from "./frames.ts";
import { judge } from "./independent_walk.ts";

/** What was recorded about one cut of the file; an error has a name. */
interface TornRow {
  readonly truncateTo: number;
  readonly stored: number | { readonly name: string };
  /** SHA-256 of the plain text of the complete frames. */
  readonly rawSha: string | { readonly name: string };
}

Deno.test("salvage() yields what the real reader stored, at every recorded cut of a real file, with each codec", async () => {
  const folder = fixturesDir();
  if (folder === null) return casesNotRun(676, "v0-torn");
  const recorded = readJson<{ source: string; rows: TornRow[] }>(`${folder}/dsh/v0-torn/tools-every-offset.zstd.json`);
  const file = Deno.readFileSync(`${folder}/dsh/${recorded.source}`);
  assert(recorded.rows.length > 600);
  for (const { truncateTo, stored, rawSha } of recorded.rows) {
    const bytes = file.subarray(0, truncateTo);
    for (const codec of codecs) {
      const { complete, salvaged } = readLog(bytes, codec);
      const at = `${codec.name}, cut at ${truncateTo}`;
      if (typeof stored !== "number") {
        assertEquals(complete, null, at);
        continue;
      }
      assertEquals(await sha256(complete!), rawSha, at);
      assertEquals(countEvents(joined(complete!, salvaged)), stored, at);
    }
  }
});

Deno.test("salvage() of both codecs is the same and a prefix of the text, at every byte of real files", () => {
  const folder = fixturesDir();
  if (folder === null) return casesNotRun(15, "v0 files");
  for (const path of realFiles(`${folder}/dsh/v0/zstd`)) {
    const file = Deno.readFileSync(path);
    const frames = judge(file).frames.map(({ start, end }) => file.subarray(start, end));
    for (const frame of frames) {
      const plain = codecs[0]!.decompress(frame, 1 << 20);
      assertEquals(codecs[1]!.decompress(frame, 1 << 20), plain);
      for (let end = 0; end < frame.length; end += 1) {
        const [first, second] = codecs.map((codec) => codec.salvage(frame.subarray(0, end), 1 << 20));
        assertEquals(first, second);
        assertEquals(first, plain.slice(0, first!.length));
      }
    }
  }
});

Deno.test("walk and decode refuse exactly the damaged frames of the recorded files", () => {
  const folder = fixturesDir();
  if (folder === null) return casesNotRun(10, "v0-corrupt");
  const expected: Record<string, "corrupt" | "decode" | "fine"> = {
    reserved_bit: "corrupt",
    unused_bit: "corrupt",
    trailing_zeros: "corrupt",
    flip_magic2: "corrupt",
    // The frames behind the torn one are taken for its rest, which then does not decode.
    torn_mid_then_more: "decode",
    flip_last_checksum: "decode",
    flip_mid_payload: "decode",
    empty_frame: "fine",
    frame_per_event: "fine",
    record_across_frames: "fine",
  };
  for (const [name, verdict] of Object.entries(expected)) {
    for (const path of realFiles(`${folder}/dsh/v0-corrupt/zstd/${name}`)) {
      const file = Deno.readFileSync(path);
      for (const codec of codecs) assertEquals(verdictOf(file, codec), verdict, `${codec.name}: ${name}`);
    }
  }
});

function verdictOf(file: Uint8Array, codec: ZstdCodec): "corrupt" | "decode" | "torn" | "fine" {
  const { frames, torn, fault } = walkFrames(file);
  try {
    for (const { startOffset, endOffset } of frames) codec.decompress(file.subarray(startOffset, endOffset), 1 << 20);
  } catch {
    return "decode";
  }
  return fault !== null ? "corrupt" : torn !== null ? "torn" : "fine";
}

/** The plain text of the complete frames (`null` without any), and what the torn one yields. */
function readLog(bytes: Uint8Array, codec: ZstdCodec) {
  const { frames, torn } = walkFrames(bytes);
  const complete = frames.length === 0 ? null : joined(
    ...frames.map(({ startOffset, endOffset }) => codec.decompress(bytes.subarray(startOffset, endOffset), 1 << 20)),
  );
  const salvaged = torn === null ? new Uint8Array(0) : codec.salvage(bytes.subarray(torn.startOffset), 1 << 20);
  return { complete, salvaged };
}

/** Events behind the header, packed rows counted by their members. The last line counts only with its newline. */
function countEvents(plain: Uint8Array): number {
  let events = 0;
  for (const { text, offsetBytes } of new LineScanner().feed(plain)) {
    if (offsetBytes === 0) continue;
    const { type, data } = JSON.parse(text) as { type: string; data: { texts?: string[]; args?: string[] } };
    events += type.endsWith("-chunks") ? (data.texts ?? data.args)!.length : 1;
  }
  return events;
}

function realFiles(folder: string): string[] {
  const found: string[] = [];
  for (const entry of Deno.readDirSync(folder)) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory && entry.name !== "root-after-load") found.push(...realFiles(path));
    if (entry.isFile && entry.name.endsWith(".jsonl.zstd")) found.push(path);
  }
  return found.sort();
}

function readJson<Value>(path: string): Value {
  return JSON.parse(Deno.readTextFileSync(path)) as Value;
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
