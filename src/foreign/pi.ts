/**
 * Session logs of pi: a tree of JSON lines, linked by `parentId` (version 2 and 3), or a plain list (version 1).
 *
 * @see pi's public document of the format, "Session File Format"
 * @module
 */
import type { Block, MessageSource, TurnEndReason } from "../event/mod.ts";
import type { ForeignPlace, ForeignResult, SessionBuilder } from "./builder.ts";
import type { ForeignLines } from "./lines.ts";
import type { Losses } from "./losses.ts";
import { attachmentBlock, chainFrom, type ForeignReader, ResultIndex, textBlock, typeName, usageOf } from "./reader.ts";
import { argumentsText, asRecord, type ForeignRecord, recordAt, stringAt, timeAt } from "./record.ts";

const PROGRAM: MessageSource = { kind: "plugin", plugin: "pi" };
const PERSON: MessageSource = { kind: "user" };
const USAGE = { input: "input", output: "output", read: "cacheRead", write: "cacheWrite" };

/** Looks a log of pi through. */
export function openPi(lines: ForeignLines, losses: Losses): ForeignReader {
  const byId = new Map<string, number>();
  const parents = new Map<number, string | null>();
  const facts: { id: string | null; createdAt: number | null; cwd: string | null } = {
    id: null,
    createdAt: null,
    cwd: null,
  };
  let hasHeader = false;
  let title: string | null = null;
  for (let line = 0; line < lines.count; line++) {
    const record = lines.read(line);
    if (record === "blank") continue;
    if (record === null) {
      losses.line("a line that cannot be read", line);
      continue;
    }
    if (record.type === "session" && !hasHeader) {
      hasHeader = true;
      facts.id = stringAt(record, "id");
      facts.cwd = stringAt(record, "cwd");
      facts.createdAt = timeAt(record, "timestamp");
      continue;
    }
    const id = stringAt(record, "id");
    if (id !== null && byId.has(id)) {
      losses.line("a repeated line", line);
      continue;
    }
    facts.createdAt ??= timeAt(record, "timestamp");
    if (id !== null) byId.set(id, line);
    if (record.type === "session_info") title = stringAt(record, "name") ?? title;
    parents.set(line, id === null ? null : stringAt(record, "parentId"));
  }
  return {
    facts,
    *messages(builder) {
      const chain = branch(parents, byId, losses);
      const emitter = new Emitter(lines, losses, builder, byId);
      for (const line of chain) emitter.index(line);
      for (const line of chain) {
        emitter.line(line);
        yield;
      }
      builder.endTurn();
      if (title !== null) builder.title(title);
      const isOnChain = new Set(chain);
      for (const line of parents.keys()) if (!isOnChain.has(line)) losses.line("a line of another branch", line);
      for (const line of emitter.results.unused()) losses.line("a result of a call that is not in the session", line);
    },
  };
}

/** The lines from the root to the last one of the file. */
function branch(
  parents: ReadonlyMap<number, string | null>,
  byId: ReadonlyMap<string, number>,
  losses: Losses,
): readonly number[] {
  const order = [...parents.keys()];
  const leaf = order.at(-1);
  if (leaf === undefined || byId.size === 0) return order;
  const before = new Map(order.map((line, index) => [line, index === 0 ? null : order[index - 1]!]));
  return chainFrom(leaf, (line) => {
    const parent = parents.get(line)!;
    if (parent === null) return null;
    const linked = byId.get(parent);
    if (linked !== undefined) return linked;
    losses.infer("a line whose parent is not in the file was taken to follow the line before it");
    return before.get(line) ?? null;
  }, losses);
}

class Emitter {
  readonly results = new ResultIndex();
  /** The seq of the message that an entry became. Of a result: that of the answer with its call. */
  readonly #seqs = new Map<number, number>();

  constructor(
    readonly lines: ForeignLines,
    readonly losses: Losses,
    readonly builder: SessionBuilder,
    readonly byId: ReadonlyMap<string, number>,
  ) {}

  /** Notes a result before any call is looked at. */
  index(line: number): void {
    const message = recordAt(this.lines.record(line), "message");
    if (message.role === "toolResult") this.results.add(stringAt(message, "toolCallId") ?? "", line);
  }

