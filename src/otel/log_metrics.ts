/**
 * The metrics of logs: how long a flush takes, how large a batch is, and how much a crash would take now.
 *
 * @module
 */
import type { Histogram, Meter, ObservableCallback } from "@opentelemetry/api";
import type { BarrierBegun, ProbeEnd, Session, WriteBegun } from "../../mod.ts";
import { errorWord, METRIC_NAMES } from "./names.ts";

/** Boundaries that fit a disk: from a tenth of a millisecond to ten seconds. */
const SECONDS: readonly number[] = [
  ...[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
];

/**
 * Measures any number of sessions into one meter.
 *
 * @example
 * ```ts
 * import { metrics } from "@opentelemetry/api";
 * import { LogMetrics } from "./log_metrics.ts";
 *
 * const logMetrics = new LogMetrics(metrics.getMeter("holdfast"), () => 0);
 * logMetrics.beginWrite({ events: 6, size: 900 })(null);
 * logMetrics.stop();
 * ```
 */
export class LogMetrics {
  readonly #nowMs: () => number;
  readonly #sessions = new Set<Session>();
  readonly #flushDuration: Histogram;
  readonly #batchEvents: Histogram;
  readonly #batchSize: Histogram;
  readonly #barrierDuration: Histogram;
  readonly #stop: () => void;

  /**
   * Makes the instruments.
   *
   * @param nowMs a clock that never goes back, with fractions
   */
  constructor(meter: Meter, nowMs: () => number) {
    this.#nowMs = nowMs;
    const advice = { explicitBucketBoundaries: [...SECONDS] };
    this.#flushDuration = meter.createHistogram(METRIC_NAMES.flushDuration, {
      ...{ unit: "s", advice },
      description: "From a batch in memory to the acknowledgement that it is durable",
    });
    this.#batchEvents = meter.createHistogram(METRIC_NAMES.batchEvents, {
      unit: "{event}",
      description: "Events of a batch",
    });
    this.#batchSize = meter.createHistogram(METRIC_NAMES.batchSize, {
      unit: "By",
      description: "JSON text of a batch before compression; beyond ASCII, a character counts as its UTF-16 units",
    });
    this.#barrierDuration = meter.createHistogram(METRIC_NAMES.barrierDuration, {
      ...{ unit: "s", advice },
      description: "How long a stage waited for its acknowledgement",
    });
    const size = meter.createObservableGauge(METRIC_NAMES.atRiskSize, {
      unit: "By",
      description: "JSON text that is appended and not durable yet, of all sessions; counted as for a batch",
    });
    const events = meter.createObservableGauge(METRIC_NAMES.atRiskEvents, {
      unit: "{event}",
      description: "Events that are appended and not durable yet, of all sessions",
    });
    const observeSize: ObservableCallback = (result) => result.observe(this.#sum(({ pendingSize }) => pendingSize));
    const observeEvents: ObservableCallback = (result) =>
      result.observe(this.#sum(({ pendingEvents }) => pendingEvents));
    size.addCallback(observeSize);
    events.addCallback(observeEvents);
    this.#stop = () => {
      size.removeCallback(observeSize);
      events.removeCallback(observeEvents);
    };
  }

  /** From now on this session counts for what is at risk. */
  add(session: Session): void {
    this.#sessions.add(session);
  }

  /** It is closed. */
  remove(session: Session): void {
    this.#sessions.delete(session);
  }

  /** A batch is written. */
  beginWrite({ events, size }: WriteBegun): ProbeEnd {
    const startMs = this.#nowMs();
    return (error) => {
      const outcome = outcomeOf(error);
      this.#flushDuration.record((this.#nowMs() - startMs) / 1000, outcome);
      if (error !== null) return;
      this.#batchEvents.record(events);
      this.#batchSize.record(size);
    };
  }

  /** A stage waits. */
  beginBarrier({ barrier }: BarrierBegun): ProbeEnd {
    const startMs = this.#nowMs();
    return (error) =>
      this.#barrierDuration.record((this.#nowMs() - startMs) / 1000, {
        "holdfast.barrier": barrier,
        ...outcomeOf(error),
      });
  }

  /** Takes away what the meter asks. */
  stop(): void {
    this.#stop();
    this.#sessions.clear();
  }

  #sum(count: (session: Session) => number): number {
    let sum = 0;
    for (const session of this.#sessions) sum += count(session);
    return sum;
  }
}

function outcomeOf(error: unknown): Record<string, string> {
  return error === null ? {} : { "error.type": errorWord(error) };
}
