/**
 * Who registered a listener. What an owner registered leaves with it.
 *
 * @module
 */

/**
 * An owner of listeners, such as a plugin. Disposing it takes away everything it registered, in every registry.
 *
 * @example
 * ```ts
 * import { type EmitHook, HookOwner, Hooks } from "./mod.ts";
 *
 * const hooks = new Hooks<{ tick: EmitHook<[]> }>();
 * let ticks = 0;
 * {
 *   using plugin = new HookOwner("clockwork");
 *   hooks.on("tick", () => ticks++, { owner: plugin });
 *   hooks.emit("tick", []);
 * }
 * hooks.emit("tick", []);
 * if (ticks !== 1) throw new Error("unreachable");
 * ```
 */
export class HookOwner implements Disposable {
  /** Who it is, for messages. */
  readonly name: string;
  /** Takes away one registration each. Empty once disposed. */
  readonly #registrations = new Set<() => void>();
  #isDisposed = false;

  /**
   * An owner of nothing yet.
   *
   * @param name who it is, for messages
   */
  constructor(name: string) {
    this.name = name;
  }

  /** Whether it can register nothing any more. */
  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  /**
   * Ties a registration to this owner.
   *
   * @param remove takes the registration away; called at most once
   * @returns takes it away now; harmless when called again
   * @throws {TypeError} when the owner is disposed
   */
  hold(remove: () => void): () => void {
    this.assertActive();
    const registration = () => {
      if (this.#registrations.delete(registration)) remove();
    };
    this.#registrations.add(registration);
    return registration;
  }

  /**
   * Refuses when it can register nothing any more.
   *
   * @throws {TypeError} when the owner is disposed
   */
  assertActive(): void {
    if (this.#isDisposed) throw new TypeError(`Cannot register for "${this.name}": it is disposed`);
  }

  /** Takes away everything it registered. A dispatch that runs still calls what it captured. */
  dispose(): void {
    this.#isDisposed = true;
    for (const remove of [...this.#registrations]) remove();
  }

  /** The same as `dispose()`, for `using`. */
  [Symbol.dispose](): void {
    this.dispose();
  }
}
