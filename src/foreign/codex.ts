/**
 * Session logs of OpenAI Codex ("rollouts"): JSON lines of `{timestamp, type, payload}`.
 *
 * A rollout holds two logs that interleave: what the model was sent and answered (`response_item`), and what the screen showed
 * (`event_msg`). The first alone makes the session. Older rollouts have the items without the envelope.
 *
 * @see the public notes on the format: txcript, docs/formats/codex.md
 * @module
 */
import type { Block, MessageSource } from "../event/mod.ts";
import type { ForeignResult, SessionBuilder } from "./builder.ts";
import type { ForeignLines } from "./lines.ts";
import type { Losses } from "./losses.ts";
import { attachmentBlock, type ForeignReader, placeOf, ResultIndex, textBlock, typeName } from "./reader.ts";
import { argumentsText, asRecord, type ForeignRecord, listAt, recordAt, stringAt, timeAt } from "./record.ts";

const PROGRAM: MessageSource = { kind: "plugin", plugin: "codex" };
const PERSON: MessageSource = { kind: "user" };

/** What the program itself put into the conversation: one element from the first character to the last, or its instructions. */
const PROGRAM_TEXT = /^\s*(?:<([a-z_ -]+)>[\s\S]*<\/\1>\s*$|# AGENTS\.md instructions)/;

/** The items of the model's log. In an old rollout they stand without the envelope. */
const ITEM_TYPES: ReadonlySet<unknown> = new Set([
  "message",
  "reasoning",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "local_shell_call",
  "local_shell_call_output",
  "web_search_call",
]);

/** A line, with its envelope or as if it had one. */
interface Item {
  readonly type: string;
  readonly payload: ForeignRecord;
}

/** Looks a rollout through. */
export function openCodex(lines: ForeignLines, losses: Losses): ForeignReader {
  const results = new ResultIndex();
  const readable: number[] = [];
  const facts: { id: string | null; createdAt: number | null; cwd: string | null } = {
    id: null,
    createdAt: null,
    cwd: null,
  };
  let provider = "openai";
  for (let line = 0; line < lines.count; line++) {
    const record = lines.read(line);
    if (record === "blank") continue;
    if (record === null) {
      losses.line("a line that cannot be read", line);
      continue;
    }
    readable.push(line);
    const { type, payload } = itemOf(record);
    facts.createdAt ??= timeAt(record, "timestamp");
    if (type === "session_meta" && facts.id === null) {
      facts.id = stringAt(payload, "id") ?? "";
      facts.cwd = stringAt(payload, "cwd");
      facts.createdAt = timeAt(payload, "timestamp") ?? facts.createdAt;
      provider = stringAt(payload, "model_provider") ?? provider;
    }
    if (type === "response_item" && isOutput(payload)) results.add(stringAt(payload, "call_id") ?? "", line);
  }
  return {
    facts: { ...facts, id: facts.id === "" ? null : facts.id },
    *messages(builder) {
      const emitter = new Emitter(lines, losses, builder, results, provider);
      for (const line of readable) {
        emitter.line(line);
        yield;
      }
      emitter.flush();
      for (const line of results.unused()) losses.line("a result of a call that is not in the session", line);
    },
  };
}

function itemOf(record: ForeignRecord): Item {
  const type = stringAt(record, "type");
  const payload = asRecord(record.payload);
  if (type !== null && payload !== null) return { type, payload };
  if (ITEM_TYPES.has(type)) return { type: "response_item", payload: record };
  if (type === null && stringAt(record, "id") !== null) return { type: "session_meta", payload: record };
  return { type: type ?? stringAt(record, "record_type") ?? "none", payload: record };
}

function isOutput({ type }: ForeignRecord): boolean {
  return typeof type === "string" && type.endsWith("_call_output");
}

/** One answer of the model while its items come in. */
interface OpenAnswer {
  readonly line: number;
  readonly time: number | null;
  readonly content: Block[];
  /** Whether a result of one of its calls was seen: what the model says next is another answer. */
  isAnswered: boolean;
}

class Emitter {
  #model = "unknown";
  #open: OpenAnswer | null = null;

  constructor(
    readonly lines: ForeignLines,
    readonly losses: Losses,
    readonly builder: SessionBuilder,
    readonly results: ResultIndex,
    readonly provider: string,
  ) {}

  line(line: number): void {
    const record = this.lines.record(line);
    const { type, payload } = itemOf(record);
    switch (type) {
      case "session_meta":
        return;
      case "turn_context":
        this.#model = stringAt(payload, "model") ?? this.#model;
        return;
      case "response_item":
        return this.#item(record, payload, line);
      case "compacted":
        this.flush();
        return this.builder.compact(this.#summary(payload, line), null, placeOf(record, line));
      case "event_msg":
        if (payload.type === "turn_aborted") {
          this.flush();
          this.builder.endTurn({ kind: "aborted", reason: { kind: "user" } });
        } else if (payload.type === "thread_rolled_back") {
          this.losses.line("a step back: what was taken back is in the session", line);
        } else this.losses.line(`a line for the screen, of type "${typeName(payload)}"`, line);
        return;
      default:
        this.losses.line(`a line of type "${type.slice(0, 60)}"`, line);
    }
  }

  /** Hands over the answer that is being gathered. */
  flush(): void {
    const open = this.#open;
    this.#open = null;
    if (open === null || open.content.length === 0) return;
    const { line, time, content } = open;
    const answer = { line, time, content, provider: this.provider, model: this.#model, usage: null };
    this.builder.answer(answer, (callId) => this.#result(callId));
  }

  #item(record: ForeignRecord, payload: ForeignRecord, line: number): void {
    switch (payload.type) {
      case "message":
        return this.#message(record, payload, line);
      case "reasoning":
        return this.#reasoning(record, payload, line);
      case "function_call":
        return this.#call(record, payload, line, "function", stringAt(payload, "arguments") ?? "");
      case "custom_tool_call":
        return this.#call(record, payload, line, "custom_tool", argumentsText({ input: payload.input ?? "" }));
      case "local_shell_call":
        return this.#call(record, payload, line, "local_shell", argumentsText(payload.action));
      default:
        if (isOutput(payload)) {
          const open = this.#open;
          const callId = stringAt(payload, "call_id") ?? "";
          // A late result of an earlier answer says nothing about this one.
          if (open?.content.some((block) => block.type === "tool-call" && block.id === callId)) open.isAnswered = true;
        } else this.losses.line(`an item of type "${typeName(payload)}"`, line);
    }
  }

  #message(record: ForeignRecord, payload: ForeignRecord, line: number): void {
    const content = contentBlocks(payload.content, line, this.losses);
    if (content.length === 0) return this.losses.line("an empty message", line);
    if (payload.role === "assistant") return void this.#answer(record, line).push(...content);
    if (payload.role !== "user") return this.losses.line("instructions for the model", line);
    this.flush();
    const isProgram = content.every((block) => block.type === "text" && PROGRAM_TEXT.test(block.text));
    this.builder.say(content, isProgram ? PROGRAM : PERSON, placeOf(record, line));
  }

  #reasoning(record: ForeignRecord, payload: ForeignRecord, line: number): void {
    if (stringAt(payload, "encrypted_content") !== null) this.losses.part("an encrypted thought", line);
    for (const item of [...listAt(payload, "summary"), ...listAt(payload, "content")]) {
      const text = stringAt(asRecord(item) ?? {}, "text");
      if (text !== null) this.#answer(record, line).push({ type: "reasoning", text });
    }
  }

  #call(record: ForeignRecord, payload: ForeignRecord, line: number, name: string, text: string): void {
    const id = stringAt(payload, "call_id") ?? stringAt(payload, "id") ?? "";
    const content = this.#answer(record, line);
    content.push({ type: "tool-call", id, name: stringAt(payload, "name") ?? name, arguments: text });
  }

  /** The blocks of the answer that is being gathered, a new one when the last has a result. */
  #answer(record: ForeignRecord, line: number): Block[] {
    if (this.#open?.isAnswered === true) this.flush();
    this.#open ??= { ...placeOf(record, line), content: [], isAnswered: false };
    return this.#open.content;
  }

  #result(callId: string): ForeignResult | null {
    const line = this.results.use(callId);
    if (line === null) return null;
    const record = this.lines.record(line);
    const { payload } = itemOf(record);
    return { ...placeOf(record, line), ...outputOf(payload.output, line, this.losses) };
  }

  /** The summary, or what it was made into: the messages that took the place of the conversation. */
  #summary(payload: ForeignRecord, line: number): Block[] {
    const message = stringAt(payload, "message");
    if (message !== null) {
      if (listAt(payload, "replacement_history").length > 0) {
        this.losses.part("a history that replaced the conversation", line);
      }
      return [textBlock(message)];
    }
    const blocks = listAt(payload, "replacement_history").flatMap((item) => {
      const content = contentBlocks(asRecord(item)?.content, line, this.losses);
      if (content.length === 0) this.losses.part("an item of a summary without text", line);
      return content;
    });
    return blocks.length > 0 ? blocks : [textBlock("[a summary that could not be read]")];
  }
}

