/**
 * The tool that reads what a result was before it was spilled or cut.
 *
 * @module
 */
import { isEvent } from "../event/mod.ts";
import { priceOfText } from "../fold/mod.ts";
import type { Session } from "../session/mod.ts";
import { defineTool, type Tool, ToolError } from "../tool/mod.ts";
import { digestOf, type Located, parseLocator } from "./locator.ts";
import { READ_RESULT, spilledText } from "./spill.ts";

/** The most UTF-16 units one call reads; fewer where they would take too much of the model's window. */
export const READ_RESULT_CHARS_MAX = 16_384;

/**
 * Makes the tool.
 *
 * A call reads only what belongs to its own session: a locator that names a blob of another session finds nothing.
 *
 * @param sessionOf the open session of an id
 * @param tokensMax how many tokens one call may read now. Default: any number
 *
 * @example
 * ```ts
 * import { readResultTool } from "./read_result.ts";
 *
 * if (readResultTool(() => null).name !== "read_result") throw new Error("unreachable");
 * ```
 */
export function readResultTool(
  sessionOf: (id: string) => Session | null,
  tokensMax: () => number = () => Infinity,
): Tool {
  return defineTool({
    name: READ_RESULT,
    description:
      "Reads a part of an earlier tool result that is not shown whole. Its locator stands where the text was cut: " +
      '"blob:…" or "result:…".',
    parameters: {
      type: "object",
      properties: {
        locator: { type: "string" },
        from: { type: "integer", minimum: 0, description: "First character to read. Default 0." },
        limit: { type: "integer", minimum: 1, maximum: READ_RESULT_CHARS_MAX, description: "How many characters." },
      },
      required: ["locator"],
      additionalProperties: false,
    },
    effect: "none",
    isConcurrencySafe: () => true,
    async execute(args, { sessionId }) {
      const { locator, from = 0, limit = READ_RESULT_CHARS_MAX } = args as {
        readonly locator: string;
        readonly from?: number;
        readonly limit?: number;
      };
      const session = sessionOf(sessionId);
      const located = parseLocator(locator);
      const text = session === null || located === null ? null : await textOf(session, located);
      if (text === null) throw new ToolError("NOT_FOUND", `there is no "${locator}" in this session`);
      return slice(text, from, fittingLimit(text, from, limit, tokensMax()));
    },
  });
}

async function textOf(session: Session, located: Located): Promise<string | null> {
  if (located.kind === "result") return await resultText(session, located.seq);
  const { spilled } = session.folds;
  const digest = digestOf(located.digits, spilled);
  if (digest === null) return null;
  return await spilledText(session, spilled.texts.at(spilled.texts.findIndex(digest))!);
}

async function resultText(session: Session, seq: number): Promise<string | null> {
  if (seq >= session.nextSeq) return null;
  const { events: [event] } = await session.history({ from: seq, limit: 1 });
  if (event === undefined || !isEvent(event, "tool/result")) return null;
  const [block] = event.data.message.content;
  if (block?.type !== "tool-result") return null;
  return block.content.map((inner) => inner.type === "text" ? inner.text : `[${inner.type}]`).join("\n");
}

/** How many units from an index on take at most so many tokens, up to a limit. */
function fittingLimit(text: string, from: number, limit: number, tokensMax: number): number {
  let fitting = limit;
  for (;;) {
    const tokens = priceOfText(text.slice(from, from + fitting));
    if (tokens <= tokensMax || fitting <= 1) return fitting;
    fitting = Math.max(1, Math.floor(fitting * tokensMax / tokens));
  }
}

/** Whole characters only: a pair of surrogates belongs to the part in which it begins. */
function slice(text: string, from: number, limit: number): string {
  const start = isInsidePair(text, from) ? from + 1 : from;
  const end = Math.min(text.length, isInsidePair(text, from + limit) ? from + limit + 1 : from + limit);
  if (start >= text.length) return `[there is nothing from ${from} on: the text has ${text.length} characters]`;
  const rest = end < text.length ? `; go on with from = ${end}` : "";
  return `${text.slice(start, end)}\n\n[characters ${start} to ${end} of ${text.length}${rest}]`;
}

function isInsidePair(text: string, index: number): boolean {
  const [high, low] = [text.charCodeAt(index - 1), text.charCodeAt(index)];
  return high >= 0xd800 && high <= 0xdbff && low >= 0xdc00 && low <= 0xdfff;
}
