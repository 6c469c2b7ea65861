/**
 * Every session of a database, one row each, whatever state it is in.
 *
 * @module
 */
import { hasCode } from "../errors.ts";
import type { SessionHeader } from "../event/mod.ts";
import { attentionText } from "../fold/mod.ts";
import { Listed } from "../store/listed.ts";
import type { SessionRow } from "../store/session_store.ts";
import { headerOf } from "./columns.ts";
import type { SqlContext } from "./context.ts";
import { foundIn } from "./finding.ts";
import { LIST_BYTES_MAX } from "./limits.ts";
import { SqlScan } from "./log_scan.ts";
import { type SessionState, sessionState, sessionStates } from "./session_row.ts";
import type { SqlTransaction } from "./sql_port.ts";
import { packText, unpackText } from "./text_column.ts";

/** How many sessions are looked at in one transaction. */
const LIST_SESSIONS_MAX = 32;

/** All rows, ascending by id. Holds the rows of all sessions and the events of one. */
export async function* listSessions(context: SqlContext): AsyncGenerator<SessionRow, void, undefined> {
  const { sql } = context;
  const states = await sql.read(sessionStates);
  const known = states.map((state) => ({ id: unpackText(state.row.id as string), state }));
  // By UTF-16 units, whatever order the database has for texts.
  known.sort((a, b) => a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
  for (let start = 0; start < known.length; start += LIST_SESSIONS_MAX) {
    const chunk = known.slice(start, start + LIST_SESSIONS_MAX);
    const live = await sql.claimed(chunk.map(({ state }) => state.row.id as string));
    const rows = await sql.read(async (transaction) => {
      const found: SessionRow[] = [];
      for (const { id, state } of chunk) {
        const isLive = live.has(state.row.id as string);
        // Again: between the two transactions it may have grown, or gone.
        const now = await sessionState(transaction, state.row.id as string);
        if (now !== null) found.push(await rowOf(transaction, id, now, isLive));
      }
      return found;
    });
    yield* rows;
  }
}

/** The row of one id, `null` when there is no such session. */
export async function statSession({ sql }: SqlContext, id: string): Promise<SessionRow | null> {
  const key = packText(id);
  const live = await sql.claimed([key]);
  return await sql.read(async (transaction) => {
    const state = await sessionState(transaction, key);
    return state === null ? null : await rowOf(transaction, id, state, live.has(key));
  });
}

type Content = Pick<SessionRow, "header" | "state" | "reason" | "lastEventTime">;

/** Never rejects because of what one session's rows are. */
async function rowOf(
  transaction: SqlTransaction,
  id: string,
  state: SessionState,
  live: boolean,
): Promise<SessionRow> {
  const { row, sizeBytes } = state;
  const version = typeof row.version === "number" ? row.version : null;
  const kept = { id, name: row.id as string, sizeBytes, version, encoding: null, live };
  let header: SessionHeader;
  try {
    header = headerOf(row);
  } catch (error) {
    const isUnsupported = hasCode(error, "UNSUPPORTED_FORMAT");
    if (!isUnsupported && !hasCode(error, "CORRUPT_LOG")) throw error;
    const reason = `header: ${foundIn(error)}`;
    return { ...kept, header: null, state: isUnsupported ? "unsupported" : "damaged", reason, lastEventTime: null };
  }
  const content = sizeBytes <= LIST_BYTES_MAX
    ? await wholeContent(transaction, state, header)
    : await endContent(transaction, state, header);
  return { ...kept, ...content };
}

/** Reads and checks the whole log. */
async function wholeContent(transaction: SqlTransaction, state: SessionState, header: SessionHeader): Promise<Content> {
  const scan = new SqlScan(state.row.id as string, header);
  const seen = new Listed();
  await scan.advance(transaction, state, { visit: (event) => seen.add(event) });
  const { finding } = scan;
  const { lastEventTime, turn } = seen;
  if (finding !== null) {
    const is = finding.code === "UNSUPPORTED_FORMAT" ? "unsupported" : "damaged";
    return { header, lastEventTime, state: is, reason: finding.message };
  }
  return { header, lastEventTime, state: turn === null ? "ok" : "open", reason: attentionText(turn, seen.unresolved) };
}

/** Asks the index for the last event and the last turn of a large log. */
async function endContent(transaction: SqlTransaction, state: SessionState, header: SessionHeader): Promise<Content> {
  const { row: { id }, nextSeq } = state;
  const [last] = await transaction.all(
    "SELECT seq, time FROM event WHERE session_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT 1",
    ...[id!, nextSeq],
  );
  const lastEventTime = typeof last?.time === "number" ? last.time : null;
  if (last?.seq !== nextSeq - 1) {
    const reason = `event ${nextSeq - 1} is not there, of ${nextSeq} that were acknowledged`;
    return { header, lastEventTime, state: "damaged", reason };
  }
  const [turn] = await transaction.all(
    "SELECT type FROM event WHERE session_id = $1 AND seq < $2 AND type IN ('turn/start', 'turn/end') " +
      "ORDER BY seq DESC LIMIT 1",
    ...[id!, nextSeq],
  );
  if (turn?.type === "turn/start") return { header, lastEventTime, state: "open", reason: "a turn is open" };
  const reason = `not wholly read: it has more than ${LIST_BYTES_MAX} bytes`;
  return { header, lastEventTime, state: "unchecked", reason };
}
