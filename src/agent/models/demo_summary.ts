/**
 * The summary that the demo model writes: it understands nothing, and so it only lists what was asked and how often which tool was
 * called.
 *
 * @module
 */
import type { Message } from "../../event/mod.ts";

/** How many of the newest prompts it lists. */
const PROMPTS_MAX = 8;

/** How much of each prompt, in code points. */
const PROMPT_CHARS_MAX = 60;

/**
 * Lists what happened in a conversation.
 *
 * @example
 * ```ts
 * import { demoSummary } from "./demo_summary.ts";
 *
 * const message = { id: "m", role: "user" as const, content: [{ type: "text" as const, text: "hi" }], source: { kind: "user" } };
 * if (!demoSummary([message]).includes("- hi")) throw new Error("unreachable");
 * ```
 */
export function demoSummary(messages: readonly Message[]): string {
  const prompts = messages.filter(({ source }) => source.kind === "user").map((message) => beginning(textOf(message)));
  const calls = new Map<string, number>();
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type === "tool-call") calls.set(block.name, (calls.get(block.name) ?? 0) + 1);
    }
  }
  const earlier = messages.filter(({ source }) => source.plugin === "compact").map((message) =>
    listedIn(textOf(message))
  );
  const listed = [...earlier.flat(), ...prompts];
  const left = listed.length - PROMPTS_MAX;
  return [
    "## Primary Request and Intent",
    ...(left > 0 ? [`- ${left} more, earlier`] : []),
    ...listed.slice(-PROMPTS_MAX).map((prompt) => `- ${prompt}`),
    "## Current Work",
    ...(calls.size === 0 ? ["(none)"] : [...calls].map(([name, count]) => `- ${name}: ${count} calls`)),
    "## Critical Context",
    "- This is the demo model's summary: it only lists what was asked.",
  ].join("\n");
}

/** What an earlier summary of ours listed. */
function listedIn(text: string): string[] {
  const [, section = ""] = text.split("## Primary Request and Intent");
  return section.split("##")[0]!.split("\n").filter((line) => line.startsWith("- ") && !line.endsWith(" more, earlier"))
    .map((line) => line.slice(2));
}

function beginning(text: string): string {
  const characters = [...text.replace(/\s+/g, " ").trim()];
  return characters.length > PROMPT_CHARS_MAX
    ? `${characters.slice(0, PROMPT_CHARS_MAX).join("")} …`
    : characters.join("");
}

function textOf({ content }: Message): string {
  return content.map((block) => block.type === "text" ? block.text : "").join("\n");
}
