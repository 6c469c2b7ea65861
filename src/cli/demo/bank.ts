/**
 * A pretend bank: a real HTTP server that counts payments. It is the truth the story is checked against, and it never learns
 * that a payer was killed: a request that has arrived is paid, whether or not anybody still listens.
 *
 * - `POST /pay {to, amount}` waits, moves the money, waits again and answers. A repeated `Idempotency-Key` is not paid again.
 * - `DELETE /pay` answers what became of the key, and closes it when nothing was paid: a request under a closed key is refused,
 *   one that is still waiting too. So "not paid" is a promise, not an observation.
 * - `GET /truth` answers a {@linkcode Truth}.
 *
 * Run alone, it takes the delays of the first request for a payee as JSON (payee → {@linkcode BankDelays}), prints
 * `listening PORT` once it serves, and ends when its standard input ends.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import process from "node:process";

/** What the bank knows of one key. Times are milliseconds since the epoch. */
export interface Payment {
  /** The `Idempotency-Key`; empty when a request had none. */
  readonly key: string;
  /** The payee; `null` while no request with this key came through whole. */
  to: string | null;
  amount: number | null;
  /** When each request with this key arrived; one that broke off after its headers counts. */
  readonly arrivedAt: number[];
  /** When money moved: never more than once. */
  paidAt: number | null;
  /** When the key was closed: no money moves under it after that. */
  closedAt: number | null;
}

/** How long the bank takes for a payee. */
export interface BankDelays {
  /** From the arrival of the request until the money moves. Closing its key ends the wait. */
  readonly beforeMs: number;
  /** From then until the answer. */
  readonly afterMs: number;
}

/** What the bank knows. */
export interface Truth {
  /** Requests it has not finished. */
  readonly inFlight: number;
  readonly payments: readonly Payment[];
}

/** A bank that serves. */
export interface Bank {
  readonly port: number;
  truth(): Truth;
  /** Resolves when no request is in flight and no client is connected: nothing that was sent before can move money later. */
  whenQuiet(): Promise<void>;
  close(): Promise<void>;
}

/** The most a request body may be, in UTF-16 units. */
const BODY_LENGTH_MAX = 4096;

/** How long nothing may happen before the bank calls itself quiet: a connection may wait to be accepted. */
const QUIET_MS = 60;

const NO_DELAYS: BankDelays = { beforeMs: 0, afterMs: 0 };

/** Serves on a free loopback port. */
export async function startBank(delaysOf: (to: string) => BankDelays | undefined): Promise<Bank> {
  const payments = new Map<string, Payment>();
  let inFlight = 0;
  let connections = 0;
  let lastChangeMs = performance.now();
  const count = (requests: number, clients: number) => {
    inFlight += requests;
    connections += clients;
    lastChangeMs = performance.now();
  };
  const truth = () => ({ inFlight, payments: [...payments.values()] });

  /** Ends the wait of whoever has arrived under a key, by key. */
  const waiting = new Map<string, (() => void)[]>();
  const paymentUnder = (request: IncomingMessage) => {
    const key = String(request.headers["idempotency-key"] ?? "");
    const payment = payments.get(key) ?? { key, to: null, amount: null, arrivedAt: [], paidAt: null, closedAt: null };
    payments.set(key, payment);
    return payment;
  };

  async function pay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const payment = paymentUnder(request);
    payment.arrivedAt.push(Date.now());
    const { to, amount } = JSON.parse(await readBody(request)) as { to: string; amount: number };
    payment.to = to;
    payment.amount = amount;
    const { beforeMs, afterMs } = delaysOf(to) ?? NO_DELAYS;
    if (payment.closedAt === null) {
      await pauseUntil(beforeMs, (end) => waiting.set(payment.key, [...waiting.get(payment.key) ?? [], end]));
    }
    if (payment.closedAt === null) payment.paidAt ??= Date.now();
    await pause(afterMs);
    answerState(response, payment);
  }

  /** Looks and closes in one step: nothing is awaited in between. */
  function close(request: IncomingMessage, response: ServerResponse): void {
    const payment = paymentUnder(request);
    if (payment.paidAt === null) payment.closedAt ??= Date.now();
    for (const end of waiting.get(payment.key) ?? []) end();
    answerState(response, payment);
  }

  const server = createServer((request, response) => {
    if (request.method === "GET" && request.url === "/truth") return answer(response, 200, truth());
    if (request.method === "DELETE" && request.url === "/pay") return close(request, response);
    if (request.method !== "POST" || request.url !== "/pay") return answer(response, 404, { error: "no such page" });
    count(1, 0);
    pay(request, response)
      .catch((error) => answer(response, 400, { error: String(error) }))
      .finally(() => count(-1, 0));
  });
  server.on("connection", (socket) => {
    count(0, 1);
    socket.once("close", () => count(0, -1));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("Cannot listen on a loopback port");

  return {
    port: address.port,
    truth,
    async whenQuiet() {
      const askedMs = performance.now();
      const quietMs = () => performance.now() - Math.max(askedMs, lastChangeMs);
      while (inFlight > 0 || connections > 0 || quietMs() < QUIET_MS) await pause(QUIET_MS / 4);
    },
    close: () => new Promise((closed) => void server.close(() => closed())),
  };
}

function pause(delayMs: number): Promise<void> {
  return new Promise((over) => setTimeout(over, delayMs));
}

/** A pause that whoever is given the function may end early. */
function pauseUntil(delayMs: number, keep: (end: () => void) => void): Promise<void> {
  return new Promise((over) => {
    const timer = setTimeout(over, delayMs);
    keep(() => {
      clearTimeout(timer);
      over();
    });
  });
}

/** As `httpTarget` wants it. */
function answerState(response: ServerResponse, { to, amount, paidAt }: Payment): void {
  if (paidAt === null) return answer(response, 409, { state: "closed" });
  answer(response, 200, { state: "done", receipt: `paid ${amount} to ${to}` });
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return; // The payer is dead; the money moved all the same.
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > BODY_LENGTH_MAX) throw new Error("Cannot pay: the request is too large");
  }
  return text;
}

if (import.meta.main) {
  const delays = JSON.parse(process.argv[2] ?? "{}") as Record<string, BankDelays>;
  const { port } = await startBank((to) => {
    const delay = delays[to];
    delete delays[to];
    return delay;
  });
  process.stdout.write(`listening ${port}\n`);
  process.stdin.resume();
  process.stdin.on("end", () => process.exit(0));
}
