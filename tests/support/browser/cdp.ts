/**
 * A raw DevTools connection, for what Playwright gets in the way of: freezing a page, killing a renderer.
 *
 * @module
 */

/** The parameters and results of a DevTools command, which are as the protocol says. */
// deno-lint-ignore no-explicit-any
type Fields = Record<string, any>;

/** What the browser says by itself. */
export interface CdpEvent {
  readonly method: string;
  readonly params: Fields;
  readonly sessionId?: string;
}

/** One connection to a browser; pages are told apart by their session. */
export interface Cdp {
  /** Sends a command and resolves with its result. Rejects with what the browser refused, and when the connection ends. */
  send(method: string, params?: Fields, sessionId?: string): Promise<Fields>;
  /** Hears every event, until the returned function is called. */
  listen(hear: (event: CdpEvent) => void): () => void;
  /** The first event from now on that fits. */
  next(method: string, fits?: (event: CdpEvent) => boolean): Promise<CdpEvent>;
  /** Opens a page, and resolves once it has loaded. */
  openPage(url: string): Promise<CdpPage>;
  /** Closes the connection, not the browser. */
  close(): Promise<void>;
}

/** One page (a tab) over a raw connection. */
export interface CdpPage {
  readonly targetId: string;
  readonly sessionId: string;
  send(method: string, params?: Fields): Promise<Fields>;
  /** Evaluates an expression in the page, awaits it, and gives its value as JSON would. Throws what it threw. */
  // deno-lint-ignore no-explicit-any
  evaluate(expression: string): Promise<any>;
  /** `frozen` stops the page's timers and those of its workers, as the browser does to a tab in the background. */
  setLifecycle(state: "frozen" | "active"): Promise<void>;
  /** Closes the tab, and resolves once it is gone. */
  close(): Promise<void>;
}

interface Waiting {
  readonly method: string;
  resolve(result: Fields): void;
  reject(error: Error): void;
}

/**
 * Connects to a browser.
 *
 * @param target the WebSocket address that it printed, or its debugging port on this machine
 */
export async function connectCdp(target: string | number): Promise<Cdp> {
  const socket = new WebSocket(typeof target === "string" ? target : await addressOf(target));
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error(`Cannot connect to DevTools at "${target}"`));
  });

  let nextId = 1;
  const waiting = new Map<number, Waiting>();
  const listeners = new Set<(event: CdpEvent) => void>();
  const closed = new Promise<void>((resolve) => {
    socket.onclose = () => {
      for (const { method, reject } of waiting.values()) reject(new Error(`${method}: the connection ended`));
      waiting.clear();
      resolve();
    };
  });
  socket.onerror = () => {};
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.id === undefined) {
      for (const hear of [...listeners]) hear(message);
      return;
    }
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) asked?.reject(new Error(`${asked.method}: ${message.error.message}`));
    else asked?.resolve(message.result);
  };

  const cdp: Cdp = {
    send(method, params = {}, sessionId) {
      if (socket.readyState !== WebSocket.OPEN) return Promise.reject(new Error(`${method}: the connection ended`));
      const id = nextId++;
      return new Promise((resolve, reject) => {
        waiting.set(id, { method, resolve, reject });
        socket.send(JSON.stringify({ id, method, params, sessionId }));
      });
    },
    listen(hear) {
      listeners.add(hear);
      return () => void listeners.delete(hear);
    },
    next(method, fits = () => true) {
      return new Promise((resolve) => {
        const stop = cdp.listen((event) => {
          if (event.method !== method || !fits(event)) return;
          stop();
          resolve(event);
        });
      });
    },
    async openPage(url) {
      const { targetId } = await cdp.send("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await cdp.send("Target.attachToTarget", { targetId, flatten: true });
      const page = pageOf(cdp, targetId, sessionId);
      await page.send("Page.enable");
      const loaded = cdp.next("Page.loadEventFired", (event) => event.sessionId === sessionId);
      const { errorText } = await page.send("Page.navigate", { url });
      if (errorText) throw new Error(`Cannot open "${url}": ${errorText}`);
      await loaded;
      return page;
    },
    close() {
      socket.close();
      return closed;
    },
  };
  return cdp;
}

function pageOf(cdp: Cdp, targetId: string, sessionId: string): CdpPage {
  return {
    targetId,
    sessionId,
    send: (method, params) => cdp.send(method, params, sessionId),
    async evaluate(expression) {
      const asked = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = await cdp.send("Runtime.evaluate", asked, sessionId);
      if (exceptionDetails === undefined) return result.value;
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    },
    async setLifecycle(state) {
      await cdp.send("Page.setWebLifecycleState", { state }, sessionId);
    },
    async close() {
      await cdp.send("Target.setDiscoverTargets", { discover: true });
      const gone = cdp.next("Target.targetDestroyed", ({ params }) => params.targetId === targetId);
      await cdp.send("Target.closeTarget", { targetId });
      await gone;
    },
  };
}

async function addressOf(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/json/version`);
  return (await response.json()).webSocketDebuggerUrl;
}
