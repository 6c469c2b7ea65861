/**
 * Every shape of damage has its kind, its place in bytes, and its seq, in both encodings.
 */
import { assert, assertEquals } from "@std/assert";
import { encodeLines } from "../../../src/frame/mod.ts";
import { encodeHeader, encodeRow, type SessionEvent } from "../../../src/event/mod.ts";
import { diagnoseLog, diagnosePlace, logBytes, type LogDiagnosis } from "../../../src/journal/diagnose/mod.ts";
import { CODEC, HEADER, joined, type Pieces, piecesOf, richLog } from "../salvage_copy/rich_log.ts";

const EVENTS = richLog(3);
const TEXT = new TextEncoder();

type Bytes = Uint8Array<ArrayBuffer>;

/** A damage: what it makes of the parts of a log, and what must be found first. `at` counts parts. */
interface Shape {
  readonly encodings?: readonly ("zstd" | "none")[];
  readonly change: (parts: Bytes[], pieces: Pieces) => void;
  readonly found: (
    at: (part: number) => number,
    pieces: Pieces,
  ) => readonly [kind: string, offset: number, seq: number | null];
}

const firstSeq = (pieces: Pieces, part: number) => pieces.events[part]![0]!.seq;

const SHAPES: Readonly<Record<string, Shape>> = {
  "a torn tail": {
    change: (parts) => void parts.push(parts.pop()!.slice(0, -9)),
    found: (
      at,
      { parts, events },
    ) => ["torn-tail", at(parts.length - 1), firstSeq({ events } as Pieces, parts.length - 1)],
  },
  "a tail of zeros": {
    change: (parts) => void parts.push(new Uint8Array(64)),
    found: (at, { parts }) => ["zero-filled-tail", at(parts.length), EVENTS.length],
  },
  "a frame that begins and goes over into zeros": {
    encodings: ["zstd"],
    change: (parts) => void parts.push(joined([parts.pop()!.slice(0, 30), new Uint8Array(64)])),
    found: (at, pieces) => ["zero-filled-tail", at(pieces.parts.length - 1), firstSeq(pieces, pieces.parts.length - 1)],
  },
  "zeros between frames": {
    encodings: ["zstd"],
    change: (parts) => void parts.splice(3, 0, new Uint8Array(32)),
    found: (at, pieces) => ["nul-run", at(3), firstSeq(pieces, 3)],
  },
  "zeros in a line": {
    encodings: ["none"],
    change: (parts) => parts[3]!.fill(0, 10, 30),
    found: (at, pieces) => ["nul-run", at(3), firstSeq(pieces, 3)],
  },
  "zeros before a line": {
    encodings: ["none"],
    change: (parts) => parts[3] = joined([new Uint8Array(20), parts[3]!]),
    found: (at, pieces) => ["nul-run", at(3), firstSeq(pieces, 3)],
  },
  "a byte order mark": {
    encodings: ["none"],
    change: (parts) => void parts.unshift(Uint8Array.of(0xef, 0xbb, 0xbf)),
    found: () => ["byte-order-mark", 0, 0],
  },
  "carriage returns": {
    encodings: ["none"],
    change: (parts) =>
      parts.forEach((part, index) => parts[index] = joined([part.subarray(0, -1), Uint8Array.of(13, 10)])),
    found: () => ["crlf", 0, 0],
  },
  "two records on one line": {
    encodings: ["none"],
    change: (parts) => parts[4] = parts[4]!.slice(0, -1),
    found: (at, pieces) => ["fused-lines", at(4), firstSeq(pieces, 4)],
  },
  "a part of a record before another": {
    encodings: ["none"],
    change: (parts) => void parts.splice(4, 0, TEXT.encode('{"type":"turn/st')),
    found: (at, pieces) => ["fused-lines", at(4), firstSeq(pieces, 4)],
  },
  "the beginning of a record on a line before it": {
    encodings: ["none"],
    change: (parts) => void parts.splice(4, 0, joined([parts[4]!.slice(0, parts[4]!.length * 0.6), TEXT.encode("\n")])),
    found: (at, pieces) => ["duplicate-prefix", at(4), firstSeq(pieces, 4)],
  },
  "a line that is no record": {
    change: (parts, { encoding }) => {
      const line = TEXT.encode("rubbish\n");
      parts.splice(4, 0, encoding === "zstd" ? CODEC.compress(line) : line);
    },
    found: (at, pieces) => ["bad-row", at(4), firstSeq(pieces, 4)],
  },
  "a blank line": {
    encodings: ["none"],
    change: (parts) => void parts.splice(4, 0, TEXT.encode("\n")),
    found: (at, pieces) => ["bad-row", at(4), firstSeq(pieces, 4)],
  },
  "bytes that are no UTF-8": {
    encodings: ["none"],
    change: (parts) => {
      // In the text of a message.
      const index = parts.findIndex((part) => new TextDecoder().decode(part).includes("user/message"));
      parts[index]![parts[index]!.length - 60] = 0xff;
    },
    found: (at, pieces) => {
      const index = pieces.events.findIndex(([event]) => event?.type === "user/message");
      return ["invalid-utf8", at(index), firstSeq(pieces, index)];
    },
  },
  "events that are missing": {
    change: (parts) => void parts.splice(3, 1),
    found: (at, pieces) => ["missing-seq", at(3), firstSeq(pieces, 3)],
  },
  "events that are there twice": {
    change: (parts) => void parts.splice(4, 0, parts[3]!),
    found: (at, pieces) => ["doubled-seq", at(4), firstSeq(pieces, 3)],
  },
  "parts in the wrong order": {
    change: (parts) => void parts.splice(3, 2, parts[4]!, parts[3]!),
    found: (at, pieces) => ["missing-seq", at(3), firstSeq(pieces, 3)],
  },
  "an event with the number of another": {
    change: (parts, { encoding, events }) => {
      const part = events.findIndex(([event]) => event?.type === "assistant/message");
      const [event, ...others] = events[part]!;
      const lines = encodeLines([{ ...event!, seq: 1 }, ...others].map(encodeRow)) as Bytes;
      parts[part] = encoding === "zstd" ? CODEC.compress(lines) : lines;
    },
    found: (at, pieces) => {
      const part = pieces.events.findIndex(([event]) => event?.type === "assistant/message");
      return ["wrong-seq", at(part), firstSeq(pieces, part)];
    },
  },
  "a second writer": {
    change: (parts, { encoding, events }) => {
      const others = events[4]!.map((event) => ({ ...event, time: event.time + 7 }));
      const lines = encodeLines(others.map(encodeRow)) as Bytes;
      parts.splice(5, 0, encoding === "zstd" ? CODEC.compress(lines) : lines);
    },
    found: (at, pieces) => ["forked-sequence", at(5), firstSeq(pieces, 4)],
  },
  "no header": {
    change: (parts) => void parts.shift(),
    found: () => ["header-missing", 0, null],
  },
  "a header that is none any more": {
    encodings: ["none"],
    change: (parts) => parts[0] = TEXT.encode('{"type":"session","version":3}\n'),
    found: () => ["header-damaged", 0, null],
  },
  "a header in the frame of the first events": {
    encodings: ["zstd"],
    change: (parts, { events }) => {
      const lines = encodeLines([encodeHeader(HEADER), ...events[1]!.map(encodeRow)]);
      parts.splice(0, 2, CODEC.compress(lines));
    },
    found: () => ["header-in-wrong-frame", 0, null],
  },
  "a header behind the first events": {
    change: (parts) => void parts.splice(0, 2, parts[1]!, parts[0]!),
    found: () => ["header-missing", 0, null],
  },
  "two logs in one file": {
    change: (parts) => void parts.push(parts[0]!),
    found: (at, { parts }) => ["second-header", at(parts.length), EVENTS.length],
  },
  "a version of the future": {
    encodings: ["none"],
    change: (parts) => parts[0] = TEXT.encode(encodeHeader(HEADER).replace('"version":3', '"version":4') + "\n"),
    found: () => ["unsupported-version", 0, null],
  },
  "an event of the future": {
    encodings: ["none"],
    change: (parts, { events }) => {
      const last = events.at(-1)!.at(-1)!;
      const event = { type: "future/thing", seq: last.seq + 1, time: 1, data: {} } as unknown as SessionEvent;
      parts.push(encodeLines([encodeRow(event)]) as Bytes);
    },
    found: (at, { parts }) => ["unknown-event", at(parts.length), EVENTS.length],
  },
  "an event that must not stand there": {
    encodings: ["none"],
    change: (parts, { events }) => {
      const index = events.findIndex(([event]) => event?.type === "user/message");
      const { surfaceOp: _, ...bare } = events[index]![0]!;
      parts[index] = encodeLines([encodeRow(bare as SessionEvent)]) as Bytes;
    },
    found: (at, pieces) => {
      const index = pieces.events.findIndex(([event]) => event?.type === "user/message");
      return ["unlawful-event", at(index), firstSeq(pieces, index)];
    },
  },
  "inherited events without their end": {
    encodings: ["none"],
    change: (parts) => parts[0] = TEXT.encode(encodeHeader({ ...HEADER, isSeeded: true }) + "\n"),
    found: (at, { parts }) => ["missing-seed-end", at(parts.length), EVENTS.length],
  },
  "a wrong checksum": {
    encodings: ["zstd"],
    change: (parts) => parts[3]![parts[3]!.length - 1]! ^= 1,
    found: (at, pieces) => ["checksum", at(3), firstSeq(pieces, 3)],
  },
  "a block that does not decode": {
    encodings: ["zstd"],
    change: (parts) => parts[3]!.fill(0xff, 20, 60),
    found: (at, pieces) => ["corrupt-block", at(3), firstSeq(pieces, 3)],
  },
  "a frame that breaks off in the middle of the file": {
    encodings: ["zstd"],
    change: (parts) => parts[3] = parts[3]!.slice(0, 40),
    found: (at, pieces) => ["truncated-block", at(3), firstSeq(pieces, 3)],
  },
  "a frame with a reserved bit": {
    encodings: ["zstd"],
    change: (parts) => parts[3]![4]! |= 0x08,
    found: (at, pieces) => ["corrupt-frame", at(3), firstSeq(pieces, 3)],
  },
  "bytes between two frames": {
    encodings: ["zstd"],
    change: (parts) => void parts.splice(3, 0, TEXT.encode("rubbish")),
    found: (at, pieces) => ["foreign-bytes", at(3), firstSeq(pieces, 3)],
  },
  "bytes behind the last frame": {
    encodings: ["zstd"],
    change: (parts) => void parts.push(TEXT.encode("rubbish")),
    found: (at, { parts }) => ["trailing-garbage", at(parts.length), EVENTS.length],
  },
  "a skippable frame": {
    encodings: ["zstd"],
    change: (parts) => void parts.splice(3, 0, Uint8Array.of(0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2)),
    found: (at, pieces) => ["skippable-frame", at(3), firstSeq(pieces, 3)],
  },
  "a row that no frame ends": {
    encodings: ["zstd"],
    change: (parts) => void parts.push(CODEC.compress(TEXT.encode('{"type":"turn/sta'))),
    found: (at, { parts }) => ["unfinished-row", at(parts.length), EVENTS.length],
  },
  "a frame that holds more than it may": {
    encodings: ["zstd"],
    change: (parts) => void parts.splice(3, 0, CODEC.compress(new Uint8Array(2_000_000))),
    found: (at, pieces) => ["size-bomb", at(3), firstSeq(pieces, 3)],
  },
  "a line that is longer than it may be": {
    encodings: ["none"],
    change: (parts) => void parts.splice(3, 0, TEXT.encode(`${"x".repeat(1_100_000)}\n`)),
    found: (at, pieces) => ["size-bomb", at(3), firstSeq(pieces, 3)],
  },
};

