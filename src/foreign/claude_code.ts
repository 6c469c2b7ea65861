/**
 * Session logs of Claude Code: a tree of JSON lines, linked by `parentUuid`.
 *
 * The format is not specified by its maker; this follows public descriptions of it. One answer of the model may be spread over
 * several lines with the same message id, and the results of parallel calls hang on different branches, so both are gathered by
 * id and not by the chain of parents.
 *
 * @see the public notes on the format: txcript, docs/formats/claude-code.md; code.claude.com/docs/en/sessions
 * @module
 */
import type { Block, MessageSource } from "../event/mod.ts";
import type { ForeignAnswer, ForeignResult, SessionBuilder } from "./builder.ts";
import type { ForeignLines } from "./lines.ts";
import type { Losses } from "./losses.ts";
import {
  attachmentBlock,
  chainFrom,
  type ForeignFacts,
  type ForeignReader,
  placeOf,
  ResultIndex,
  textBlock,
  typeName,
  usageOf,
} from "./reader.ts";
import { argumentsText, asRecord, type ForeignRecord, listAt, recordAt, stringAt, timeAt } from "./record.ts";

const PROGRAM: MessageSource = { kind: "plugin", plugin: "claude-code" };
const PERSON: MessageSource = { kind: "user" };
const USAGE = {
  input: "input_tokens",
  output: "output_tokens",
  read: "cache_read_input_tokens",
  write: "cache_creation_input_tokens",
};

/** What the program itself put into the conversation begins so. */
const PROGRAM_TEXT = /^\s*<(?:command-|local-command-|bash-|system-reminder)/;

/** Titles, the strongest first. */
const TITLE_TYPES = ["custom-title", "agent-name", "ai-title", "summary"];

/** What is remembered of a line between the two passes. */
interface LineFacts {
  readonly uuid: string | null;
  readonly parent: string | null;
  /** Set where a compaction cut the chain: the line before it. */
  readonly logicalParent: string | null;
  readonly kind: "user" | "assistant" | "other";
  readonly messageId: string | null;
  readonly isSidechain: boolean;
  readonly isSummary: boolean;
}

/** Looks a log of Claude Code through. */
export function openClaudeCode(lines: ForeignLines, losses: Losses): ForeignReader {
  const found = survey(lines, losses);
  const { facts, lineFacts, titles } = found;
  return {
    facts,
    *messages(builder) {
      const chain = branch(found, losses);
      const emitter = new Emitter(lines, losses, builder, found);
      for (const line of chain) {
        emitter.line(line);
        yield;
      }
      const title = TITLE_TYPES.map((type) => titles.get(type)).find((text) => text !== undefined);
      builder.endTurn();
      if (title !== undefined) builder.title(title);
      for (const line of lineFacts.keys()) {
        if (!emitter.used.has(line)) reportUnused(lines, losses, line, lineFacts.get(line)!);
      }
    },
  };
}

interface Survey {
  readonly facts: ForeignFacts;
  readonly lineFacts: ReadonlyMap<number, LineFacts>;
  readonly byUuid: ReadonlyMap<string, number>;
  /** The lines of one answer of the model. */
  readonly byMessage: ReadonlyMap<string, readonly number[]>;
  readonly results: ResultIndex;
  readonly titles: ReadonlyMap<string, string>;
}

function survey(lines: ForeignLines, losses: Losses): Survey {
  const lineFacts = new Map<number, LineFacts>();
  const byUuid = new Map<string, number>();
  const byMessage = new Map<string, number[]>();
  const results = new ResultIndex();
  const titles = new Map<string, string>();
  const facts: { id: string | null; createdAt: number | null; cwd: string | null } = {
    id: null,
    createdAt: null,
    cwd: null,
  };
  for (let line = 0; line < lines.count; line++) {
    const record = lines.read(line);
    if (record === "blank") continue;
    if (record === null) {
      losses.line("a line that cannot be read", line);
      continue;
    }
    const uuid = stringAt(record, "uuid");
    if (uuid !== null && byUuid.has(uuid)) {
      losses.line("a repeated line", line);
      continue;
    }
    facts.id ??= stringAt(record, "sessionId");
    facts.cwd ??= stringAt(record, "cwd");
    facts.createdAt ??= timeAt(record, "timestamp");
    const title = titleOf(record);
    if (title !== null) titles.set(record.type as string, title);
    const known = factsOf(record, uuid);
    lineFacts.set(line, known);
    if (uuid !== null) byUuid.set(uuid, line);
    if (known.messageId !== null) {
      const group = byMessage.get(known.messageId);
      if (group === undefined) byMessage.set(known.messageId, [line]);
      else group.push(line);
    }
    if (known.kind !== "user") continue;
    for (const block of listAt(recordAt(record, "message"), "content")) {
      const result = asRecord(block);
      if (result?.type === "tool_result") results.add(stringAt(result, "tool_use_id") ?? "", line);
    }
  }
  return { facts, lineFacts, byUuid, byMessage, results, titles };
}

