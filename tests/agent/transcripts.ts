/**
 * What providers refuse in a conversation, in three dialects. Written from their public rules, without any of our code.
 *
 * Each function says what the provider would complain about, or null. A message list is judged as an adapter would send it: text
 * without a visible character is left out, and so is a message of which nothing remains.
 *
 * @module
 */
import type { Message } from "../../src/event/mod.ts";

interface Call {
  readonly id: string;
  readonly name: string;
}

/** A message of the OpenAI-like dialects. */
interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  readonly calls: readonly Call[];
  readonly answers: string | null;
}

function chat(messages: readonly Message[]): ChatMessage[] {
  return messages.flatMap(({ role, content }): ChatMessage[] => {
    const text = content.map((block) => block.type === "text" ? block.text : "").join("").trim();
    const calls = content.flatMap((block) => block.type === "tool-call" ? [{ id: block.id, name: block.name }] : []);
    const results = content.flatMap((block) => block.type === "tool-result" ? [block.toolCallId] : []);
    const answers: ChatMessage[] = results.map((id) => ({ role: "tool", text: "", calls: [], answers: id }));
    const isSaid = text !== "" || calls.length > 0;
    return isSaid ? [...answers, { role, text, calls, answers: null }] : answers;
  });
}

/** OpenAI: behind a message with `tool_calls`, and nowhere else, one `tool` message per call, before anything else. */
export function openAiProblem(messages: readonly Message[]): string | null {
  const sent = chat(messages);
  let open = new Set<string>();
  for (const [index, { role, calls, answers }] of sent.entries()) {
    if (role === "system" && index > 0) return `message ${index} is a system message that is not the first`;
    if (role === "tool") {
      if (!open.delete(answers!)) return `message ${index} answers "${answers}", which waits for no answer`;
      continue;
    }
    if (open.size > 0) return `message ${index} comes before the answer to ${[...open].join()}`;
    open = new Set(calls.map(({ id }) => id));
    if (open.size < calls.length) return `message ${index} uses one id twice`;
    const bad = calls.find(({ id, name }) => id === "" || !/^[a-zA-Z0-9_-]{1,64}$/.test(name));
    if (bad !== undefined) return `message ${index} has a call "${bad.id}" of "${bad.name}"`;
  }
  return open.size > 0 ? `nothing answers ${[...open].join()}` : null;
}

/** DeepSeek: as above, the answers in the order of the calls, and the last word is not the model's. */
export function deepSeekProblem(messages: readonly Message[]): string | null {
  const sent = chat(messages);
  for (let index = 0; index < sent.length; index++) {
    const { role, calls } = sent[index]!;
    if (role === "tool") return `message ${index} answers nothing`;
    for (const { id } of calls) {
      index++;
      if (sent[index]?.answers !== id) return `message ${index} should answer "${id}"`;
    }
  }
  return sent.at(-1)?.role === "assistant" ? "the model has the last word" : null;
}

/**
 * The dialect of messages with blocks: two roles in turn, the first one the user's; each `tool_use` is answered by a
 * `tool_result` at the start of the very next message; an id of a call is never used again.
 */
export function messagesProblem(messages: readonly Message[]): string | null {
  const turns = inTurns(messages.filter(({ role }) => role !== "system"));
  const used = new Set<string>();
  for (const [index, { role, blocks }] of turns.entries()) {
    if (index === 0 && role !== "user") return "the first message is not the user's";
    const wanted = turns[index - 1]?.blocks.flatMap(({ call }) => call === null ? [] : [call]) ?? [];
    const given = blocks.flatMap(({ result }) => result === null ? [] : [result]);
    if (given.join() !== wanted.join()) return `message ${index} answers ${given.join()}, wanted ${wanted.join()}`;
    const isFirst = blocks.slice(0, given.length).every(({ result }) => result !== null);
    if (!isFirst) return `message ${index} says something before its answers`;
    for (const { call } of blocks) {
      if (call === null) continue;
      if (!/^[a-zA-Z0-9_-]+$/.test(call)) return `message ${index} has a call with the id "${call}"`;
      if (used.has(call)) return `message ${index} uses the id "${call}" again`;
      used.add(call);
    }
  }
  const last = turns.at(-1);
  return last?.role === "user" ? null : "the last message is not the user's";
}

interface Turn {
  readonly role: string;
  readonly blocks: { readonly call: string | null; readonly result: string | null }[];
}

/** Neighbours of one role are one message. */
function inTurns(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = [];
  for (const { role, content } of messages) {
    for (const block of content) {
      const call = block.type === "tool-call" ? block.id : null;
      const result = block.type === "tool-result" ? block.toolCallId : null;
      const isSaid = call !== null || result !== null || (block.type === "text" && block.text.trim() !== "");
      if (!isSaid) continue;
      if (turns.at(-1)?.role !== role) turns.push({ role, blocks: [] });
      turns.at(-1)!.blocks.push({ call, result });
    }
  }
  return turns;
}

/** What any of the three refuses, with its name; null when all take it. */
export function transcriptProblem(messages: readonly Message[]): string | null {
  for (const [name, problem] of Object.entries({ openAiProblem, messagesProblem, deepSeekProblem })) {
    const found = problem(messages);
    if (found !== null) return `${name}: ${found}`;
  }
  return null;
}
