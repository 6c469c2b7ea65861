/**
 * A client of several servers that die: says things to one session, asks whoever answers, and remembers everything it was told.
 *
 * @module
 */
import type { JsonObject } from "../../../mod.ts";

/** What a client needs to know. */
export interface ClientOptions {
  readonly sessionId: string;
  readonly token: string;
  /** Where the servers are now. */
  readonly origins: () => readonly string[];
  readonly pick: (count: number) => number;
  readonly isOver: () => boolean;
}

/** An input that was acknowledged. */
export interface Acknowledged {
  readonly messageId: string;
  readonly seq: number;
}

interface Row extends JsonObject {
  readonly seq: number;
  readonly type: string;
  readonly data: JsonObject;
}

/** How a request ended: its document, or its status, or nothing at all. */
type Answer = { readonly status: number; readonly body: unknown } | null;

/** How long it waits before it asks again, in milliseconds. */
const AGAIN_MS = 250;
/** How often it looks for the end of a turn before it says the same again, which wakes whoever took over. */
const LOOKS_MAX = 6;
/** How long one request may take, in milliseconds. */
const REQUEST_MS_MAX = 25_000;

/** A client of one session. */
export class ClusterClient {
  readonly #options: ClientOptions;
  readonly acknowledged: Acknowledged[] = [];
  /** Every durable row that any server showed, as text. */
  readonly seen = new Map<number, string>();
  /** Rows that two servers showed differently. */
  readonly forked: number[] = [];
  /** What became of the orders. */
  readonly outcomes = { done: 0, unknown: 0, refused: 0, notStarted: 0, other: 0 };
  turns = 0;
  /** What it does now, and what it was answered last: for whoever looks why it does not end. */
  doing = "";
  answered = "";
  refusals = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get sessionId(): string {
    return this.#options.sessionId;
  }

  /** One order after the other, until it is over. */
  async run(): Promise<void> {
    await this.#create();
    for (let number = 0; !this.#options.isOver(); number++) {
      const tool = number % 2 === 0 ? "keyed" : "opaque";
      const order = `${this.#options.sessionId}-${number}`;
      // What is unknown is tried once more, by a message of a person.
      for (let attempt = 0; attempt < 2; attempt++) {
        const outcome = await this.#order(`${tool} ${order}`, `${order}-${attempt}`);
        if (outcome === null) return;
        this.outcomes[outcome] += 1;
        if (outcome === "done" || outcome === "refused") break;
      }
    }
  }

  async #create(): Promise<void> {
    for (;;) {
      const answer = await this.#ask("/v1/sessions", { id: this.#options.sessionId });
      if (answer?.status === 201 || answer?.status === 409) return;
      await this.#pause();
    }
  }

  /** Says something until it is acknowledged, and waits until its turn has ended. */
  async #order(text: string, key: string): Promise<keyof ClusterClient["outcomes"] | null> {
    let acknowledged = null as Acknowledged | null;
    this.doing = key;
    for (;;) {
      const answer = await this.#ask(this.#path("/inputs"), { text }, key);
      if (answer?.status === 202) {
        const { messageId, seq } = answer.body as Acknowledged;
        // Put back after a crash, a message is in the log a second time, and either place is right.
        if (acknowledged?.seq !== seq) this.acknowledged.push({ messageId, seq });
        acknowledged ??= { messageId, seq };
        if (acknowledged.messageId !== messageId) throw new Error(`input ${key} was acknowledged as two`);
        for (let looks = 0; looks < LOOKS_MAX; looks++) {
          await this.#look(acknowledged.seq);
          const outcome = this.#outcome(acknowledged);
          if (outcome !== null) return outcome;
          await this.#pause();
        }
      } else {
        if (answer !== null) this.refusals += 1;
        // It may have arrived, so the key stays.
        await this.#pause();
      }
    }
  }

  /** Reads what is new, from any server. */
  async #look(from: number): Promise<void> {
    let next: number | null = from;
    while (next !== null) {
      const answer: Answer = await this.#ask(this.#path(`/events?from=${next}`));
      if (answer?.status !== 200) return;
      const page = answer.body as { readonly events: readonly Row[]; readonly nextFrom: number | null };
      for (const row of page.events) {
        const text = JSON.stringify(row);
        const known = this.seen.get(row.seq);
        if (known !== undefined && known !== text) this.forked.push(row.seq);
        this.seen.set(row.seq, text);
      }
      next = page.nextFrom;
    }
  }

  /** What became of the message, once a turn that took it has ended and nobody put it back. */
  #outcome({ messageId, seq }: Acknowledged): keyof ClusterClient["outcomes"] | null {
    const rows = [...this.seen.keys()].filter((each) => each >= seq).sort((a, b) => a - b)
      .map((each) => JSON.parse(this.seen.get(each)!) as Row);
    const heard = rows.findLastIndex(({ type, data }) => type === "user/message" && data["id"] === messageId);
    if (heard === -1) return null;
    const rest = rows.slice(heard);
    const end = rest.find(({ type }) => type === "turn/end");
    if (end === undefined) return null;
    // A repair closed it: the message is said again, and runs again. What is known by then is enough for an order.
    const result = rest.find(({ type, seq }) => type === "tool/result" && seq < end.seq);
    this.turns += 1;
    if (result === undefined) {
      return (end.data["reason"] as JsonObject)["kind"] === "interrupted" ? "notStarted" : "other";
    }
    const [block] = (result.data["message"] as JsonObject)["content"] as JsonObject[];
    if (block?.["isError"] !== true) return "done";
    const code = (result.data["error"] as JsonObject | undefined)?.["code"];
    if (code === "TOOL_OUTCOME_UNKNOWN") return "unknown";
    return code === "TOOL_NOT_STARTED" ? "notStarted" : "refused";
  }

  #path(rest: string): string {
    return `/v1/sessions/${this.#options.sessionId}${rest}`;
  }

  async #ask(path: string, body?: unknown, key?: string): Promise<Answer> {
    const { origins, pick, token } = this.#options;
    const all = origins();
    if (all.length === 0) return null;
    try {
      const response = await fetch(all[pick(all.length)] + path, {
        method: body === undefined ? "GET" : "POST",
        signal: AbortSignal.timeout(REQUEST_MS_MAX),
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer = { status: response.status, body: await response.json() };
      this.answered = `${path} ${answer.status} ${answer.status < 300 ? "" : JSON.stringify(answer.body)}`;
      return answer;
    } catch (error) {
      this.answered = `${path} ${error}`;
      return null;
    }
  }

  async #pause(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS + this.#options.pick(AGAIN_MS)));
  }
}
