/**
 * `holdfast rm`: delete sessions, by id or by age.
 *
 * @module
 */
import { hasCode, HoldfastError, type SessionRow, type SessionStore } from "../../../mod.ts";
import type { Command, CommandContext, ExitCode } from "../command.ts";
import { type Deletion, DELETIONS_NAME, readDeletions, recordDeletion } from "../deletions.ts";
import { findSession } from "../find.ts";
import { counted, humanSize, humanTime, piece } from "../format.ts";
import type { Output } from "../output.ts";
import { parseAge, UsageError } from "../usage.ts";

/** What is known of a session that is to be deleted. */
type Candidate = Pick<SessionRow, "id" | "name" | "sizeBytes" | "lastEventTime"> & Partial<Pick<SessionRow, "reason">>;

/**
 * Deletes sessions with everything that belongs to them, and keeps a record of it in the root.
 *
 * Age is that of the newest event, never of the file. By age, a session is kept when a writer holds it, or when its newest event
 * cannot be told: damaged, of another version, not wholly readable.
 */
export const rm: Command = {
  spec: {
    name: "rm",
    positionals: "ID… | --older-than AGE",
    help: `delete sessions and everything that belongs to them; ${DELETIONS_NAME} in the root keeps a record`,
    flags: {
      "older-than": { value: "AGE", help: "delete those whose newest event is older: 30d, 12h, 45m, 10s" },
      "dry-run": { help: "say what would be deleted, delete nothing" },
      yes: { help: "do not ask" },
    },
    count: [0, Infinity],
  },
  async run(context) {
    const { args, out, root, host, openStore } = context;
    const age = args.text("older-than");
    if ((age === undefined) === (args.positionals.length === 0)) {
      throw new UsageError("Cannot delete: wanted either ids or --older-than");
    }
    const isDryRun = args.has("dry-run");
    if (out.isJson && !isDryRun && !args.has("yes")) {
      throw new UsageError("Cannot delete with --json: there is nobody to ask; wanted --yes or --dry-run");
    }
    const beforeMs = age === undefined ? null : host.clock.now() - parseAge("--older-than", age);

    await using store = await openStore();
    const chosen = beforeMs === null ? await byIds(store, root, args.positionals) : await byAge(store, beforeMs, out);
    if (chosen.length > 0 && !isDryRun && !args.has("yes") && !await isConfirmed(context, chosen)) {
      out.note("Nothing was deleted");
      return 1;
    }
    const why = age === undefined ? "by id" : `older than ${age}`;
    return await deleteAll(context, store, chosen, { isDryRun, beforeMs, why });
  },
};

async function deleteAll(
  { out, root, host }: CommandContext,
  store: SessionStore,
  chosen: readonly Candidate[],
  { isDryRun, beforeMs, why }: { isDryRun: boolean; beforeMs: number | null; why: string },
): Promise<ExitCode> {
  const deleted: Candidate[] = [];
  const kept: { id: string; code: string; message: string }[] = [];
  for (const candidate of chosen) {
    if (isDryRun) {
      deleted.push(candidate);
      out.line(`Would delete ${describe(candidate)}`);
      continue;
    }
    // Between the choice and now, which may be a person's pause for thought, somebody may have gone on with it.
    const refusal = beforeMs !== null && await hasChanged(store, candidate, beforeMs)
      ? { code: "SOURCE_DRIFT", message: `Cannot delete session "${candidate.id}": it has changed since it was chosen` }
      : await deleteOne(store, candidate, { root, why, now: () => host.clock.now(), note: out.note });
    if (refusal === null) {
      deleted.push(candidate);
      out.line(`Deleted ${describe(candidate)}`);
    } else {
      kept.push({ id: candidate.id, ...refusal });
      out.note(`Kept ${piece(candidate.id)}: ${refusal.code}: ${refusal.message}`);
    }
  }
  if (chosen.length === 0) out.line("No session matches");
  const report = deleted.map(({ id, name, sizeBytes, lastEventTime }) => ({ id, name, sizeBytes, lastEventTime }));
  out.json({ isDryRun, deleted: report, kept });
  return kept.length === 0 ? 0 : 1;
}

