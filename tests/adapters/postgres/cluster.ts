/**
 * Several servers over one database, killed one after the other, while the database itself is started anew.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { encodeRow, isEvent, type SessionEvent } from "../../../mod.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/entry/postgres.ts";
import { knownToken } from "../../../src/server/auth.ts";
import { fromFileUrl } from "../../support/paths.ts";
import type { TestPostgres } from "../../support/postgres.ts";
import { ClusterClient } from "./cluster_client.ts";
import type { ServerOrder } from "./cluster_child.ts";
import { administer } from "./context.ts";
import { EffectTarget } from "./effect_target.ts";

/** How large it is. */
export interface ClusterSize {
  readonly servers: number;
  readonly sessions: number;
  readonly seconds: number;
  readonly killEveryMs: number;
  /** How often the database is started anew; every second time as after a crash. */
  readonly restarts: number;
  readonly leaseMs: number;
}

/** What was seen. */
export interface ClusterReport {
  readonly kills: number;
  /** Servers that ended before they listened. Nothing but a kill ends one, also when the database is away while it starts. */
  readonly failedStarts: number;
  readonly restarts: number;
  readonly events: number;
  readonly acknowledgedInputs: number;
  readonly seenEvents: number;
  readonly turns: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly lost: number;
  readonly duplicates: number;
  readonly forks: number;
  readonly keyedTwice: number;
  readonly keyedRepeats: number;
  readonly opaqueRepeats: number;
  /** From the kill to the moment another process had claimed a session of the dead one, in milliseconds, in order. */
  readonly takeoversMs: readonly number[];
}

const TOKEN = "correct-horse-battery-staple";

/** Runs it, checks everything, and says what was seen. */
export async function runCluster(server: TestPostgres, size: ClusterSize): Promise<ClusterReport> {
  const root = await Deno.makeTempDir();
  const target = new EffectTarget();
  const schema = `holdfast_${(await knownToken(TOKEN)).id}`;
  const place = { url: server.url, schema };
  const order: ServerOrder = { url: server.url, leaseMs: size.leaseMs, token: TOKEN, root, target: target.url };
  const servers: ServerProcess[] = [];
  const start = async (index: number) => {
    servers[index] = await ServerProcess.start({ ...order, root: `${root}/${index}` });
  };
  await Promise.all(Array.from({ length: size.servers }, (_, index) => start(index)));

  let isOver = false;
  const pick = (count: number) => Math.floor(Math.random() * count);
  const origins = () => servers.filter(({ isAlive }) => isAlive).map(({ origin }) => origin);
  const clients = Array.from(
    { length: size.sessions },
    (_, index) => new ClusterClient({ sessionId: `s${index}`, token: TOKEN, origins, pick, isOver: () => isOver }),
  );
  const running = Promise.all(clients.map((client) => client.run().then(() => client.doing = "over")));
  running.catch(() => {});

  const store = await openPostgresStore({ ...place, connectionsMax: 2 });
  const takeoversMs: number[] = [];
  const measuring: Promise<void>[] = [];
  const starting: Promise<void>[] = [];
  let kills = 0, restarts = 0, failedStarts = 0;
  const startAgain = async (index: number) => {
    do {
      try {
        return await start(index);
      } catch (error) {
        failedStarts += 1;
        console.error(`server ${index} did not start again: ${error}`);
      }
    } while (!isOver);
  };
  const startedAt = performance.now();
  const elapsed = () => performance.now() - startedAt;
  const restartEveryMs = size.seconds * 1000 / (size.restarts + 1);
  // Beside the kills, which do not wait for it.
  const restarting = (async () => {
    while (restarts < size.restarts) {
      await untilMs(restartEveryMs * (restarts + 1) - elapsed());
      if (isOver) return;
      await server.restart(restarts % 2 === 0 ? "fast" : "crash");
      restarts += 1;
    }
  })();
  restarting.catch(() => {});
  try {
    for (let dueMs = size.killEveryMs; dueMs < size.seconds * 1000; dueMs += size.killEveryMs) {
      await untilMs(dueMs - elapsed());
      // A kill that finds no second server that listens is owed, and comes when there is one.
      let alive: number[] = [];
      while (alive.length < 2 && elapsed() < size.seconds * 1000) {
        alive = servers.flatMap(({ isAlive }, index) => isAlive ? [index] : []);
        if (alive.length < 2) await untilMs(AGAIN_MS);
      }
      if (alive.length < 2) break;
      const index = alive[pick(alive.length)]!;
      const killedAt = performance.now();
      await servers[index]!.kill();
      kills += 1;
      measuring.push(measureTakeovers(place, killedAt, takeoversMs, () => isOver).catch(() => {}));
      starting.push(startAgain(index));
    }
    await untilMs(size.seconds * 1000 - elapsed());
    await restarting;
    isOver = true;
    await Promise.all(starting);
    await within(running, () => clients.filter(({ doing }) => doing !== "over").map(describe).join("\n"));
    await Promise.all(measuring);
    return {
      ...{ kills, failedStarts, restarts, takeoversMs: takeoversMs.sort((a, b) => a - b) },
      ...await judge(store, place, clients),
      keyedTwice: target.twice("keyed").length,
      keyedRepeats: target.repeats,
      opaqueRepeats: target.twice("opaque").length,
    };
  } finally {
    isOver = true;
    await Promise.allSettled([restarting, ...starting]);
    for (const each of servers) await each.kill();
    await Promise.allSettled([running, ...measuring]);
    await store.close();
    await target.close();
    await Deno.remove(root, { recursive: true });
  }
}

