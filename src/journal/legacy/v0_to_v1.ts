/**
 * The first stage of a migration: version 0 to 1. One row in, one row out, the same seqs.
 *
 * @see session-format §10.2
 * @module
 */
import { isRecord, type JsonRecord, show } from "../../event/checks.ts";
import { CorruptLogError, UnsupportedFormatError } from "../../errors.ts";
import { isAbsolutePath } from "./header.ts";
import { isKnownLegacyType, membersProblem } from "./inventory.ts";
import { refuse, refuseDamage } from "./refusal.ts";
import { contentProblem } from "./restored.ts";
import type { LegacyEvent, LegacyHeader, LegacyRow } from "./types.ts";
import { inLastShape, MessageIds, withData } from "./v0_shapes.ts";

/** The types that version 0 first called otherwise. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ["compact/start", "compaction/start"],
  ["compact/summary", "compaction/summary"],
  ["compact/end", "compaction/end"],
  ["compact/prune", "compaction/prune"],
]);

/** Steps that tell the state of a session in a way nothing later does. */
const RETIRED: ReadonlySet<string> = new Set(["request/header-delta", "mode/set"]);

/**
 * Migrates rows of version 0 to version 1.
 *
 * Held meanwhile: the ids of `MessageIds`, the id of the open compaction, and the retry chains of the open turn.
 */
export class V0ToV1 {
  readonly header: LegacyHeader;
  readonly #ids: MessageIds;
  /** The id that parts of the open compaction without one get. */
  #compactionId: string | null = null;
  /** Ids of retry chains by their key. A chain never spans turns, so they are forgotten with each. */
  readonly #retryIds = new Map<string, string>();

  /**
   * @throws {UnsupportedFormatError} members that only a program of version 0 drops
   * @throws {CorruptLogError} a relative `cwd`, with which no session is made
   */
  constructor(header: LegacyHeader) {
    const { strangers, cwd } = header;
    if (strangers.length > 0) {
      const message = `Cannot migrate header: found the unknown field ${JSON.stringify(strangers[0])}`;
      throw new UnsupportedFormatError(message);
    }
    if (cwd !== undefined && !isAbsolutePath(cwd)) {
      throw new CorruptLogError(`Cannot migrate header: found cwd = ${JSON.stringify(cwd)}, expected an absolute path`);
    }
    this.header = { ...header, version: 1 };
    this.#ids = new MessageIds(header.id);
  }

  push(row: LegacyRow): LegacyRow {
    if (row.kind === "run") return row;
    const event = this.#migrate(row.event);
    return event === row.event ? row : { ...row, event };
  }

  #migrate(stored: LegacyEvent): LegacyEvent {
    if (RETIRED.has(stored.type)) refuse(stored, "what it tells has no place in later versions");
    let event = stored;
    const name = RENAMED.get(event.type);
    if (name !== undefined) event = { ...event, type: name };
    event = inLastShape(event, this.#ids);
    event = this.#withRequestHeader(event);
    event = this.#withRetryId(event);
    event = this.#withCompactionId(event);
    if (!isKnownLegacyType(event.type, 0)) refuse(stored, "a type that a migration does not know");
    // What no program goes on with is told as damage, whatever else is odd about it.
    const damage = contentProblem(event, 1);
    if (damage !== null) refuseDamage(stored, damage);
    const problem = membersProblem(event.type, event.data);
    if (problem !== null) refuse(stored, problem);
    this.#checkContent(event);
    this.#ids.see(event);
    return event;
  }

  #withRequestHeader(event: LegacyEvent): LegacyEvent {
    if (event.type !== "request/header" || !isRecord(event.data)) return event;
    if (event.data.reason === "fallback") refuse(event, 'a request header with the reason "fallback"');
    const { header } = event.data;
    if (!isRecord(header) || !Array.isArray(header.messagePrefix)) return event;
    const { messagePrefix: _prefix, ...rest } = header;
    return withData(event, { ...event.data, header: rest });
  }

  #withRetryId(event: LegacyEvent): LegacyEvent {
    if (event.type === "turn/start") this.#retryIds.clear();
    if (event.type !== "llm/retry" || !isRecord(event.data)) return event;
    const { turn, step, provider, policyKey, retryId } = event.data;
    const key = [turn, step, provider, policyKey].map(show).join();
    const id = typeof retryId === "string"
      ? retryId
      : this.#retryIds.get(key) ?? `legacy-retry:${this.header.id}:${event.seq}`;
    this.#retryIds.set(key, id);
    return retryId === undefined ? withData(event, { ...event.data, retryId: id }) : event;
  }

  #withCompactionId(event: LegacyEvent): LegacyEvent {
    const { data } = event;
    if (!isRecord(data)) return event;
    switch (event.type) {
      case "compaction/start":
        this.#compactionId = typeof data.compactionId === "string"
          ? data.compactionId
          : `legacy-compaction:${this.header.id}:${event.seq}`;
        return this.#withId(event, data);
      case "compaction/summary":
        return this.#withId(event, data);
      case "compaction/end": {
        const ended = this.#withId(event, data);
        this.#compactionId = null;
        return ended;
      }
      case "session/end-seed":
        this.#compactionId = null;
        return event;
      case "user/message": {
        const { source } = data;
        if (!isRecord(source) || source.kind !== "plugin" || source.plugin !== "compact") return event;
        if (source.compactionId !== undefined || this.#compactionId === null) return event;
        return withData(event, { ...data, source: { ...source, compactionId: this.#compactionId } });
      }
      default:
        return event;
    }
  }

  #withId(event: LegacyEvent, data: JsonRecord): LegacyEvent {
    if (data.compactionId !== undefined || this.#compactionId === null) return event;
    return withData(event, { ...data, compactionId: this.#compactionId });
  }

  #checkContent(event: LegacyEvent): void {
    const { data } = event;
    if (!isRecord(data)) return;
    if (event.type === "subagent/descriptor" && data.version !== 3) {
      refuse(event, `a description of version ${show(data.version)}`);
    }
    if (event.type !== "session-log-deepseek/delivery-accepted") return;
    const isOfThisVersion = data.sessionFormatVersion === undefined || data.sessionFormatVersion === 0;
    const isInherited = event.seq < (this.header.seedLength ?? 0);
    if (isOfThisVersion && !isInherited && data.sessionId !== this.header.id) {
      refuse(event, "a delivery of another session");
    }
  }
}
