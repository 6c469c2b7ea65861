/**
 * How the rows of versions 0, 1 and 2 are read, and what is made of them on the way.
 *
 * @module
 */
import { hasCode } from "../../errors.ts";
import type { RowFault, SessionEvent, SessionHeader } from "../../event/mod.ts";
import { shapeProblem } from "../../event/mod.ts";
import type { CheckedLog } from "../checked_log.ts";
import type { Dialect, RowSpan } from "../dialect.ts";
import type { Finding } from "../finding.ts";
import {
  LegacyDecoder,
  type LegacyEvent,
  type LegacyHeader,
  type LegacyRow,
  type LegacyVersion,
  migrateLegacy,
  parseLegacyHeader,
  readLegacyRow,
  viewedEvent,
} from "../legacy/mod.ts";

/**
 * What comes out of an old log: events of the current version; the stored ones in a spelling that folds and views understand;
 * or the stored ones as they are.
 */
export type OldView = "migrated" | "viewed" | "stored";

/** Takes what comes out, in order. What it returns is awaited before more is read. */
export type OldSink = (events: readonly SessionEvent[], textLength: number) => void | Promise<void>;

/** Rows in, events out. */
interface Maker {
  readonly header: SessionHeader;
  push(row: LegacyRow): readonly SessionEvent[];
  end(): readonly SessionEvent[];
  readonly nextSeq: number;
  readonly inheritedEventCount: number;
}

/** Reads the rows of one old log, once. */
export class OldDialect implements Dialect<LegacyRow> {
  readonly #version: LegacyVersion;
  readonly #view: OldView;
  readonly #sink: OldSink;
  /** At how much text of rows the sink is given what came out, in UTF-16 units. */
  readonly #batchLength: number;
  /** Called with the header of what comes out, before anything else does. */
  readonly #onHeader: (header: SessionHeader) => void;
  #maker: Maker | null = null;
  #pending: SessionEvent[] = [];
  #pendingLength = 0;
  /** Why nothing more comes out, although rows go in. */
  refusal: Finding | null = null;

  constructor(
    version: LegacyVersion,
    view: OldView,
    sink: OldSink,
    batchLength: number,
    onHeader: (header: SessionHeader) => void = () => {},
  ) {
    this.#version = version;
    this.#view = view;
    this.#sink = sink;
    this.#batchLength = batchLength;
    this.#onHeader = onHeader;
  }

  /** The header of what comes out; `null` while there is none, or when the old one has no place in version 3. */
  get header(): SessionHeader | null {
    return this.#maker?.header ?? null;
  }

  /** How many events came out. */
  get nextSeq(): number {
    return this.#maker?.nextSeq ?? 0;
  }

  get inheritedEventCount(): number {
    return this.#maker?.inheritedEventCount ?? 0;
  }

  parseHeader(text: string): SessionHeader {
    const header = parseLegacyHeader(text);
    this.#attempt(() => {
      this.#maker = this.#view === "migrated" ? migrateLegacy(header) : new View(header, this.#view);
      this.#onHeader(this.#maker.header);
    });
    return storedHeader(header);
  }

  objectionTo(): null {
    return null;
  }

  readRow(text: string, expectedSeq?: number): LegacyRow | RowFault {
    return readLegacyRow(text, this.#version, expectedSeq);
  }

  spanOf(row: LegacyRow): RowSpan {
    return row;
  }

  isTurnEnd(row: LegacyRow): boolean {
    return row.kind === "event" && row.event.type === "turn/end";
  }

  /** Counts. What an event must be is asked of what comes out. */
  accept(log: CheckedLog, row: LegacyRow): CheckedLog {
    return { ...log, nextSeq: log.nextSeq + row.count, hasInheritedSeed: true };
  }

  eventOf(): null {
    return null;
  }

  take(row: LegacyRow, length: number): void {
    this.#pendingLength += length;
    this.#make((maker) => maker.push(row));
  }

  relieve(): Promise<void> | null {
    return this.#pendingLength < this.#batchLength ? null : this.flush();
  }

  /** Takes note that no row follows. */
  end(): void {
    this.#make((maker) => maker.end());
  }

  /** Gives the sink what came out since the last time. */
  async flush(): Promise<void> {
    const [events, length] = [this.#pending, this.#pendingLength];
    this.#pending = [];
    this.#pendingLength = 0;
    if (events.length > 0) await this.#sink(events, length);
  }

  #make(make: (maker: Maker) => readonly SessionEvent[]): void {
    const maker = this.#maker;
    if (maker === null || this.refusal !== null) return;
    this.#attempt(() => {
      for (const event of make(maker)) this.#pending.push(event);
    });
  }

  #attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.refusal = refusalOf(error);
    }
  }
}

/** The header of an old log as a reader of our day spells it: with its own version, and nothing migrated. */
export function storedHeader(header: LegacyHeader): SessionHeader {
  const { version, id, createdAt, cwd, parentSession, isSeeded, origin, delegationDepth, agentPreset } = header;
  return {
    ...{ type: "session", version, id, createdAt },
    ...(cwd === undefined ? {} : { cwd }),
    ...(parentSession === undefined ? {} : { parentSession }),
    isSeeded,
    ...(origin === undefined ? {} : { origin }),
    delegationDepth,
    ...(agentPreset === undefined ? {} : { agentPreset }),
  };
}

/** Whether a fold of version 3 may be given an event that was never one of version 3. */
export function isFoldable(event: SessionEvent): boolean {
  return shapeProblem(event) === null;
}

/** What a migration refused, as a finding. Anything that is no verdict about the log goes on up. */
function refusalOf(error: unknown): Finding {
  const isDamage = hasCode(error, "CORRUPT_LOG");
  if (!isDamage && !hasCode(error, "UNSUPPORTED_FORMAT") && !hasCode(error, "TOO_LARGE")) throw error;
  const { message, seq, type } = error as Error & { readonly seq?: number; readonly type?: string };
  const found = message.replace(/^Cannot (?:migrate|read) /, "");
  return {
    code: isDamage ? "CORRUPT_LOG" : "UNSUPPORTED_FORMAT",
    offsetBytes: null,
    seq: seq ?? null,
    type,
    message: isDamage ? found : `it cannot be brought to the current version: ${found}`,
    cause: error,
  };
}

/** The stored events, for showing: whatever decodes is shown. */
class View implements Maker {
  readonly header: SessionHeader;
  readonly #decoder: LegacyDecoder;
  readonly #isRespelled: boolean;
  #inheritedEventCount: number;

  constructor(header: LegacyHeader, view: Exclude<OldView, "migrated">) {
    this.header = storedHeader(header);
    this.#decoder = new LegacyDecoder(header, { checks: false });
    this.#isRespelled = view === "viewed";
    this.#inheritedEventCount = header.seedLength ?? 0;
  }

  get nextSeq(): number {
    return this.#decoder.nextSeq;
  }

  get inheritedEventCount(): number {
    return this.#inheritedEventCount;
  }

  push(row: LegacyRow): readonly SessionEvent[] {
    const events = this.#decoder.push(row);
    for (const event of events) if (endsInheritedSeed(event)) this.#inheritedEventCount = event.seq;
    return this.#isRespelled ? events.map(viewedEvent) : events as unknown as readonly SessionEvent[];
  }

  end(): readonly SessionEvent[] {
    return [];
  }
}

function endsInheritedSeed({ type, data }: LegacyEvent): boolean {
  if (type !== "session/end-seed" || typeof data !== "object" || data === null) return false;
  return (data as { readonly inherited?: unknown }).inherited === true;
}