  line(line: number): void {
    const record = this.lines.record(line);
    const place = { line, time: timeAt(record, "timestamp") };
    switch (record.type) {
      case "message":
        return this.#message(recordAt(record, "message"), place);
      case "custom_message":
        return this.#say(record.content, PROGRAM, place);
      case "branch_summary":
        return this.#say(record.summary, PROGRAM, place);
      case "compaction": {
        const kept = this.byId.get(stringAt(record, "firstKeptEntryId") ?? "");
        const summary = textBlock(stringAt(record, "summary") ?? "[a summary that could not be read]");
        return this.builder.compact([summary], kept === undefined ? null : this.#seqs.get(kept) ?? null, place);
      }
      case "session_info":
        return;
      default:
        this.losses.line(`a line of type "${typeName(record)}"`, line);
    }
  }

  #message(message: ForeignRecord, place: ForeignPlace): void {
    switch (message.role) {
      case "user":
        return this.#say(message.content, PERSON, place);
      case "custom":
      case "hookMessage":
        return this.#say(message.content, PROGRAM, place);
      case "branchSummary":
      case "compactionSummary":
        return this.#say(message.summary, PROGRAM, place);
      case "assistant":
        return this.#answer(message, place);
      case "toolResult":
        return;
      case "bashExecution":
        if (message.excludeFromContext === true) break;
        return this.#say(
          `$ ${stringAt(message, "command") ?? ""}\n${stringAt(message, "output") ?? ""}`,
          PROGRAM,
          place,
        );
    }
    this.losses.line(`a message of role "${(stringAt(message, "role") ?? "none").slice(0, 60)}"`, place.line);
  }

  #say(content: unknown, source: MessageSource, place: ForeignPlace): void {
    const blocks = contentBlocks(content, place.line, this.losses);
    if (blocks.length === 0) return this.losses.line("an empty message", place.line);
    this.#seqs.set(place.line, this.builder.say(blocks, source, place));
  }

  #answer(message: ForeignRecord, place: ForeignPlace): void {
    const content = contentBlocks(message.content, place.line, this.losses);
    if (content.length === 0) return this.losses.line("an empty answer", place.line);
    const answered: number[] = [place.line];
    const seq = this.builder.answer({
      ...place,
      content,
      provider: stringAt(message, "provider") ?? "unknown",
      model: stringAt(message, "model") ?? "unknown",
      usage: usageOf(recordAt(message, "usage"), USAGE),
      ...endingOf(message.stopReason),
    }, (callId) => {
      const line = this.results.use(callId);
      if (line === null) return null;
      answered.push(line);
      return this.#result(line);
    });
    for (const line of answered) this.#seqs.set(line, seq);
  }

  #result(line: number): ForeignResult {
    const record = this.lines.record(line);
    const message = recordAt(record, "message");
    const content = contentBlocks(message.content, line, this.losses);
    return { line, time: timeAt(record, "timestamp"), content, isError: message.isError === true };
  }
}

function endingOf(stopReason: unknown): { readonly ending?: TurnEndReason } {
  if (stopReason === "length") return { ending: { kind: "max-tokens" } };
  if (stopReason === "aborted") return { ending: { kind: "aborted", reason: { kind: "user" } } };
  return {};
}

function contentBlocks(content: unknown, line: number, losses: Losses): Block[] {
  if (typeof content === "string") return content === "" ? [] : [textBlock(content)];
  if (!Array.isArray(content)) return [];
  const blocks: Block[] = [];
  for (const item of content) {
    const block = asRecord(item) ?? {};
    switch (block.type) {
      case "text": {
        const text = stringAt(block, "text");
        if (text !== null) blocks.push(textBlock(text));
        break;
      }
      case "thinking": {
        const text = stringAt(block, "thinking");
        if (text === null) losses.part("a thought without text", line);
        else blocks.push({ type: "reasoning", text });
        if (stringAt(block, "thinkingSignature") !== null) losses.part("the signature of a thought", line);
        break;
      }
      case "toolCall": {
        const [id, name] = [stringAt(block, "id") ?? "", stringAt(block, "name") ?? "unknown"];
        blocks.push({ type: "tool-call", id, name, arguments: argumentsText(block.arguments) });
        break;
      }
      case "image":
        losses.part("an image", line);
        blocks.push(attachmentBlock("image", stringAt(block, "mimeType")));
        break;
      default:
        losses.part(`a block of type "${typeName(block)}"`, line);
    }
  }
  return blocks;
}
