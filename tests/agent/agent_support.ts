/**
 * An agent on a fake store whose every request is checked: durable when it leaves, and rebuildable from the log alone.
 *
 * @module
 */
import { assert, assertEquals, fail } from "@std/assert";
import {
  type AgentHooks,
  type AgentOptions,
  type AgentSession,
  createAgent,
  pastRequests,
  requestOf,
  scripted,
  type ScriptStep,
} from "../../src/agent/mod.ts";
import { type Block, encodeRow, isEvent, parseRow, type SessionEvent } from "../../src/event/mod.ts";
import { bracketsFold, foldEvents, logFold } from "../../src/fold/mod.ts";
import { Hooks } from "../../src/hooks/mod.ts";
import type { Model, ModelRequest } from "../../src/model/model.ts";
import { defineTool, type Tool, type ToolDefinition } from "../../src/tool/mod.ts";
import { settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { checkLog } from "./log_checker.ts";
import { transcriptProblem } from "./transcripts.ts";

/** What a test looks at. */
export interface Stage {
  readonly store: FakeStore;
  readonly agent: ReturnType<typeof createAgent>;
  readonly session: AgentSession;
  readonly hooks: Hooks<AgentHooks>;
  /** What reached the model. */
  readonly requests: readonly ModelRequest[];
  /** What listeners failed with where nobody waits. */
  readonly problems: readonly unknown[];
}

/** An agent with a scripted model. */
export async function stage(
  steps: readonly ScriptStep[],
  options: Partial<AgentOptions> & { readonly store?: FakeStore } = {},
): Promise<Stage> {
  const store = options.store ?? new FakeStore();
  return await perform(store, steps, options, (agent) => agent.create({ id: "s1" }));
}

/** Resumes in a new process: what was not durable is gone. */
export async function resumed(
  store: FakeStore,
  steps: readonly ScriptStep[],
  options: Partial<AgentOptions> = {},
): Promise<Stage> {
  return await perform(store, steps, options, (agent) => agent.resume("s1"));
}

async function perform(
  store: FakeStore,
  steps: readonly ScriptStep[],
  options: Partial<AgentOptions>,
  open: (agent: ReturnType<typeof createAgent>) => Promise<AgentSession>,
): Promise<Stage> {
  const problems: unknown[] = [];
  const hooks = options.hooks ?? new Hooks<AgentHooks>({ onProblem: ({ error }) => problems.push(error) });
  const current: { session: AgentSession | null } = { session: null };
  const requests: ModelRequest[] = [];
  const model = options.model ?? scripted(steps, { clock: store.runtime.clock });
  const agent = createAgent({ ...options, store, hooks, model: checked(model, store, current, requests) });
  const session = await open(agent);
  current.session = session;
  return { store, agent, session, hooks, requests, problems };
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
      assertEquals(transcriptProblem(request.messages), null);
      requests.push(request);
      yield* model.stream(request, signal);
    },
  };
}

/**
 * Lets things happen until something is so. Digests are computed beside the event loop, so that nobody can say how many of its
 * turns a call takes.
 */
export async function until(isTrue: () => boolean): Promise<void> {
  for (let n = 0; n < 10_000; n++) {
    if (isTrue()) return;
    await settle();
  }
  fail("it never became true");
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

/** The events of the log, pending ones included, checked as a stranger would, and every request made again from them. */
export async function logOf({ session, requests }: Stage): Promise<readonly SessionEvent[]> {
  const { events } = await session.session.history({ limit: 100_000 });
  const reread = events.map((event) => parseRow(encodeRow(event)));
  assertEquals(foldEvents(bracketsFold, reread).problems.count, 0);
  assertEquals(foldEvents(logFold, reread).surface.fault, null);
  const found = checkLog(session.id, reread, session.status === "idle");
  assertEquals(found.problems, []);
  const past = [...pastRequests(session.id, reread)].map(({ request }) => JSON.stringify(request));
  assertEquals(past, found.requests);
  assertIncludesInOrder(past, requests.map((request) => JSON.stringify(request)));
  return events;
}

/** The last request of a turn that runs is not answered yet. */
function assertIncludesInOrder(past: readonly string[], sent: readonly string[]): void {
  let from = 0;
  for (const [index, request] of sent.entries()) {
    const found = past.indexOf(request, from);
    if (found === -1 && index === sent.length - 1) return;
    assert(found !== -1, `request ${index} cannot be made again from the log`);
    from = found + 1;
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
