/**
 * How a registry says which hooks it has: a name, a mode, what listeners are given, what they answer.
 *
 * @see execution §2
 * @module
 */

/** What does not end a serial or bail dispatch. Anything else does, 0 and the empty text included. */
export type NoBail = null | undefined | false | void;

/** Listeners are told, in order; nobody waits for them and nobody reads what they return. */
export interface EmitHook<Args extends readonly unknown[] = readonly unknown[]> {
  /** Which of the five modes. */
  readonly mode: "emit";
  /** What each listener is given. */
  readonly args: Args;
}

/** All listeners at once, and all are waited for. */
export interface ParallelHook<Args extends readonly unknown[] = readonly unknown[]> {
  /** Which of the five modes. */
  readonly mode: "parallel";
  /** What each listener is given. */
  readonly args: Args;
}

/** One after the other, each waited for, until one answers. */
export interface SerialHook<Args extends readonly unknown[] = readonly unknown[], Result = unknown> {
  /** Which of the five modes. */
  readonly mode: "serial";
  /** What each listener is given. */
  readonly args: Args;
  /** What a dispatch gives back. */
  readonly result: Result;
}

/** One after the other, without waiting, until one answers. */
export interface BailHook<Args extends readonly unknown[] = readonly unknown[], Result = unknown> {
  /** Which of the five modes. */
  readonly mode: "bail";
  /** What each listener is given. */
  readonly args: Args;
  /** What a dispatch gives back. */
  readonly result: Result;
}

/**
 * Each listener stands around the rest of the chain and enters it with `next()`. `Result` is what the whole chain returns, such
 * as a promise or an async iterable; the dispatch itself waits for nothing.
 */
export interface WaterfallHook<Args extends readonly unknown[] = readonly unknown[], Result = unknown> {
  /** Which of the five modes. */
  readonly mode: "waterfall";
  /** What each listener is given. */
  readonly args: Args;
  /** What a dispatch gives back. */
  readonly result: Result;
}

/** A hook of any mode. */
export type Hook =
  | EmitHook<readonly unknown[]>
  | ParallelHook<readonly unknown[]>
  | SerialHook<readonly unknown[]>
  | BailHook<readonly unknown[]>
  | WaterfallHook<readonly unknown[]>;

/** Hooks by name. A registry is typed by an interface of this shape. */
export type HookMapOf<HookMap> = { readonly [Name in keyof HookMap]: Hook };

/** The names of the hooks of one mode. */
export type HookName<HookMap, Mode extends Hook["mode"]> =
  & { [Name in keyof HookMap]: HookMap[Name] extends { readonly mode: Mode } ? Name : never }[keyof HookMap]
  & string;

/** What listeners of a hook are given. */
export type HookArgs<H> = H extends { readonly args: infer Args extends readonly unknown[] } ? Args : never;

/** What a dispatch of a hook gives back. */
export type HookResult<H> = H extends { readonly result: infer Result } ? Result : void;

/** A listener of a hook. */
export type HookListener<H> = H extends { readonly mode: "waterfall" }
  ? (...args: [...HookArgs<H>, next: () => HookResult<H>]) => HookResult<H>
  : H extends { readonly mode: "serial" }
    ? (...args: HookArgs<H>) => HookResult<H> | NoBail | PromiseLike<HookResult<H> | NoBail>
  : H extends { readonly mode: "bail" } ? (...args: HookArgs<H>) => HookResult<H> | NoBail
  : (...args: HookArgs<H>) => unknown;
