/**
 * A tracer and a meter that only remember, and a context that follows awaits.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Context,
  type ContextManager,
  type Meter,
  type MeterProvider,
  type ObservableCallback,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  trace,
  type TracerProvider,
} from "@opentelemetry/api";

/** A span that was made. */
export class SeenSpan implements Span {
  readonly events: { readonly name: string; readonly attributes: Attributes }[] = [];
  readonly attributes: Attributes;
  readonly #context: SpanContext;
  isError = false;
  message: string | undefined;
  ends = 0;

  constructor(readonly name: string, id: number, { attributes = {} }: SpanOptions, readonly parent: SeenSpan | null) {
    this.attributes = { ...attributes };
    this.#context = { traceId: "1".repeat(32), spanId: id.toString(16).padStart(16, "0"), traceFlags: 1 };
  }

  /** The names from the outermost span to this one. */
  get path(): string {
    return `${this.parent === null ? "" : `${this.parent.path} > `}${this.name.replace("holdfast.", "")}`;
  }

  spanContext(): SpanContext {
    return this.#context;
  }

  setAttribute(key: string, value: Attributes[string]): this {
    this.attributes[key] = value;
    return this;
  }

  setAttributes(attributes: Attributes): this {
    Object.assign(this.attributes, attributes);
    return this;
  }

  addEvent(name: string, attributes: unknown = {}): this {
    this.events.push({ name, attributes: attributes as Attributes });
    return this;
  }

  setStatus({ code, message }: { code: SpanStatusCode; message?: string }): this {
    this.isError = code === SpanStatusCode.ERROR;
    this.message = message;
    return this;
  }

  addLink = (): this => this;
  addLinks = (): this => this;
  updateName = (): this => this;
  recordException = (): void => {};
  isRecording = (): boolean => this.ends === 0;

  end(): void {
    this.ends++;
  }
}

/** Remembers every span. */
export class SeenTracer implements TracerProvider {
  readonly spans: SeenSpan[] = [];

  getTracer() {
    return {
      startSpan: (name: string, options: SpanOptions = {}, context: Context = ROOT_CONTEXT): Span => {
        const parent = trace.getSpan(context);
        const span = new SeenSpan(name, this.spans.length + 1, options, parent instanceof SeenSpan ? parent : null);
        this.spans.push(span);
        return span;
      },
      startActiveSpan: (): never => {
        throw new Error("not used");
      },
    };
  }

  named(name: string): SeenSpan[] {
    return this.spans.filter((span) => span.name === `holdfast.${name}`);
  }
}

/** Remembers every value. */
export class SeenMeter implements MeterProvider {
  readonly values = new Map<string, { readonly value: number; readonly attributes: Attributes }[]>();
  readonly callbacks = new Map<string, Set<ObservableCallback>>();

  getMeter(): Meter {
    const instrument = (name: string) => ({
      record: (value: number, attributes: Attributes = {}) => {
        this.values.set(name, [...this.of(name), { value, attributes }]);
      },
    });
    const gauge = (name: string) => {
      const callbacks = new Set<ObservableCallback>();
      this.callbacks.set(name, callbacks);
      return {
        addCallback: (callback: ObservableCallback) => void callbacks.add(callback),
        removeCallback: (callback: ObservableCallback) => void callbacks.delete(callback),
      };
    };
    // What is not used here is not there: asking for it fails.
    return { createHistogram: instrument, createObservableGauge: gauge } as unknown as Meter;
  }

  of(name: string) {
    return this.values.get(name) ?? [];
  }

  /** What a gauge says now. */
  read(name: string): number[] {
    const found: number[] = [];
    for (const callback of this.callbacks.get(name) ?? []) callback({ observe: (value) => void found.push(value) });
    return found;
  }
}

/** Follows awaits, as an SDK's does. */
export class FollowingContext implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  // deno-lint-ignore no-explicit-any -- as the interface has it
  with(context: Context, fn: any, thisArg?: any, ...args: any[]): any {
    return this.#storage.run(context, () => fn.call(thisArg, ...args));
  }

  bind<Target>(_context: Context, target: Target): Target {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    return this;
  }
}
