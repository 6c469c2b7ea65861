/**
 * One tab over a raw DevTools connection, with what a person or an operating system may do to it.
 *
 * @module
 */
import type { Cdp, CdpEvent } from "../../support/browser/cdp.ts";

/** The longest a page may take to answer. A tab that is gone never does. */
const ANSWER_MS_MAX = 30_000;

/** How much of an expression an error shows. */
const EXPRESSION_SHOWN_MAX = 200;

/** How long a page's timer must at least stand still to count as frozen. */
const STAND_STILL_MS = 120;

/** How often it must come to count as running. */
const TICKS_MIN = 3;

/** A tab whose page counts `globalThis.ticks` up with a timer. */
export class Tab {
  readonly #cdp: Cdp;
  readonly #targetId: string;
  readonly #sessionId: string;
  #isGone = false;

  private constructor(cdp: Cdp, targetId: string, sessionId: string) {
    this.#cdp = cdp;
    this.#targetId = targetId;
    this.#sessionId = sessionId;
  }

  /** Opens an empty tab. In a window of its own it stays visible beside others; in one window only the newest tab is. */
  static async open(cdp: Cdp, { isWindow = false } = {}): Promise<Tab> {
    const { targetId } = await cdp.send("Target.createTarget", { url: "about:blank", newWindow: isWindow });
    const { sessionId } = await cdp.send("Target.attachToTarget", { targetId, flatten: true });
    const tab = new Tab(cdp, targetId, sessionId);
    await tab.send("Page.enable");
    await tab.send("Runtime.enable");
    return tab;
  }

  /** Whether it was closed or crashed by us. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** What an expression comes to in the page; a promise is awaited. @throws {Error} what it throws */
  async evaluate<Value>(expression: string): Promise<Value> {
    const asked = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await bounded(
      `evaluate ${expression.slice(0, EXPRESSION_SHOWN_MAX)}`,
      this.#cdp.send("Runtime.evaluate", asked, this.#sessionId),
    );
    if (exceptionDetails === undefined) return result.value;
    throw new Error(`The page threw ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
  }

  /** A DevTools command to the page. */
  send(method: string, params: Record<string, unknown> = {}): ReturnType<Cdp["send"]> {
    return bounded(method, this.#cdp.send(method, params, this.#sessionId));
  }

  /** Calls back with what the page hands to the function `name`, which it has from its next load on. */
  async listen(name: string, hear: (payload: string) => void): Promise<void> {
    this.#cdp.listen(({ method, params, sessionId }) => {
      if (sessionId !== this.#sessionId || method !== "Runtime.bindingCalled") return;
      if (params.name === name) hear(params.payload);
    });
    await this.send("Runtime.addBinding", { name });
  }

  /** Reloads; resolves once the new page has loaded. */
  async reload(): Promise<void> {
    const loaded = this.#next("Page.loadEventFired");
    await this.send("Page.reload");
    await bounded("reload", loaded);
  }

  /** Goes to another address. */
  async navigate(url: string): Promise<void> {
    const loaded = this.#next("Page.loadEventFired");
    await this.send("Page.navigate", { url });
    await bounded("navigate", loaded);
  }

  /** Closes the tab, as its cross does: `pagehide` comes, and it is gone. */
  async close(): Promise<void> {
    this.#isGone = true;
    await this.#remove();
  }

  /** Kills the renderer: nothing of the page runs any more, not even `pagehide`. */
  async crash(): Promise<void> {
    this.#isGone = true;
    const crashed = this.#next("Inspector.targetCrashed");
    await this.send("Inspector.enable");
    this.#cdp.send("Page.crash", {}, this.#sessionId).catch(() => {}); // Nobody is left to answer.
    await bounded("crash", crashed);
    await this.#remove();
  }

  /** Freezes the tab, and shows it: its timer ran before, and stands still. */
  async freeze(): Promise<void> {
    const tickingMs = await this.#untilTicking("before it is frozen");
    // A page that counts as looked at is not frozen.
    await this.send("Emulation.setFocusEmulationEnabled", { enabled: false });
    await this.send("Page.setWebLifecycleState", { state: "frozen" });
    const before = await this.#ticks();
    // A page that gets little of the processor ticks seldom, too.
    await pause(Math.max(STAND_STILL_MS, tickingMs * 2));
    const ticks = await this.#ticks() - before;
    if (ticks !== 0) throw new Error(`Cannot freeze the tab: its timer ticked ${ticks} times`);
  }

  /** Wakes a frozen tab, as somebody does who looks at it, and shows that its timer runs again. */
  async wake(): Promise<void> {
    await this.send("Page.setWebLifecycleState", { state: "active" });
    // Waking alone leaves it hidden, and no command brings a headless window to the front.
    await this.send("Emulation.setFocusEmulationEnabled", { enabled: true });
    await this.#untilTicking("after it was woken");
  }

  /** Resolves when the page's timer has come a few times, with how long that took, in milliseconds. */
  async #untilTicking(when: string): Promise<number> {
    const beganMs = performance.now();
    const before = await this.#ticks();
    while (await this.#ticks() - before < TICKS_MIN) {
      if (performance.now() - beganMs > ANSWER_MS_MAX) throw new Error(`The tab's timer stands still ${when}`);
      await pause(STAND_STILL_MS / 6);
    }
    return performance.now() - beganMs;
  }

  #ticks(): Promise<number> {
    return this.evaluate<number>("globalThis.ticks");
  }

  async #remove(): Promise<void> {
    await this.#cdp.send("Target.setDiscoverTargets", { discover: true });
    const gone = this.#cdp.next("Target.targetDestroyed", ({ params }) => params.targetId === this.#targetId);
    await this.#cdp.send("Target.closeTarget", { targetId: this.#targetId });
    await bounded("close", gone);
  }

  #next(method: string): Promise<CdpEvent> {
    return this.#cdp.next(method, ({ sessionId }) => sessionId === this.#sessionId);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((over) => setTimeout(over, delayMs));
}

/** @throws {Error} when it takes longer than ANSWER_MS_MAX */
async function bounded<Value>(what: string, work: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(`Cannot ${what}: no answer in ${ANSWER_MS_MAX} ms`)), ANSWER_MS_MAX);
  });
  try {
    return await Promise.race([work, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}
