/**
 * A session with an open step that proposes calls, and what is needed to run them.
 *
 * @module
 */
import type { SessionEvent } from "../../src/event/mod.ts";
import { createSession, type Session } from "../../src/session/mod.ts";
import { defineTool, type Tool, type ToolDefinition } from "../../src/tool/mod.ts";
import { type PipelineContext, runToolCall } from "../../src/tool/pipeline.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore, type FakeStoreOptions } from "../support/fake_store.ts";

/** A session with step 1 of turn 1 open. */
export async function openStep(options: FakeStoreOptions & { readonly volatile?: boolean } = {}) {
  const store = new FakeStore(options);
  const session = await createSession({ store, id: "s1", volatile: options.volatile });
  session.append({ type: "turn/start", data: { turn: 1 } });
  session.append({ type: "step/start", data: { turn: 1, step: 1 } });
  return { store, session };
}

/** The assistant message that proposes calls with these ids. */
export function propose(session: Session, calls: readonly { id: string; name: string; arguments: string }[]): void {
  const message = {
    role: "assistant",
    content: calls.map((call) => ({ type: "tool-call", ...call })),
    source: { kind: "model", provider: "p", model: "m" },
    id: `a${session.nextSeq}`,
  };
  session.append({ type: "assistant/message", data: { turn: 1, step: 1, message, stream: [] }, surfaceOp: "append" });
}

/** Proposes and runs one call. */
export function run(
  session: Session,
  tools: readonly Tool[],
  call: { id?: string; name: string; arguments?: string },
  context: Partial<PipelineContext> = {},
) {
  const { id = `c${session.nextSeq}`, name, arguments: args = "{}" } = call;
  propose(session, [{ id, name, arguments: args }]);
  return runToolCall({ turn: 1, step: 1, callId: id, name, arguments: args }, {
    session,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    guards: [],
    approvers: [],
    policy: "ask",
    signal: new AbortController().signal,
    ...context,
  });
}

/** A tool with an effect that needs no question, unless said otherwise. */
export function tool(definition: Partial<ToolDefinition> = {}): Tool {
  return defineTool({
    name: "act",
    description: "",
    parameters: {},
    effect: "opaque",
    permission: () => ({ decision: "allow" }),
    execute: () => "done",
    ...definition,
  });
}

/** Resolves when an event of this type was appended and everything that can settle then has. */
export function reached(session: Session, type: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  session.subscribe((event) => event.type === type && resolve(settle()));
  return promise;
}

export async function eventsOf(session: Session): Promise<readonly SessionEvent[]> {
  return (await session.history()).events;
}

/** The types of what one call added to the log: from `tool/call` on. */
export async function callTypes(session: Session): Promise<string[]> {
  const events = await eventsOf(session);
  return events.slice(events.findLastIndex((event) => event.type === "tool/call")).map((event) => event.type);
}
