/**
 * Calls and results side by side, as every provider demands: behind each message that calls, one result per call, in order.
 *
 * Our own logs are like that already and pass unchanged. Another program may have closed a step with a call unanswered, or
 * have put something between a call and its result; its log stays as it is, and only what the model is sent is put right.
 *
 * @see execution §1.4 (internal scheduler failure)
 * @module
 */
import { freezeJson, type Message, type ToolCallBlock } from "../event/mod.ts";

/** What the model reads where a closed step holds no result. It says nothing that the log does not prove. */
export const NO_RESULT_TEXT: string =
  "Error: there is no record of a result for this call. It may or may not have run: check " +
  "before repeating anything that has an effect.";

/** A call, and the result that was found for it. */
interface Slot {
  readonly call: ToolCallBlock;
  result: Message | null;
}

/**
 * Puts every result directly behind its call, answers the calls that have none, and unwraps results of no call into plain
 * messages. Deterministic, and the same messages when nothing is wrong with them.
 *
 * @example
 * ```ts
 * import { pairedMessages } from "./paired_messages.ts";
 *
 * const call = { type: "tool-call" as const, id: "c1", name: "pay", arguments: "{}" };
 * const source = { kind: "model", provider: "p", model: "m" };
 * const [asked, answer] = pairedMessages([{ id: "a", role: "assistant", content: [call], source }]);
 * if (asked?.id !== "a" || answer?.id !== "no-result-a-0") throw new Error("unreachable");
 * ```
 */
export function pairedMessages(messages: readonly Message[]): readonly Message[] {
  const { slots, strays } = pair(messages);
  return messages.flatMap((message) => {
    if (isResult(message)) return strays.has(message) ? [unwrapped(message)] : [];
    const answers = slots.get(message) ?? [];
    return [message, ...answers.map(({ call, result }, index) => result ?? noResult(message, call, index))];
  });
}

/** A result belongs to the newest call of its id that has none. A later message that uses the id again ends the waiting. */
function pair(messages: readonly Message[]) {
  const slots = new Map<Message, readonly Slot[]>();
  const strays = new Set<Message>();
  const waiting = new Map<string, Slot[]>();
  for (const message of messages) {
    if (isResult(message)) {
      const slot = waiting.get(answeredId(message))?.shift();
      if (slot === undefined) strays.add(message);
      else slot.result = message;
      continue;
    }
    const own = message.content.filter((block) => block.type === "tool-call").map((call) => ({ call, result: null }));
    if (own.length === 0) continue;
    slots.set(message, own);
    for (const { call: { id } } of own) waiting.set(id, own.filter(({ call }) => call.id === id));
  }
  return { slots, strays };
}

function isResult({ content }: Message): boolean {
  return content.length === 1 && content[0]!.type === "tool-result";
}

function answeredId({ content: [block] }: Message): string {
  return block?.type === "tool-result" ? block.toolCallId : "";
}

function noResult({ id }: Message, call: ToolCallBlock, index: number): Message {
  return freezeJson<Message>({
    id: `no-result-${id}-${index}`,
    role: "user",
    source: { kind: "tool", callId: call.id },
    content: [{
      type: "tool-result",
      toolCallId: call.id,
      content: [{ type: "text", text: NO_RESULT_TEXT }],
      isError: true,
    }],
  });
}

/** No provider takes a result without its call, and what it says must not be lost. */
function unwrapped(message: Message): Message {
  const [block] = message.content;
  return freezeJson<Message>({ ...message, content: block?.type === "tool-result" ? block.content : [] });
}
