/**
 * The other writer: a process that opens sessions and appends, as it is told over standard input. JSON lines in and out.
 *
 * @module
 */
import process from "node:process";
import { setTimeout } from "node:timers";
import { createInterface } from "node:readline";
import { createSession, hasCode, openSession, type Session } from "../../mod.ts";
import { openFileStore } from "../../src/entry/file.ts";

/** What it can be told. */
export type WriterCommand =
  | { readonly do: "create" | "open" | "startTurn" | "append" | "close"; readonly id: string }
  /**
   * Creates, appends again and again with a pause between, until it is refused, and then, when told so, tries to come back. Says
   * `going` when the first event is durable.
   */
  | { readonly do: "race"; readonly id: string; readonly pauseMs: number; readonly comesBack: boolean };

/** What it answers: the code of what refused it, and, for a race, what became durable. */
export interface WriterAnswer {
  readonly code: string | null;
  readonly tenures: readonly Tenure[];
}

/** One time as the writer of a session. */
export interface Tenure {
  /** Stands in each of its events. */
  readonly writer: string;
  /** How many of its events were acknowledged: those with the counts 0 to this. */
  readonly acknowledged: number;
  /** What ended it; `null` when it closed by itself. */
  readonly code: string | null;
}

/** A process that nobody kills ends by itself. */
const LIFE_MS_MAX = 180_000;
/** How often a lost session is tried again. */
const TRIES_MAX = 2_000;

/** Appends and flushes up to `countMax` events, until it is refused. */
export async function appendAs(
  writer: string,
  session: Session,
  { countMax = Infinity, pauseMs = 0, onFirst = () => {} },
): Promise<Tenure> {
  for (let count = 0; count < countMax; count++) {
    try {
      session.append({ type: "test/tick", data: { writer, count }, ignorable: true });
      await session.flush();
    } catch (error) {
      return { writer, acknowledged: count, code: codeOf(error) };
    }
    if (count === 0) onFirst();
    await new Promise((over) => pauseMs === 0 ? over(null) : setTimeout(over, pauseMs));
  }
  return { writer, acknowledged: countMax, code: null };
}

/** Opens a session as soon as nobody else has it. @throws {Error} after TRIES_MAX refusals, or at any other one */
export async function openWhenFree(open: () => Promise<Session>, onRefusal = () => {}): Promise<Session> {
  for (let tries = 1;; tries++) {
    try {
      return await open();
    } catch (error) {
      if (!hasCode(error, "LOCK_HELD") || tries === TRIES_MAX) throw error;
      if (tries === 1) onRefusal();
      await new Promise((over) => setTimeout(over, 1));
    }
  }
}

export function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error);
}

if (import.meta.main) {
  const { root } = JSON.parse(process.argv[2] ?? "") as { root: string };
  setTimeout(() => process.exit(1), LIFE_MS_MAX).unref();
  const store = openFileStore({ root });
  const sessions = new Map<string, Session>();

  const race = async (id: string, pauseMs: number, comesBack: boolean): Promise<Tenure[]> => {
    const session = await createSession({ store, id });
    const first = await appendAs("child", session, { pauseMs, onFirst: () => process.stdout.write("going\n") });
    await session.close().catch(() => {});
    if (!comesBack) return [first];
    const again = await openWhenFree(async () => (await openSession({ store, id })).session);
    const second = await appendAs("child again", again, { countMax: 3 });
    await again.close().catch(() => {});
    return [first, second];
  };

  const run = async (command: WriterCommand): Promise<readonly Tenure[]> => {
    const { id } = command;
    if (command.do === "race") return await race(id, command.pauseMs, command.comesBack);
    if (command.do === "create") sessions.set(id, await createSession({ store, id }));
    if (command.do === "open") sessions.set(id, (await openSession({ store, id })).session);
    const session = sessions.get(id)!;
    if (command.do === "startTurn") session.append({ type: "turn/start", data: { turn: 1 } });
    if (command.do === "append") session.append({ type: "test/tick", data: { writer: "child" }, ignorable: true });
    if (command.do === "close") await session.close();
    else await session.flush();
    return [];
  };

  for await (const line of createInterface({ input: process.stdin })) {
    const answer: WriterAnswer = await run(JSON.parse(line)).then(
      (tenures) => ({ code: null, tenures }),
      (error) => ({ code: codeOf(error), tenures: [] }),
    );
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
}
