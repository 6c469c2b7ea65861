/**
 * A page that draws nothing: it starts the worker as any page does, hands everything it hears to the test, and answers questions
 * when it was told how.
 *
 * The test reads and drives `globalThis.lab`. What it must know although this page will be killed goes through
 * `globalThis.tell`, which DevTools puts there.
 *
 * @module
 */
import { connectWorker, followPageState, type HoldfastClient } from "../../../web/client.ts";
import type { PageCalls, PageVerb, SessionView, WorkerNews } from "../../../web/protocol.ts";
import type { StoreAnswer, StoreRequest } from "./store_worker.ts";

/** What the page tells the test, as JSON. */
export type LabReport =
  /** What the worker told unasked. */
  | { readonly at: number; readonly kind: "news"; readonly news: WorkerNews }
  /** A call of the page was answered: a person would now see it. */
  | {
    readonly at: number;
    readonly kind: "answered";
    readonly verb: PageVerb;
    readonly ask: unknown;
    readonly answer: unknown;
  }
  /** The worker was ended by the page. */
  | { readonly at: number; readonly kind: "terminated" };

declare global {
  var lab: Lab;
  /** Counts up while the page's timers run. */
  var ticks: number;
  var tell: ((payload: string) => void) | undefined;
}

/** How often the page's timer counts. */
const TICK_MS = 10;

class Lab {
  /** Who is to be paid → how long the person thinks before allowing it. Others are left open. */
  readonly thinkMs: Record<string, number> = {};
  readonly #views = new Map<string, SessionView>();
  readonly #answered = new Set<string>();
  readonly #stores = new Map<string, Worker>();
  #client: HoldfastClient | null = null;
  #unfollow: () => void = () => {};

  /**
   * Starts the worker.
   *
   * @param query of its address, as `?bank=/pay`
   * @param follows whether the worker is told when the page is hidden, frozen or left
   */
  start(query: string, follows: boolean): void {
    this.#client = connectWorker(() => new Worker(`/worker.js${query}`, { type: "module" }));
    this.#client.subscribe((news) => this.#hear(news));
    this.#unfollow = follows ? followPageState(this.#client) : () => {};
  }

  /** Asks the worker. A refusal comes back as `{refused}`, because errors lose their members on the way to the test. */
  async call<Verb extends PageVerb>(verb: Verb, ask: PageCalls[Verb]["ask"]): Promise<unknown> {
    try {
      const answer = await this.#client!.call(verb, ask);
      if (verb !== "export") report({ kind: "answered", verb, ask, answer });
      return { answer };
    } catch (refused) {
      const { code, message, sessionIds } = refused as { code: string; message: string; sessionIds?: unknown };
      return { refused: { code, message, sessionIds } };
    }
  }

  /** From now on these are allowed, also where the question is open already. */
  allow(thinkMs: Record<string, number>): void {
    Object.assign(this.thinkMs, thinkMs);
    for (const view of this.#views.values()) this.#answerQuestions(view);
  }

  /** Asks a worker that has nothing but a store, by its name. It is started when it is first asked. */
  storeCall(name: string, request: StoreRequest): Promise<StoreAnswer> {
    const worker = this.#stores.get(name) ?? new Worker("/store_worker.js", { type: "module" });
    this.#stores.set(name, worker);
    return new Promise((answered) => {
      worker.addEventListener("message", ({ data }) => answered(data), { once: true });
      worker.postMessage(request);
    });
  }

  /** Ends one of them. */
  endStore(name: string): void {
    this.#stores.get(name)?.terminate();
    this.#stores.delete(name);
  }

  /** The log's bytes, as text that can cross to the test. */
  async exportAsBase64(id: string): Promise<string> {
    const { bytes } = await this.#client!.call("export", { id });
    return bytes.toBase64();
  }

  importBase64(name: string, text: string): Promise<unknown> {
    return this.call("import", { name, bytes: Uint8Array.fromBase64(text) as Uint8Array<ArrayBuffer> });
  }

  /** Sends one message after the other, each when the turn of the one before has ended, until the worker dies. */
  async converse(inputs: readonly { id: string; inputId: string; text: string }[]): Promise<void> {
    const client = this.#client;
    for (const input of inputs) {
      const called = await this.call("send", input) as { answer?: { seq: number } };
      if (called.answer === undefined || !await this.#whenEnded(input.id, called.answer.seq, client)) return;
    }
  }

  /** Ends the worker as a crash would, after a time. Resolves when it has. */
  async terminateAfter(delayMs: number): Promise<void> {
    await pause(delayMs);
    this.#client!.terminate();
    this.#client = null;
    this.#unfollow();
    report({ kind: "terminated" });
  }

  /** Resolves when the turn of an input has ended. @returns false when the worker was ended instead */
  async #whenEnded(id: string, inputSeq: number, client: HoldfastClient | null): Promise<boolean> {
    for (;;) {
      if (this.#client !== client) return false;
      const view = this.#views.get(id);
      if (view !== undefined && view.status === "idle" && view.nextSeq > inputSeq + 2) return true;
      await pause(TICK_MS);
    }
  }

  #hear(news: WorkerNews): void {
    if (news.kind === "view") this.#views.set(news.view.id, news.view);
    if (news.kind === "chunk" || news.kind === "sessions") return;
    report({ kind: "news", news });
    if (news.kind === "view") this.#answerQuestions(news.view);
  }

  #answerQuestions({ id, questions }: SessionView): void {
    for (const { question, argumentsText } of questions) {
      const payee = Object.keys(this.thinkMs).find((payee) => argumentsText.includes(`"${payee}"`));
      if (payee === undefined || this.#answered.has(question)) continue;
      this.#answered.add(question);
      const client = this.#client!;
      setTimeout(() => {
        // The worker may be gone by then, and the question with it.
        client.call("answer", { id, question, decision: "allowed-once" }).catch(() => {});
      }, this.thinkMs[payee]);
    }
  }
}

type WithoutTime<Report> = Report extends unknown ? Omit<Report, "at"> : never;

function report(what: WithoutTime<LabReport>): void {
  globalThis.tell?.(JSON.stringify({ at: Date.now(), ...what }));
}

function pause(delayMs: number): Promise<void> {
  return new Promise((over) => setTimeout(over, delayMs));
}

globalThis.ticks = 0;
setInterval(() => globalThis.ticks++, TICK_MS);
globalThis.lab = new Lab();
