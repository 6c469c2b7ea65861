/**
 * A worker for tests of the page's look: it speaks the protocol over a log that is made up, and does nothing else.
 *
 * @module
 */
import type { Message, SessionEvent, SessionRow, StorageTraits } from "../../mod.ts";
import type { Connection, PageClient } from "../../web/page/client.ts";
import type { BankEntry, PageCalls, PageVerb, SessionView, WireError, WorkerNews } from "../../web/protocol.ts";

const TIME = Date.UTC(2026, 4, 4, 9, 30);
const KEY = "3f2a9c0d51b84e7f9a6c2d1e0b7f4a58";
const DIGEST = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c";

/** What a scene consists of. */
export interface Scene {
  readonly events: readonly SessionEvent[];
  readonly view: Partial<SessionView>;
  readonly rows?: readonly SessionRow[];
  readonly refusal?: WireError;
  readonly isSilent?: boolean;
  /** The session that has the id of whatever is taken in. */
  readonly taken?: string;
  /** News told right after the session was shown. */
  readonly news?: readonly WorkerNews[];
  readonly bank?: readonly BankEntry[];
}

const TRAITS: StorageTraits = {
  medium: "opfs",
  sync: "device",
  names: "deferred",
  publish: "claim",
  lockScope: "origin",
  persistence: "best-effort",
};

