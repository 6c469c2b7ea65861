/**
 * Shows a turn while it runs: streamed text, calls with their arguments, results, and that something is awaited.
 *
 * @module
 */
import { type Block, isEvent, type LiveEvent, type SessionEvent } from "../../mod.ts";
import { counted, piece } from "./format.ts";
import type { Output } from "./output.ts";
import type { Progress } from "./progress.ts";

/** Watches an agent session and writes what a person wants to see. */
export class Transcript {
  readonly #out: Output;
  /** Whether the cursor stands behind streamed text. */
  #isInText = false;
  /** Half of a character whose other half comes with the next chunk. */
  #halfCharacter = "";
  /** What was streamed of the answer that is coming. */
  #streamed = "";
  /** What the assistant said in this turn, one text per answer. */
  #texts: string[] = [];
  #told = new Set<unknown>();
  /** What the newest summary stands for. */
  #shadowed = { messages: 0, tokens: 0 };
  /** Something that takes its time, when nothing else is on the line. */
  #waiting: Progress | null = null;

  constructor(out: Output) {
    this.#out = out;
  }

  /** What the assistant said since the last `endTurn()`. */
  get text(): string {
    return this.#texts.join("\n\n");
  }

  /** Whether this error was shown since the last `endTurn()`. */
  hasTold(error: unknown): boolean {
    return this.#told.has(error);
  }

  /** Takes what an agent session tells. */
  watch(live: LiveEvent): void {
    switch (live.kind) {
      case "chunk":
        if (live.chunk.type === "text-delta") this.#stream(live.chunk.text);
        break;
      case "event":
        this.#event(live.event);
        break;
      case "tool-start":
        this.#await(`${piece(live.name)} is running`);
        break;
      case "warning":
        this.note(piece(live.message));
        break;
      case "error":
        this.#told.add(live.error);
        this.note(messageOf(live.error));
        break;
      case "status":
        if (live.status === "idle") this.#stopWaiting();
    }
  }

  /** A line of its own. */
  line(text: string): void {
    this.#endText();
    this.#out.line(text);
  }

  /** A diagnostic on a line of its own. */
  note(text: string): void {
    this.#endText();
    this.#out.note(text);
  }

  /** A clean start for the next turn. */
  endTurn(): void {
    this.#endText();
    this.#texts = [];
    this.#streamed = "";
    this.#told.clear();
  }

  #event(event: SessionEvent): void {
    if (event.type.startsWith("compaction/")) {
      this.#compaction(event);
    } else if (event.surfaceOp !== undefined && event.surfaceOp !== "append") {
      // Only the model reads something else now: what a person was shown stays as it was.
    } else if (
      isEvent(event, "request/header") || isEvent(event, "request/context") || isEvent(event, "user/message")
    ) {
      this.#await("waiting for the model");
    } else if (isEvent(event, "assistant/message")) {
      this.#answer(event.data.message.content);
      if (event.data.interrupted === true) this.note("(interrupted)");
    } else if (isEvent(event, "tool/call")) {
      this.line(`→ ${piece(event.data.name)} ${piece(event.data.arguments)}`);
    } else if (isEvent(event, "tool/result")) {
      this.#result(event.data.message.content);
      this.#await("waiting for the model");
    } else if (isEvent(event, "approval/asked") || isEvent(event, "turn/end")) {
      this.#stopWaiting();
    }
  }

  /** A compaction that a person asked for is told by whoever asked; one that came by itself is told here. */
  #compaction(event: SessionEvent): void {
    if (isEvent(event, "compaction/start")) {
      this.#await("summarising the earlier conversation");
    } else if (isEvent(event, "compaction/summary")) {
      const { shadowedSeqs, shadowedTokenCount } = event.data;
      this.#shadowed = { messages: shadowedSeqs.length, tokens: shadowedTokenCount };
    } else if (isEvent(event, "compaction/end")) {
      this.#stopWaiting();
      const { error, turn } = event.data;
      // Of one that came by itself a warning tells why.
      if (error !== undefined) {
        return turn === null ? this.note(`Compaction came to nothing: ${piece(error)}`) : undefined;
      }
      const { messages, tokens } = this.#shadowed;
      if (turn !== null) {
        this.note(`(compacted ${counted(messages, "message")} of about ${tokens} tokens; the log keeps them)`);
      }
    }
  }

  /** Calls are shown when they are recorded, and what was streamed is not said twice. */
  #answer(content: readonly Block[]): void {
    const texts = content.flatMap((block) => block.type === "text" ? [block.text] : []);
    const text = texts.join("");
    if (text.startsWith(this.#streamed)) this.#stream(text.slice(this.#streamed.length));
    else this.line(text);
    this.#endText();
    this.#streamed = "";
    if (text !== "") this.#texts.push(texts.join("\n\n"));
  }

  #result(content: readonly Block[]): void {
    for (const block of content) {
      if (block.type !== "tool-result") continue;
      const text = block.content.map((inner) => inner.type === "text" ? inner.text : `[${inner.type}]`).join(" ");
      this.line(`← ${block.isError === true ? "" : "ok: "}${piece(text)}`);
    }
  }

  #stream(text: string): void {
    this.#streamed += text;
    const whole = this.#halfCharacter + text;
    this.#halfCharacter = /[\ud800-\udbff]$/.exec(whole)?.[0] ?? "";
    const shown = whole.slice(0, whole.length - this.#halfCharacter.length);
    if (shown === "") return;
    this.#stopWaiting();
    this.#isInText = true;
    this.#out.write(shown);
  }

  #endText(): void {
    this.#stopWaiting();
    if (this.#halfCharacter !== "") this.#out.write(this.#halfCharacter);
    this.#halfCharacter = "";
    if (this.#isInText) this.#out.line();
    this.#isInText = false;
  }

  #await(what: string): void {
    this.#stopWaiting();
    // A line that is drawn over and over would take the text that stands on it away.
    if (!this.#isInText) this.#waiting = this.#out.progress(what);
  }

  #stopWaiting(): void {
    this.#waiting?.[Symbol.dispose]();
    this.#waiting = null;
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? `${error.code}: ${error.message}` : error.message;
}
