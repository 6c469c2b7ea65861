/**
 * Hooks: named places where others may listen, answer, or stand around what happens.
 *
 * Listeners run in the order in which they registered. The list is captured when a dispatch starts: who comes or goes meanwhile
 * matters to the next dispatch. A barrier is never a listener: it is a stage of its own, outside of every chain.
 *
 * @see execution §2
 * @module
 */
import type { HookArgs, HookListener, HookMapOf, HookName, HookResult } from "./hook_types.ts";
import type { HookOwner } from "./owner.ts";

/** How many listeners one hook may have. One more is refused with a `RangeError`. */
export const LISTENERS_MAX = 1024;

/** How a listener is registered. */
export interface ListenOptions {
  /** Stands before everyone who is there now. */
  readonly prepend?: boolean;
  /** Takes the listener away when it is disposed. */
  readonly owner?: HookOwner;
  /** Hears only dispatches about this very object, such as one session. Without it: all of them. */
  readonly subject?: object;
}

/** What a dispatch is about. */
export interface DispatchOptions {
  /** Who bound a listener to another subject does not hear it. Without it, only listeners bound to nothing hear it. */
  readonly subject?: object;
}

/** A listener failed where no caller waits for it. */
export interface ListenerProblem {
  /** The hook. */
  readonly name: string;
  /** What was thrown, or what a returned promise rejected with. */
  readonly error: unknown;
}

/** How a registry is made. */
export interface HooksOptions {
  /** Told what fails in {@linkcode Hooks.notify}, and what rejects unheard in {@linkcode Hooks.emit}. It cannot fail itself. */
  readonly onProblem?: (problem: ListenerProblem) => void;
}

// deno-lint-ignore no-explicit-any -- the registry calls what `on` has checked against the map; here the types are erased
type AnyListener = (...args: any[]) => unknown;

interface Registration {
  readonly listener: AnyListener;
  readonly subject: object | undefined;
}

/**
 * A registry of hooks, typed by a map from names to modes, arguments and results.
 *
 * @example
 * ```ts
 * import { type EmitHook, Hooks, type WaterfallHook } from "./mod.ts";
 *
 * interface MyHooks {
 *   "door/opened": EmitHook<[by: string]>;
 *   "door/open": WaterfallHook<[by: string], string>;
 * }
 * const hooks = new Hooks<MyHooks>();
 * hooks.on("door/open", (by, next) => by === "thief" ? "closed" : `${next()}!`);
 * if (hooks.waterfall("door/open", ["ann"], () => "open") !== "open!") throw new Error("unreachable");
 * if (hooks.waterfall("door/open", ["thief"], () => "open") !== "closed") throw new Error("unreachable");
 * ```
 */
export class Hooks<HookMap extends HookMapOf<HookMap>> {
  readonly #onProblem: (problem: ListenerProblem) => void;
  /** Each list is replaced and never changed, so that a dispatch may keep the one it found. */
  readonly #registrations = new Map<string, readonly Registration[]>();

  /** An empty registry. */
  constructor(options: HooksOptions = {}) {
    this.#onProblem = options.onProblem ?? (() => {});
  }

  /**
   * Registers a listener, once more if it is registered already.
   *
   * @returns takes this registration away; harmless when called again
   * @throws {TypeError} when the owner is disposed
   * @throws {RangeError} when the hook has LISTENERS_MAX listeners
   */
  on<Name extends keyof HookMap & string>(
    name: Name,
    listener: HookListener<HookMap[Name]>,
    options: ListenOptions = {},
  ): () => void {
    const { prepend = false, owner, subject } = options;
    owner?.assertActive();
    const there = this.#registrations.get(name) ?? [];
    if (there.length >= LISTENERS_MAX) {
      throw new RangeError(`Cannot listen to "${name}": it has ${LISTENERS_MAX} listeners`);
    }
    const registration: Registration = { listener: listener as AnyListener, subject };
    this.#registrations.set(name, prepend ? [registration, ...there] : [...there, registration]);
    const remove = () => this.#remove(name, registration);
    return owner === undefined ? remove : owner.hold(remove);
  }

  /** How many listeners a hook has, whatever they are bound to. */
  count(name: keyof HookMap & string): number {
    return this.#registrations.get(name)?.length ?? 0;
  }