function factsOf(record: ForeignRecord, uuid: string | null): LineFacts {
  const kind = record.type === "user" || record.type === "assistant" ? record.type : "other";
  return {
    uuid,
    kind,
    parent: stringAt(record, "parentUuid"),
    logicalParent: stringAt(record, "logicalParentUuid"),
    messageId: kind === "assistant" ? stringAt(recordAt(record, "message"), "id") : null,
    isSidechain: record.isSidechain === true,
    isSummary: record.isCompactSummary === true,
  };
}

function titleOf(record: ForeignRecord): string | null {
  if (!TITLE_TYPES.includes(record.type as string)) return null;
  for (const key of ["customTitle", "agentName", "aiTitle", "title", "summary", "name"]) {
    const title = stringAt(record, key);
    if (title !== null) return title;
  }
  return null;
}

/** The lines from the root to the newest message. Sidechains count only in a file that holds nothing else. */
function branch({ lineFacts, byUuid }: Survey, losses: Losses): number[] {
  const messages = [...lineFacts].filter(([, { kind }]) => kind !== "other");
  const main = messages.filter(([, { isSidechain }]) => !isSidechain);
  const own = main.length > 0 ? main : messages;
  const leaf = own.at(-1);
  if (leaf === undefined) return [];
  if (own.every(([, { uuid }]) => uuid === null)) {
    losses.infer("the lines name no parents: they were taken in the order of the file");
    return own.map(([line]) => line);
  }
  const order = own.map(([line]) => line);
  return chainFrom(leaf[0], (line) => {
    const { parent, logicalParent, isSummary } = lineFacts.get(line)!;
    const linked = byUuid.get(parent ?? logicalParent ?? "");
    if (linked !== undefined) return linked;
    if (parent === null && logicalParent === null && !isSummary) return null;
    losses.infer("a line whose parent is not in the file was taken to follow the line before it");
    return lastBelow(order, line);
  }, losses);
}

/** The last of ascending numbers that is below `limit`, or `null`. */
function lastBelow(ascending: readonly number[], limit: number): number | null {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? null : ascending[low - 1]!;
}

class Emitter {
  /** Lines that are in the session, at least in part. */
  readonly used = new Set<number>();
  readonly #messages = new Set<string>();

  constructor(
    readonly lines: ForeignLines,
    readonly losses: Losses,
    readonly builder: SessionBuilder,
    readonly survey: Survey,
  ) {}

  line(line: number): void {
    const { kind, messageId } = this.survey.lineFacts.get(line)!;
    if (kind === "user") this.#user(line);
    if (kind !== "assistant") return;
    if (messageId === null) return this.#answer([line]);
    if (this.#messages.has(messageId)) return;
    this.#messages.add(messageId);
    this.#answer(this.survey.byMessage.get(messageId)!);
  }

  #user(line: number): void {
    const record = this.lines.record(line);
    const message = recordAt(record, "message");
    const content = contentBlocks(message.content, line, this.losses, false);
    if (content.length === 0) return;
    this.used.add(line);
    const place = placeOf(record, line);
    if (record.isCompactSummary === true) return this.builder.compact(content, null, place);
    const [first] = content;
    const isProgram = record.isMeta === true || (first?.type === "text" && PROGRAM_TEXT.test(first.text));
    this.builder.say(content, isProgram ? PROGRAM : PERSON, place);
  }

