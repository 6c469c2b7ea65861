/**
 * Logs of other programs: recognised by what stands in them, and read as a new session with a report of what was left out.
 *
 * @module
 */
import { CorruptLogError } from "../errors.ts";
import { checkNewHeader, FORMAT_VERSION, type SessionEvent, type SessionHeader } from "../event/mod.ts";
import { SessionBuilder } from "./builder.ts";
import { openClaudeCode } from "./claude_code.ts";
import { openCodex } from "./codex.ts";
import { ForeignLines } from "./lines.ts";
import { type ForeignLoss, Losses } from "./losses.ts";
import { openPi } from "./pi.ts";
import type { ForeignFacts, ForeignFormat, OpenReader } from "./reader.ts";
import { recogniseForeign } from "./recognise.ts";

/** How many events one batch holds at most. */
export const FOREIGN_BATCH_EVENTS_MAX = 1000;

/** At how much JSON text a batch ends, in UTF-16 units. */
export const FOREIGN_BATCH_SIZE_MAX: number = 4 * 1024 * 1024;

/** What is known of the source file. */
export interface ForeignSource {
  /** What it was called. */
  readonly name: string;
  /** The whole of it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What became of a foreign log. */
export interface ForeignReport {
  /** Which program's log it was. */
  readonly format: ForeignFormat;
  /** The program's name, for people. */
  readonly program: string;
  /** The id the session had there; `null` when the file does not say. */
  readonly foreignId: string | null;
  /** Events of the new session. */
  readonly events: number;
  /** Messages of the new session, results included. */
  readonly messages: number;
  /** What was left out, by kind, in the order of the first line of each. */
  readonly losses: readonly ForeignLoss[];
  /** What was concluded and does not stand in the file. */
  readonly inferred: readonly string[];
}

/** A foreign log that was looked through. */
export interface ForeignLog {
  /** Which program's log it is. */
  readonly format: ForeignFormat;
  /** What the file says about its session. */
  readonly facts: ForeignFacts;
  /** The header of the new session. `now` stands for a time the file does not give. */
  header(id: string, now: number): SessionHeader;
  /**
   * The events of the new session, in batches of bounded size, each once; the last one is `log/salvaged`. Nothing is kept of what
   * was given out.
   *
   * @throws {CorruptLogError} at the end, when there was no message at all
   */
  batches(now: number): AsyncGenerator<readonly SessionEvent[]>;
  /** What was left out. Whole once {@linkcode ForeignLog.batches} has ended. */
  report(): ForeignReport;
}

const READERS: Readonly<Record<ForeignFormat, { readonly program: string; readonly open: OpenReader }>> = {
  "claude-code": { program: "Claude Code", open: openClaudeCode },
  codex: { program: "OpenAI Codex", open: openCodex },
  pi: { program: "pi", open: openPi },
};

/**
 * Looks a file through that may be a session log of Claude Code, OpenAI Codex or pi.
 *
 * Lines that cannot be read are counted and left out; whatever the file holds, the events that come out form a valid log.
 *
 * @returns `null` when the file is of none of these
 * @throws {TooLargeError} over FOREIGN_LINES_MAX lines
 *
 * @example
 * ```ts
 * import { openForeign } from "./open_foreign.ts";
 *
 * const text = '{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}\n' +
 *   '{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"hello"}}\n';
 * const log = openForeign({ name: "a.jsonl", bytes: new TextEncoder().encode(text) });
 * const types: string[] = [];
 * for await (const batch of log!.batches(0)) types.push(...batch.map((event) => event.type));
 * if (types.join() !== "turn/start,step/start,user/message,step/end,turn/end,log/salvaged") throw new Error(types.join());
 * ```
 */
export function openForeign(source: ForeignSource): ForeignLog | null {
  const format = recogniseForeign(source.bytes);
  if (format === null) return null;
  const losses = new Losses();
  const lines = new ForeignLines(source.bytes);
  const { program, open } = READERS[format];
  const reader = open(lines, losses);
  const { facts } = reader;
  let [events, messages] = [0, 0];
  return {
    format,
    facts,

    header(id, now) {
      const createdAt = facts.createdAt ?? now;
      const own = { type: "session", version: FORMAT_VERSION, id, createdAt } as const;
      const header: SessionHeader = { ...own, isSeeded: false, delegationDepth: 0 };
      const withFolder = facts.cwd === null ? header : { ...header, cwd: facts.cwd };
      try {
        checkNewHeader(withFolder);
        return withFolder;
      } catch {
        losses.infer("the folder of the session is no absolute path and was left out");
        return header;
      }
    },

    async *batches(now) {
      const builder = new SessionBuilder(losses, facts.createdAt ?? now);
      let batch: SessionEvent[] = [];
      let size = 0;
      for (const _ of reader.messages(builder)) {
        for (const event of builder.take()) {
          batch.push(event);
          size += JSON.stringify(event).length;
          if (batch.length < FOREIGN_BATCH_EVENTS_MAX && size < FOREIGN_BATCH_SIZE_MAX) continue;
          events += batch.length;
          yield batch;
          batch = [];
          size = 0;
        }
      }
      builder.endTurn();
      messages = builder.messageCount;
      if (messages === 0) {
        throw new CorruptLogError(`Cannot import "${source.name}": it is a log of ${program} without any message`);
      }
      builder.note({
        type: "log/salvaged",
        data: await provenance(source, lines, losses, program, builder.nextSeq),
        ignorable: true,
      });
      batch.push(...builder.take());
      events += batch.length;
      yield batch;
    },

    report: () => ({
      ...{ format, program, foreignId: facts.id, events, messages },
      ...{ losses: losses.kinds, inferred: losses.inferred },
    }),
  };
}

/** Where the session comes from, and what of it is missing. */
async function provenance(
  { name, bytes }: ForeignSource,
  lines: ForeignLines,
  losses: Losses,
  program: string,
  nextSeq: number,
): Promise<unknown> {
  const dropped = [];
  for (const { line, reason } of losses.lines) {
    dropped.push({ ...lines.place(line), sha256: await sha256Hex(lines.bytes(line)), reason });
  }
  const counts = losses.kinds.map(({ kind, count, firstLine }) =>
    `left out: ${kind} (${count}, first on line ${firstLine})`
  );
  return {
    version: 1,
    source: { name, sizeBytes: bytes.length, sha256: await sha256Hex(bytes) },
    kept: [[0, nextSeq - 1]],
    dropped,
    inferred: [`made from a session log of ${program}`, ...losses.inferred, ...counts],
  };
}

async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