  /**
   * Calls every listener in order. The first that throws ends the dispatch with its error; what a returned promise rejects with
   * goes to `onProblem`. Prefer {@linkcode Hooks.notify} where one listener must not harm the others.
   */
  emit<Name extends HookName<HookMap, "emit">>(
    name: Name,
    args: HookArgs<HookMap[Name]>,
    options?: DispatchOptions,
  ): void {
    for (const listener of this.#capture(name, options)) this.#watch(name, listener(...args));
  }

  /** Calls every listener in order, each contained: what it throws, or rejects with, goes to `onProblem` and harms nobody. */
  notify<Name extends HookName<HookMap, "emit">>(
    name: Name,
    args: HookArgs<HookMap[Name]>,
    options?: DispatchOptions,
  ): void {
    for (const listener of this.#capture(name, options)) {
      try {
        this.#watch(name, listener(...args));
      } catch (error) {
        this.#report(name, error);
      }
    }
  }

  /**
   * Calls every listener at once and waits for all of them.
   *
   * @throws {AggregateError} when some failed, after all have settled; the reasons in the order of the listeners
   */
  async parallel<Name extends HookName<HookMap, "parallel">>(
    name: Name,
    args: HookArgs<HookMap[Name]>,
    options?: DispatchOptions,
  ): Promise<void> {
    const listeners = this.#capture(name, options);
    // An async function turns a synchronous throw into a rejection, so that the others are still called.
    const settled = await Promise.allSettled(listeners.map(async (listener) => void await listener(...args)));
    const errors = settled.flatMap((result) => result.status === "rejected" ? [result.reason] : []);
    if (errors.length === 0) return;
    throw new AggregateError(
      errors,
      `Cannot finish "${name}": ${errors.length} of ${listeners.length} listeners failed`,
    );
  }

  /**
   * Calls one listener after the other, waiting for each, until one answers.
   *
   * @returns the answer: the first value other than null, undefined and false; undefined when nobody answered
   * @throws what the first failing listener failed with; those behind it are not called
   */
  async serial<Name extends HookName<HookMap, "serial">>(
    name: Name,
    args: HookArgs<HookMap[Name]>,
    options?: DispatchOptions,
  ): Promise<HookResult<HookMap[Name]> | undefined> {
    for (const listener of this.#capture(name, options)) {
      const answer = await listener(...args);
      if (isAnswer(answer)) return answer as HookResult<HookMap[Name]>;
    }
    return undefined;
  }

  /**
   * Calls one listener after the other, waiting for nothing, until one answers.
   *
   * @returns the answer: the first value other than null, undefined and false; undefined when nobody answered
   * @throws what the first failing listener threw; those behind it are not called
   */
  bail<Name extends HookName<HookMap, "bail">>(
    name: Name,
    args: HookArgs<HookMap[Name]>,
    options?: DispatchOptions,
  ): HookResult<HookMap[Name]> | undefined {
    for (const listener of this.#capture(name, options)) {
      const answer = listener(...args);
      if (isAnswer(answer)) return answer as HookResult<HookMap[Name]>;
    }
    return undefined;
  }

  /**
   * Enters the outermost listener, which enters the next one with `next()`, and so on to `innermost`. A listener that does not
   * call `next()` vetoes everything behind it.
   *
   * Each `next()` runs the whole rest of the chain, however often and however late it is called: a listener that retries runs
   * every listener behind it again. Nothing here ends a chain, so an `innermost` that must not be entered any more (the call was
   * answered, the turn is over) has to refuse by itself.
   *
   * @returns what the outermost listener returned, not waited for
   * @throws what the outermost listener threw; those around an inner one have had the chance to catch it
   */
  waterfall<Name extends HookName<HookMap, "waterfall">>(
    name: Name,
    args: HookArgs<HookMap[Name]>,
    innermost: () => HookResult<HookMap[Name]>,
    options?: DispatchOptions,
  ): HookResult<HookMap[Name]> {
    const listeners = this.#capture(name, options);
    // The position is an argument and never shared: with one cursor for the whole dispatch, a second next() would go on behind
    // what the first one consumed.
    const enter = (position: number): HookResult<HookMap[Name]> => {
      const listener = listeners[position];
      if (listener === undefined) return innermost();
      return listener(...args, () => enter(position + 1)) as HookResult<HookMap[Name]>;
    };
    return enter(0);
  }

  #capture(name: string, { subject }: DispatchOptions = {}): readonly AnyListener[] {
    return (this.#registrations.get(name) ?? [])
      .filter((registration) => registration.subject === undefined || registration.subject === subject)
      .map(({ listener }) => listener);
  }

  #remove(name: string, registration: Registration): void {
    const left = (this.#registrations.get(name) ?? []).filter((other) => other !== registration);
    if (left.length > 0) this.#registrations.set(name, left);
    else this.#registrations.delete(name);
  }

  /** A promise nobody waits for must not end the process. */
  #watch(name: string, answer: unknown): void {
    if (typeof answer !== "object" || answer === null) return;
    // Through a promise of ours, because a thenable may be anything.
    Promise.resolve(answer).then(undefined, (error) => this.#report(name, error));
  }

  #report(name: string, error: unknown): void {
    try {
      this.#onProblem({ name, error });
    } catch {
      // There is nobody left to tell.
    }
  }
}

function isAnswer(value: unknown): boolean {
  return value !== null && value !== undefined && value !== false;
}
