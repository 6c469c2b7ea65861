import { assert } from "@std/assert";
import { HoldfastError } from "../../mod.ts";
import { type SeededRandom, seededRandom } from "../support/seeded_random.ts";
import { CLAUDE_CODE, CLAUDE_CODE_COMPACTED, CODEX, convert, PI } from "./foreign_support.ts";

const FILES = [CLAUDE_CODE, CLAUDE_CODE_COMPACTED, CODEX, PI];
const INPUTS = 4000;

/** Values that a member may suddenly have. */
const STRANGE: readonly unknown[] = [
  ...[null, true, 0, -0, -1, 1e400, 9007199254740993, "", "\ud800", "x".repeat(3000), [], {}, [[]], [null], {
    type: 1,
  }],
  ...[
    { type: "text" },
    { type: "text", text: 5 },
    { role: "user" },
    "u1",
    "a1",
    "e4",
    "k1",
    "t1",
    "message",
    "assistant",
  ],
];

Deno.test(`whatever ${INPUTS} damaged logs of other programs hold, a good log comes out, or one typed error`, async () => {
  let read = 0;
  for (let number = 0; number < INPUTS; number++) {
    const bytes = damagedFile(number);
    try {
      await convert(bytes);
      read++;
    } catch (error) {
      const isTyped = error instanceof HoldfastError || (error as Error).message === "the file was not recognised";
      assert(isTyped, `input ${number}: ${(error as Error).stack}`);
    }
  }
  assert(read > INPUTS / 2, `only ${read} were read`);
});

function damagedFile(number: number): Uint8Array<ArrayBuffer> {
  const random = seededRandom(number);
  const lines = structuredClone(random.pick(FILES)) as unknown[];
  for (let times = 1 + random.below(6); times > 0; times--) {
    const at = random.below(lines.length);
    const other = random.below(lines.length);
    switch (random.below(6)) {
      case 0:
        lines.splice(at, 1 + random.below(3));
        break;
      case 1:
        lines.splice(at, 0, structuredClone(lines[other]));
        break;
      case 2:
        [lines[at], lines[other]] = [lines[other], lines[at]];
        break;
      default:
        lines[at] = withStrangeMember(lines[at], random);
    }
    if (lines.length === 0) lines.push({});
  }
  const bytes = new TextEncoder().encode(
    lines.map((line) => typeof line === "string" ? line : JSON.stringify(line)).join("\n"),
  );
  if (bytes.length > 0 && random.below(3) === 0) bytes[random.below(bytes.length)] = random.below(256);
  return random.below(4) === 0 ? bytes.subarray(0, random.below(bytes.length + 1)) : bytes;
}

/** The value with one member, at any depth, that is strange or missing. */
function withStrangeMember(value: unknown, random: SeededRandom): unknown {
  if (typeof value !== "object" || value === null) return random.pick(STRANGE);
  const record = value as Record<string, unknown>;
  const keys = Object.keys(record);
  if (keys.length === 0) return random.pick(STRANGE);
  const key = random.pick(keys);
  if (random.below(2) === 0 && typeof record[key] === "object") record[key] = withStrangeMember(record[key], random);
  else if (random.below(4) === 0) delete record[key];
  else record[key] = structuredClone(random.pick(STRANGE));
  return record;
}

Deno.test("what is kept of a foreign log while it is read does not grow with what its lines hold", async () => {
  const { openForeign } = await import("../../src/foreign/mod.ts");
  const line = (index: number) =>
    `{"type":"${index % 2 ? "assistant" : "user"}","uuid":"${index}","parentUuid":${
      index === 0 ? null : `"${index - 1}"`
    },` +
    `"sessionId":"s","message":{"id":"m${index}","content":[{"type":"text","text":"${"x".repeat(40_000)}"}]}}\n`;
  const encoder = new TextEncoder();
  const parts = Array.from({ length: 1500 }, (_, index) => encoder.encode(line(index)));
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  parts.length = 0;
  let [events, largest] = [0, 0];
  for await (const batch of openForeign({ name: "large", bytes })!.batches(0)) {
    events += batch.length;
    largest = Math.max(largest, JSON.stringify(batch).length);
  }
  // 60 MB in, and never more than one batch of it at once.
  assert(events > 3000 && bytes.length > 60_000_000, `${events} events`);
  assert(largest < 5 * 1024 * 1024, `a batch of ${largest} units`);
});