/** Compares what every client was told with what is in the logs. */
async function judge(store: PostgresStore, place: { url: string; schema: string }, clients: readonly ClusterClient[]) {
  let events = 0, lost = 0, duplicates = 0, forks = 0;
  const outcomes: Record<string, number> = {};
  for (const client of clients) {
    const { sessionId } = client;
    const log = await everything(store, sessionId);
    events += log.length;
    forks += client.forked.length;
    for (const [seq, text] of client.seen) {
      if (log[seq] === undefined) lost += 1;
      else if (JSON.stringify(JSON.parse(encodeRow(log[seq]!))) !== text) forks += 1;
    }
    for (const { messageId, seq } of client.acknowledged) {
      const event = log[seq];
      const isThere = event !== undefined && isEvent(event, "agent/inbox/spliced") &&
        event.data.inserted.some(({ id }) => id === messageId);
      if (!isThere) lost += 1;
    }
    duplicates += completedTwice(log);
    for (const [name, count] of Object.entries(client.outcomes)) outcomes[name] = (outcomes[name] ?? 0) + count;
  }
  // Rows without a session's row, gaps, or rows behind the end would be a log that two owners wrote.
  const broken = await administer(
    place,
    "SELECT s.id FROM session s LEFT JOIN (SELECT session_id, count(*) AS n, max(seq) AS last FROM event GROUP BY session_id) e " +
      "ON e.session_id = s.id WHERE s.next_seq <> COALESCE(e.n, 0) OR s.next_seq <> COALESCE(e.last, -1) + 1",
  );
  forks += broken.length;
  const pending = await administer(place, "SELECT session_id FROM command WHERE state = 'done' AND seq IS NULL");
  assertEquals(pending, [], "a command that is done names its event");
  return {
    ...{ events, lost, duplicates, forks, outcomes },
    acknowledgedInputs: clients.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0),
    seenEvents: clients.reduce((sum, { seen }) => sum + seen.size, 0),
    turns: clients.reduce((sum, { turns }) => sum + turns, 0),
  };
}

/** Messages that more than one turn has completed: one input, taken twice. */
function completedTwice(log: readonly SessionEvent[]): number {
  const completed = new Map<string, number>();
  let open: string[] = [];
  for (const event of log) {
    if (event.type === "turn/start") open = [];
    if (isEvent(event, "user/message") && event.data.source.kind === "user") open.push(event.data.id);
    if (!isEvent(event, "turn/end") || event.data.reason.kind !== "completed") continue;
    for (const id of open) completed.set(id, (completed.get(id) ?? 0) + 1);
  }
  return [...completed.values()].filter((count) => count > 1).length;
}