function contentBlocks(content: unknown, line: number, losses: Losses): Block[] {
  if (typeof content === "string") return content === "" ? [] : [textBlock(content)];
  if (!Array.isArray(content)) return [];
  const blocks: Block[] = [];
  for (const item of content) {
    const block = asRecord(item) ?? {};
    switch (block.type) {
      case "input_text":
      case "output_text":
      case "text": {
        const text = stringAt(block, "text");
        if (text !== null) blocks.push(textBlock(text));
        break;
      }
      case "input_image":
        losses.part("an image", line);
        blocks.push(
          attachmentBlock("image", /^data:([\w/+.-]+)/.exec(stringAt(block, "image_url") ?? "")?.[1] ?? null),
        );
        break;
      default:
        losses.part(`a block of type "${typeName(block)}"`, line);
    }
  }
  return blocks;
}

/** What a tool gave back: a text, a list of blocks, or an object around one; older programs put the exit code beside it. */
function outputOf(output: unknown, line: number, losses: Losses): Pick<ForeignResult, "content" | "isError"> {
  const wrapped = asRecord(output);
  if (wrapped !== null) {
    const content = contentBlocks(wrapped.content ?? wrapped.content_items, line, losses);
    return { content, isError: wrapped.success === false };
  }
  if (typeof output === "string" && output.startsWith('{"output":')) {
    try {
      const parsed = asRecord(JSON.parse(output));
      const exitCode = recordAt(parsed ?? {}, "metadata").exit_code;
      if (typeof parsed?.output === "string" && typeof exitCode === "number") {
        return { content: [textBlock(parsed.output)], isError: exitCode !== 0 };
      }
    } catch {
      // It only looked like one: the text is taken as it is.
    }
  }
  return { content: contentBlocks(output, line, losses), isError: false };
}