const LIMITS = { contentSizeBytesMax: 1_000_000 };

function diagnose(bytes: Bytes): Promise<LogDiagnosis> {
  return diagnoseLog(logBytes("damaged", bytes), { codec: CODEC, limits: LIMITS });
}

for (const [name, { encodings, change, found }] of Object.entries(SHAPES)) {
  for (const encoding of encodings ?? ["zstd", "none"] as const) {
    Deno.test(`diagnoseLog() names ${name} (${encoding})`, async () => {
      const pieces = piecesOf(EVENTS, encoding);
      const parts = pieces.parts.map((part) => part.slice());
      change(parts, pieces);
      const at = (index: number) => parts.slice(0, index).reduce((sum, part) => sum + part.length, 0);
      const { findings } = await diagnose(joined(parts));
      const [first] = findings;
      assertEquals(
        [first?.kind, first?.offsetBytes, first?.seq],
        [...found(at, pieces)],
        JSON.stringify(findings, null, 1),
      );
      assert(!first!.message.endsWith("."));
    });
  }
}

Deno.test("diagnoseLog() finds nothing in logs that are whole", async () => {
  for (const encoding of ["zstd", "none"] as const) {
    const { findings, branches, header } = await diagnose(joined(piecesOf(EVENTS, encoding).parts));
    assertEquals([findings, branches.length, branches[0]!.lastSeq, header?.id], [[], 1, EVENTS.length - 1, "source"]);
  }
});

