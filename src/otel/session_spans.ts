/**
 * The spans of one session: turns, in them steps, in those requests, calls and barriers.
 *
 * Turns, steps and calls begin and end with their events; so their spans say what the log says. A call that a body makes is below
 * the call that made it. What is open when the session ends is ended with it.
 *
 * @module
 */
import {
  type Attributes,
  type Context,
  context,
  type Span,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import {
  type BarrierBegun,
  type HookedCall,
  isEvent,
  type ModelRequest,
  type ProbeEnd,
  type SessionEvent,
  type StreamChunk,
  type ToolOutcome,
  UNKNOWN_TOOL,
} from "../../mod.ts";
import { errorWord, SPAN_NAMES } from "./names.ts";
import type { StreamWatch } from "./traced_stream.ts";

/** A span and the context in which it is the current one. */
interface Open {
  readonly span: Span;
  readonly around: Context;
}

/**
 * Makes the spans of a session.
 *
 * @example
 * ```ts
 * import { trace } from "@opentelemetry/api";
 * import { SessionSpans } from "./session_spans.ts";
 *
 * const spans = new SessionSpans(trace.getTracer("holdfast"), "s1");
 * spans.observe({ type: "turn/start", seq: 0, time: 0, data: { turn: 1 } });
 * spans.end();
 * ```
 */
export class SessionSpans {
  readonly #tracer: Tracer;
  readonly #session: Attributes;
  #turn: Open | null = null;
  #step: Open | null = null;
  /** Calls that are open, by the seq of their record. */
  readonly #calls = new Map<number, Open>();
  /** The same, by their ids. */
  readonly #seqs = new Map<string, number>();
  /** Which call a marker belongs to: its barrier is below that call. */
  readonly #marked = new Map<number, number>();

  /** Spans of a session that has no open turn. */
  constructor(tracer: Tracer, sessionId: string) {
    this.#tracer = tracer;
    this.#session = { "holdfast.session.id": sessionId };
  }

  /** An event was committed. */
  observe(event: SessionEvent): void {
    if (isEvent(event, "turn/start")) {
      this.#endTurn();
      // Below whatever is current where the loop was woken, such as the request of a client.
      this.#turn = this.#open(SPAN_NAMES.turn, { "holdfast.turn": event.data.turn }, context.active());
    } else if (isEvent(event, "step/start")) {
      this.#endStep();
      const { turn, step } = event.data;
      this.#step = this.#open(SPAN_NAMES.step, { "holdfast.turn": turn, "holdfast.step": step }, this.#place);
    } else if (isEvent(event, "tool/call")) {
      this.#openCall(event.seq, event.data.callId, this.#place);
    } else if (isEvent(event, "tool/ptc-dispatch-start")) {
      const parent = this.#calls.get(this.#seqs.get(event.data.parentCallId) ?? -1);
      this.#openCall(event.seq, event.data.subCallId, parent?.around ?? this.#place);
    } else if (isEvent(event, "effect/dispatched")) {
      const { callSeq, effect, retryOf } = event.data;
      this.#marked.set(event.seq, callSeq);
      const retry = retryOf === undefined ? {} : { "holdfast.retry_of": retryOf };
      this.#calls.get(callSeq)?.span.setAttributes({ "holdfast.effect": effect, ...retry });
    } else if (isEvent(event, "approval/asked")) {
      this.#callOf(event.data.callId)?.span.addEvent("holdfast.approval.asked");
    } else if (isEvent(event, "approval/decided")) {
      (this.#step ?? this.#turn)?.span.addEvent("holdfast.approval.decided", {
        "holdfast.approval.outcome": event.data.outcome,
      });
    } else if (isEvent(event, "step/end")) {
      this.#endStep();
    } else if (isEvent(event, "turn/end")) {
      const { reason } = event.data;
      this.#turn?.span.setAttribute("holdfast.turn.reason", reason.kind);
      this.#endTurn(reason.kind === "error" ? reason.error : null);
    }
  }

  /** Where the body of a call runs: below its span. */
  around(callSeq: number): Context {
    return this.#calls.get(callSeq)?.around ?? context.active();
  }

  /** A call has its outcome. */
  endCall({ callSeq, callId, name, effect }: HookedCall, { isError, error }: ToolOutcome): void {
    const open = this.#calls.get(callSeq);
    if (open === undefined) return;
    open.span.setAttribute("holdfast.effect", effect);
    // A name that no tool has is the model's text and no name.
    if (error?.code !== UNKNOWN_TOOL) open.span.setAttribute("gen_ai.tool.name", name);
    this.#calls.delete(callSeq);
    this.#seqs.delete(callId);
    end(open, isError ? error ?? { code: "TOOL_FAILED" } : null);
  }

  /** A request begins. */
  beginRequest({ header: { config } }: ModelRequest): StreamWatch {
    const open = this.#open(SPAN_NAMES.request, {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": config.provider,
      "gen_ai.request.model": config.model,
    }, this.#place);
    const { span, around } = open;
    let hasChunk = false;
    let failure: unknown = null;
    return {
      around,
      onChunk(chunk: StreamChunk) {
        if (!hasChunk) span.addEvent("holdfast.first_chunk");
        hasChunk = true;
        if (chunk.type === "usage") {
          const { inputTokens, outputTokens } = chunk.usage;
          span.setAttributes({ "gen_ai.usage.input_tokens": inputTokens, "gen_ai.usage.output_tokens": outputTokens });
        } else if (chunk.type === "finish") {
          const { reason } = chunk;
          span.setAttribute("gen_ai.response.finish_reasons", [reason.kind]);
          if (reason.kind === "error" || reason.kind === "aborted") failure = reason.failure;
        }
      },
      onEnd: (error) => end(open, error ?? failure),
    };
  }

  /** A barrier begins. */
  beginBarrier({ barrier, throughSeq, effect }: BarrierBegun): ProbeEnd {
    const callSeq = this.#marked.get(throughSeq);
    this.#marked.delete(throughSeq);
    const parent = (callSeq === undefined ? undefined : this.#calls.get(callSeq)?.around) ?? this.#place;
    const attributes = { "holdfast.barrier": barrier, "holdfast.effect": effect, "holdfast.through_seq": throughSeq };
    const open = this.#open(SPAN_NAMES.barrier, attributes, parent);
    return (error) => end(open, error);
  }

  /** Ends what is open. */
  end(): void {
    this.#endTurn();
  }

  get #place(): Context {
    return (this.#step ?? this.#turn)?.around ?? context.active();
  }

  #callOf(callId: string | undefined): Open | undefined {
    return callId === undefined ? undefined : this.#calls.get(this.#seqs.get(callId) ?? -1);
  }

  #openCall(seq: number, callId: string, parent: Context): void {
    this.#calls.set(seq, this.#open(SPAN_NAMES.call, { "holdfast.call.seq": seq }, parent));
    this.#seqs.set(callId, seq);
  }

  #open(name: string, attributes: Attributes, parent: Context): Open {
    const span = this.#tracer.startSpan(name, { attributes: { ...this.#session, ...attributes } }, parent);
    return { span, around: trace.setSpan(parent, span) };
  }

  /** A call that is still open then has no outcome that a hook was told of: it was closed with its turn. */
  #endStep(): void {
    for (const open of this.#calls.values()) end(open, { code: "CUT_SHORT" });
    this.#calls.clear();
    this.#seqs.clear();
    this.#marked.clear();
    if (this.#step !== null) end(this.#step, null);
    this.#step = null;
  }

  #endTurn(error: unknown = null): void {
    this.#endStep();
    if (this.#turn !== null) end(this.#turn, error);
    this.#turn = null;
  }
}

/** An error is told by its word alone: its message may hold what a prompt or an argument said. */
function end({ span }: Open, error: unknown): void {
  if (error !== null) {
    span.setAttribute("error.type", errorWord(error));
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
