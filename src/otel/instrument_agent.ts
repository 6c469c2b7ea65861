/**
 * Spans and metrics of an agent, through the API of OpenTelemetry and nothing else: whoever sets up an SDK gets them.
 *
 * @module
 */
import { context, type MeterProvider, metrics, trace, type TracerProvider } from "@opentelemetry/api";
import { type AgentHooks, HookOwner, type Hooks, type Session } from "../../mod.ts";
import { LogMetrics } from "./log_metrics.ts";
import { SCOPE_NAME } from "./names.ts";
import { quiet } from "./quiet.ts";
import { SessionSpans } from "./session_spans.ts";
import { tracedStream } from "./traced_stream.ts";

/** Where spans and metrics go. */
export interface TelemetryOptions {
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider;
  /** Default: the global one. */
  readonly meterProvider?: MeterProvider;
  /** A clock that never goes back, in milliseconds with fractions. Default: `performance.now()`. */
  readonly nowMs?: () => number;
}

/**
 * Makes spans and metrics of every session that an agent creates or resumes from now on.
 *
 * Spans: turn, step, request, call, barrier. A turn is below the span that is current where the loop was woken, and what a model
 * or a tool does is below its request or call. Metrics: how long flushes and barriers take, how large batches are, and how much
 * is at risk, which is what a crash would take now. No attribute holds anything that a person, a model or a tool wrote.
 *
 * It only listens. What it throws harms nobody, and without it nothing is measured.
 *
 * @param agent its hooks are listened to
 * @returns ends it, open spans too
 *
 * @example
 * ```ts
 * import { createAgent, scripted } from "../../mod.ts";
 * import { openMemoryStore } from "../entry/memory.ts";
 * import { instrumentAgent } from "./instrument_agent.ts";
 *
 * await using store = openMemoryStore();
 * const agent = createAgent({ store, model: scripted([[{ text: "hi" }]]) });
 * const stop = instrumentAgent(agent);
 * await using session = await agent.create();
 * await session.send("hello");
 * stop();
 * ```
 */
export function instrumentAgent(
  { hooks }: { readonly hooks: Hooks<AgentHooks> },
  options: TelemetryOptions = {},
): () => void {
  const { tracerProvider = trace, meterProvider = metrics, nowMs = () => performance.now() } = options;
  const tracer = tracerProvider.getTracer(SCOPE_NAME);
  const logMetrics = new LogMetrics(meterProvider.getMeter(SCOPE_NAME), nowMs);
  const owner = new HookOwner("opentelemetry");
  /** Open sessions, by their ids. */
  const followed = new Map<string, { readonly spans: SessionSpans; readonly stop: () => void }>();
  const outermost = { owner, prepend: true };

  function follow(session: Session): void {
    const spans = new SessionSpans(tracer, session.id);
    const unsubscribe = session.subscribe((event) => spans.observe(event));
    const remove = session.probes.add({
      write: (begun) => logMetrics.beginWrite(begun),
      barrier(begun) {
        const ends = [logMetrics.beginBarrier(begun), spans.beginBarrier(begun)];
        return (error) => ends.forEach((end) => quiet(() => end(error)));
      },
    });
    logMetrics.add(session);
    const stop = () => {
      unsubscribe();
      remove();
      logMetrics.remove(session);
      followed.delete(session.id);
      spans.end();
    };
    followed.set(session.id, { spans, stop });
  }

  hooks.on("agent/created", ({ agent }) => void quiet(() => follow(agent.session)), outermost);
  hooks.on("agent/disposed", ({ agent }) => followed.get(agent.id)?.stop(), { owner });
  hooks.on("llm/stream", ({ agent, request }, next) => {
    const spans = followed.get(agent.id)?.spans;
    return spans === undefined ? next() : tracedStream(next(), () => spans.beginRequest(request));
  }, outermost);
  hooks.on("tools/execute", (call, next) => {
    const spans = followed.get(call.sessionId)?.spans;
    return spans === undefined ? next() : context.with(spans.around(call.callSeq), next);
  }, outermost);
  hooks.on("tools/result", (call, outcome) => followed.get(call.sessionId)?.spans.endCall(call, outcome), { owner });

  return () => {
    owner.dispose();
    for (const { stop } of [...followed.values()]) quiet(stop);
    logMetrics.stop();
  };
}
