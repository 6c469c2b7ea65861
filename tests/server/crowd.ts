/**
 * Crowds: many clients on one session, many sessions at once, and clients that never read, against a server in a process of its
 * own.
 *
 * @module
 */
import { Child } from "../kill/child.ts";
import { check } from "../kill/judge.ts";
import type { CrowdOrder } from "./crowd_child.ts";
import { TOKEN } from "./server_support.ts";

/** What a crowd came to. */
export interface CrowdReport {
  readonly clients: number;
  readonly silent: number;
  readonly events: number;
  /** Durable frames all reading clients were sent, together. */
  readonly frames: number;
  readonly seconds: number;
  /** From the append of an event to its arrival at the last reading client, milliseconds: median and 99th percentile. */
  readonly lagMs: { readonly median: number; readonly p99: number };
  /** Heap and resident memory of the server: before the crowd, at its largest, and after it left. MiB. */
  readonly heapMiB: readonly number[];
  readonly rssMiB: readonly number[];
}

const SCRIPT = "../server/crowd_child.ts";

/** An answer of the server about itself. */
interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
  readonly sessions: number;
  readonly tails: number;
}

/**
 * So many clients follow one session while it has so many turns; `silent` of them never read. An answer has four pieces.
 *
 * @throws {Error} when a reading client misses an event, or is sent one twice
 */
export async function crowdOnOne(
  clients: number,
  silent: number,
  turns: number,
  pieceLength = 100,
): Promise<CrowdReport> {
  return await withServer({ answers: turns, pieces: 4, pieceLength }, async (ask, memory, port) => {
    await ok(ask("/v1/sessions", { id: "a" }));
    const before = await memory();
    const readers = await inBatches(clients - silent, () => FrameCounter.open(port, "a"));
    const deaf = await inBatches(silent, () => FrameCounter.open(port, "a"));
    const beganMs = performance.now();
    const reading = readers.map((reader) => reader.readUntilTurns(turns));
    const memories: Memory[] = [];
    for (let turn = 1; turn <= turns; turn++) {
      await ok(ask("/v1/sessions/a/inputs", { text: "x" }));
      await Promise.all(readers.map((reader) => reader.turn(turn)));
      if (turn % 5 === 0 || turn === turns) memories.push(await memory());
    }
    await Promise.all(reading);
    const seconds = (performance.now() - beganMs) / 1000;
    check(memories.at(-1)!.tails === clients, `${memories.at(-1)!.tails} of ${clients} clients are left`);
    const seqs = readers[0]!.next;
    for (const reader of readers) {
      check(reader.next === seqs, `a client was sent ${reader.next} events, another ${seqs}`);
    }
    const lags = readers.flatMap((reader) => reader.lagsMs).sort((a, b) => a - b);
    for (const client of [...readers, ...deaf]) client.close();
    let after = await memory();
    while (after.tails > 0) after = await memory();
    return {
      clients,
      silent,
      events: seqs,
      frames: seqs * readers.length,
      seconds: Math.round(seconds * 10) / 10,
      lagMs: { median: at(lags, 0.5), p99: at(lags, 0.99) },
      heapMiB: [before, largest(memories, "heapUsed"), after].map(({ heapUsed }) => mebibytes(heapUsed)),
      rssMiB: [before, largest(memories, "rss"), after].map(({ rss }) => mebibytes(rss)),
    };
  });
}

/**
 * So many sessions run a turn each at the same time, again and again, each with a client.
 *
 * @throws {Error} when a client misses an event, or is sent one twice
 */
export async function manySessions(sessions: number, turns: number): Promise<CrowdReport> {
  return await withServer({ answers: sessions * turns, pieces: 4, pieceLength: 100 }, async (ask, memory, port) => {
    const before = await memory();
    const ids = Array.from({ length: sessions }, (_, index) => `s${index}`);
    await inBatches(sessions, (index) => ok(ask("/v1/sessions", { id: ids[index] })));
    const readers = await inBatches(sessions, (index) => FrameCounter.open(port, ids[index]!));
    const beganMs = performance.now();
    const reading = readers.map((reader) => reader.readUntilTurns(turns));
    const memories: Memory[] = [];
    for (let turn = 1; turn <= turns; turn++) {
      await Promise.all(ids.map((id) => ok(ask(`/v1/sessions/${id}/inputs`, { text: "x" }))));
      await Promise.all(readers.map((reader) => reader.turn(turn)));
      memories.push(await memory());
    }
    await Promise.all(reading);
    const seconds = (performance.now() - beganMs) / 1000;
    const events = readers.reduce((sum, { next }) => sum + next, 0);
    for (const [index, id] of ids.entries()) {
      const { nextSeq } = await (await ask(`/v1/sessions/${id}`)).json();
      check(
        readers[index]!.next === nextSeq,
        `of ${nextSeq} events of ${id} its client was sent ${readers[index]!.next}`,
      );
    }
    const lags = readers.flatMap((reader) => reader.lagsMs).sort((a, b) => a - b);
    for (const reader of readers) reader.close();
    let after = await memory();
    while (after.tails > 0) after = await memory();
    return {
      clients: sessions,
      silent: 0,
      events,
      frames: events,
      seconds: Math.round(seconds * 10) / 10,
      lagMs: { median: at(lags, 0.5), p99: at(lags, 0.99) },
      heapMiB: [before, largest(memories, "heapUsed"), after].map(({ heapUsed }) => mebibytes(heapUsed)),
      rssMiB: [before, largest(memories, "rss"), after].map(({ rss }) => mebibytes(rss)),
    };
  });
}