/** A connection to a worker that plays a scene; `calls` collects what the page asked. */
export function fakeConnection(scene: Scene, calls: { verb: PageVerb; ask: unknown }[]): Connection {
  const listeners = new Set<(news: WorkerNews) => void>();
  const view = viewOf(scene);
  const answers: { [Verb in PageVerb]?: (ask: PageCalls[Verb]["ask"]) => unknown } = {
    hello: () => ({ tab: "1", traits: TRAITS, version: "0.1.0" }),
    list: () => scene.rows ?? [row(view.id, "ok", null)],
    create: () => ({ ...view, nextSeq: 0, durability: { ...view.durability, durableSeq: -1 } }),
    attach: ({ id }) => ({ ...view, id }),
    history: ({ id, from, limit }) => {
      const isListed = id !== view.id && scene.rows?.some((row) => row.id === id);
      return { events: isListed ? [] : scene.events.slice(from, from + limit), nextFrom: null };
    },
    places: ({ seqs }) => seqs.map((seq) => ({ seq, frame: Math.floor(seq / 4) + 1, offsetBytes: 310 + seq * 61 })),
    surface: () => messagesOf(scene.events),
    bank: () => scene.bank ?? [],
    send: () => ({ seq: scene.events.length }),
    answer: () => ({ isFirst: true }),
    compact: () => ({ isStarted: scene.events.length > 0 }),
    export: () => ({
      name: "session.v3.jsonl.zstd",
      bytes: new Uint8Array([0x28, 0xb5, 0x2f, 0xfd]),
      spilled: { count: 0, missing: [], damaged: [] },
    }),
    import: () => ({ id: view.id, fault: null, spilled: { count: 0, missing: [], damaged: [] } }),
    forgetLost: () => ({ sessionIds: [] }),
    model: () => ({ name: "demo" }),
  };
  const client: PageClient = {
    call: async (verb, ask) => {
      calls.push({ verb, ask });
      if (scene.isSilent) await new Promise(() => {});
      if (verb === "import" && scene.taken !== undefined) {
        throw { code: "ALREADY_EXISTS", message: "Cannot take it in: it is there already", sessionIds: [scene.taken] };
      }
      if (scene.refusal !== undefined && verb === "hello" && !(ask as { volatile?: boolean }).volatile) {
        throw scene.refusal;
      }
      const answer = (answers[verb] as ((ask: unknown) => unknown) | undefined)?.(ask) ?? null;
      if (verb === "attach") {
        setTimeout(() => scene.news?.forEach((news) => listeners.forEach((listen) => listen(news))));
      }
      return (verb === "history" ? answer : structuredClone(answer)) as never;
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return { client, terminate: () => listeners.clear(), died: new Promise(() => {}) };
}

function viewOf({ events, view }: Scene): SessionView {
  return {
    id: "01ky3v7m2q8r5t",
    title: null,
    role: { kind: "owner" },
    status: "idle",
    nextSeq: events.length,
    questions: [],
    unknowns: [],
    repaired: null,
    modelName: "demo",
    context: { tokens: 28_000, windowTokens: 32_000, share: 0.875 },
    ...view,
    durability: {
      pendingEvents: 0,
      pendingBytes: 0,
      durableSeq: events.length - 1,
      p50Ms: 0.84,
      p99Ms: 2.1,
      persistence: "best-effort",
      sync: "device",
      ...view.durability,
    },
  };
}

export function row(id: string, state: SessionRow["state"], reason: string | null): SessionRow {
  const facts = {
    header: null,
    sizeBytes: 18_412,
    version: 3,
    encoding: "zstd",
    lastEventTime: TIME,
    live: false,
  } as const;
  return { id, name: `${id}/session.v3.jsonl.zstd`, state, reason, ...facts };
}

/** Puts events in order. */
export function logOf(drafts: readonly Draft[]): SessionEvent[] {
  return drafts.map((draft, seq) => ({ ...draft, seq, time: TIME + seq * 137 }));
}

type Draft = Omit<SessionEvent, "seq" | "time">;

/** What a turn that pays leaves in the log. */
export function payment(text: string, end: "asked" | "dispatched" | "done"): Draft[] {
  const args = JSON.stringify({ to: "alice", amount: "10" });
  const step = { turn: 1, step: 1 };
  const call = { type: "tool-call", id: "call_1", name: "pay", arguments: args };
  const drafts: Draft[] = [
    draft("checkpoint/policy", { version: 1, barriers: ["pre-step", "model", "tool", "question"], marker: true }),
    draft("turn/start", { turn: 1 }),
    draft("step/start", step),
    draft("user/message", { id: "m1", role: "user", content: [{ type: "text", text }], source: { kind: "user" } }),
    draft("request/header", { header: { config: { provider: "demo", model: "demo" } }, reason: "initial" }),
    draft("assistant/message", {
      ...step,
      message: {
        id: "m2",
        role: "assistant",
        content: [{ type: "text", text: "I am the demo model, and I will try." }, call],
        source: { kind: "model", provider: "demo", model: "demo" },
      },
      stream: [],
    }),
    draft("tool/call", { ...step, callId: "call_1", name: "pay", arguments: args }),
    draft("approval/asked", {
      id: "q1",
      toolName: "pay",
      callId: "call_1",
      reason: 'pay 10 to "alice"',
    }),
    draft("approval/bound", { id: "q1", callSeq: 6, argumentsDigest: DIGEST }),
  ];
  if (end === "asked") return drafts;
  drafts.push(
    draft("approval/decided", { id: "q1", outcome: "allowed-once" }),
    draft("effect/dispatched", { ...step, callId: "call_1", callSeq: 6, effectKey: KEY, effect: "keyed" }),
  );
  const isDone = end === "done";
  const said = isDone ? "Paid 10 to alice." : "The tool call was interrupted after it was recorded.";
  drafts.push(
    draft("tool/result", {
      ...step,
      message: {
        id: "m3",
        role: "user",
        content: [{
          type: "tool-result",
          toolCallId: "call_1",
          content: [{ type: "text", text: said }],
          isError: !isDone,
        }],
        source: { kind: "tool", callId: "call_1" },
      },
      ...(isDone ? {} : { error: { name: "ToolOutcomeUnknownError", code: "TOOL_OUTCOME_UNKNOWN" } }),
    }),
  );
  if (!isDone) {
    drafts.push(
      draft("step/end", step),
      draft("turn/end", { turn: 1, reason: { kind: "interrupted" } }),
      draft("session/end-seed", {}),
    );
    return drafts;
  }
  drafts.push(draft("step/end", step), draft("turn/end", { turn: 1, reason: { kind: "completed" } }));
  return drafts;
}

/** What a compaction that a person asked for leaves in the log, of the first two messages of {@linkcode payment}. */
export function compaction(at: number): Draft[] {
  const id = { compactionId: "k1" };
  const summary = [{ type: "text", text: "## Primary Request and Intent\n- pay 10 to alice" }];
  const source = { kind: "plugin", plugin: "compact", ...id };
  const content = [{ type: "text", text: "<compacted-summary>" }, ...summary];
  const message = { id: "k2", role: "user", content, source };
  return [
    draft("compaction/start", { ...id, turn: null }),
    draft("compaction/summary", {
      ...{ ...id, summary, shadowedRange: { start: 3, end: 5 }, shadowedSeqs: [3, 5], shadowedTokenCount: 1234 },
      ...{ provider: "demo", model: "demo" },
    }),
    {
      ...draft("user/message", message),
      ...{ surfaceOp: { op: "replace", startSeq: 3, endSeq: 5 }, sourceEventSeqs: [at, at + 1, 3, 5] },
    },
    draft("compaction/end", { ...id, turn: null }),
  ];
}

export function answer(text: string, reasoning = ""): Draft {
  const content = [...(reasoning === "" ? [] : [{ type: "reasoning", text: reasoning }]), { type: "text", text }];
  const message = { id: `a${text.length}`, role: "assistant", content, source: { kind: "model" } };
  return draft("assistant/message", { turn: 1, step: 2, message, stream: [] });
}

function draft(type: string, data: unknown): Draft {
  return { type, data: data as SessionEvent["data"] };
}

/** The question that stands behind {@linkcode payment}. */
export const QUESTION: SessionView["questions"][number] = {
  question: "q1",
  callId: "call_1",
  callSeq: 6,
  toolName: "pay",
  reason: 'pay 10 to "alice"',
  argumentsText: '{"to":"alice","amount":"10"}',
  argumentsDigest: DIGEST,
  fileChange: null,
  repeats: null,
};

export const UNKNOWN: SessionView["unknowns"][number] = {
  callSeq: 6,
  callId: "call_1",
  toolName: "pay",
  effect: "keyed",
  effectKey: KEY,
  argumentsText: '{"to":"alice","amount":"10"}',
  reason: "it may have taken effect, and nothing in the log settles that",
  proofs: [
    { seq: 6, says: "it was recorded, before policy and people were asked" },
    { seq: 10, says: `it was dispatched (effect keyed, key ${KEY}): from here on its body may run` },
    { seq: 11, says: "its result does not tell whether it took effect" },
  ],
  isRetryAllowed: false,
};

export const BANK: readonly BankEntry[] = [{ effectKey: KEY, to: "alice", amount: "10", time: TIME }];

function messagesOf(events: readonly SessionEvent[]): Message[] {
  return events.slice(0, 2000).flatMap(({ type, data }) => {
    if (type === "user/message") return [data as unknown as Message];
    return type === "assistant/message" || type === "tool/result"
      ? [(data as unknown as { message: Message }).message]
      : [];
  });
}
