/**
 * An agent on a fake store whose every request is checked: durable when it leaves, and rebuildable from the log alone.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import {
  type AgentOptions,
  type AgentSession,
  createAgent,
  requestOf,
  scripted,
  type ScriptStep,
} from "../../src/agent/mod.ts";
import { type Block, encodeRow, isEvent, parseRow, type SessionEvent } from "../../src/event/mod.ts";
import { bracketsFold, foldEvents, logFold } from "../../src/fold/mod.ts";
import type { Model, ModelRequest } from "../../src/model/model.ts";
import { defineTool, type Tool, type ToolDefinition } from "../../src/tool/mod.ts";
import { FakeStore } from "../support/fake_store.ts";

/** What a test looks at. */
export interface Stage {
  readonly store: FakeStore;
  readonly agent: ReturnType<typeof createAgent>;
  readonly session: AgentSession;
  readonly requests: readonly ModelRequest[];
}

/** An agent with a scripted model. */
export async function stage(
  steps: readonly ScriptStep[],
  options: Partial<AgentOptions> & { readonly store?: FakeStore } = {},
): Promise<Stage> {
  const store = options.store ?? new FakeStore();
  const model = options.model ?? scripted(steps, { clock: store.runtime.clock });
  const current: { session: AgentSession | null } = { session: null };
  const requests: ModelRequest[] = [];
  const agent = createAgent({ ...options, store, model: checked(model, store, current, requests) });
  const session = await agent.create({ id: "s1" });
  current.session = session;
  return { store, agent, session, requests };
}

/** Resumes in a new process: what was not durable is gone. */
export async function resumed(
  store: FakeStore,
  steps: readonly ScriptStep[],
  options: Partial<AgentOptions> = {},
): Promise<Stage> {
  const current: { session: AgentSession | null } = { session: null };
  const requests: ModelRequest[] = [];
  const model = options.model ?? scripted(steps, { clock: store.runtime.clock });
  const agent = createAgent({ ...options, store, model: checked(model, store, current, requests) });
  const session = await agent.resume("s1");
  current.session = session;
  return { store, agent, session, requests };
}

/** The same model, with a witness at its door. */
function checked(
  model: Model,
  store: FakeStore,
  current: { readonly session: AgentSession | null },
  requests: ModelRequest[],
): Model {
  return {
    ...model,
    async *stream(request, signal) {
      const { session } = current.session!;
      const durable = store.events("s1");
      assertEquals(durable.length, session.nextSeq, "a request left before everything it was made from was durable");
      assertEquals(request, requestOf("s1", foldEvents(logFold, durable)), "a request is not the one the log tells of");
      assert(Object.isFrozen(request) && Object.isFrozen(request.messages));
      requests.push(request);
      yield* model.stream(request, signal);
    },
  };
}

/** A tool that notes when its body runs. */
export function noting(notes: string[], definition: Partial<ToolDefinition> & { readonly name: string }): Tool {
  const execute = definition.execute ?? (() => "done");
  return defineTool({
    description: "",
    parameters: { type: "object" },
    effect: "none",
    ...definition,
    execute: (args, call) => {
      notes.push(`${definition.name} ${JSON.stringify(args)}`);
      return execute(args, call);
    },
  });
}

/** The events of the log, pending ones included, checked as a stranger would. */
export async function logOf({ session }: Stage): Promise<readonly SessionEvent[]> {
  const { events } = await session.session.history();
  const reread = events.map((event) => parseRow(encodeRow(event)));
  assertEquals(foldEvents(bracketsFold, reread).problems.count, 0);
  assertEquals(foldEvents(logFold, reread).surface.fault, null);
  checkAnswers(reread);
  return events;
}

/** Every call of every closed step has exactly one result, in the model's order. */
function checkAnswers(events: readonly SessionEvent[]): void {
  let proposed: string[] = [];
  let answered: string[] = [];
  for (const event of events) {
    if (isEvent(event, "assistant/message")) {
      proposed = event.data.message.content.flatMap((block) => block.type === "tool-call" ? [block.id] : []);
      answered = [];
    }
    if (isEvent(event, "tool/result")) answered.push(String(event.data.message.source.callId));
    if (isEvent(event, "step/end")) {
      assertEquals(answered, proposed, "calls and results of a closed step");
      proposed = answered = [];
    }
  }
}

/** Types in order; our own events left out, as scenarios compare. */
export function typesOf(events: readonly SessionEvent[]): string[] {
  return events.filter((event) => event.ignorable !== true).map((event) => event.type);
}

/** The result of each call: its code, "ok" or "error", and its first text. */
export function resultsOf(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) => {
    if (!isEvent(event, "tool/result")) return [];
    const [block] = event.data.message.content;
    if (block?.type !== "tool-result") return [];
    const state = event.data.error?.code ?? (block.isError === true ? "error" : "ok");
    return [`${event.data.message.source.callId} ${state}: ${textOf(block.content)}`];
  });
}

export function textOf(content: readonly Block[]): string {
  return content.map((block) => block.type === "text" ? block.text : "").join("|");
}

/** The reason of the last `turn/end`. */
export function endOf(events: readonly SessionEvent[]): unknown {
  const end = events.findLast((event) => event.type === "turn/end");
  return end !== undefined && isEvent(end, "turn/end") ? end.data.reason : null;
}
