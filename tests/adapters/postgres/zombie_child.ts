/**
 * An owner that stops itself, as a machine does that is suspended: at a chosen moment of the barrier of a call. Started by `zombie.ts`.
 *
 * One JSON line in for each trial, one out when the turn is over. It stops with SIGSTOP in between, and goes on when somebody sends SIGCONT.
 *
 * @module
 */
import { createInterface } from "node:readline";
import process from "node:process";
import {
  createAgent,
  defineTool,
  hasCode,
  type LogWriter,
  scripted,
  type SessionEvent,
  type SessionStore,
} from "../../../mod.ts";
import { type Command, openPostgresStore, type PostgresStore } from "../../../src/entry/postgres.ts";
import type { Place } from "./context.ts";

/**
 * Where it stops: before the batch of the marker is handed to the database; inside of its transaction; when the database has acknowledged it,
 * before the body; and in the body.
 */
export type StopAt = "before" | "inside" | "after" | "body";

/** One trial. */
export interface ZombieTrial {
  readonly place: Place;
  readonly leaseMs: number;
  readonly id: string;
  readonly stopAt: StopAt;
  /** A file to which the body appends a line. */
  readonly effects: string;
}

/** What it says when the turn is over. */
export interface ZombieReport {
  readonly bodies: number;
  /** Code of what made the session read-only; `null` when nothing did. */
  readonly failure: string | null;
}

/** Stops this process. It goes on here. */
function stop(): void {
  Deno.kill(Deno.pid, "SIGSTOP");
}

function isMarker(events: readonly SessionEvent[]): boolean {
  return events.some(({ type }) => type === "effect/dispatched");
}

/** The store, whose writers stop. */
function stopping(store: PostgresStore, stopAt: StopAt): SessionStore {
  const wrap = (log: LogWriter): LogWriter =>
    new Proxy(log, {
      get(target, name) {
        if (name !== "append") {
          const value = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        }
        return async (events: readonly SessionEvent[], options?: { readonly batchId?: string }) => {
          if (stopAt === "before" && isMarker(events)) stop();
          const acknowledged = await target.append(events, options);
          if (stopAt === "after" && isMarker(events)) stop();
          return acknowledged;
        };
      },
    });
  return new Proxy(store, {
    get(target, name) {
      if (name === "create") {
        return async (...args: Parameters<SessionStore["create"]>) => wrap(await target.create(...args));
      }
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function trial(store: PostgresStore, { id, stopAt, effects }: ZombieTrial): Promise<ZombieReport> {
  let bodies = 0;
  const pay = defineTool({
    name: "pay",
    description: "pays",
    parameters: { type: "object" },
    effect: "opaque",
    permission: () => ({ decision: "allow" }),
    execute: () => {
      if (stopAt === "body") stop();
      bodies += 1;
      Deno.writeTextFileSync(effects, `${id}\n`, { append: true });
      return "paid";
    },
  });
  const model = scripted([[{ call: { name: "pay", arguments: { to: "a" } } }], [{ text: "done" }]]);
  const agent = createAgent({ store: stopping(store, stopAt), model, tools: [pay] });
  const session = await agent.create({ id });
  await session.session.flush();
  if (stopAt === "inside") {
    // What a command expects is looked for inside of the transaction, behind the rows of the batch.
    const command = { sessionId: id, key: "none", kind: "input", body: {} } as unknown as Command;
    store.commands.expect(command, (event) => {
      if (event.type === "effect/dispatched") stop();
      return false;
    });
  }
  await session.send("pay a").catch(() => {});
  const { failure } = session.session;
  const code = hasCode(failure, "FENCED") ? "FENCED" : failure === null ? null : String(failure);
  await session.close().catch(() => {});
  return { bodies, failure: code };
}

if (import.meta.main) {
  let store: PostgresStore | null = null;
  for await (const line of createInterface({ input: process.stdin })) {
    const told = JSON.parse(line) as ZombieTrial;
    store ??= await openPostgresStore({ ...told.place, leaseMs: told.leaseMs });
    console.log(JSON.stringify(await trial(store, told)));
  }
  await store?.close();
}
