/**
 * An agent on a fake store with a model that has a window: it refuses what is too long, answers by a rule, and summarises by
 * another. Everything that reaches it is checked as every provider would.
 *
 * @module
 */
import { assert, assertEquals, fail } from "@std/assert";
import {
  type AgentOptions,
  type AgentSession,
  createAgent,
  type LiveEvent,
  pastRequests,
  pastSummaryRequests,
  scripted,
  type ScriptStep,
} from "../../src/agent/mod.ts";
import { type Block, encodeRow, isEvent, type Message, parseRow, type SessionEvent } from "../../src/event/mod.ts";
import {
  bracketsFold,
  foldEvents,
  logFold,
  pairingProblem,
  priceOfHeader,
  priceOfMessage,
} from "../../src/fold/mod.ts";
import type { Model, ModelRequest } from "../../src/model/model.ts";
import { type FakeClock, settle } from "../support/fake_clock.ts";
import { FakeStore } from "../support/fake_store.ts";
import { transcriptProblem } from "../agent/transcripts.ts";

/** A rule: what the model does on its n-th request of this kind, from 1, those that were too long not counted. */
export type Rule = (request: ModelRequest, n: number) => ScriptStep;

/** How a stage is set. */
export interface StageOptions extends Partial<AgentOptions> {
  readonly store?: FakeStore;
  /** What the model can take, in tokens by our own estimate. Default: anything. */
  readonly limit?: number;
  /** What the model says it can take. Default: it does not say. */
  readonly contextWindow?: number;
  readonly step?: Rule;
  readonly summary?: Rule;
}

/** What a test looks at. */
export interface CompactStage {
  readonly store: FakeStore;
  readonly clock: FakeClock;
  readonly agent: ReturnType<typeof createAgent>;
  readonly session: AgentSession;
  /** Requests of steps, in order, refused ones included. */
  readonly requests: readonly ModelRequest[];
  /** Requests for summaries. */
  readonly summaries: readonly ModelRequest[];
  readonly warnings: readonly Extract<LiveEvent, { kind: "warning" }>[];
}

/** The failure of a request that was too long. */
export const TOO_LONG = { message: "the prompt is longer than the window", code: "CONTEXT_WINDOW_EXCEEDED" } as const;

/** A new session. */
export async function stage(options: StageOptions = {}): Promise<CompactStage> {
  return await set(options, (agent) => agent.create({ id: "s1" }));
}

/** The session again, in another process: what was not durable is gone. */
export async function resumedStage(store: FakeStore, options: StageOptions = {}): Promise<CompactStage> {
  return await set({ ...options, store: store.crash() }, (agent) => agent.resume("s1"));
}

async function set(
  options: StageOptions,
  open: (agent: ReturnType<typeof createAgent>) => Promise<AgentSession>,
): Promise<CompactStage> {
  const { store = new FakeStore(), limit = Infinity, contextWindow, step, summary, ...rest } = options;
  const requests: ModelRequest[] = [];
  const summaries: ModelRequest[] = [];
  const warnings: Extract<LiveEvent, { kind: "warning" }>[] = [];
  const stepRule = step ?? (() => [{ text: "done" }]);
  const summaryRule = summary ?? (() => [{ text: "What happened before." }]);
  const taken = { steps: 0, summaries: 0 };
  const current: { session: AgentSession | null } = { session: null };
  const model: Model = {
    provider: "scripted",
    id: "scripted",
    contextWindow,
    async *stream(request, signal) {
      const isSummary = request.purpose === "compaction";
      const list = isSummary ? summaries : requests;
      list.push(request);
      const { session } = current.session!;
      assertEquals(store.logs.get("s1")!.rows.length, session.nextSeq, "a request left before its log was durable");
      assertEquals(transcriptProblem(request.messages), null);
      yield* scripted([sizeOf(request) > limit ? [{ error: TOO_LONG }] : answer()]).stream(request, signal);

      function answer(): ScriptStep {
        return isSummary ? summaryRule(request, ++taken.summaries) : stepRule(request, ++taken.steps);
      }
    },
  };
  const agent = createAgent({ model, ...rest, store });
  const session = await open(agent);
  current.session = session;
  session.subscribe((live) => live.kind === "warning" && warnings.push(live));
  return { store, clock: store.runtime.clock as FakeClock, agent, session, requests, summaries, warnings };
}

/** A request in tokens, by our own estimate. */
export function sizeOf({ header, messages }: ModelRequest): number {
  return messages.reduce((sum, message) => sum + priceOfMessage(message), priceOfHeader(header));
}

/** The whole log, checked: it reads again, nests, has no fault, pairs, and every request can be made again from it. */
export async function logOf({ session, requests, summaries }: CompactStage): Promise<readonly SessionEvent[]> {
  const { events } = await session.session.history({ limit: 1_000_000 });
  const reread = events.map((event) => parseRow(encodeRow(event)));
  const folds = foldEvents(logFold, reread);
  assertEquals(folds.surface.fault, null);
  assertEquals(foldEvents(bracketsFold, reread).problems.count, 0);
  assertEquals(pairingProblem(folds.surface.nodes), null);
  const past = new Set([...pastRequests("s1", reread)].map(({ request }) => JSON.stringify(request)));
  for (const request of requests.slice(0, -1)) {
    assert(past.has(JSON.stringify(request)), "a request cannot be made again from the log");
  }
  const sent = summaries.map((request) => JSON.stringify(request));
  for (const { request } of pastSummaryRequests("s1", reread)) {
    assert(sent.includes(JSON.stringify(request)), "a request for a summary cannot be made again from the log");
  }
  return events;
}

/** The compaction events of a log, checkpoints included, as words. */
export function compactionsOf(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) => {
    if (isEvent(event, "compaction/end")) return [event.data.error === undefined ? "end" : "end with error"];
    if (event.type.startsWith("compaction/")) return [event.type.slice("compaction/".length)];
    return isCheckpointEvent(event) ? ["checkpoint"] : [];
  });
}

export function isCheckpointEvent(event: SessionEvent): boolean {
  return isEvent(event, "user/message") && event.data.source.kind === "plugin" &&
    event.data.source.plugin === "compact";
}

export function textOf({ content }: Pick<Message, "content">): string {
  return content.map(textOfBlock).join("|");
}

function textOfBlock(block: Block): string {
  if (block.type === "text") return block.text;
  return block.type === "tool-result" ? block.content.map(textOfBlock).join("|") : "";
}

/** Lets things happen until something is so. */
export async function until(isTrue: () => boolean): Promise<void> {
  for (let n = 0; n < 10_000; n++) {
    if (isTrue()) return;
    await settle();
  }
  fail("it never became true");
}

/** A text of about so many tokens. */
export function words(tokens: number, word = "word"): string {
  return `${word} `.repeat(Math.ceil(tokens * 4 / (word.length + 1))).slice(0, tokens * 4);
}
