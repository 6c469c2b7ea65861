/**
 * The processes of the story: a bank, and payers that are started to be killed. The story itself is never one of them.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import type { BankDelays, Truth } from "./bank.ts";
import type { Order, PayerNews } from "./payer.ts";

const CONFIG = path("../../../deno.json");

/** A process that prints lines. */
export class Actor implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #lines: AsyncGenerator<string>;

  /** @param file relative to this folder */
  constructor(file: string, args: readonly string[]) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--config", CONFIG, path(file), ...args],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#lines = lines(this.#child.stdout);
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** The next line; `null` when it printed its last. */
  async next(): Promise<string | null> {
    return (await this.#lines.next()).value ?? null;
  }

  /** Resolves when it has ended by itself. */
  async end(): Promise<void> {
    while (await this.next() !== null);
    await this.#child.status;
  }

  /** SIGKILL: nothing in the process runs any more. Resolves when it is gone, with the time of the kill. */
  async kill(): Promise<number> {
    const killedAt = Date.now();
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It ended by itself.
    }
    await this.#child.status;
    return killedAt;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#lines.return(undefined);
    await this.#child.stdin.close().catch(() => {});
  }
}

/** A payer, and what it tells. */
export class Payer extends Actor {
  constructor(order: Order) {
    super("./payer.ts", [JSON.stringify(order)]);
  }

  /** Its news until the first one of this kind. @throws when it ends before that */
  async until<Kind extends PayerNews["kind"]>(kind: Kind): Promise<PayerNews & { kind: Kind }> {
    for await (const news of this.news()) if (news.kind === kind) return news as PayerNews & { kind: Kind };
    throw new Error(`The payer ended before it told "${kind}"`);
  }

  async *news(): AsyncGenerator<PayerNews> {
    for (let line = await this.next(); line !== null; line = await this.next()) yield JSON.parse(line);
  }
}

/** The bank in its own process. */
export class BankProcess extends Actor {
  port = 0;

  static async start(delays: Readonly<Record<string, BankDelays>>): Promise<BankProcess> {
    const bank = new BankProcess("./bank.ts", [JSON.stringify(delays)]);
    bank.port = Number(/^listening (\d+)$/.exec(await bank.next() ?? "")?.[1]);
    return bank;
  }

  async truth(): Promise<Truth> {
    return await (await fetch(`http://127.0.0.1:${this.port}/truth`)).json();
  }

  /** Asks again and again until the answer fits. */
  async truthWhen(fits: (truth: Truth) => boolean): Promise<Truth> {
    for (;;) {
      const truth = await this.truth();
      if (fits(truth)) return truth;
      await new Promise((over) => setTimeout(over, POLL_MS));
    }
  }
}

/** How often the bank is asked. */
const POLL_MS = 20;

async function* lines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}

function path(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
