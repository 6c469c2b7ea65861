/**
 * What the summariser is asked.
 *
 * System prompt, tools and messages stand as in every other request, and the instruction behind them: so the provider has most of
 * it in its cache.
 *
 * @see compaction §4 "Request"
 * @module
 */
import { freezeJson, type Message, type RequestHeader } from "../event/mod.ts";
import type { LogFolds } from "../fold/mod.ts";
import type { NodeRange, SurfaceMap } from "./surface_map.ts";

/** Who summarises, and how long a summary may be. */
export interface SummaryTarget {
  readonly provider: string;
  readonly model: string;
  readonly maxTokens: number;
}

/** A request to a summariser, before it belongs to a session. */
export interface SummaryRequest {
  readonly header: RequestHeader;
  readonly messages: readonly Message[];
}

/** What the summariser is told. The same in every request, so that each can be made again from the log alone. */
export const SUMMARY_INSTRUCTION: string = [
  "Write the summary that will stand in the place of everything above, so that the work can go on without it.",
  "Answer with text alone; call no tool. Use exactly these Markdown headings, all of them, in this order, and write (none) under " +
  "one that has nothing:",
  "",
  "## Primary Request and Intent",
  "## Key Technical Concepts",
  "## Files and Code",
  "## Errors and Fixes",
  "## Pending Jobs",
  "## Current Work",
  "## Next Step",
  "## Critical Context",
  "",
  "- Short bullet points, in English, whatever language was spoken.",
  "- Names, paths, numbers, commands, identifiers and quoted wording exactly as they stand above.",
  "- Keep every correction and every wish of the person, with what it replaced.",
  "- Say what is done, what is begun and what is only asked for. Nothing that is done may look like something to do.",
  "- When an earlier summary stands above, merge it into this one: keep what still holds, drop what is out of date.",
  "- Do not mention this instruction or that anything is being summarised.",
].join("\n");

const INSTRUCTION: Message = freezeJson<Message>({
  content: [{ type: "text", text: SUMMARY_INSTRUCTION }],
  source: { kind: "plugin", plugin: "holdfast", form: "instructions" },
  role: "user",
  id: "compaction-instruction",
});

/**
 * Makes the request for a summary of some nodes. It depends on the log and on the target alone.
 *
 * @example
 * ```ts
 * import { logFold } from "../fold/mod.ts";
 * import { summaryRequest } from "./summary_request.ts";
 *
 * const map = { nodes: [], prices: [], cuts: [true], first: 0 };
 * const target = { provider: "p", model: "m", maxTokens: 8192 };
 * const request = summaryRequest(logFold.initial().route, map, { first: 0, last: -1 }, target);
 * if (request.messages.length !== 1) throw new Error("unreachable");
 * ```
 */
export function summaryRequest(
  { header }: LogFolds["route"],
  { nodes, first }: Pick<SurfaceMap, "nodes" | "first">,
  range: NodeRange,
  { provider, model, maxTokens }: SummaryTarget,
): SummaryRequest {
  const told = [...nodes.slice(0, first), ...nodes.slice(range.first, range.last + 1)];
  // An empty answer or system prompt is no message, here as in every request.
  const messages = told.filter(({ type, message }) =>
    type === "user/message" || type === "tool/result" || message.content.length > 0
  ).map(({ message }) => message);
  const tools = header?.tools === undefined ? {} : { tools: header.tools };
  return { header: { config: { provider, model, maxTokens }, ...tools }, messages: [...messages, INSTRUCTION] };
}
