/**
 * A log in a database, open for reading: somebody else may write it meanwhile.
 *
 * @module
 */
import { NotFoundError } from "../errors.ts";
import type { SqlContext } from "./context.ts";
import { headerOf } from "./columns.ts";
import { SqlLogView } from "./log_view.ts";
import { type ScanOptions, SqlScan } from "./log_scan.ts";
import { type SessionState, sessionState } from "./session_row.ts";
import { packText } from "./text_column.ts";

/** A log that somebody else may write meanwhile. */
export class SqlLogReader extends SqlLogView {
  protected readonly incarnation: string;
  protected readonly isPublished = true;
  /** Looks are taken one after the other. */
  #refreshing: Promise<void> = Promise.resolve();
  readonly #onClose: () => void;

  private constructor(context: SqlContext, scan: SqlScan, incarnation: string, onClose: () => void) {
    super(context, scan);
    this.incarnation = incarnation;
    this.#onClose = onClose;
  }

  /** Reads a log whole, up to its end or to damage. Throws when not even the header can be read. */
  static async open(
    context: SqlContext,
    id: string,
    options: ScanOptions,
    onClose: (reader: SqlLogReader) => void,
  ): Promise<SqlLogReader> {
    const { scan, state } = await scanLog(context, id, options);
    const reader: SqlLogReader = new SqlLogReader(context, scan, state.incarnation, () => onClose(reader));
    return reader;
  }

  override close(): Promise<void> {
    this.#onClose();
    return super.close();
  }

  protected refresh(): Promise<void> {
    const refreshed = this.#refreshing.then(() => this.#refresh());
    this.#refreshing = refreshed.catch(() => {});
    return refreshed;
  }

  async #refresh(): Promise<void> {
    await this.context.sql.read(async (transaction) => {
      const state = await sessionState(transaction, this.key);
      if (state === null) throw gone(this.id, "it is not there any more");
      if (state.incarnation !== this.incarnation) throw gone(this.id, "another session took its place");
      await this.scan.advance(transaction, state);
    });
  }
}

/** Reads a log in one state of the database. */
export async function scanLog(
  { sql }: SqlContext,
  id: string,
  options: ScanOptions,
): Promise<{ readonly scan: SqlScan; readonly state: SessionState }> {
  const key = packText(id);
  // Kept when the act is run again: what was seen of this session stays as it is, and nothing is visited twice.
  let begun: { readonly scan: SqlScan; readonly incarnation: string } | null = null;
  return await sql.read(async (transaction) => {
    const state = await sessionState(transaction, key);
    if (state === null) throw new NotFoundError(`Cannot open session "${id}": there is no such session`);
    const { incarnation } = state;
    if (begun !== null && begun.incarnation !== incarnation) throw gone(id, "another session took its place");
    const { scan } = begun ??= { scan: new SqlScan(key, headerOf(state.row)), incarnation };
    await scan.advance(transaction, state, options);
    await scan.lookBehind(transaction, state);
    return { scan, state };
  });
}

function gone(id: string, found: string): NotFoundError {
  return new NotFoundError(`Cannot read session "${id}": ${found}`);
}
