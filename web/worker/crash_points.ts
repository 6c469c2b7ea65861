/**
 * Crashes on purpose, so that a visitor sees what a repair finds.
 *
 * A worker cannot kill itself at an exact point: what it has begun would go on for a while. It stops there instead, for good, and
 * asks whoever holds it to terminate it.
 *
 * @module
 */
import type { AgentHooks, Hooks } from "../../mod.ts";
import type { CrashPoint } from "../protocol.ts";

/** A point to crash at. */
export class CrashPoints {
  readonly #announce: (at: CrashPoint) => void;
  #armed: CrashPoint | null = null;

  /** @param announce asks to be terminated */
  constructor(announce: (at: CrashPoint) => void) {
    this.#announce = announce;
  }

  /** Stands around every body, behind its barrier. */
  watch(hooks: Hooks<AgentHooks>): void {
    hooks.on("tools/execute", async (call, next) => {
      if (call.effect === "none") return await next();
      if (this.#armed === "before-effect") return await this.crash("before-effect");
      const outcome = await next();
      return this.#armed === "after-effect" ? await this.crash("after-effect") : outcome;
    });
  }

  /** The next effect ends there. */
  arm(at: CrashPoint): void {
    this.#armed = at;
  }

  /** Ends here. Never resolves. */
  crash(at: CrashPoint): Promise<never> {
    this.#announce(at);
    return new Promise(() => {});
  }
}