type Ask = (path: string, body?: unknown) => Promise<Response>;

async function withServer<Result>(
  order: Pick<CrowdOrder, "answers" | "pieces" | "pieceLength">,
  work: (ask: Ask, memory: () => Promise<Memory>, port: number) => Promise<Result>,
): Promise<Result> {
  const root = await Deno.makeTempDir({ prefix: "holdfast-crowd-" });
  try {
    await using child = new Child(SCRIPT, { ...order, root, token: TOKEN });
    const port = Number(await child.line());
    const ask: Ask = (path, body) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const memory = async () => {
      await child.tell("memory");
      return JSON.parse(await child.line()) as Memory;
    };
    return await work(ask, memory, port);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** How many connections are opened at the same time: a listener's queue is short. */
const AT_ONCE = 50;

async function inBatches<Result>(count: number, make: (index: number) => Promise<Result>): Promise<Result[]> {
  const made: Result[] = [];
  for (let first = 0; first < count; first += AT_ONCE) {
    const size = Math.min(AT_ONCE, count - first);
    made.push(...await Promise.all(Array.from({ length: size }, (_, index) => make(first + index))));
  }
  return made;
}

async function ok(answer: Promise<Response>): Promise<void> {
  const response = await answer;
  const text = await response.text();
  check(response.status < 300, `${response.status}: ${text}`);
}

/** A client over a bare connection, which costs this process little: it counts what it is sent. */
class FrameCounter {
  readonly #connection: Deno.Conn;
  /** One more than the last seq it was sent. */
  next = 0;
  readonly lagsMs: number[] = [];
  #turns = 0;
  #rest = "";
  readonly #waiting: { readonly turn: number; readonly resolve: () => void }[] = [];

  private constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  /** Connects. Reads nothing. */
  static async open(port: number, id: string): Promise<FrameCounter> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const lines = [
      `GET /v1/sessions/${id}/events?live=false HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      `authorization: Bearer ${TOKEN}`,
      "accept: text/event-stream",
    ];
    await connection.write(new TextEncoder().encode(lines.join("\r\n") + "\r\n\r\n"));
    return new FrameCounter(connection);
  }

  /** Reads until so many turns have ended. @throws {Error} at a gap or a repeat */
  async readUntilTurns(turns: number): Promise<void> {
    const buffer = new Uint8Array(64 * 1024);
    const decoder = new TextDecoder();
    while (this.#turns < turns) {
      const count = await this.#connection.read(buffer);
      if (count === null) throw new Error("the server closed the connection");
      this.#take(decoder.decode(buffer.subarray(0, count), { stream: true }));
    }
  }

  /** Resolves when it was sent the end of a turn. */
  turn(turn: number): Promise<void> {
    if (this.#turns >= turn) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.push({ turn, resolve }));
  }

  close(): void {
    this.#connection.close();
  }

  #take(text: string): void {
    // Chunk sizes stand between the lines, and never inside one that is looked at: a frame is one chunk or whole ones.
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines) {
      if (line.startsWith("id: ")) {
        const id = Number(line.slice(4));
        if (id !== this.next) throw new Error(`sent seq ${id} where ${this.next} was due`);
        this.next += 1;
      }
      const time = /^data: \{"type":"[^"]+","seq":\d+,"time":(\d+)/.exec(line)?.[1];
      if (time !== undefined) this.lagsMs.push(Date.now() - Number(time));
      if (line.startsWith('data: {"type":"turn/end"')) this.#turns += 1;
    }
    for (const { turn, resolve } of this.#waiting.splice(0)) {
      if (this.#turns >= turn) resolve();
      else this.#waiting.push({ turn, resolve });
    }
  }
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

function largest(memories: readonly Memory[], of: "rss" | "heapUsed"): Memory {
  return memories.reduce((most, memory) => memory[of] > most[of] ? memory : most);
}

function mebibytes(sizeBytes: number): number {
  return Math.round(sizeBytes / 1024 / 1024);
}
