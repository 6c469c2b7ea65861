/**
 * A connection to PostgreSQL that breaks when it is told: between a program and its server, looking for the message that commits.
 *
 * @see PostgreSQL documentation, "Message Formats": a message is a letter, a length of four bytes, and a body
 * @module
 */

/** When the connection that commits breaks: before the server hears of it, or after it has done it and before the answer is heard. */
export type BreakAt = "before" | "after";

/** A proxy on a port of its own. */
export class PostgresProxy {
  readonly url: string;
  /** How often the next commits are broken; each breaks one connection. */
  #breaks: BreakAt[] = [];
  /** Texts of statements that break their connection, each once. */
  readonly #breakers: { readonly text: string; readonly at: BreakAt }[] = [];
  /** How many connections were broken. */
  broken = 0;
  /** How many commits went through it. */
  commits = 0;
  readonly #listener: Deno.TcpListener;
  #stopsAfterBreak = false;
  #isStopped = false;
  readonly #server: URL;
  readonly #open = new Set<Deno.TcpConn>();
  readonly #working: Promise<void>[] = [];

  constructor(url: string) {
    this.#server = new URL(url);
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const proxied = new URL(url);
    proxied.host = `127.0.0.1:${this.#listener.addr.port}`;
    this.url = proxied.href;
    this.#working.push(this.#listen());
  }

  /** Breaks the connection of the next commit, and of as many as it is called. */
  breakCommit(at: BreakAt): void {
    this.#breaks.push(at);
  }

  /** Breaks the connection of the next statement that holds a text: before the server hears of it, or when it answers. */
  breakStatement(text: string, at: BreakAt): void {
    this.#breakers.push({ text, at });
  }

  /** From the next break on nobody gets through any more. */
  stopAfterBreak(): void {
    this.#stopsAfterBreak = true;
  }

  /** Breaks every connection now. */
  breakAll(): void {
    for (const connection of [...this.#open]) close(connection);
  }

  async close(): Promise<void> {
    this.#listener.close();
    this.breakAll();
    await Promise.allSettled(this.#working);
  }

  async #listen(): Promise<void> {
    try {
      for await (const client of this.#listener) {
        if (this.#isStopped) close(client);
        else this.#working.push(this.#join(client));
      }
    } catch {
      // It was closed.
    }
  }

  async #join(client: Deno.TcpConn): Promise<void> {
    const server = await Deno.connect({ hostname: this.#server.hostname, port: Number(this.#server.port) });
    this.#open.add(client).add(server);
    let breakAfter = false, breakAtAnswer = false;
    const up = (async () => {
      for await (const chunk of client.readable) {
        if (isCommit(chunk)) {
          this.commits += 1;
          const at = this.#breaks.shift();
          if (at !== undefined) {
            this.broken += 1;
            if (at === "before") return;
            breakAfter = true;
          }
        }
        const breaker = this.#breakerIn(chunk);
        if (breaker !== null) {
          this.broken += 1;
          if (breaker === "before") return;
          breakAtAnswer = true;
        }
        await writeAll(server, chunk);
      }
    })();
    const down = (async () => {
      for await (const chunk of server.readable) {
        // The answer says that it was done; nobody hears it.
        if (breakAtAnswer || (breakAfter && isCompleteCommit(chunk))) return;
        await writeAll(client, chunk);
      }
    })();
    await Promise.race([up, down].map((each) => each.catch(() => {})));
    if (this.#stopsAfterBreak && this.broken > 0) {
      this.#isStopped = true;
      this.breakAll();
    }
    close(client);
    close(server);
    await Promise.allSettled([up, down]);
    this.#open.delete(client);
    this.#open.delete(server);
  }

  #breakerIn(chunk: Uint8Array): BreakAt | null {
    const text = decoder.decode(chunk);
    const index = this.#breakers.findIndex((breaker) => text.includes(breaker.text));
    return index === -1 ? null : this.#breakers.splice(index, 1)[0]!.at;
  }
}

const decoder = new TextDecoder("latin1");

/** A statement without values is sent as its text. */
function isCommit(chunk: Uint8Array): boolean {
  return /[^a-z]commit\0/i.test(decoder.decode(chunk));
}

function isCompleteCommit(chunk: Uint8Array): boolean {
  return decoder.decode(chunk).includes("COMMIT\0");
}

async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await connection.write(bytes.subarray(written));
}

function close(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // Twice is harmless.
  }
}