async function everything(store: PostgresStore, id: string): Promise<SessionEvent[]> {
  const reader = await store.open(id, "read");
  await using _ = reader;
  assertEquals(reader.state().fault, null, id);
  const events: SessionEvent[] = [];
  for (let from: number | null = 0; from !== null;) {
    const page: Awaited<ReturnType<typeof reader.read>> = await reader.read({ from });
    events.push(...page.events);
    from = page.nextFrom;
  }
  return events;
}

/** Sessions whose owner's connection is gone, and when another owner has each of them. */
async function measureTakeovers(
  place: { readonly url: string; readonly schema: string },
  killedAt: number,
  takeoversMs: number[],
  isOver: () => boolean,
): Promise<void> {
  // The database needs a moment to see that a process is gone.
  await untilMs(30);
  const dead = await administer(
    place,
    "SELECT c.session_id, c.owner FROM claim c JOIN holder h ON h.id = c.owner WHERE NOT EXISTS (SELECT 1 FROM pg_locks l " +
      "WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND ((l.classid::bigint << 32) | l.objid::bigint) = h.lock_key) " +
      "AND h.server_start = pg_postmaster_start_time()",
  );
  const waiting = new Map(dead.map(({ session_id: id, owner }) => [String(id), String(owner)]));
  while (waiting.size > 0 && !isOver()) {
    await untilMs(50);
    const rows = await administer(place, "SELECT session_id, owner FROM claim");
    const now = performance.now();
    const owners = new Map(rows.map(({ session_id: id, owner }) => [String(id), String(owner)]));
    for (const [id, owner] of [...waiting]) {
      const found = owners.get(id);
      if (found === undefined || found === owner) continue;
      takeoversMs.push(now - killedAt);
      waiting.delete(id);
    }
  }
}

/** How often it is looked for a second server, in milliseconds. */
const AGAIN_MS = 50;

function untilMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));
}

/** Waits for the clients, and says what they wait for when it takes too long. */
async function within(running: Promise<unknown>, describeRest: () => string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`some clients come to no end:\n${describeRest()}`)), END_MS_MAX);
  try {
    await Promise.race([running, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long the last orders may take, in milliseconds. */
const END_MS_MAX = 240_000;

function describe({ sessionId, doing, answered }: ClusterClient): string {
  return `${sessionId} ${doing}: ${answered}`;
}

/** The value below which a share of them lies. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** The report in words. */
export function inWords(report: ClusterReport): string {
  const { takeoversMs, outcomes, ...counts } = report;
  const facts = Object.entries(counts).map(([name, count]) => `${name} ${count}`).join(", ");
  const ms = (share: number) => quantile(takeoversMs, share).toFixed(0);
  const takeovers = `takeovers ${takeoversMs.length}: p50 ${ms(0.5)} ms, p99 ${ms(0.99)} ms`;
  return `${facts}; orders ${JSON.stringify(outcomes)}; ${takeovers}`;
}

/** One server. */
class ServerProcess {
  readonly origin: string;
  isAlive = true;
  readonly #child: Deno.ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(child: Deno.ChildProcess, port: number, rest: Promise<void>) {
    this.#child = child;
    this.origin = `http://127.0.0.1:${port}`;
    this.#ended = Promise.all([child.status.then(() => this.isAlive = false), rest]);
  }

  static async start(order: ServerOrder): Promise<ServerProcess> {
    const program = fromFileUrl(new URL("./cluster_child.ts", import.meta.url));
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", "--no-check", program, JSON.stringify(order)],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const reader = child.stdout.getReader();
    const first = await reader.read();
    if (first.done) throw new Error("a server ended before it listened");
    const port = Number(new TextDecoder().decode(first.value).trim());
    const rest = (async () => {
      while (!(await reader.read()).done);
    })();
    return new ServerProcess(child, port, rest);
  }

  async kill(): Promise<void> {
    this.isAlive = false;
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It is gone.
    }
    await this.#ended;
  }
}