Deno.test("diagnoseLog() lists all damages it can go on behind, and no more than a hundred", async () => {
  const { parts } = piecesOf(EVENTS, "none");
  const rubbish = (count: number) =>
    parts.flatMap((part, index) => index < count ? [part, TEXT.encode("rubbish\n")] : [part]);
  const some = await diagnose(joined(rubbish(7)));
  assertEquals([some.findings.length, some.omitted], [7, 0]);
  const many = await diagnose(joined([...parts, ...Array.from({ length: 250 }, () => TEXT.encode("rubbish\n"))]));
  assertEquals([many.findings.length, many.omitted], [100, 150]);
});

Deno.test("diagnoseLog() shows the branches of a log that two writers went on with", async () => {
  const pieces = piecesOf(EVENTS, "zstd");
  const parts = [...pieces.parts];
  const others = pieces.events.slice(4, 6).map((group) => group.map((event) => ({ ...event, time: event.time + 7 })));
  const [one, two] = others.map((group) => CODEC.compress(encodeLines(group.map(encodeRow))));
  parts.splice(5, 0, one!); // Theirs behind ours, then ours, then theirs.
  parts.splice(7, 0, two!);
  const { branches, findings } = await diagnose(joined(parts));
  const forkSeq = pieces.events[4]![0]!.seq;
  const forkOffsetBytes = parts.slice(0, 5).reduce((sum, part) => sum + part.length, 0);
  assertEquals(branches, [
    { name: "A", parent: null, forkSeq: 0, events: EVENTS.length, forkOffsetBytes: null, lastSeq: EVENTS.length - 1 },
    { name: "B", parent: "A", forkSeq, events: 10, forkOffsetBytes, lastSeq: forkSeq + 9 },
  ]);
  assertEquals(findings.map(({ kind }) => kind), ["forked-sequence"]);
});

Deno.test("diagnosePlace() names the other encoding, another place, and files of nobody", () => {
  const log = "_no-cwd/a/session.v3.jsonl.zstd";
  const names = [
    log,
    "_no-cwd/a/session.lock",
    "_no-cwd/a/session.v3.jsonl",
    "_no-cwd/a/session.v03.jsonl",
    `${log}.torn-5-0a1b2c3d`,
  ];
  const entries = names.map((name) => ({ name, kind: "file" as const }));
  const found = diagnosePlace({ log, entries, header: { id: "b" } }).map(({ kind, severity }) => [kind, severity]);
  assertEquals(found, [["opposite-encodings", "damage"], ["stray-file", "oddity"], ["identity-mismatch", "damage"]]);
  assertEquals(diagnosePlace({ log, entries: entries.slice(0, 2), header: { id: "a" } }), []);
});