  #answer(group: readonly number[]): void {
    const content: Block[] = [];
    const calls = new Set<string>();
    const parts: Omit<ForeignAnswer, "content">[] = [];
    for (const line of group) {
      const record = this.lines.record(line);
      const message = recordAt(record, "message");
      this.used.add(line);
      if (record.isApiErrorMessage === true) {
        this.losses.line("an error message of the program", line);
        continue;
      }
      for (const block of contentBlocks(message.content, line, this.losses, true)) {
        // A line may repeat what an earlier one of the same answer held.
        if (block.type === "tool-call" && block.id !== "" && calls.has(block.id)) continue;
        if (block.type === "tool-call") calls.add(block.id);
        content.push(block);
      }
      const model = stringAt(message, "model") ?? "unknown";
      const usage = usageOf(recordAt(message, "usage"), USAGE);
      parts.push({ ...placeOf(record, line), provider: "anthropic", model, usage });
    }
    const [first] = parts;
    if (first === undefined) return;
    if (content.length === 0) return this.losses.part("an empty answer", group[0]!);
    const usage = parts.findLast((part) => part.usage !== null)?.usage ?? null;
    this.builder.answer({ ...first, usage, content }, (callId) => this.#result(callId));
  }

  #result(callId: string): ForeignResult | null {
    const line = this.survey.results.use(callId);
    if (line === null) return null;
    const record = this.lines.record(line);
    for (const block of listAt(recordAt(record, "message"), "content")) {
      const result = asRecord(block);
      if (result?.type !== "tool_result" || (stringAt(result, "tool_use_id") ?? "") !== callId) continue;
      this.used.add(line);
      const content = contentBlocks(result.content, line, this.losses, false);
      return { ...placeOf(record, line), content, isError: result.is_error === true };
    }
    return null;
  }
}

/** The blocks of a content that is a text or a list. Results are left to the calls they answer. */
function contentBlocks(content: unknown, line: number, losses: Losses, isAnswer: boolean): Block[] {
  if (typeof content === "string") return content === "" ? [] : [textBlock(content)];
  if (!Array.isArray(content)) return [];
  const blocks: Block[] = [];
  for (const item of content) {
    const block = typeof item === "string" ? { type: "text", text: item } : asRecord(item);
    switch (block?.type) {
      case "text":
        if (typeof block.text === "string" && block.text !== "") blocks.push(textBlock(block.text));
        break;
      case "thinking":
        if (isAnswer && typeof block.thinking === "string" && block.thinking !== "") {
          blocks.push({ type: "reasoning", text: block.thinking });
          if (stringAt(block, "signature") !== null) losses.part("the signature of a thought", line);
        } else losses.part("a thought without text", line);
        break;
      case "tool_use":
        if (isAnswer) {
          const [id, name] = [stringAt(block, "id") ?? "", stringAt(block, "name") ?? "unknown"];
          blocks.push({ type: "tool-call", id, name, arguments: argumentsText(block.input) });
        } else losses.part("a call outside of an answer", line);
        break;
      case "tool_result":
        break;
      case "image":
      case "document":
        losses.part(block.type === "image" ? "an image" : "a document", line);
        blocks.push(attachmentBlock(block.type, stringAt(recordAt(block, "source"), "media_type")));
        break;
      default:
        losses.part(`a block of type "${block === null ? "none" : typeName(block)}"`, line);
    }
  }
  return blocks;
}

function reportUnused(lines: ForeignLines, losses: Losses, line: number, { kind, isSidechain }: LineFacts): void {
  if (isSidechain) return losses.line("a line of a subagent (sidechain)", line);
  if (kind === "other") {
    const record = lines.record(line);
    const subtype = stringAt(record, "subtype");
    // These two leave their trace in the session.
    if (subtype === "compact_boundary" || titleOf(record) !== null) return;
    return losses.line(
      `a line of type "${typeName(record)}${subtype === null ? "" : `/${subtype.slice(0, 40)}`}"`,
      line,
    );
  }
  const hasResult = listAt(recordAt(lines.record(line), "message"), "content")
    .some((block) => asRecord(block)?.type === "tool_result");
  losses.line(
    hasResult ? "a result of a call that is not in the session" : "a message of another branch, or an empty one",
    line,
  );
}
