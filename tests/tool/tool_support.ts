/**
 * A session with an open step that proposes calls, and what is needed to run them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { ApprovalHooks } from "../../src/approval/mod.ts";
import { encodeRow, type EventData, isEvent, parseRow, type SessionEvent } from "../../src/event/mod.ts";
import { bracketsFold, foldEvents, logFold } from "../../src/fold/mod.ts";
import { Hooks } from "../../src/hooks/mod.ts";
import { createSession, type Session } from "../../src/session/mod.ts";
import {
  defineTool,
  type Tool,
  type ToolCall,
  type ToolDefinition,
  type ToolHooks,
  type ToolOutcome,
} from "../../src/tool/mod.ts";
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

/** A call as {@linkcode run} takes it. */
export interface GivenCall {
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: string;
}

/** Everything a call is run with, for a test that uses the parts of the pipeline one by one. */
export function contextOf(
  session: Session,
  tools: readonly Tool[],
  context: Partial<PipelineContext> = {},
): PipelineContext {
  return {
    session,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    guards: [],
    approvers: [],
    policy: "ask",
    signal: new AbortController().signal,
    ...context,
  };
}

/** A registry without listeners. */
export function newHooks(): Hooks<ToolHooks & ApprovalHooks> {
  return new Hooks<ToolHooks & ApprovalHooks>();
}

/** Proposes and runs one call. */
export function run(
  session: Session,
  tools: readonly Tool[],
  call: GivenCall = {},
  context: Partial<PipelineContext> = {},
) {
  const { id = `c${session.nextSeq}`, name = "act", arguments: args = "{}" } = call;
  propose(session, [{ id, name, arguments: args }]);
  const proposed = { turn: 1, step: 1, callId: id, name, arguments: args };
  return runToolCall(proposed, contextOf(session, tools, context));
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

/** What a body is given, for a test that calls it without any pipeline. */
export function bodyCall(facts: Partial<ToolCall> = {}): ToolCall {
  return {
    sessionId: "s1",
    turn: 1,
    step: 1,
    callId: "c1",
    rootCallId: "c1",
    providerCallId: "c1",
    callSeq: 4,
    effectKey: "0123456789abcdef0123456789abcdef",
    effect: "opaque",
    signal: new AbortController().signal,
    deferContext() {},
    concludeTurn() {},
    dispatch: () => Promise.reject(new TypeError("this body makes no calls")),
    ...facts,
  };
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

/** What the model reads of an outcome. */
export function textOf({ content }: Pick<ToolOutcome, "content">): string {
  return content.map((block) => block.type === "text" ? block.text : "").join("|");
}

/** The data of all events of one type. */
export async function dataOf<Type extends keyof EventData>(session: Session, type: Type): Promise<EventData[Type][]> {
  return (await eventsOf(session)).flatMap((event) => isEvent(event, type) ? [event.data] : []);
}

/**
 * The promises of the pipeline, checked against the log as a stranger would: it nests, each call of the step is answered exactly
 * once, each grant is on record before its call's marker.
 */
export async function checkPromises(session: Session): Promise<void> {
  const events = (await eventsOf(session)).map((event) => parseRow(encodeRow(event)));
  assertEquals(foldEvents(bracketsFold, events).problems.first, []);
  const { pendingCalls } = foldEvents(logFold, events);
  assertEquals(pendingCalls.calls.map(({ callId }) => callId), [], "unanswered calls");
  assertEquals(pendingCalls.questions, [], "open questions");
}