async function hasChanged(store: SessionStore, { id }: Candidate, beforeMs: number): Promise<boolean> {
  const row = await store.stat(id);
  return row !== null && !isOlder(row, beforeMs);
}

/** Deletes one session between its two lines in the record. Returns why it was kept, `null` when it is gone. */
async function deleteOne(
  store: SessionStore,
  { id, name, sizeBytes, lastEventTime }: Candidate,
  { root, why, now, note }: { root: string; why: string; now: () => number; note: (text: string) => void },
): Promise<{ code: string; message: string } | null> {
  const record = (state: Deletion["state"], reason?: string) =>
    recordDeletion(root, { time: now(), state, id, name, sizeBytes, lastEventTime, why, reason });
  try {
    record("deleting");
  } catch (error) {
    // On a full disk a deletion is the way out: the line behind it has room then.
    if (!hasCode(error, "STORAGE_FULL")) throw error;
    note(`${(error as HoldfastError).code}: ${(error as Error).message}; it is recorded afterwards`);
  }
  try {
    await store.delete(id);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const isGone = error.code === "NOT_FOUND" && await store.stat(id) === null;
    if (!isGone) {
      record("kept", error.message);
      return { code: error.code, message: error.message };
    }
  }
  record("deleted");
  return null;
}

async function byIds(store: SessionStore, root: string, prefixes: readonly string[]): Promise<Candidate[]> {
  const candidates = new Map<string, Candidate>();
  for (const prefix of prefixes) {
    const candidate = unfinished(root, prefix) ?? await findSession(store, root, prefix);
    candidates.set(candidate.id, candidate);
  }
  return [...candidates.values()];

  /** A deletion that was cut short has taken the log first: only its record still knows the session. */
  function unfinished(root: string, id: string): Candidate | null {
    const last = readDeletions(root).findLast((deletion) => deletion.id === id);
    return last?.state === "deleting" ? last : null;
  }
}

async function byAge(store: SessionStore, beforeMs: number, out: Output): Promise<SessionRow[]> {
  const rows: SessionRow[] = [];
  const doubtful: SessionRow[] = [];
  {
    using _ = out.progress("listing");
    for await (const row of store.list()) {
      if (isOlder(row, beforeMs)) rows.push(row);
      else if (newestTime(row) === null) doubtful.push(row);
    }
  }
  for (const { id, state } of doubtful) {
    out.note(`Kept ${piece(id)}: it is ${state}, so its newest event cannot be told`);
  }
  return rows;
}

/** Whether nobody is at work on it and its newest event is certainly older. Retention never guesses. */
function isOlder(row: SessionRow, beforeMs: number): boolean {
  const time = newestTime(row);
  return !row.live && time !== null && time < beforeMs;
}

/** The time of the newest event, `null` when it is not certain. */
function newestTime({ state, lastEventTime, header }: SessionRow): number | null {
  if (state === "damaged" || state === "unsupported") return null;
  // A log that was read whole and holds no event is as old as its header.
  return lastEventTime ?? (state === "ok" ? header?.createdAt ?? null : null);
}

async function isConfirmed({ out, host }: CommandContext, chosen: readonly Candidate[]): Promise<boolean> {
  for (const candidate of chosen) out.note(`  ${describe(candidate)}`);
  if (!host.hasTerminal) {
    out.note("There is nobody to ask: give --yes to delete them without a question");
    return false;
  }
  const terminal = host.openTerminal();
  try {
    const question = `Delete ${counted(chosen.length, "session")}? There is no way back. Type yes: `;
    return (await terminal.confirm(question))?.trim() === "yes";
  } finally {
    terminal.close();
  }
}

function describe({ id, sizeBytes, lastEventTime, reason }: Candidate): string {
  const time = lastEventTime === null ? "no event seen" : `last event ${humanTime(lastEventTime)} UTC`;
  // Whoever deletes a session with an unknown outcome should know that the evidence goes with it.
  const attention = typeof reason === "string" ? `  (${piece(reason)})` : "";
  return `${piece(id)}  ${humanSize(sizeBytes)}  ${time}${attention}`;
}
